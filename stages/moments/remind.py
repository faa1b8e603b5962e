"""Remind of memories about a file that was just changed; in most cases there are none.

A memory may be about the very file, because it was captured with it or names it; about a folder
that it lies in; about a symbol of it; or about its subject, by the words of the path or those of
the change. Only the last is searched for, and has the relevance that the search gives it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice

import anyio
from msgspec.structs import replace

from ...bus.events import Event, ToolUsed
from ...bus.signals import degraded, emit
from ...bus.values import COMMAND_TOOL, Hit, Memory, Query, Value
from ...config.patterns import regex
from ...config.settings import ToolSettings
from ..language.topics import find_entities
from ..language.words import word_list
from ..ports import Catalogue, Recall, Sessions
from ..text.envelope import neutralise, preview
from ..text.paths import concerns, seen_from, shortened, way_out
from .names import GENERIC_FOLDERS, GENERIC_STEMS, PATH, is_about_folder, is_generic, mentions
from .reminder import (
    NOTHING_KNOWN,
    KnownAtAct,
    RatedHit,
    ReminderContext,
    abstain,
    build_reminder,
    check_code,
)

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
_MOST_FOLDERS = 12


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
        rated = await _gather(event, subjects, recall, catalogue)
    except ConnectionError:
        emit(degraded, "remind", reason="search.unavailable")
        return (abstain(event, "remind", "search_unavailable"),)
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
        rated,
        sessions=sessions,
        now=now,
        clean=clean,
        code=await check_code(known.code, rated, event, settings.min_similarity),
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
) -> list[RatedHit]:
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
    return gathering.rated


class _Gathering:
    """Collects the results of several tasks, and failures, which a task group would wrap."""

    def __init__(self, event: ToolUsed, recall: Recall, catalogue: Catalogue) -> None:
        self.rated: list[RatedHit] = []
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
            self.rated += [rate(Hit.unsearched(one), subject, self._tops) for one in near]

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
                one = rate(hit, subject, self._tops, what if is_fit(hit.memory, words) else "")
                self.rated += [one] if one.hit.relevance else []


def rate(hit: Hit, subject: Subject, tops: Sequence[str], what: str = "") -> RatedHit:
    """``hit`` with the best reason that there is to bring it up; it fits by ``what``, if by any."""
    best = (hit.relevance, f"matches {what}") if what else (0.0, "names another file")
    for reason in _reasons(hit, subject, tops):
        best = max(best, reason)
    relevance, why = best
    return RatedHit(
        replace(hit, relevance=relevance), f"{why} ({subject.path}), relevance {relevance:.2f}"
    )


def _reasons(hit: Hit, subject: Subject, tops: Sequence[str]) -> Iterator[tuple[float, str]]:
    content = hit.memory.content[:_READ_CHARS]
    for provenance in (hit.memory.provenance, *hit.memory.sources):
        file = shortened(seen_from(tops, provenance.file))
        if how := NAMES_PATH if file == subject.path else _same(file, subject):
            yield how, "was captured with the file"
    named = _mentioned(content.casefold(), subject.name.casefold())
    for path in islice(named, _MOST_MENTIONS):
        if how := _same(path, subject):
            yield how, "names the file"
    if is_about_folder(content, subject.folders):
        yield NAMES_FOLDER, "is about the folder"
    if any(_mentions(content, name) for name in subject.defined):
        yield NAMES_DEFINED, "names a symbol of the file"
    if hit.relevance >= _ALIKE and any(_mentions(content, name) for name in subject.used):
        yield NAMES_USED, "names a symbol that was changed"


def _same(path: str, subject: Subject) -> float:
    """How sure it is that ``path``, as a memory gives it, is the subject's file; 0.0 for not."""
    ours = subject.path.casefold().split("/")
    theirs = path.casefold().removeprefix("./").lstrip("~/").split("/")
    common = min(len(ours), len(theirs))
    if ours[-common:] != theirs[-common:]:
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
    return " ".join(_PARTS.findall(f"{text} {' '.join(tags)}")).casefold()


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


# --- what a changed file is about -----------------------------------------------------------------


MAX_TERMS = 6
MAX_WORDS = 10
MAX_SYMBOLS = 16

