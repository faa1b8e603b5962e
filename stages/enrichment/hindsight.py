"""Looks memories up by when they were made, for a prompt that asks about a time or the whole.

What a span has is taken as it is, newest first; where it has nothing, nothing is found. An event
that a prompt names ("since 2.5.0 went out") happened when a memory says that it did. Of the whole
the most telling memories are taken: used, new or there from the beginning, and on different topics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ...bus.events import PromptSubmitted
from ...bus.prompts import Retrospect, Span, TimeExpression
from ...bus.sessions import SessionHit
from ...bus.values import Memory, Query
from ...config.patterns import regex
from ..language.words import FROM_NOW_ON, STOP_WORDS, words_of
from ..ports import Chronicle, Conversations, Recall
from ..statements.open_work import is_finished_later, is_open
from ..statements.outdated import contradictions
from .time_spans import day_stated, span_of, spans_stated

WORK = ("progress", "tasks")
"""The namespaces that tell where work was left."""

MOST_LEFT_OFF = 4
LEFT_OFF_DAYS = 7
"""What was noted so long before the newest note of work is not where it was left."""

MOST_SESSIONS = 2

OF_THE_WHOLE = {"context": 4, "decisions": 4, "patterns": 2}
"""How many memories of each namespace tell of a project."""

_MOST_READ = 100
# So many of the newest are compared with what tells of the whole.
_MOST_COMPARED = 20
_MOST_EVENTS = 10
_MOST_DATED = 20
_NIGHT = timedelta(days=2)
_RANK_OFFSET = 10
_MOST_TASKS = 50
_HAPPENED = regex(
    r"\b(?:released|roll(?:ed)?[ -]?out|went (?:live|out|operational)|live since|is (?:out|live)"
    r"|operational|shipped|published|deployed|launched|tagged|migrated|done|finished|completed|merged"
    r"|switched|moved|upgraded|happened|broke)\b",
    re.IGNORECASE,
)
_PLANNED = regex(r"\b(?:planned|scheduled|upcoming|will|due|to be|until|before)\b", re.IGNORECASE)
_RELEASED = regex(r"\b(?:releas|version|fw |roll(?:ed)?[ -]?out|live)|\d+\.\d+", re.IGNORECASE)
_VERSION = regex(r"(?<![\w.])[a-z]{0,4}\d+\.\d[\w.]*", re.IGNORECASE)
_SENTENCE = regex(r"(?<=[.;!?])\s+")
_EVENT_WORDS = frozenset(
    "release launch rollout version model firmware golive live operational went released shipped"
    " published deployed out last latest".split()
)
_STEM_CHARS = 5
_DECIDES = regex(
    rf"\b(?:decid|agree|settle|let's (?:use|go|keep|take|do)|instead|{FROM_NOW_ON}|must|never"
    r"|always|no longer|we (?:use|will|go with|keep)|entscheid|entschied|beschlossen|décid)",
    re.IGNORECASE,
)


class Hindsight(Struct, frozen=True):
    """What it takes to look back; ``zone`` is the user's, the system's own where it is None."""

    chronicle: Chronicle
    clock: Callable[[], datetime]
    zone: tzinfo | None = None


class Recollected(Struct, frozen=True):
    """What was found, in the order in which it is to be shown, and the span it is of."""

    memories: tuple[Memory, ...] = ()
    sessions: tuple[SessionHit, ...] = ()
    span: Span | None = None


async def find_span(
    asked: Retrospect, prompt: PromptSubmitted, hindsight: Hindsight, recall: Recall
) -> Span | None:
    """The span that ``asked`` is about; None where it names none, or one that is not known."""
    if not asked.times:
        return None
    events = {}
    for one in asked.times:
        if one.kind == "event" and (moment := await _moment_of(one, prompt, recall)):
            events[one.text] = moment
    return span_of(asked.times, hindsight.clock(), hindsight.zone, events)


async def recollect(
    asked: Retrospect,
    prompt: PromptSubmitted,
    hindsight: Hindsight,
    *,
    recall: Recall,
    conversations: Conversations | None,
    limit: int,
    dates: Sequence[TimeExpression] = (),
) -> Recollected:
    """At most ``limit`` memories, and what was said in sessions, for a prompt without a subject.

    ``dates`` are those of an incident that the prompt asks about.

    Raises ``ConnectionError`` while there is nothing to read.
    """
    if asked.whole:
        return Recollected(memories=await _whole(asked, prompt, hindsight, limit))
    if asked.left_off:
        return await _left_off(prompt, hindsight, conversations)
    span = await find_span(asked, prompt, hindsight, recall)
    if span is None:
        return Recollected()
    told = await _telling_of(dates, asked, span, prompt, hindsight, recall)
    made = await _of_span(asked, span, prompt, hindsight, limit)
    memories = tuple({one.id: one for one in (*told, *made)}.values())[:limit]
    sessions = await _said(asked, span, prompt, conversations)
    return Recollected(memories, sessions, span)


# --- a span ---------------------------------------------------------------------------------------


async def _of_span(
    asked: Retrospect, span: Span, prompt: PromptSubmitted, hindsight: Hindsight, limit: int
) -> tuple[Memory, ...]:
    """The memories of ``span``, the records of tasks that went on in it, and what outdates any."""
    made, scopes = hindsight.chronicle.made, prompt.place.readable
    found = await made(scopes, limit=limit, namespaces=asked.namespaces, within=span)
    if not asked.namespaces or "tasks" in asked.namespaces:
        tasks = await made(scopes, limit=_MOST_TASKS, namespaces=("tasks",))
        known = {memory.id for memory in found}
        went_on = [one for one in tasks if span.since <= one.updated_at < span.until]
        found += tuple(one for one in went_on if one.id not in known)
    if found:
        found = tuple(_with_newer(found, await made(scopes, limit=_MOST_READ)))
    return tuple(sorted(found, key=lambda one: (_moment(one, span), one.id), reverse=True))[:limit]


async def _telling_of(
    dates: Sequence[TimeExpression],
    asked: Retrospect,
    span: Span,
    prompt: PromptSubmitted,
    hindsight: Hindsight,
    recall: Recall,
) -> tuple[Memory, ...]:
    """The memories, whenever they were made, that name the ``dates`` of which the prompt asks."""
    if not dates:
        return ()
    text = " ".join(one.text for one in dates)
    query = Query(text=text, scopes=prompt.place.readable, limit=_MOST_DATED)
    found = (hit.memory for hit in (await recall.recall(query)).hits)
    return tuple(
        memory
        for memory in found
        if (not asked.namespaces or memory.namespace in asked.namespaces)
        and any(
            _is_of(one, span)
            for one in spans_stated(memory.content, memory.created_at, hindsight.zone)
        )
    )


def _is_of(stated: Span, span: Span) -> bool:
    """Whether what is ``stated`` lies in ``span``, but for a night, and is not much longer."""
    longest = max(span.until - span.since, _NIGHT)
    return (
        stated.since < span.until
        and span.since < stated.until
        and stated.until - stated.since <= longest
    )


def _moment(memory: Memory, span: Span) -> datetime:
    """When ``memory`` was made, or where that lies outside of ``span`` when it went on."""
    inside = span.since <= memory.created_at < span.until
    return memory.created_at if inside else memory.updated_at


async def _said(
    asked: Retrospect, span: Span, prompt: PromptSubmitted, conversations: Conversations | None
) -> tuple[SessionHit, ...]:
    """What was said in ``span``; of a question about decisions what the user decided."""
    decisions_alone = asked.namespaces == ("decisions",)
    if conversations is None or (asked.namespaces and not decisions_alone):
        return ()
    hits = await conversations.said(prompt.place, span, session=prompt.session, limit=MOST_SESSIONS)
    return tuple(hit for hit in map(_deciding, hits) if hit.passages) if decisions_alone else hits


def _deciding(hit: SessionHit) -> SessionHit:
    decided = (one for one in hit.passages if one.speaker == "user" and _DECIDES.search(one.text))
    return replace(hit, passages=tuple(decided))


# --- an event -------------------------------------------------------------------------------------


async def _moment_of(
    event: TimeExpression, prompt: PromptSubmitted, recall: Recall
) -> datetime | None:
    """When the event happened that ``event`` names, as a memory tells it; None where none does."""
    versions = [version.lower().lstrip("v") for version in _VERSION.findall(event.text)]
    words = [word for word in words_of(event.text) if word not in _EVENT_WORDS | STOP_WORDS]
    query = Query(text=event.text, scopes=prompt.place.readable, limit=_MOST_EVENTS)
    found = [
        (memory, told)
        for hit in (await recall.recall(query)).hits
        if (memory := hit.memory) and (told := _told(memory, versions, words))
    ]
    if not found:
        return None
    # Of a version the first word of its release, and else the last event of that kind.
    choose = min if versions else max
    memory, told = choose(found, key=lambda pair: pair[0].created_at)
    stated = day_stated(told)
    return stated.replace(hour=12, tzinfo=UTC) if stated else memory.created_at


def _told(memory: Memory, versions: Sequence[str], words: Sequence[str]) -> str:
    """The sentence of ``memory`` that tells of the event, or ""."""
    sentences = _SENTENCE.split(memory.content)
    return next((one for one in sentences if _tells(one.lower(), versions, words)), "")


def _tells(said: str, versions: Sequence[str], words: Sequence[str]) -> bool:
    """Whether ``said`` tells that what has these ``versions`` or ``words`` has happened."""
    if not _HAPPENED.search(said) or _PLANNED.search(said):
        return False
    if versions:
        named = {one.lstrip("v").rstrip(".") for one in _VERSION.findall(said)}
        return not named.isdisjoint(versions)
    if words:
        return all(word[:_STEM_CHARS] in said for word in words)
    return _RELEASED.search(said) is not None


# --- where work was left --------------------------------------------------------------------------


async def _left_off(
    prompt: PromptSubmitted, hindsight: Hindsight, conversations: Conversations | None
) -> Recollected:
    """The newest notes of work that other sessions made, and the end of the newest of those."""
    scopes = (prompt.place.project,)
    found = await hindsight.chronicle.made(scopes, limit=_MOST_TASKS, namespaces=WORK)
    before = [one for one in found if one.provenance.session != prompt.session]
    before.sort(key=lambda one: (one.updated_at, one.id), reverse=True)
    oldest = before[0].updated_at - timedelta(days=LEFT_OFF_DAYS) if before else None
    newest = [one for one in before if oldest and one.updated_at >= oldest][:MOST_LEFT_OFF]
    said: tuple[SessionHit, ...] = ()
    if conversations is not None:
        said = await conversations.said(prompt.place, None, session=prompt.session, limit=1)
    return Recollected(tuple(newest), said)


# --- the whole ------------------------------------------------------------------------------------


async def _whole(
    asked: Retrospect, prompt: PromptSubmitted, hindsight: Hindsight, limit: int
) -> tuple[Memory, ...]:
    made, place = hindsight.chronicle.made, prompt.place
    scopes = place.readable if asked.namespaces else (place.project,)
    namespaces = asked.namespaces or tuple(OF_THE_WHOLE)
    every = await made(scopes, limit=_MOST_READ)
    newest = await made(scopes, limit=_MOST_READ, namespaces=namespaces)
    used = await made(scopes, limit=_MOST_READ, namespaces=namespaces, by_use=True)
    telling = _telling(newest, used)
    if asked.still_open:
        now = hindsight.clock()
        telling = [
            one for one in telling if is_open(one, now) and not is_finished_later(one, newest)
        ]
    if asked.namespaces:
        return tuple(_with_newer(_diverse(telling, limit), every, telling))
    several = (
        _diverse([one for one in telling if one.namespace == namespace], most)
        for namespace, most in OF_THE_WHOLE.items()
    )
    return tuple(_with_newer(list(chain.from_iterable(several)), every, telling))


def _with_newer(
    chosen: Sequence[Memory], newest: Sequence[Memory], others: Sequence[Memory] = ()
) -> list[Memory]:
    """``chosen``, and before each what contradicts it, of whatever namespace and time.

    That was noted of any of the ``newest`` and the ``others``; by their words the first few of both
    are compared.
    """
    ids = {memory.id for memory in chosen}
    linked = [one for one in (*newest, *others) if one.contradicts in ids]
    compared = (*newest[:_MOST_COMPARED], *others[:_MOST_COMPARED])
    every = {one.id: one for one in (*chosen, *linked, *compared)}
    newer = contradictions(every.values())

    def line(id_: str) -> Iterator[str]:
        for other in newer.get(id_, ()):
            yield from line(other)
        yield id_

    found = dict.fromkeys(chain.from_iterable(line(memory.id) for memory in chosen))
    return [every[id_] for id_ in found]


def _telling(newest: Sequence[Memory], used: Sequence[Memory]) -> list[Memory]:
    """Both lists in one order: reciprocal rank fusion of use, newness, and age.

    What is in force from the beginning is what the rest is built on.
    """
    score: dict[str, float] = {}
    for ranking in (newest, newest[::-1], used):
        for rank, memory in enumerate(ranking):
            score[memory.id] = score.get(memory.id, 0.0) + 1 / (_RANK_OFFSET + rank)
    every = {memory.id: memory for memory in (*newest, *used)}
    return sorted(every.values(), key=lambda one: (-score[one.id], one.id))


def _diverse(memories: Sequence[Memory], most: int) -> list[Memory]:
    """The first ``most`` that share the fewest words with those before them."""
    left = [(memory, frozenset((*words_of(memory.content), *memory.tags))) for memory in memories]
    chosen: list[tuple[Memory, frozenset[str]]] = []
    while left and len(chosen) < most:

        def cost(at: int) -> float:
            words = left[at][1]
            shared = (len(words & own) / max(1, min(len(words), len(own))) for _, own in chosen)
            return at / len(memories) + max(shared, default=0.0)

        chosen.append(left.pop(min(range(len(left)), key=cost)))
    return [memory for memory, _ in chosen]
