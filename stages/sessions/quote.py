"""Quotes sessions in a prompt: which of those that were found, and what of each.

What a chosen memory says already is not quoted again, and a memory that a newer session of the same
subject contradicts is not shown: the newer word wins. An excerpt is dated, in the order in which it
was said, within a budget:

- ses_0f3e2d1c · 3 June
  > user: Seven. Eight trips it.
  > agent: So MAX_ATTEMPTS is exactly 7.

The user's words come first when room is short, since most rules are settled by them; then the
words with which the agent concluded; then what has most in common with the question.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from ...bus.sessions import Passage, SessionHit, SessionOutcome, SessionVerdict
from ...bus.values import AUTO_CAPTURED, Memory
from ..language.topics import searched_words
from ..statements.comparison import contradicts
from ..statements.outdated import outdates, tells_of_others
from ..statements.remainder import leaves_clause
from ..text.envelope import neutralise
from ..text.unicode import Size, cut, one_line, size_of
from .turns import ENDS, SETTLES, telling_turns

FIRST_SHARE = 0.62
"""Of the budget for sessions, where more than one is quoted."""

MIN_TOKENS = 80

CONTEXT_RELEVANCE = 0.2
"""An automatic memory needs a session at least this relevant, where that is known."""

# A longer passage says more than one thing, and is not compared as one statement.
_CLAIM_CHARS = 400
_NO_ROOM = "does not fit into what is left of the budget"


class Quoted(Struct, frozen=True):
    """The sessions that are quoted, best first, and a verdict on each that was found.

    ``keys`` are the ``shown_keys`` of what is quoted.
    """

    excerpts: tuple[Excerpt, ...]
    verdicts: tuple[SessionVerdict, ...]
    keys: frozenset[tuple[str, int]] = frozenset()

    @property
    def tokens(self) -> int:
        return sum(one.size.tokens for one in self.excerpts)


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

    ``shown`` has ``shown_keys`` of what this session has seen; ``floor`` is the least relevance.
    Without a ``question`` all that was said counts, as for a prompt that asks about a time.
    """
    made: list[Excerpt] = []
    keys: frozenset[tuple[str, int]] = frozenset()
    verdicts: list[SessionVerdict] = []
    relevant = [hit for hit in hits if hit.passages and hit.relevance >= floor]
    left = max_tokens
    for hit in hits:
        why = f"relevance {hit.relevance:.2f}"
        outcome: SessionOutcome = "quoted"
        one: Excerpt | None = None
        if not hit.passages or hit.relevance < floor:
            outcome = "not_relevant"
            why += f" is below the floor of {floor:.2f}"
        elif not (said := telling_turns(hit.passages, question, memories)):
            outcome, why = "said_by_memories", "the memories beside it say the same"
            if not memories:
                outcome, why = "not_relevant", "nothing in it tells anything"
        elif (whole := shown_keys(_as_said(hit, said))).issubset(shown):
            outcome, why = "already_shown", "already shown in this session"
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
            keys |= whole
            left -= one.size.tokens
        verdicts.append(_verdict(hit, outcome, why))
    return Quoted(tuple(made), tuple(verdicts), keys)


def _as_said(hit: SessionHit, told: Sequence[Passage]) -> list[Passage]:
    """The passages of ``hit`` of which ``told`` are what is quoted, with all that was said."""
    ids = {passage.id for passage in told}
    return [passage for passage in hit.passages if passage.id in ids]


def refused(hits: Sequence[SessionHit], why: str) -> Quoted:
    """None of ``hits`` is quoted, for one reason."""
    return Quoted((), tuple(_verdict(hit, "refused", why) for hit in hits))


def shown_keys(passages: Sequence[Passage]) -> frozenset[tuple[str, int]]:
    """What is noted as shown: each passage, with a CRC-32 of what was said in it until then."""
    return frozenset(
        (one.id, zlib.crc32(one.text.encode("utf-8", "surrogatepass"))) for one in passages
    )