_SUBJECT_CHARS = 4_000
_FULL = {
    "auth": "authentication",
    "authn": "authentication",
    "authz": "authorization",
    "db": "database",
    "i18n": "internationalization",
    "k8s": "kubernetes",
    "perf": "performance",
}
_KEYWORDS = word_list("keywords")
_PARTS = regex(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+|[^\W\d_a-zA-Z]+")
_DEFINED = regex(
    r"\b(?:def|class|func|function|fn|struct|enum|interface|trait|type|module|defmodule|const|let"
    r"|var|object|record|table)\s{1,4}([A-Za-z_][\w.]{2,80})"
)
_WORD = regex(r"[^\W\d]\w{1,60}")
_HUMP = regex(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")


class Subject(Value, frozen=True, kw_only=True):
    """What a change is about.

    ``path`` is relative to the project where the file is in it, with ``/`` between its parts;
    ``outside`` is as ``way_out`` gives it, and ``folders`` are the names of those that it lies in,
    folded.
    ``terms`` are the words of the path, ``words`` those that the change uses most. ``defined`` and
    ``used`` are identifiers that are unlikely to be met elsewhere by chance: the module and what
    the change defines in it, and what else it mentions.
    """

    path: str
    name: str
    folders: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    defined: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    outside: str = ""

    @property
    def is_distinctive(self) -> bool:
        """Whether the name alone tells which file is meant: "jwt.py" does, "index.ts" does not."""
        return "." in self.name and not is_generic(self.name.casefold())


def subject_of(path: str, text: str, *, tops: Sequence[str] = (), folder: str = "") -> Subject:
    """The subject of a change of ``path``, of which ``text`` is what was written.

    ``tops`` and ``folder`` are as ``seen_from`` takes them.
    """
    seen = seen_from(tops, path, folder)
    inside = shortened(seen)
    own = frozenset(_words(tops[0].rstrip("/").rpartition("/")[2] if tops else ""))
    read = text[:_SUBJECT_CHARS]
    found = Counter(_WORD.findall(read))
    defined = tuple(_defined(inside, read))
    return Subject(
        path=inside,
        name=inside.rpartition("/")[2],
        folders=tuple(inside.casefold().split("/")[:-1][-_MOST_FOLDERS:]),
        terms=tuple(_terms(inside, own))[:MAX_TERMS],
        words=tuple(_most_used(found, own)),
        defined=defined[:MAX_SYMBOLS],
        used=tuple(name for name in found if _is_distinctive(name) and name not in defined)[
            :MAX_SYMBOLS
        ],
        outside=way_out(seen),
    )


def _terms(path: str, own: frozenset[str]) -> Iterator[str]:
    """The telling words of ``path``, the file's name first; ``own`` are the project's name.

    A technology in the file's name is what the file is about, and stands alone.
    """
    *folders, name = path.split("/")
    stem = name.lstrip(".").partition(".")[0]
    named = [] if stem.casefold() in GENERIC_STEMS else _words(stem)
    if known := [one.value for one in find_entities(" ".join(named)) if one.kind == "technology"]:
        return iter(known)
    said = dict.fromkeys(named)
    for folder in reversed(folders):
        if folder.casefold() not in GENERIC_FOLDERS and not folder.startswith("."):
            said.update(dict.fromkeys(_words(folder)))
    for word in own:
        said.pop(word, None)
    return iter(said | {_FULL[word]: None for word in said if word in _FULL})


def _most_used(found: Counter[str], own: frozenset[str]) -> Iterator[str]:
    """The words that identifiers and prose are made of, the most frequent first."""
    words: Counter[str] = Counter()
    for name, count in found.items():
        for word in _words(name):
            if len(word) > 2 or not word.isascii():
                words[word] += count
    telling = (word for word, _ in words.most_common() if word not in _KEYWORDS | own)
    for word, _ in zip(telling, range(MAX_WORDS), strict=False):
        yield word


def _words(name: str) -> list[str]:
    """The parts of an identifier, lower-cased: "jwtHandler_v2" is jwt, handler and v2."""
    parts = (part.casefold() for part in _PARTS.findall(name))
    return [part for part in parts if len(part) > 1 or not part.isascii()]


def _defined(path: str, text: str) -> dict[str, None]:
    module = path.rpartition("/")[2].partition(".")[0]
    names = (name.rpartition(".")[2] for name in _DEFINED.findall(text))
    return {name: None for name in (module, *names) if _is_distinctive(name)}


def _is_distinctive(name: str) -> bool:
    """Whether an identifier is made of several words: "verify_token", "parseRows"."""
    return len(name) > 5 and not name.startswith("__") and _HUMP.search(name) is not None
