"""Choose among candidates: relevant, in force, new to the session, distinct and within budget.

A pure helper of ``inject``; it knows nothing of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from functools import cached_property, partial
from itertools import groupby, islice

from msgspec import Struct

from ...bus.anchors import CodeState
from ...bus.prompts import IntentType
from ...bus.values import Hit, Memory
from ..language.answer_type import adjust_for_answer_type
from ..statements.comparison import Claim, Relation, claim_of, says_same
from ..text.envelope import Note, enclose, note_of, preview, quote
from ..text.unicode import Size, cut, size_of
from .code_states import gone_reason, remark
from .instructions import NOT_DENIED, NOTHING_KNOWN, Instructed, Known
from .usefulness import BURIED, Learned, moved


class Budget(Struct, frozen=True):
    """What a text may cost, in estimated tokens and in UTF-16 units."""

    tokens: int
    units: int

    def covers(self, size: Size) -> bool:
        return self.tokens >= size.tokens and self.units >= size.units


class Offer:
    """A memory that may be packed, and what it is worth.

    ``write`` gives its notes, the longest first; it is called once, and only where they are needed.
    """

    def __init__(self, id: str, value: float, write: Callable[[], tuple[Note, ...]]) -> None:  # noqa: A002 - the name a memory gives it
        self.id = id
        self.value = value
        self._write = write

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        return self._write()


class Packed(Struct, frozen=True):
    """The notes packed, most valuable first, their envelope, and why the others stayed out."""

    ids: tuple[str, ...]
    text: str
    tokens: int
    refused: dict[str, str]


def pack(offers: Sequence[Offer], *, ceiling: int, budget: Budget, now: datetime) -> Packed:
    """Pack at most ``ceiling`` of ``offers`` (most valuable first) into ``budget``.

    The best ``ceiling`` compete by value per token and the others stand in where one of them did
    not fit. What does not fit is skipped; a shorter note of it is tried first.
    """
    packer = _Packer(budget, now)
    refused: dict[str, str] = {}
    for offer in _by_density(offers, ceiling, packer):
        if len(packer.notes) >= ceiling:
            refused[offer.id] = f"over the ceiling of {ceiling}"
        elif not packer.take(offer):
            refused[offer.id] = "does not fit into what is left of the budget"
    return packer.close(offers, refused)


def _by_density(offers: Sequence[Offer], ceiling: int, packer: _Packer) -> list[Offer]:
    def density(offer: Offer) -> float:
        return offer.value / max(1, packer.quoted(offer.notes[0]).size.tokens)

    return [*sorted(offers[:ceiling], key=density, reverse=True), *offers[ceiling:]]


class _Quoted(Struct, frozen=True):
    """A note as it stands in the envelope, and what it adds to one."""

    lines: tuple[str, ...]
    size: Size


class _Packer:
    """One envelope being filled."""

    def __init__(self, budget: Budget, now: datetime) -> None:
        self.notes: dict[str, _Quoted] = {}
        self._budget = budget
        self._now = now
        self._size = size_of(enclose(()))
        self._quoted: dict[int, _Quoted] = {}

    def quoted(self, note: Note) -> _Quoted:
        known = self._quoted.get(id(note))
        if known is None:
            lines = tuple(quote(note, now=self._now))
            known = _Quoted(lines, size_of("".join(f"\n{line}" for line in lines)))
            self._quoted[id(note)] = known
        return known

    def take(self, offer: Offer) -> bool:
        for note in offer.notes:
            quoted = self.quoted(note)
            if self._budget.covers(self._size + quoted.size):
                self.notes[offer.id] = quoted
                self._size += quoted.size
                return True
        return False

    def close(self, offers: Sequence[Offer], refused: dict[str, str]) -> Packed:
        """Put what was taken into one envelope, in the order of its value."""
        ids = tuple(offer.id for offer in offers if offer.id in self.notes)
        if not ids:
            return Packed((), "", 0, refused)
        text = enclose(line for id_ in ids for line in self.notes[id_].lines)
        return Packed(ids, text, self._size.tokens, refused)


# --- choosing -------------------------------------------------------------------------------------


SHORT_CHARS = 200
LONG_CHARS = 1000

LONG_SCORE = 0.8
"""From this score on a memory is given at length, where there is room."""

# So many more than the ceiling compete, in place of those that say the same or do not fit.
_SPARE = 5
# So many of the best are searched for contradictions, which takes some 10 µs a pair. What is not
# relevant enough to be shown may still be the newer word on what is.
_MOST_COMPARED = 20
_LEAST_COMPARED = 0.02
# Of those that share words with an older one so many are compared with it, the newest first: in a
# store of near duplicates there is no end of them.
_MOST_RIVALS = 3
_SUMMARY_CHARS = 100
_READ_CHARS = 2000


class Candidate:
    """A hit with its weight. ``value`` orders; ``score`` is the same, at most 1.0.

    ``wanted`` is what the question wants to know, which a relevance by words is corrected for.
    ``day`` tells when it was made, where that was asked for; ``brief`` keeps it short. ``code`` is
    what became of the code that the memory names, as far as that is known.
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
        return self._clean(remark(self.code))

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
        if self._kind is None or self.weight == 1.0:
            return plain
        return f"{plain}, and {self.memory.namespace} count {self.weight:g} for {self._kind.value}"