def outdated(
    memories: Sequence[Memory], hits: Sequence[SessionHit], now: datetime
) -> dict[str, str]:
    """The ids of those of ``memories`` that something said later outdates by ``now``, and why.

    Without those of which a part holds.
    """
    return {
        memory.id: f"contradicted later in {short_id(passage.session)}"
        for memory, passage in _denied(memories, hits, now)
        if not leaves_clause(passage.text, memory.content)
    }


def _denied(
    memories: Sequence[Memory], hits: Sequence[SessionHit], now: datetime
) -> Iterator[tuple[Memory, Passage]]:
    """Each of ``memories`` that the user contradicted later, and where first."""
    later = [
        passage
        for hit in hits
        for passage in hit.passages
        if passage.speaker == "user" and len(passage.text) <= _CLAIM_CHARS
    ]
    for memory in memories if later else ():
        for passage in later:
            said_at, text = passage.said_at, passage.text
            if (
                said_at > memory.updated_at
                and contradicts(text, memory.content)
                and outdates(text, memory.content, said=said_at, now=now)
                and not tells_of_others(text)
            ):
                yield memory, passage
                break


def overtaken(
    memories: Sequence[Memory], hits: Sequence[SessionHit], now: datetime
) -> dict[str, str]:
    """The ids of those of ``memories`` on whose subject a newer session spoke, in words.

    That is a session of the subject of an automatic memory's own, or one that contradicts a part.
    """
    newer = {hit.session: hit.replaced_by for hit in hits if hit.replaced_by}
    spoke = {
        memory.id: newer[session]
        for memory in memories
        if (session := memory.provenance.session) in newer and AUTO_CAPTURED in memory.tags
    }
    spoke |= {memory.id: passage.session for memory, passage in _denied(memories, hits, now)}
    return {
        id_: f"{short_id(session)} spoke of it: where they differ, that holds"
        for id_, session in spoke.items()
    }


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


def _verdict(hit: SessionHit, outcome: SessionOutcome, why: str) -> SessionVerdict:
    return SessionVerdict(
        session=hit.session,
        began_at=hit.began_at,
        relevance=round(hit.relevance, 4),
        outcome=outcome,
        why=why,
    )


ID_CHARS = 8
MAX_LINE_CHARS = 700
_SHORT_AGENT_CHARS = 160
_SHORT_USER_CHARS = 400
_FEWEST_LINES = 2
# What the line of a session and the label of each speaker take, and what a token is, roughly: the
# exact size is measured afterwards.
_HEAD_CHARS = 120
_LABEL_CHARS = 16
_CHARS_PER_TOKEN = 4
_GAP_CHARS = 3


class Excerpt(Struct, frozen=True):
    """The lines of one session as they stand in the envelope, and what they add to it."""

    session: str
    lines: tuple[str, ...]
    size: Size


class _Line(Struct):
    """A passage that may be quoted: what it is worth, and how much of it is quoted.

    ``said`` are its sentences, ``ranked`` their indexes, the most telling first.
    """

    passage: Passage
    text: str
    value: float
    said: Sequence[str] = ()
    ranked: Sequence[int] = ()
    chars: int = 0

    @property
    def quoted(self) -> str:
        """Where not all fits, the sentences that have most to do with the question, in order."""
        if len(self.text) <= self.chars:
            return self.text
        return _telling(self.said, self.ranked, self.chars)


def excerpt(
    hit: SessionHit,
    question: str,
    *,
    max_tokens: int,
    now: datetime,
    clean: Callable[[str], str] = str,
) -> Excerpt | None:
    """What of ``hit`` is quoted within ``max_tokens``; None where there is no room for it.

    ``clean`` redacts what comes out of the store, with the rules of today.
    """
    head = _head(hit, now)
    lines = _valued(hit.passages, question, clean)
    while lines:
        _allot(lines, max_tokens)
        quoted = tuple(f"  > {one.passage.speaker}: {one.quoted}" for one in lines)
        size = size_of("".join(f"\n{line}" for line in (head, *quoted)))
        if size.tokens <= max_tokens:
            return Excerpt(hit.session, (head, *quoted), size)
        if len(lines) <= _FEWEST_LINES:
            return None
        lines.remove(min(lines, key=lambda one: one.value))
    return None


