"""Remind of memories about a file that was just changed; in most cases there are none.

A memory may be about the very file, because it was captured with it or names it; about a folder
that it lies in; about a symbol of it; or about its subject, by the words of the path or those of
the change. Only the last is searched for, and has the relevance that the search gives it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from ...bus.anchors import CodeState
from ...bus.events import Event, ToolUsed
from ...bus.signals import degraded, emit
from ...bus.values import COMMAND_TOOL, Hit, Memory, Query
from ...config.settings import ToolSettings
from ..ports import Catalogue, Recall, Sessions
from ..text.envelope import neutralise, preview
from ..text.paths import concerns, seen_from, shortened
from .names import PATH, is_about_folder, mentions
from .reminder import (
    NOTHING_KNOWN,
    KnownAtAct,
    RatedHit,
    ReminderContext,
    abstain,
    build_reminder,
    check_code,
)
from .subject import PARTS, Subject, subject_of

NAMES_PATH = 0.95
"""The relevance of a memory that names the file with its folder, or was captured with it,"""
NAMES_FILE = 0.85
"""that names it by its own name alone, where that is no name that many files have,"""
NAMES_FOLDER = 0.8
"""that is about a folder which the file lies in,"""
NAMES_DEFINED = 0.75
"""that names the module or a symbol which the change defines,"""
NAMES_USED = 0.65
"""and one which the change uses, where the words are alike as well."""

MAX_FILES = 20
MAX_SEARCHED = 3

_FOUND = 8
_LEAST = 0.05
_ALIKE = 0.2
_READ_CHARS = 4000
_STEM, _ENDING, _LONG = 5, 3, 7
_MOST_PATH_CHARS = 200
_MOST_MENTIONS = 32


async def remind(
    event: ToolUsed,
    *,
    recall: Recall,
    catalogue: Catalogue,
    sessions: Sessions,
    settings: ToolSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
    known: KnownAtAct = NOTHING_KNOWN,
) -> tuple[Event, ...]:
    """The answer to a tool that changed files: at most ``max_results`` memories about them.

    None twice in one context: what is shown is noted in ``sessions``.
    """
    subjects = _subjects(event)
    if not subjects or not settings.max_results:
        return (abstain(event, "remind", "no_subject"),)
    try:
        found = await _gather(event, subjects, recall, catalogue)
    except ConnectionError:
        emit(degraded, "remind", reason="search.unavailable")
        return (abstain(event, "remind", "search_unavailable"),)
    rated = [one.rated for one in found]
    code = await check_code(known.code, rated, event, settings.min_similarity)
    names = ", ".join(dict.fromkeys(subject.name for subject in subjects))
    heading = f"Related memories for {neutralise(preview(names, 80))}:"
    return build_reminder(
        ReminderContext(
            event=event,
            stage="remind",
            hook="PostToolUse",
            heading=heading,
            floor=settings.min_similarity,
            most=settings.max_results,
        ),
        [_rated_by_code(one, event.place.tops, code) for one in found],
        sessions=sessions,
        now=now,
        clean=clean,
        code=code,
        learned=known.learned,
    )


def _subjects(event: ToolUsed) -> list[Subject]:
    """What the files are about that were changed, each with what was written into it."""
    if event.action.tool == COMMAND_TOOL:
        return []
    tops = event.place.tops
    folder = seen_from(tops, event.action.directory)
    return [
        subject_of(path, action.text, tops=tops, folder=folder)
        for action in event.action.by_file()
        for path in action.paths
    ][:MAX_FILES]


async def _gather(
    event: ToolUsed, subjects: Sequence[Subject], recall: Recall, catalogue: Catalogue
) -> list[_Found]:
    """What is known about the ``subjects``, by the files' names and by every search for them."""
    gathering = _Gathering(event, recall, catalogue)
    async with anyio.create_task_group() as group:
        for subject in subjects:
            group.start_soon(gathering.look_up, subject)
        for subject in subjects[:MAX_SEARCHED]:
            group.start_soon(gathering.search, subject.terms, "its path", subject, _speaks_of)
            words = subject.words
            group.start_soon(gathering.search, words, "what was changed", subject, _has_words)
    if gathering.failures:
        raise gathering.failures[0]
    return gathering.found


class _Found(NamedTuple):
    """A memory as it was found for a subject, and its rating; it fits by ``what``, if by any."""

    hit: Hit
    subject: Subject
    what: str
    rated: RatedHit


class _Gathering:
    """Collects the results of several tasks, and failures, which a task group would wrap."""

    def __init__(self, event: ToolUsed, recall: Recall, catalogue: Catalogue) -> None:
        self.found: list[_Found] = []
        self.failures: list[ConnectionError] = []
        self._scopes = event.place.readable
        self._tops = event.place.tops
        self._recall = recall
        self._catalogue = catalogue

    async def look_up(self, subject: Subject) -> None:
        names = (subject.name, *(f"{folder}/" for folder in dict.fromkeys(subject.folders)))
        try:
            found = [await self._catalogue.naming(name, self._scopes) for name in names]
        except ConnectionError as unavailable:
            self.failures.append(unavailable)
        else:
            memories = {memory.id: memory for some in found for memory in some}.values()
            near = (one for one in memories if concerns(one, subject.outside))
            self.found += [self._rated(Hit.unsearched(one), subject) for one in near]

    async def search(
        self,
        words: Sequence[str],
        what: str,
        subject: Subject,
        is_fit: Callable[[Memory, Sequence[str]], bool],
    ) -> None:
        query = Query(text=" ".join(words), scopes=self._scopes, limit=_FOUND, min_relevance=_LEAST)
        try:
            hits = (await self._recall.recall(query)).hits if words else ()
        except ConnectionError as unavailable:
            self.failures.append(unavailable)
        else:
            for hit in (one for one in hits if concerns(one.memory, subject.outside)):
                one = self._rated(hit, subject, what if is_fit(hit.memory, words) else "")
                self.found += [one] if one.rated.hit.relevance else []

    def _rated(self, hit: Hit, subject: Subject, what: str = "") -> _Found:
        return _Found(hit, subject, what, rate(hit, subject, self._tops, what))