class Choice(Struct, frozen=True):
    """What was chosen, best first, the text it makes, and a word on every candidate, by id.

    ``already_shown``, ``instructed`` and ``over_budget`` tell whether a memory stayed out only
    because the session had seen it, because the agent's own files say it, or for lack of room.
    """

    chosen: tuple[Candidate, ...]
    text: str
    tokens: int
    why: dict[str, str]
    already_shown: bool
    over_budget: bool
    instructed: bool = False


def choose(
    candidates: Sequence[Candidate],
    *,
    floor: float,
    beside: float,
    shown: frozenset[tuple[str, int]],
    ceiling: int,
    budget: Budget,
    now: datetime,
    known: Known = NOTHING_KNOWN,
) -> Choice:
    """Choose at most ``ceiling`` of ``candidates`` (best first) whose envelope ``budget`` covers.

    Nothing is chosen unless one reaches ``floor``; beside that one, others are from ``beside`` on,
    since a question that has an answer is likelier to have a second. A floor holds for the
    relevance itself as well as for the weighted score: a weight may push a memory out, and never
    lifts an irrelevant one in. Of two that contradict each other the newer is kept, even where it
    was shown before and brings nothing, and as relevant as the older; of two that say the same, the
    better. What is ``known`` of their use moves the floors, where there are any, and decides
    between two of equal value. What the agent's own files instruct it anyway brings nothing.
    """
    learned, instructed = known.learned, known.instructed
    shifts = {c.memory.id: learned.shift(c.memory.id) if floor else 0.0 for c in candidates}
    why = {c.memory.id: _merit(c, shifts[c.memory.id]) for c in candidates}
    wanted = _keep(candidates, why, lambda c: BURIED if learned.is_buried(c.memory.id) else None)
    current = _keep(wanted, why, lambda c: _stale(c, now))
    newer = _replaced(current, min(floor, beside))
    current = list(_by_use(sorted(current, key=lambda c: -c.value), learned))
    answered = any(_irrelevant(c, floor, shifts[c.memory.id]) is None for c in current)
    least = beside if answered else floor
    fit = _keep(current, why, lambda c: _irrelevant(c, least, shifts[c.memory.id]))
    why |= {old: f"contradicted by {new}, which is newer" for old, new in newer.items()}
    in_force = [c for c in fit if c.memory.id not in newer]
    seen = {c.memory.id: c.memory.seen_key in shown for c in in_force}
    fresh = [c for c in in_force if not seen[c.memory.id]]
    why |= {id_: "already shown in this session" for id_, was in seen.items() if was}
    best, rest = fresh[: ceiling + _SPARE], fresh[ceiling + _SPARE :]
    why |= {c.memory.id: f"over the ceiling of {ceiling}" for c in rest}
    news = _keep(best, why, lambda c: instructed.refusal(c.memory.content))
    offers = [
        Offer(c.memory.id, c.value, partial(_notes, c, instructed)) for c in _distinct(news, why)
    ]
    packed = pack(offers, ceiling=ceiling, budget=budget, now=now)
    by_id = {c.memory.id: c for c in fresh}
    why |= {id_: f"{why[id_]}; {said}" for id_ in packed.ids if (said := _denied(by_id[id_]))}
    return Choice(
        chosen=tuple(by_id[id_] for id_ in packed.ids),
        text=packed.text,
        tokens=packed.tokens,
        why=why | packed.refused,
        already_shown=len(fresh) < len(in_force),
        over_budget=bool(news) and not packed.ids,
        instructed=len(news) < len(best),
    )


