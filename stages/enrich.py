"""Gather what memory and project know about a prompt, and store what the prompt marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct

from ..bus.enrichment import GUIDES, Bearing, Enrichment
from ..bus.events import PromptEnriched, PromptParsed
from ..bus.prompts import Marked, Parsed, ProjectFacts, WorkKind
from ..bus.signals import degraded, emit
from ..bus.values import Memory, Query
from ..config.languages import ENGLISH, language_of
from ..config.patterns import regex
from .actions.orders import ORDER_CHARS, read_order
from .breaches.deed import SURE, Deed
from .breaches.triggers import ORDERED, order_keys
from .enrichment.assemble import (
    MIN_RELEVANCE,
    add_for_readers,
    assemble_enrichment,
    conflicts_of,
    relevant,
    with_references,
)
from .enrichment.gathering import (
    Gathered,
    look_back,
    recall_prompt,
    search_references,
    search_sessions,
)
from .enrichment.hindsight import Hindsight
from .enrichment.matching import MOST_BEARING, RELEVANCE, Subject, bearing, gives_work
from .enrichment.order_match import needed_for
from .injection.candidate import UNCHECKED
from .language.answer_type import EXPLORATORY, answer_types, floors
from .language.questions import read_question
from .language.work_kind import primary
from .ports import Catalogue, Code, Conversations, Guides, Keeper, Projects, Recall, Warnings
from .text.envelope import neutralise

_MOST_PATHS = 10
# Without brackets, colons and anything but ASCII there is nothing to neutralise.
_PLAIN = regex(r"[ !-9;=?-Z^-~]*")


class Knowledge(Struct, frozen=True):
    """What enrichment needs beside the candidates; ``clean`` redacts a text of the store.

    ``code`` tells what became of the code that memories name, ``warnings`` which of them state a
    rule.
    """

    guides: Guides
    catalogue: Catalogue
    clock: Callable[[], datetime]
    clean: Callable[[str], str] = str
    code: Code = UNCHECKED
    warnings: Warnings | None = None

    def tidy(self, text: str) -> str:
        """``text`` of the store, fit to be shown."""
        cleaned = self.clean(text)
        return cleaned if _PLAIN.fullmatch(cleaned) else neutralise(cleaned)


def _always(parsed: Parsed) -> bool:
    return True


async def enrich(  # noqa: PLR0913 - one argument for each part that it asks
    event: PromptParsed,
    *,
    recall: Recall,
    keeper: Keeper,
    projects: Projects,
    limit: int,
    min_relevance: float = 0.0,
    knowledge: Knowledge | None = None,
    conversations: Conversations | None = None,
    hindsight: Hindsight | None = None,
    may_search: Callable[[Parsed], bool] = _always,
) -> PromptEnriched:
    """Recall twice ``limit`` candidates, keep what is marked and read the project's facts, at once.

    Twice, because weights are applied afterwards and may lift a lower-ranked candidate. Candidates
    below ``min_relevance`` are fetched only for a detailed answer, which explains why they were
    left out. A machine turn or a prompt without search terms recalls nothing, and a rehearsal
    stores nothing. While search is unavailable, the event's ``degraded`` holds
    ``search.unavailable``, and the signal ``degraded`` is emitted with that reason.

    With ``knowledge`` the event carries the enrichment as well, and what became of the code that
    memories name; the loser of each conflict is dropped from the candidates. Guides are looked up
    for an order, which gets those that bear on it, the rules that it breaks by name and what says
    that such work needs it, and for a detailed answer, whose reader sees more: similar tasks,
    recent work, suggestions, and which of the named files are there. What such a prompt refers back
    to takes a search of its own.

    With ``conversations`` it carries what earlier sessions said about it. With ``hindsight`` a
    prompt that asks about a time or the whole has the memories of that time for candidates, newest
    first; where it asks about a subject as well, those of that time are searched, and all others
    where these hold nothing. Nothing is reranked for a prompt that ``may_search`` says is no
    search, such as an order: none of its candidates is shown.
    """
    gathered = Gathered(kept=[None] * len(event.parsed.marked))
    floor = 0.0 if event.prompt.detailed else min_relevance
    query = _query(event, 2 * limit, floor, reranks=_reranks(event, may_search))
    asked = event.parsed.retrospect if hindsight is not None else None
    gathered.looked_up = asked is not None and not asked.subject
    async with anyio.create_task_group() as group:
        if hindsight is not None and asked is not None:
            group.start_soon(
                look_back, event, asked, hindsight, recall, conversations, query, gathered
            )
        else:
            group.start_soon(recall_prompt, event, recall, query, gathered)
        group.start_soon(_read_project, event, projects, knowledge, gathered)
        if conversations is not None and not gathered.looked_up and _asks_in_words(event.parsed):
            group.start_soon(search_sessions, event, conversations, gathered)
        if knowledge is not None and _refers(event):
            group.start_soon(search_references, event, recall, gathered)
        if knowledge is not None and knowledge.warnings is not None and _may_order(event.parsed):
            group.start_soon(_find_rules, event, knowledge.warnings, gathered)
            group.start_soon(_find_needed, event, knowledge.warnings, knowledge.guides, gathered)
        for index, marked in enumerate(() if event.prompt.rehearsal else event.parsed.marked):
            group.start_soon(_keep, event, keeper, marked, index, gathered)
    enrichment = _enrichment(event, gathered, knowledge) if knowledge else Enrichment()
    about = await _bearing(event, gathered, enrichment, knowledge) if knowledge else ()
    found = (*(hit.memory for hit in gathered.candidates), *(one.memory for one in about))
    lost = {conflict.loser.id for conflict in enrichment.conflicts}
    return PromptEnriched(
        trace=event.trace,
        prompt=event.prompt,
        parsed=event.parsed,
        project=gathered.project,
        enrichment=enrichment,
        bearing=about,
        candidates=tuple(hit for hit in gathered.candidates if hit.memory.id not in lost),
        code=await knowledge.code.check(found, event.prompt.place) if knowledge else {},
        sessions=gathered.sessions,
        looked_up=gathered.looked_up,
        span=gathered.span,
        kept=tuple(kept for kept in gathered.kept if kept is not None),
        degraded=(*gathered.degraded, *gathered.project.degraded),
    )


def _query(event: PromptParsed, limit: int, floor: float, *, reranks: bool) -> Query:
    """What the prompt searches for."""
    wanted = answer_types(event.parsed.text, None)
    return Query(
        text=event.parsed.query.strip(),
        scopes=event.prompt.place.readable,
        limit=limit,
        min_relevance=floor,
        floors=floors(floor, wanted),
        broad=EXPLORATORY in wanted,
        asked=event.parsed.question if reranks else "",
        pasted=event.parsed.pasted,
    )


def _asks_in_words(parsed: Parsed) -> bool:
    """Whether sessions may bear on a prompt: in another language than English on questions alone.

    What an order needs is told by what its words mean, which is known of English words.
    """
    if parsed.retrospect is not None or language_of(parsed.text) == ENGLISH:
        return True
    return read_question(parsed.text) is not None


def _reranks(event: PromptParsed, may_search: Callable[[Parsed], bool]) -> bool:
    """Whether it matters how relevant the candidates are."""
    return event.prompt.detailed or _refers(event) or may_search(event.parsed)


async def _read_project(
    event: PromptParsed, projects: Projects, knowledge: Knowledge | None, gathered: Gathered
) -> None:
    """Read the project's facts, then look up the guides that match them and the prompt."""
    named = event.parsed.entities if event.prompt.detailed else ()
    paths = [entity.value for entity in named if entity.kind == "path"]
    # In a thread, and left behind when the deadline passes: a file system may hang.
    gathered.project, gathered.existing = await anyio.to_thread.run_sync(
        _read, projects, event.prompt.place.root, paths[:_MOST_PATHS], abandon_on_cancel=True
    )
    for reason in gathered.project.degraded:
        emit(degraded, "enrich", reason=reason)
    asked = not event.parsed.machine and event.parsed.query.strip()
    if knowledge is not None and asked and _wants_guides(event):
        await _find_guides(event, knowledge, gathered)


