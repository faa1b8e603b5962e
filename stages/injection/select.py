"""Choose among candidates: relevant, in force, new to the session, distinct and within budget.

A pure helper of ``inject``; it knows nothing of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, groupby, islice

from msgspec import Struct

from ...bus.values import copies
from ..statements.comparison import says_same
from ..statements.outdated import contradictions
from ..statements.remainder import leaves_clause
from .candidate import Candidate, denied, notes
from .instructions import NOTHING_KNOWN, Known
from .pack import Budget, Offer, pack
from .usefulness import BURIED, Learned, moved

# So many more than the ceiling compete, in place of those that say the same or do not fit.
_SPARE = 5
# So many of the best are searched for contradictions, which takes some 10 µs a pair. What is not
# relevant enough to be shown may still be the newer word on what is; what has next to nothing to do
# with the prompt, or is there only where somebody wants an explanation, is not.
_MOST_COMPARED = 20
_LEAST_COMPARED = 0.25
_SAME = "says the same as {}"


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


def nothing(why: dict[str, str]) -> Choice:
    """The choice of nothing, with a word on every candidate."""
    return Choice((), "", 0, why, already_shown=False, over_budget=False)


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
    better, and of copies of one text the project's. What is ``known`` of their use moves the
    floors and decides between two of equal value, but not where there is no floor: what was looked
    up stays in its order. What the agent's own files instruct it anyway brings nothing.
    """
    learned, instructed = known.learned, known.instructed
    shifts = {c.memory.id: learned.shift(c.memory.id) if floor else 0.0 for c in candidates}
    why = {c.memory.id: _merit(c, shifts[c.memory.id]) for c in candidates}
    wanted = _keep(candidates, why, lambda c: BURIED if learned.is_buried(c.memory.id) else None)
    current = _keep(wanted, why, lambda c: _stale(c, now))
    newer = _replaced(current, min(floor, beside), now)
    current = sorted(current, key=lambda c: -c.value)
    if floor:
        current = list(_by_use(current, learned))
    answered = any(_irrelevant(c, floor, shifts[c.memory.id]) is None for c in current)
    least = beside if answered else floor
    fit = _keep(current, why, lambda c: _irrelevant(c, least, shifts[c.memory.id], answered))
    why |= {old: f"contradicted by {new}, which is newer" for old, new in newer.items()}
    in_force = [c for c in fit if c.memory.id not in newer]
    copied = copies(c.memory for c in in_force)
    why |= {id_: _SAME.format(one.id) for id_, one in copied.items()}
    in_force = [c for c in in_force if c.memory.id not in copied]
    digests = {digest for _, digest in shown}
    seen = {c.memory.id: c.memory.seen_key[1] in digests for c in in_force}
    seen |= dict.fromkeys(_beside_outdated(in_force, seen), False)
    fresh = [c for c in in_force if not seen[c.memory.id]]
    why |= {id_: "already shown in this session" for id_, was in seen.items() if was}
    best, rest = fresh[: ceiling + _SPARE], fresh[ceiling + _SPARE :]
    why |= {c.memory.id: f"over the ceiling of {ceiling}" for c in rest}
    news = _keep(best, why, lambda c: instructed.refusal(c.memory.content))
    offers = [
        Offer(c.memory.id, c.value, partial(notes, c, instructed)) for c in _distinct(news, why)
    ]
    packed = pack(offers, ceiling=ceiling, budget=budget, now=now, in_order=not floor)
    by_id = {c.memory.id: c for c in fresh}
    why |= {id_: f"{why[id_]}; {said}" for id_ in packed.ids if (said := denied(by_id[id_]))}
    return Choice(
        chosen=tuple(by_id[id_] for id_ in packed.ids),
        text=packed.text,
        tokens=packed.tokens,
        why=why | packed.refused,
        already_shown=len(fresh) < len(in_force),
        over_budget=bool(news) and not packed.ids,
        instructed=len(news) < len(best),
    )


def _replaced(candidates: Sequence[Candidate], floor: float, now: datetime) -> dict[str, str]:
    """What newer candidates contradict of those that may be shown; they stand in for those.

    Without what they contradict in part: that is shown as well, and says so.
    """
    best = {c.memory.id: c for c in candidates if c.relevance >= _LEAST_COMPARED}
    compared = [c.memory for c in islice(best.values(), _MOST_COMPARED)]
    asked = {id_ for id_, c in best.items() if c.relevance >= floor}
    newer = contradictions(compared, asked=asked, now=now) if asked else {}
    if newer:  # what stands in may be contradicted itself
        asked.update(chain.from_iterable(newer.values()))
        newer = contradictions(compared, asked=asked, now=now)
    for old, news in newer.items():
        older = best[old]
        for new in news:
            best[new].stand_in_for(older)
        if all(leaves_clause(best[new].memory.content, older.memory.content) for new in news):
            older.amended_by = ", ".join(news)
    return {old: news[0] for old, news in newer.items() if not best[old].amended_by}


def _beside_outdated(candidates: Sequence[Candidate], seen: Mapping[str, bool]) -> Iterator[str]:
    """What outdates a part of those that are not ``seen``: it comes beside them, if need be again.

    A session's start may have shown it, long before.
    """
    for candidate in candidates:
        if not seen[candidate.memory.id]:
            yield from (id_ for id_ in candidate.amended_by.split(", ") if id_ in seen)


def adds_nothing(weaker: Candidate, better: Candidate) -> bool:
    """Tell whether ``weaker`` says the same as ``better``, by their hashes or their words."""
    if weaker.memory.content_hash and weaker.memory.content_hash == better.memory.content_hash:
        return True
    return says_same(weaker.memory.content, better.memory.content)


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


def _irrelevant(
    candidate: Candidate, floor: float, shift: float, is_beside: bool = False
) -> str | None:
    floor, changed = floor + shift, moved(shift)
    because = " beside what is shown" * is_beside + (f", {changed}" if changed else "")
    if candidate.relevance < floor:
        return f"relevance {candidate.relevance:.2f} is below the floor of {floor:.2f}{because}"
    if candidate.score < floor:
        weighed = f"relevance {candidate.relevance:.2f} × {candidate.weight:g}"
        of = f"the weight of {candidate.memory.namespace}"
        return f"{weighed}, {of}, is below the floor of {floor:.2f}{because}"
    return None


def _distinct(candidates: Iterable[Candidate], why: dict[str, str]) -> list[Candidate]:
    kept: list[Candidate] = []
    for candidate in candidates:
        duplicated = next((better for better in kept if adds_nothing(candidate, better)), None)
        if duplicated is None:
            kept.append(candidate)
        else:
            why[candidate.memory.id] = _SAME.format(duplicated.memory.id)
    return kept
