"""Gather what is known about a prompt's subject, and settle what the prompt asks to keep."""

from __future__ import annotations

import anyio
import anyio.to_thread
from msgspec import Struct

from ..bus.events import PromptEnriched, PromptParsed
from ..bus.signals import degraded, tell
from ..bus.values import Hit, Kept, Marked, ProjectFacts, Query
from .ports import Keeper, Projects, Recall
from .purpose import least

SEARCH_UNAVAILABLE = "search.unavailable"


async def enrich(
    event: PromptParsed,
    *,
    recall: Recall,
    keeper: Keeper,
    projects: Projects,
    limit: int,
    min_relevance: float = 0.0,
) -> PromptEnriched:
    """Recall twice ``limit`` candidates, keep what is marked and read the project's facts, at once.

    Twice, because weights are applied afterwards and may lift what was found further down. What is
    too irrelevant to reach ``min_relevance`` is fetched only where somebody wants to read why it
    stayed out. A prompt that nobody typed, or without words to search for, recalls nothing, and a
    rehearsal keeps nothing. Where there is nothing to search with, the event says
    ``search.unavailable`` in ``degraded``, and so does the signal of that name.
    """
    gathered = _Gathered(kept=[None] * len(event.parsed.marked))
    query = Query(
        text=event.parsed.query.strip(),
        scopes=event.prompt.place.readable,
        limit=2 * limit,
        min_relevance=0.0 if event.prompt.detailed else least(min_relevance),
    )
    async with anyio.create_task_group() as group:
        group.start_soon(_recall, event, recall, query, gathered)
        group.start_soon(_read_facts, event, projects, gathered)
        for index, marked in enumerate(() if event.prompt.rehearsal else event.parsed.marked):
            group.start_soon(_keep, event, keeper, marked, index, gathered)
    return PromptEnriched(
        trace=event.trace,
        prompt=event.prompt,
        parsed=event.parsed,
        project=gathered.project,
        candidates=gathered.candidates,
        kept=tuple(kept for kept in gathered.kept if kept is not None),
        degraded=gathered.degraded,
    )


class _Gathered(Struct):
    """What the tasks bring in. ``kept`` has a place for each marker, in the prompt's order."""

    kept: list[Kept | None]
    candidates: tuple[Hit, ...] = ()
    project: ProjectFacts = ProjectFacts()
    degraded: tuple[str, ...] = ()


async def _recall(event: PromptParsed, recall: Recall, query: Query, gathered: _Gathered) -> None:
    if event.parsed.machine or not query.text:
        return
    try:
        recalled = await recall.recall(query)
    except ConnectionError:
        gathered.degraded = (SEARCH_UNAVAILABLE,)
        tell(degraded, "enrich", reason=SEARCH_UNAVAILABLE)
        return
    gathered.candidates = recalled.hits
    gathered.degraded = (recalled.degraded,) if recalled.degraded else ()


async def _read_facts(event: PromptParsed, projects: Projects, gathered: _Gathered) -> None:
    # In a thread, and left behind when the deadline passes: a file system may hang.
    gathered.project = await anyio.to_thread.run_sync(
        projects.facts, event.prompt.place.root, abandon_on_cancel=True
    )


async def _keep(
    event: PromptParsed, keeper: Keeper, marked: Marked, index: int, gathered: _Gathered
) -> None:
    gathered.kept[index] = await keeper.keep(marked, prompt=event.prompt, number=index)
