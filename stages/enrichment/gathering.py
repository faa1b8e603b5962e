"""Search for what bears on a prompt: memories, and what was said in sessions.

Each search notes what it finds in one ``Gathered``; they run at once.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import anyio
import msgspec
from msgspec import Struct

from ...bus.enrichment import Bearing, Guide
from ...bus.events import PromptParsed
from ...bus.prompts import ProjectFacts, Retrospect, Span
from ...bus.sessions import SessionHit
from ...bus.signals import degraded, emit
from ...bus.values import Hit, Kept, Query
from ..language.questions import asking_part
from ..language.topics import names_a_subject, retrieval_words
from ..language.words import shares_term
from ..ports import Conversations, Recall
from .assemble import MIN_RELEVANCE
from .hindsight import Hindsight, find_span, recollect
from .matching import Subject

SEARCH_UNAVAILABLE = "search.unavailable"

_MOST_REFERENCED = 10
_OF_A_PART = 0.5


class Gathered(Struct):
    """The results of the tasks. ``kept`` has a slot for each marker, in the prompt's order."""

    kept: list[Kept | None]
    candidates: tuple[Hit, ...] = ()
    project: ProjectFacts = ProjectFacts()
    existing: tuple[str, ...] = ()
    subject: Subject | None = None
    guides: tuple[Guide, ...] = ()
    referenced: tuple[Hit, ...] = ()
    sessions: tuple[SessionHit, ...] = ()
    looked_up: bool = False
    span: Span | None = None
    broken: tuple[Bearing, ...] = ()
    needed: tuple[Bearing, ...] = ()
    degraded: tuple[str, ...] = ()


async def look_back(
    event: PromptParsed,
    asked: Retrospect,
    hindsight: Hindsight,
    recall: Recall,
    conversations: Conversations | None,
    query: Query,
    gathered: Gathered,
) -> None:
    """Gather what was said at the time that the prompt asks about."""
    try:
        if asked.subject:
            gathered.span = await find_span(asked, event.prompt, hindsight, recall)
            await _recall(event, recall, _within(query, gathered.span), gathered)
            if gathered.span is not None and not gathered.candidates:
                await _recall(event, recall, query, gathered)
            return
        found = await recollect(
            asked,
            event.prompt,
            hindsight,
            recall=recall,
            conversations=conversations,
            limit=query.limit,
            dates=event.parsed.incident_dates,
        )
    except ConnectionError:
        _note_unavailable(gathered)
        return
    gathered.candidates = tuple(Hit.unsearched(memory, 1.0) for memory in found.memories)
    gathered.sessions, gathered.span = found.sessions, found.span


def _within(query: Query, span: Span | None) -> Query:
    if span is None:
        return query
    last = span.until - timedelta(microseconds=1)  # a query includes it
    return msgspec.structs.replace(query, since=span.since, until=last)


def _note_unavailable(gathered: Gathered) -> None:
    gathered.degraded = (SEARCH_UNAVAILABLE,)
    emit(degraded, "enrich", reason=SEARCH_UNAVAILABLE)


async def recall_prompt(
    event: PromptParsed, recall: Recall, query: Query, gathered: Gathered
) -> None:
    """Recall for the prompt, or for each of its parts.

    A subject that it names leads, and the prompt before it only adds: of what is found for both
    those count that speak of the subject. If none does, the subject alone is searched for.
    """
    if event.parsed.parts and query.asked:
        await _recall_parts(event, recall, query, gathered)
        return
    await _recall(event, recall, query, gathered)
    subject = event.parsed.subject
    if not subject:
        return
    folded = [word.casefold() for word in subject]
    about = tuple(hit for hit in gathered.candidates if shares_term(hit.memory, folded))
    if any(hit.relevance >= MIN_RELEVANCE for hit in about):
        gathered.candidates = about
        return
    alone = msgspec.structs.replace(
        query, text=" ".join(subject), asked=event.parsed.text if query.asked else ""
    )
    await _recall(event, recall, alone, gathered)


async def _recall_parts(
    event: PromptParsed, recall: Recall, query: Query, gathered: Gathered
) -> None:
    """Recall for each part of the prompt at once; each memory is as relevant as to the best.

    Several parts have several times as many candidates, so what is found for less than the whole
    has to be at least ``_OF_A_PART`` relevant.
    """
    found = {part: Gathered(kept=[]) for part in event.parsed.parts}
    async with anyio.create_task_group() as group:
        for part, one in found.items():
            text = " ".join(retrieval_words(part)) or part
            asked = msgspec.structs.replace(query, text=text, asked=part)
            group.start_soon(_recall, event, recall, asked, one)
    hits = [
        hit
        for part, one in found.items()
        for hit in one.candidates
        if part == event.parsed.question or hit.relevance >= _OF_A_PART
    ]
    best: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda one: -one.relevance):
        best.setdefault(hit.memory.id, hit)
    gathered.candidates = tuple(best.values())[: query.limit]
    gathered.degraded = next((one.degraded for one in found.values() if one.degraded), ())


async def _recall(event: PromptParsed, recall: Recall, query: Query, gathered: Gathered) -> None:
    if event.parsed.machine or not query.text:
        return
    try:
        recalled = await recall.recall(query)
    except ConnectionError:
        _note_unavailable(gathered)
        return
    gathered.candidates = recalled.hits
    gathered.degraded = (recalled.degraded,) if recalled.degraded else ()


async def search_sessions(
    event: PromptParsed, conversations: Conversations, gathered: Gathered
) -> None:
    """Search earlier sessions for what was said about the subject of the prompt."""
    if event.parsed.machine or not names_a_subject(event.parsed.text):
        return
    prompt = event.prompt
    with suppress(ConnectionError):  # the recall reports it
        gathered.sessions = await conversations.find(
            asking_part(event.parsed.text), prompt.place, session=prompt.session
        )


async def search_references(event: PromptParsed, recall: Recall, gathered: Gathered) -> None:
    """Search for what the prompt refers back to, by the names in its references."""
    about = " ".join(dict.fromkeys(one.about for one in event.parsed.references if one.about))
    if not about:
        return
    query = Query(text=about, scopes=event.prompt.place.readable, limit=_MOST_REFERENCED)
    with suppress(ConnectionError):  # the main recall reports it
        gathered.referenced = (await recall.recall(query)).hits
