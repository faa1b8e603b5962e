"""Bring up what is known about a failure: the blocker it was before, the gotcha, how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from ...bus.events import Event, ToolFailed
from ...bus.signals import degraded, emit
from ...bus.values import Hit, Query
from ...config.settings import FailureSettings
from ..actions.error_lines import salient_lines, salient_terms
from ..injection.usefulness import MOST_LOWERED
from ..language.words import shares_term
from ..ports import Recall, Sessions
from ..text.unicode import one_line
from .names import mentions
from .reminder import (
    NOTHING_KNOWN,
    KnownAtAct,
    RatedHit,
    ReminderContext,
    abstain,
    build_reminder,
    check_code,
)

NAMESPACES = ("blockers", "gotchas", "learnings")
SAME_CODE = 0.75
"""The relevance of a memory that names the code of the error, and what gave it."""

HEADING = "Earlier notes that may be about this failure:"

_FOUND = 8
_FEW_WORDS = 4
_COMMAND_CHARS = 60
_NAME_CHARS = 5
_READ_CHARS = 6_000
_MOST_FURTHER = 3
# Of the address of this machine.
_NO_CODES = frozenset(("127",))


class FailureQuery(Struct, frozen=True):
    """What to search for, and the words of which a memory must have one."""

    text: str
    terms: tuple[str, ...]


async def remedy(
    event: ToolFailed,
    *,
    recall: Recall,
    sessions: Sessions,
    settings: FailureSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
    known: KnownAtAct = NOTHING_KNOWN,
) -> tuple[Event, ...]:
    """The answer to a tool that failed: at most ``max_results`` memories about such a failure.

    Nothing where the output says no more than that it failed. None twice in one context.
    """
    question = failure_query(event)
    if question is None or not settings.max_results:
        return (abstain(event, "remedy", "no_subject"),)
    try:
        rated = await _find(question, event, recall, settings.min_similarity)
    except ConnectionError:
        emit(degraded, "remedy", reason="search.unavailable")
        return (abstain(event, "remedy", "search_unavailable"),)
    return build_reminder(
        ReminderContext(
            event=event,
            stage="remedy",
            hook=event.hook,
            heading=HEADING,
            floor=settings.min_similarity,
            most=settings.max_results,
        ),
        rated,
        sessions=sessions,
        now=now,
        clean=clean,
        code=await check_code(known.code, rated, event, settings.min_similarity),
        learned=known.learned,
    )


async def _find(
    question: FailureQuery, event: ToolFailed, recall: Recall, floor: float
) -> list[RatedHit]:
    """What is known about the failure. Raises ``ConnectionError``.

    What says most loudly that something failed may only say that a step before did ("ld returned 1
    exit status"): where nothing is known of it, the last of the other lines are looked up.
    """
    found: dict[str, RatedHit] = {}
    for asked in (question, *_further_queries(event, question)):
        for one in await _search(asked, event, recall, floor):
            known = found.get(one.hit.memory.id)
            if known is None or known.hit.relevance < one.hit.relevance:
                found[one.hit.memory.id] = one
        if any(one.hit.relevance >= floor for one in found.values()):
            break
    return list(found.values())


async def _search(
    asked: FailureQuery, event: ToolFailed, recall: Recall, floor: float
) -> list[RatedHit]:
    everything = event.detailed or any(map(_is_code, asked.terms))
    query = Query(
        text=asked.text,
        scopes=event.place.readable,
        limit=_FOUND,
        namespaces=NAMESPACES,
        min_relevance=0.0 if everything else max(0.0, floor - MOST_LOWERED),
    )
    hits = (await recall.recall(query)).hits
    return [_rated(hit, asked) for hit in hits if shares_term(hit.memory, asked.terms)]


def _rated(hit: Hit, asked: FailureQuery) -> RatedHit:
    """``hit`` as relevant as its words are, or as sure as the code is that both name."""
    if hit.relevance < SAME_CODE and _names_same(hit.memory.content, asked.terms):
        return RatedHit(
            replace(hit, relevance=SAME_CODE), f"names the same code, relevance {SAME_CODE:.2f}"
        )
    return RatedHit(hit, f"matches the error, relevance {hit.relevance:.2f}")


def _names_same(content: str, terms: Sequence[str]) -> bool:
    """Whether ``content`` has a code of an error, such as 429, and another of its names."""
    folded = content.casefold()
    shared = [term for term in terms if mentions(folded, term, joins="_.-")]
    named = any(len(term) >= _NAME_CHARS and term.isalpha() for term in shared)
    return named and any(map(_is_code, shared))


def _is_code(term: str) -> bool:
    return term.isdigit() and term not in _NO_CODES


def _further_queries(event: ToolFailed, question: FailureQuery) -> Iterator[FailureQuery]:
    """The other lines that tell a failure, each for itself, the last first."""
    lines = event.error[-_READ_CHARS:].split("\n")[::-1]
    told = dict.fromkeys(chain.from_iterable(salient_lines(one, failed=False) for one in lines))
    others = (one for one in told if one not in question.text)
    for line in islice(others, _MOST_FURTHER):
        if terms := salient_terms([line]):
            yield FailureQuery(line, terms)


def failure_query(event: ToolFailed) -> FailureQuery | None:
    """What to search for; None where the failure says nothing that could be known."""
    lines = salient_lines(event.error)
    if lines and sum(len(line.split()) for line in lines) < _FEW_WORDS:
        lines = (*lines, one_line(event.action.text[:_COMMAND_CHARS]))
    terms = salient_terms(lines)
    return FailureQuery("\n".join(lines), terms) if terms else None