def _head(hit: SessionHit, now: datetime) -> str:
    head = f"- {short_id(hit.session)} · {day_of(hit.began_at, now)}"
    if hit.replaced_by:
        head += f" · older: where they differ, {short_id(hit.replaced_by)} holds"
    return head


def day_of(moment: datetime, now: datetime) -> str:
    """The day of ``moment`` here, with its year where that is not this one: "3 June"."""
    here = moment.astimezone()
    day = f"{here.day} {here:%B}"
    return day if here.year == now.astimezone().year else f"{day} {here.year}"


def short_id(session: str) -> str:
    """``ses_`` and the beginning of a session's id, which commands take for the whole."""
    return "ses_" + re.sub(r"[^\w-]", "", session)[:ID_CHARS]


def _valued(passages: Sequence[Passage], question: str, clean: Callable[[str], str]) -> list[_Line]:
    asked = searched_words(question)
    last_agent = max(
        (at for at, passage in enumerate(passages) if passage.speaker == "agent"), default=-1
    )
    lines = []
    for at, passage in enumerate(passages):
        text = one_line(neutralise(clean(passage.text)))
        if text:
            value = _value(passage, text, asked) + (0.6 if at == last_agent else 0.0)
            said = ENDS.split(text) if len(text) > _SHORT_AGENT_CHARS else [text]
            lines.append(_Line(passage, text, value, said, _ranked(said, asked)))
    return lines


def _ranked(said: Sequence[str], asked: frozenset[str]) -> list[int]:
    """The indexes of the sentences ``said``, the most telling first."""
    if len(said) == 1:
        return [0]
    worth = [_worth(one, asked) for one in said]
    return sorted(range(len(said)), key=lambda at: -worth[at])


def _value(passage: Passage, text: str, asked: frozenset[str]) -> float:
    return _worth(text, asked) + (0.8 if passage.speaker == "user" else 0.0)


def _worth(text: str, asked: frozenset[str]) -> float:
    """What a text has in common with the question, and whether it settles something."""
    words = searched_words(text)
    common = len(words & asked) / max(1, len(asked))
    settles = min(len(SETTLES.findall(text)), 4) / 4
    return common + 0.4 * settles


def _telling(said: Sequence[str], ranked: Sequence[int], chars: int) -> str:
    """Of the sentences ``said`` the most telling in ``chars`` characters; "…" for the others."""
    chosen, left = {ranked[0]}, chars - len(said[ranked[0]])
    for at in ranked[1:]:
        if len(said[at]) + _GAP_CHARS <= left:
            chosen.add(at)
            left -= len(said[at]) + _GAP_CHARS
    parts = []
    for at in sorted(chosen):
        if at and at - 1 not in chosen:
            parts.append("…")
        parts.append(said[at])
    return cut(" ".join(parts), chars)


def _allot(lines: Sequence[_Line], max_tokens: int) -> None:
    """Give each line its least, and what is left to those that are worth most."""
    left = _CHARS_PER_TOKEN * max_tokens - _HEAD_CHARS
    most = max(0, left) // len(lines) if len(lines) <= _FEWEST_LINES else MAX_LINE_CHARS
    for line in lines:
        least = _SHORT_USER_CHARS if line.passage.speaker == "user" else _SHORT_AGENT_CHARS
        line.chars = min(len(line.text), least, most)
        left -= line.chars + _LABEL_CHARS
    for line in sorted(lines, key=lambda one: -one.value):
        more = max(0, min(len(line.text), MAX_LINE_CHARS) - line.chars)
        given = min(more, max(0, left))
        line.chars += given
        left -= given
