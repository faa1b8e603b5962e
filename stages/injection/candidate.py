"""A memory that may be shown: what it is worth, and what is written of it.

``weigh`` makes candidates of what a prompt found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial

from ...bus.anchors import AnchorState, CodeState
from ...bus.events import IntentClassified
from ...bus.prompts import IntentType
from ...bus.values import Hit, Memory, Place
from ...config.settings import SearchIntentSettings, WeightSettings
from ..language.answer_type import adjust_for_answer_type, answer_types
from ..ports import Code
from ..statements.open_work import RESOLVED, is_closed_since
from ..text.envelope import Note, label, note_of, preview
from ..text.unicode import cut
from .instructions import NOT_DENIED, Instructed

SHORT_CHARS = 200
LONG_CHARS = 1000

LONG_SCORE = 0.5
"""From this score on a memory is given at length, where there is room.

It likelier answers than not, and the answer may be in any of its sentences.
"""

_SUMMARY_CHARS = 100
_READ_CHARS = 2000
# More memories of a time than this are listed, each in a line or two.
_MOST_AT_LENGTH = 12


class Candidate:
    """A hit with its weight. ``value`` orders; ``score`` is the same, at most 1.0.

    ``wanted`` is what the question wants to know, which a relevance by words is corrected for.
    ``day`` tells when it was made, where that was asked for; ``brief`` keeps it short. ``code`` is
    what became of the code that the memory names, as far as that is known. ``overtaken`` says, once
    it is set, which newer session spoke of the subject, and ``amended_by`` has the ids of newer
    memories that each contradict a part of it, and leave the rest.
    """

    def __init__(
        self,
        *,
        hit: Hit,
        weight: float,
        kind: IntentType | None,
        clean: Callable[[str], str],
        wanted: frozenset[str] = frozenset(),
        day: str = "",
        brief: bool = False,
        code: CodeState | None = None,
    ) -> None:
        self.hit = hit
        self.day = day
        self.brief = brief
        self.memory = hit.memory
        self.weight = weight
        read = hit.by_words is not None
        self.relevance = (
            hit.relevance if read else adjust_for_answer_type(hit.relevance, wanted, hit.memory)
        )
        self.value = self.relevance * weight
        self.score = min(1.0, self.value)
        self.code = code
        self.otherwise = NOT_DENIED
        self.overtaken = ""
        self.amended_by = ""
        self._kind = kind
        self._clean = clean

    def stand_in_for(self, older: Candidate) -> None:
        """Be at least as relevant as ``older``, which it contradicts: who asks for that needs this.

        "ArgoCD is gone, we use Flux" answers how a release gets into production.
        """
        self.relevance = max(self.relevance, older.relevance)
        self.value = max(self.value, older.value)
        self.score = max(self.score, older.score)

    @cached_property
    def text(self) -> str:
        return self._clean(self.memory.content)[:_READ_CHARS].strip()

    @cached_property
    def summary(self) -> str:
        return preview(self._clean(self.memory.summary), _SUMMARY_CHARS)

    @cached_property
    def since(self) -> str:
        """What became of it and of its code since it was kept, in a few words; "" for nothing."""
        resolved = RESOLVED if is_closed_since(self.memory) else ""
        amended = f"partly outdated by {self.amended_by}" if self.amended_by else ""
        said = (resolved, self.overtaken, amended, self._clean(remark(self.code)))
        return ", ".join(filter(None, said))

    @property
    def gone(self) -> str | None:
        """Why there is nothing left of what it is about, if so."""
        reason = gone_reason(self.code)
        return self._clean(reason) if reason else None

    @property
    def merit(self) -> str:
        if self.day:
            return f"looked up, not searched for: it was made on {self.day}"
        plain = f"relevance {self.relevance:.2f}"
        by_words = self.hit.relevance if self.hit.by_words is None else self.hit.by_words
        if self.relevance != by_words:
            plain += f", {by_words:.2f} by its words alone"
        if self.hit.instead_of:
            plain += f", of {self.hit.instead_of}, which it replaced"
        if self._kind is None or self.weight == 1.0:
            return plain
        kind, namespace = self._kind.value, self.memory.namespace
        return f"{plain}; × {self.weight:g}, the weight of {namespace} for the intent {kind}"


def denied(candidate: Candidate) -> str:
    """Which sentence of which file contradicts it, in words; "" for none."""
    other = candidate.otherwise
    if not other.file:
        return ""
    return f"{other.file} says otherwise: {preview(other.sentence, _SUMMARY_CHARS)}"


def notes(candidate: Candidate, instructed: Instructed) -> tuple[Note, ...]:
    """The memory at length, in its own lines, where its score earns it; and as a preview."""
    candidate.otherwise = instructed.otherwise(candidate.memory.content)
    text = candidate.text
    note = partial(
        note_of,
        candidate.memory,
        since=candidate.since,
        day=candidate.day,
        denied_by=candidate.otherwise.file,
    )
    if len(text) <= SHORT_CHARS:
        return (note(text),)
    short = note(preview(text, SHORT_CHARS))
    if candidate.brief or candidate.score < LONG_SCORE:
        return (short,)
    return (note(cut(text, LONG_CHARS)), short)


def weigh(
    event: IntentClassified, settings: SearchIntentSettings, clean: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """Every hit of ``event`` with its weight, best first; ``clean`` redacts a text of the store."""
    if event.enriched.looked_up:
        return tuple(_looked_up(event, clean))
    kind = event.intent.intent_type if event.intent else None
    wanted = answer_types(event.enriched.parsed.text, kind)
    candidates = (
        Candidate(
            hit=hit,
            weight=weight(kind, hit.memory.namespace, settings.weights),
            kind=kind,
            clean=clean,
            wanted=wanted,
            code=event.enriched.code.get(hit.memory.id),
        )
        for hit in event.enriched.candidates
    )
    return tuple(sorted(candidates, key=lambda c: (-c.value, -c.hit.order, c.memory.id)))


def bearing_on(event: IntentClassified, clean: Callable[[str], str]) -> tuple[Candidate, ...]:
    """What bears on the work that the prompt orders, as relevant as that or as it was found."""
    found = {hit.memory.id: hit.relevance for hit in event.enriched.candidates}
    return tuple(
        Candidate(
            hit=Hit.unsearched(one.memory, max(one.relevance, found.get(one.memory.id, 0.0))),
            weight=1.0,
            kind=None,
            clean=clean,
            code=event.enriched.code.get(one.memory.id),
        )
        for one in event.enriched.bearing
    )


def _looked_up(event: IntentClassified, clean: Callable[[str], str]) -> Iterator[Candidate]:
    """What was looked up by its time, in the order in which it was found; many are kept short."""
    enriched, span = event.enriched, event.enriched.span
    zone = span.since.tzinfo if span else None
    brief = len(enriched.candidates) > _MOST_AT_LENGTH
    for hit in enriched.candidates:
        yield Candidate(
            hit=hit,
            weight=1.0,
            kind=None,
            clean=clean,
            day=f"{hit.memory.created_at.astimezone(zone):%Y-%m-%d}",
            brief=brief,
            code=enriched.code.get(hit.memory.id),
        )


def weight(intent: IntentType | None, namespace: str, weights: WeightSettings) -> float:
    """How much ``namespace`` counts for this kind of question; 1.0 where nothing is said."""
    if intent is None:
        return 1.0
    table: Mapping[str, float] = getattr(weights, intent.value)
    return table.get(namespace, 1.0)


# --- what is said of the code that a memory names -------------------------------------------------

_MAX_NAMED = 2
_MAX_CHARS = 60


class _Unchecked:
    """Knows nothing of any code."""

    async def check(
        self, memories: Iterable[Memory], place: Place, *, patience_s: float = 0.0
    ) -> Mapping[str, CodeState]:
        return {}


UNCHECKED: Code = _Unchecked()


def remark(code: CodeState | None) -> str:
    """What changed since the memory was kept, in a few words; "" where nothing is to be said.

    "src/auth.py (refresh) changed, src/old.py is gone and 2 more".
    """
    if code is None or code.state != "changed":
        return ""
    changed = [one for one in code.anchors if one.state in {"changed", "gone"}]
    said = ", ".join(
        f"{place(one)} {'changed' if one.state == 'changed' else 'is gone'}"
        for one in changed[:_MAX_NAMED]
    )
    more = len(changed) - _MAX_NAMED
    return f"{said} and {more} more" if more > 0 else said


def gone_reason(code: CodeState | None) -> str | None:
    """Why a memory is left out, if there is nothing left of what it is about."""
    if code is None or code.state != "gone":
        return None
    gone = [place(one) for one in code.anchors if one.state == "gone"]
    more = f" and {len(gone) - _MAX_NAMED} more" if len(gone) > _MAX_NAMED else ""
    return f"the code it is about is gone: {', '.join(gone[:_MAX_NAMED])}{more}"


def place(one: AnchorState) -> str:
    """Where it was, in a line: "src/auth.py (Session.refresh)". A memory may name anything."""
    path = label(one.path, _MAX_CHARS, from_end=True)
    return f"{path} ({label(one.symbol, _MAX_CHARS)})" if one.symbol else path
