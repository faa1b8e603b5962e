"""Which of the sessions that were found are quoted, and what they make of the memories beside them.

What a chosen memory says already is not quoted again, and a memory that a newer session of the same
subject contradicts is not shown: the newer word wins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from ...bus.sessions import Passage, SessionHit, SessionOutcome, SessionVerdict
from ...bus.values import AUTO_CAPTURED, Memory
from ..language.comparison import Claim, Relation, compare, contradicts
from ..text.unicode import one_line
from .excerpt import Excerpt, excerpt, short_id

FIRST_SHARE = 0.62
"""Of the budget for sessions, where more than one is quoted."""

MIN_TOKENS = 80

CONTEXT_RELEVANCE = 0.2
"""An automatic memory needs a session at least this relevant, where that is known."""

# A longer passage says more than one thing, and is not compared as one statement.
_CLAIM_CHARS = 400
_NO_ROOM = "does not fit into what is left of the budget"


class Quoted(Struct, frozen=True):
    """The sessions that are quoted, best first, and a verdict on each that was found."""

    excerpts: tuple[Excerpt, ...]
    verdicts: tuple[SessionVerdict, ...]

    @property
    def tokens(self) -> int:
        return sum(one.size.tokens for one in self.excerpts)


NOTHING = Quoted((), ())


def quote_sessions(
    hits: Sequence[SessionHit],
    question: str,
    *,
    memories: Sequence[Memory],
    shown: Collection[tuple[str, int]],
    max_tokens: int,
    floor: float,
    now: datetime,
    clean: Callable[[str], str],
) -> Quoted:
    """Quote those of ``hits`` that have passages, within ``max_tokens``, beside ``memories``.

    ``shown`` has ``shown_key`` of what this session has seen; ``floor`` is what the others missed.
    """
    made: list[Excerpt] = []
    verdicts: list[SessionVerdict] = []
    relevant = [hit for hit in hits if hit.passages]
    left = max_tokens
    for hit in hits:
        why = f"relevance {hit.relevance:.2f}"
        outcome: SessionOutcome = "quoted"
        one: Excerpt | None = None
        if not hit.passages:
            outcome = "not_relevant"
            why += f" is below the floor of {floor:.2f}"
        elif shown_key(hit) in shown:
            outcome, why = "already_shown", "already shown in this session"
        elif not (said := _unsaid(hit.passages, memories)):
            outcome, why = "said_by_memories", "the memories beside it say the same"
        elif left < MIN_TOKENS:
            outcome, why = "no_room", _NO_ROOM
        else:
            share = int(left * FIRST_SHARE) if hit is not relevant[-1] else left
            one = excerpt(
                replace(hit, passages=said), question, max_tokens=share, now=now, clean=clean
            )
            if one is None:
                outcome, why = "no_room", _NO_ROOM
        if one is not None:
            made.append(one)
            left -= one.size.tokens
        verdicts.append(_verdict(hit, outcome, why))
    return Quoted(tuple(made), tuple(verdicts))


def refused(hits: Sequence[SessionHit], why: str) -> Quoted:
    """None of ``hits`` is quoted, for one reason."""
    return Quoted((), tuple(_verdict(hit, "refused", why) for hit in hits))


def shown_key(hit: SessionHit) -> tuple[str, int]:
    """What is noted as shown: an episode of the session, as long as it was then."""
    return f"session {hit.session} {hit.began_at.isoformat()}", len(hit.passages)


def outdated(memories: Sequence[Memory], hits: Sequence[SessionHit]) -> dict[str, str]:
    """The ids of those of ``memories`` that something said later contradicts, and why."""
    later = [
        (passage, Claim(passage.text))
        for hit in hits
        for passage in hit.passages
        if passage.speaker == "user" and len(passage.text) <= _CLAIM_CHARS
    ]
    found = {}
    for memory in memories if later else ():
        claim = Claim(memory.content)
        for passage, said in later:
            if passage.said_at > memory.updated_at and contradicts(said, claim):
                found[memory.id] = f"contradicted later in {short_id(passage.session)}"
                break
    return found


def out_of_context(memories: Sequence[Memory], hits: Sequence[SessionHit]) -> dict[str, str]:
    """The ids of automatic ``memories`` whose own session does not bear on the prompt, and why.

    One sentence shares words with many questions; the talk that it was said in tells what it is
    about.
    """
    unrelated = {hit.session: hit.relevance for hit in hits if hit.relevance < CONTEXT_RELEVANCE}
    return {
        memory.id: f"the session it was said in is relevant to {unrelated[session]:.2f} only"
        for memory in memories
        if (session := memory.provenance.session) in unrelated and AUTO_CAPTURED in memory.tags
    }


def _unsaid(passages: Sequence[Passage], memories: Sequence[Memory]) -> tuple[Passage, ...]:
    texts = [one_line(memory.content).casefold() for memory in memories]
    claims = [Claim(memory.content) for memory in memories]
    return tuple(passage for passage in passages if not _is_said(passage, texts, claims))


def _is_said(passage: Passage, texts: Sequence[str], claims: Sequence[Claim]) -> bool:
    said = one_line(passage.text).casefold()
    if any(said in text for text in texts):
        return True
    if len(said) > _CLAIM_CHARS:
        return False
    claim = Claim(passage.text)
    return any(compare(claim, other) is Relation.SAME for other in claims)


def _verdict(hit: SessionHit, outcome: SessionOutcome, why: str) -> SessionVerdict:
    return SessionVerdict(
        session=hit.session,
        began_at=hit.began_at,
        relevance=round(hit.relevance, 4),
        outcome=outcome,
        why=why,
    )