def _read(projects: Projects, root: str, paths: list[str]) -> tuple[ProjectFacts, tuple[str, ...]]:
    return projects.facts(root), projects.existing(root, paths) if paths else ()


def _wants_guides(event: PromptParsed) -> bool:
    """Whether guides matter: to the work that the prompt orders, or to a reader."""
    return event.prompt.detailed or gives_work(event.parsed)


def _refers(event: PromptParsed) -> bool:
    """Whether it matters what the prompt points back at."""
    return _wants_guides(event) and bool(event.parsed.references)


async def _find_guides(event: PromptParsed, knowledge: Knowledge, gathered: Gathered) -> None:
    gathered.subject = Subject(event.parsed, gathered.project)
    with suppress(ConnectionError):  # the recall reports it
        scopes = event.prompt.place.readable
        gathered.guides = await knowledge.guides.find(scopes, gathered.subject.keys())


def _may_order(parsed: Parsed) -> bool:
    return (
        not parsed.machine and not parsed.pasted and primary(parsed.work) is not WorkKind.QUESTION
    )


async def _find_rules(event: PromptParsed, warnings: Warnings, gathered: Gathered) -> None:
    """Find the rules that the order breaks by name, as those of an action are found."""
    deed = Deed(read_order(event.parsed.text))
    keys = sorted(deed.keys())
    try:
        known = await warnings.warning(keys, event.prompt.place.readable) if keys else ()
    except ConnectionError:
        return  # the recall reports it
    told = ((memory, _why_told(deed, memory)) for memory in known)
    gathered.broken = tuple(
        Bearing(memory=memory, relevance=SURE, why=why) for memory, why in told if why
    )[:MOST_BEARING]