def _rated_by_code(found: _Found, tops: Sequence[str], code: Mapping[str, CodeState]) -> RatedHit:
    """The rating of ``found``, now that it is known which of the files that it names are there."""
    known = code.get(found.hit.memory.id)
    anchors = known.anchors if known is not None else ()
    there = [one.path for one in anchors if one.state in {"unchanged", "changed"} and not one.now]
    return rate(found.hit, found.subject, tops, found.what, there) if there else found.rated


def rate(
    hit: Hit, subject: Subject, tops: Sequence[str], what: str = "", there: Sequence[str] = ()
) -> RatedHit:
    """``hit`` with the best reason that there is to bring it up; it fits by ``what``, if by any.

    ``there`` are files that the memory names, as far as it is known where they are.
    """
    best = (hit.relevance, f"matches {what}") if what else (0.0, "names another file")
    for reason in _reasons(hit, subject, tops, there):
        best = max(best, reason)
    relevance, why = best
    return RatedHit(
        replace(hit, relevance=relevance), f"{why} ({subject.path}), relevance {relevance:.2f}"
    )


def _reasons(
    hit: Hit, subject: Subject, tops: Sequence[str], there: Sequence[str]
) -> Iterator[tuple[float, str]]:
    content = hit.memory.content[:_READ_CHARS]
    for provenance in (hit.memory.provenance, *hit.memory.sources):
        file = shortened(seen_from(tops, provenance.file))
        if how := NAMES_PATH if file == subject.path else _same(file, subject, there):
            yield how, "was captured with the file"
    named = _mentioned(content.casefold(), subject.name.casefold())
    for path in islice(named, _MOST_MENTIONS):
        if how := _same(path, subject, there):
            yield how, "names the file"
    if is_about_folder(content, subject.folders):
        yield NAMES_FOLDER, "is about the folder"
    if any(_mentions(content, name) for name in subject.defined):
        yield NAMES_DEFINED, "names a symbol of the file"
    if hit.relevance >= _ALIKE and any(_mentions(content, name) for name in subject.used):
        yield NAMES_USED, "names a symbol that was changed"


def _same(path: str, subject: Subject, there: Sequence[str]) -> float:
    """How sure it is that ``path``, as a memory gives it, is the subject's file; 0.0 for not.

    Where it is one of those ``there``, it is no other file that is called so.
    """
    ours = subject.path.casefold().split("/")
    theirs = path.casefold().removeprefix("./").lstrip("~/").split("/")
    common = min(len(ours), len(theirs))
    if ours[-common:] != theirs[-common:]:
        return 0.0
    known = [one for one in there if one.casefold().split("/")[-len(theirs) :] == theirs]
    if known and subject.path not in known:
        return 0.0
    if common > 1:
        return NAMES_PATH
    return NAMES_FILE if subject.is_distinctive else 0.0


def _speaks_of(memory: Memory, terms: Sequence[str]) -> bool:
    """Whether ``memory`` has one of the ``terms`` of a path, in any form: "port" for "ports"."""
    return _forms(tuple(terms)).search(_said(memory.content, memory.tags)) is not None


@lru_cache(maxsize=64)
def _forms(terms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(_form, terms))})\b")


def _form(term: str) -> str:
    if len(term) <= _ENDING:
        return term
    return rf"{term.removesuffix('s')[: max(_STEM, len(term) - _ENDING)]}\w{{0,{_ENDING}}}"


def _has_words(memory: Memory, words: Sequence[str]) -> bool:
    """Whether ``memory`` has two of the ``words`` of a change as they stand, or a long one.

    What code says with one short word (name, strip, connect) prose says of anything.
    """
    shared = frozenset(_said(memory.content, memory.tags).split()).intersection(words)
    return len(shared) > 1 or any(len(word) >= _LONG for word in shared)


@lru_cache(maxsize=512)
def _said(content: str, tags: tuple[str, ...]) -> str:
    """The words of a memory beside the paths that it names: it is about these files alone.

    The same few memories are found again and again. About 2 MB.
    """
    text = PATH.sub(" ", content[:_READ_CHARS])
    return " ".join(PARTS.findall(f"{text} {' '.join(tags)}")).casefold()


def _mentioned(text: str, name: str) -> Iterator[str]:
    """The paths in ``text`` that end in ``name``."""
    at = text.find(name)
    while at >= 0:
        after = text[at + len(name) : at + len(name) + 1]
        if not (after.isalnum() or after in {"_", "-"}):
            start = at
            while start > max(0, at - _MOST_PATH_CHARS) and _is_of_path(text[start - 1]):
                start -= 1
            yield text[start:at] + name
        at = text.find(name, at + 1)


def _is_of_path(character: str) -> bool:
    return character.isalnum() or character in "_./~-"


def _mentions(text: str, name: str) -> bool:
    return mentions(text, name, joins="_/")