def _replaced(candidates: Sequence[Candidate], floor: float) -> dict[str, str]:
    """What newer candidates contradict of those that may be shown; they stand in for those."""
    best = {c.memory.id: c for c in candidates if c.relevance >= _LEAST_COMPARED}
    compared = [c.memory for c in islice(best.values(), _MOST_COMPARED)]
    asked = {id_ for id_, c in best.items() if c.relevance >= floor}
    newer = contradicted(compared, asked=asked) if asked else {}
    if newer:  # what stands in may be contradicted itself
        newer = contradicted(compared, asked=asked | set(newer.values()))
    for old, new in newer.items():
        best[new].stand_in_for(best[old])
    return newer


def adds_nothing(weaker: Candidate, better: Candidate) -> bool:
    """Tell whether ``weaker`` says the same as ``better``, by their hashes or their words."""
    if weaker.memory.content_hash and weaker.memory.content_hash == better.memory.content_hash:
        return True
    return says_same(weaker.memory.content, better.memory.content)


def contradicted(memories: Iterable[Memory], *, asked: Set[str] | None = None) -> dict[str, str]:
    """The id of each memory that a newer one of them contradicts, and that one's id.

    Of two of the same time the one with the later id is the newer. With ``asked``, of those ids.
    """
    in_force: dict[str, Claim] = {}
    found: dict[str, str] = {}
    for memory in sorted(memories, key=lambda one: (one.updated_at, one.id), reverse=True):
        claim = claim_of(memory.content)
        is_asked = asked is None or memory.id in asked
        if is_asked and (other := _first_rival(in_force, claim)):
            found[memory.id] = other
        else:
            in_force[memory.id] = claim
    return found


def _first_rival(newer: Mapping[str, Claim], older: Claim) -> str | None:
    """Which of the first that speak of the same as ``older`` contradicts it."""
    told = ((id_, found) for id_, one in newer.items() if (found := one.bearing(older)))
    rivals = islice(told, _MOST_RIVALS)
    return next((id_ for id_, found in rivals if found is not Relation.DIFFERENT), None)


def _keep(
    candidates: Iterable[Candidate], why: dict[str, str], refuse: Callable[[Candidate], str | None]
) -> list[Candidate]:
    """The candidates that are not refused; ``why`` gets the reasons for the others."""
    kept = []
    for candidate in candidates:
        if refusal := refuse(candidate):
            why[candidate.memory.id] = refusal
        else:
            kept.append(candidate)
    return kept


def _stale(candidate: Candidate, now: datetime) -> str | None:
    memory = candidate.memory
    if memory.superseded_by:
        return f"superseded by {memory.superseded_by}"
    if memory.valid_to is not None and memory.valid_to <= now:
        return f"valid only until {memory.valid_to:%Y-%m-%d}"
    return candidate.gone


def _merit(candidate: Candidate, shift: float) -> str:
    changed = moved(shift)
    return f"{candidate.merit}; floor {changed}" if changed else candidate.merit


def _by_use(candidates: Iterable[Candidate], learned: Learned) -> Iterator[Candidate]:
    """``candidates`` in their order; of those of equal value, the likelier to help first."""
    for _, equal in groupby(candidates, lambda c: c.value):
        yield from sorted(equal, key=lambda c: -learned.mean(c.memory.id))


def _irrelevant(candidate: Candidate, floor: float, shift: float) -> str | None:
    floor, changed = floor + shift, moved(shift)
    because = f", {changed}" if changed else ""
    if candidate.relevance < floor:
        return f"relevance {candidate.relevance:.2f} is below the floor of {floor:.2f}{because}"
    if candidate.score < floor:
        namespace = candidate.memory.namespace
        return f"{namespace} count {candidate.weight:g}, which puts it below {floor:.2f}{because}"
    return None


def _distinct(candidates: Iterable[Candidate], why: dict[str, str]) -> list[Candidate]:
    kept: list[Candidate] = []
    for candidate in candidates:
        duplicated = next((better for better in kept if adds_nothing(candidate, better)), None)
        if duplicated is None:
            kept.append(candidate)
        else:
            why[candidate.memory.id] = f"says the same as {duplicated.memory.id}"
    return kept


def _denied(candidate: Candidate) -> str:
    """Which sentence of which file contradicts it, in words; "" for none."""
    other = candidate.otherwise
    return (
        f"{other.file} says otherwise: {preview(other.sentence, _SUMMARY_CHARS)}" if other else ""
    )


def _notes(candidate: Candidate, instructed: Instructed) -> tuple[Note, ...]:
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