async def _find_needed(
    event: PromptParsed, warnings: Warnings, guides: Guides, gathered: Gathered
) -> None:
    """Find the memories that say themselves that such an order needs them."""
    text = event.parsed.text
    try:
        found = await warnings.sharing(
            order_keys(text[:ORDER_CHARS]), event.prompt.place.readable, among=ORDERED
        )
    except ConnectionError:
        return  # the recall reports it
    if not found:
        return
    gathered.needed = tuple(
        Bearing(memory=memory, relevance=probability, why="is to be known before such work")
        for memory, probability in await anyio.to_thread.run_sync(
            needed_for, text, found, guides.cosines
        )
    )[:MOST_BEARING]


def _why_told(deed: Deed, memory: Memory) -> str:
    """Why ``memory`` is to be known before an order is carried out; empty where it need not be."""
    if deed.meets(memory.triggers):
        return "is to be shown before such an action"
    return "states a rule that the order breaks" if deed.breaks(memory.content) else ""


def _enrichment(event: PromptParsed, gathered: Gathered, knowledge: Knowledge) -> Enrichment:
    now = knowledge.clock()
    if gathered.subject is None or not (event.prompt.detailed or _refers(event)):
        conflicts = conflicts_of(gathered.candidates, now, knowledge.tidy)
        return Enrichment(conflicts=conflicts, existing_paths=gathered.existing)
    guides = {guide.memory_id: guide for guide in gathered.guides}
    for hit in gathered.candidates:
        if hit.memory.namespace in GUIDES and hit.relevance >= MIN_RELEVANCE:
            guides.setdefault(hit.memory.id, knowledge.guides.read(hit.memory))
    known = tuple(guides.values())
    made = assemble_enrichment(
        gathered.subject,
        hits=gathered.candidates,
        guides=known,
        near=knowledge.guides.cosines,
        now=now,
        tidy=knowledge.tidy,
    )
    made = with_references(
        made,
        event.parsed,
        hits=(*relevant(gathered.candidates, made), *gathered.referenced),
        guides=known,
        now=now,
        tidy=knowledge.tidy,
    )
    if not event.prompt.detailed:
        return made
    made = add_for_readers(made, hits=gathered.candidates, now=now, tidy=knowledge.tidy)
    rarity = knowledge.guides.rarity(event.parsed.words, event.prompt.place.readable)
    return msgspec.structs.replace(made, existing_paths=gathered.existing, rarity=rarity)


async def _bearing(
    event: PromptParsed, gathered: Gathered, enrichment: Enrichment, knowledge: Knowledge
) -> tuple[Bearing, ...]:
    """What should be known before the work that the prompt orders; () for what is no order."""
    told = _each_once((*gathered.broken, *gathered.needed))
    if gathered.subject is None or not gives_work(event.parsed):
        return told
    found = bearing(gathered.subject, gathered.guides, enrichment.resolved_references)
    try:
        memories = await knowledge.catalogue.fetch(list(found), event.prompt.place.readable)
    except ConnectionError:
        return told  # the recall reports it
    others = (
        Bearing(memory=memory, relevance=RELEVANCE, why=found[memory.id]) for memory in memories
    )
    return _each_once((*told, *others))


def _each_once(found: Iterable[Bearing]) -> tuple[Bearing, ...]:
    """The first of ``found``, of each memory what came first."""
    first: dict[str, Bearing] = {}
    for one in found:
        first.setdefault(one.memory.id, one)
    return tuple(first.values())[:MOST_BEARING]


async def _keep(
    event: PromptParsed, keeper: Keeper, marked: Marked, index: int, gathered: Gathered
) -> None:
    gathered.kept[index] = await keeper.keep(marked, prompt=event.prompt, number=index)
