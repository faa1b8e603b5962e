"""The files that a memory says are not to be changed, and the places where other rules hold."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

from msgspec import Struct

from ..actions.reading import without_redirects
from .claims import NEGATIONS, READ_CHARS, RULE_FORMS, cues_in

_DENIALS, _WORDS = RULE_FORMS["files"]
_CUES = NEGATIONS | _WORDS["cues"]
_FORMS = RULE_FORMS["places"].forms

IS_SCOPE = _FORMS["is_scope"]
"""Before a path where a rule holds: "in src/units"."""

PLACE = _FORMS["place"]
"""A file or a folder."""

MOST_WILD, MOST_PATH_CHARS = 3, 300
"""A pattern with more of them is not read."""


class PathPattern(Struct, frozen=True, dict=True):
    """A path, a folder or a pattern; with ``existing`` only files that are there are meant."""

    path: str
    existing: bool

    @property
    def key(self) -> str:
        """The last part of the path that is no pattern; see ``file_keys``.

        Of a pattern with an extension that, with the folder before it: many have the same one.
        """
        *folders, last = [part for part in self.path.casefold().split("/") if part] or [""]
        wild = _FORMS["wild"].search(last)
        if wild is None:
            return last
        folder = next((one for one in reversed(folders) if not _FORMS["wild"].search(one)), "")
        if (extension := last.rpartition(".")[2]).isalnum() and "." in last:
            return f"{folder}/.{extension}" if folder else f".{extension}"
        beginning = last[: wild.start()]
        if len(beginning) > 1 and beginning.endswith("."):
            return beginning[:-1]
        return folder

    @cached_property
    def wilds(self) -> int:
        """How many parts of it are any text."""
        return len(self._form[1])

    @cached_property
    def _form(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Its plain pieces in lower case, and the wild ones between them."""
        path = self.path.lower()
        return tuple(_FORMS["wild"].split(path)), tuple(_FORMS["wild"].findall(path))

    def holds(self, path: str) -> bool:
        """Whether the file at ``path`` is this one, or in it; never where it has too many wilds.

        Each piece is looked for once, from wherever those before it may end: nothing is tried
        again for another way to get there.
        """
        (first, *others), wild = self._form
        path = path[-MOST_PATH_CHARS:].lower()
        if len(wild) > MOST_WILD or not all(piece in path for piece in (first, *others)):
            return False
        begins = (at for at in _found(first, path) if not at or path[at - 1] == "/")
        ends = [at + len(first) for at in begins]
        for piece, gap in zip(others, wild, strict=True):
            ends = [at + len(piece) for at in _found(piece, path) if _reaches(path, ends, at, gap)]
        is_folder = self.path.endswith("/")
        return any(is_folder or path[at : at + 1] in {"", "/"} for at in ends)


def _found(piece: str, path: str) -> Iterator[int]:
    """Where ``piece`` is in ``path``; an empty one is everywhere."""
    at = path.find(piece)
    while at >= 0:
        yield at
        at = path.find(piece, at + 1)


def _reaches(path: str, ends: Sequence[int], at: int, gap: str) -> bool:
    """Whether a ``gap`` from one of the ascending ``ends`` to ``at`` is such a text."""
    before = ends[bisect_right(ends, at) - 1] if ends and ends[0] <= at else None
    return before is not None and (gap == "**" or "/" not in path[before:at])


def files_against(text: str) -> Iterator[PathPattern]:
    """The files that the memory ``text`` says are not to be changed."""
    text = text[:READ_CHARS]
    if cues_in(text).isdisjoint(_CUES):
        return
    commands = [code.span() for code in _FORMS["command"].finditer(text)]
    for found in chain.from_iterable(form.finditer(text) for form in _DENIALS.values()):
        if any(begin < found.start("path") < end for begin, end in commands):
            continue
        path = found["path"].rstrip(".").removeprefix("./").lstrip("/")
        if _FORMS["is_extension"].fullmatch(path) and path != ".env":
            path = f"*{path}"
        elif _FORMS["type_name"].fullmatch(path):
            path = f"{path}.*"
        said = sentence_of(text, *found.span(), ends=_FORMS["sentence_end"])
        file = PathPattern(path, existing=_FORMS["already_there"].search(text, *said) is not None)
        if len(path) > 2 and file.key and file.wilds <= MOST_WILD:
            yield file


def file_keys(paths: Sequence[str]) -> Iterator[str]:
    """The keys that a denied file has which could be one of ``paths``.

    They are the names of file and folders, with fewer and fewer extensions, and each extension,
    also with each folder before it.
    """
    for path in paths:
        parts = path[-MOST_PATH_CHARS:].casefold().split("/")
        for number, part in enumerate(parts):
            extension = "." + part.rpartition(".")[2]
            yield from (part, extension)
            if "." in part:
                yield from (f"{folder}/{extension}" for folder in parts[:number])
            left, dot, _ = part.rpartition(".")
            while dot:
                yield left
                left, dot, _ = left.rpartition(".")


def files_written(command: str) -> Iterator[str]:
    """The files that the single ``command`` may write into, as it names them."""
    command = without_redirects(command)
    yield from _FORMS["redirected"].findall(command)
    words = [word for word in _FORMS["file_word"].findall(command) if "." in word or "/" in word]
    if _FORMS["writes"].match(command):
        yield from words
    elif _FORMS["copies"].match(command):
        yield from words[-1:]


def sentence_of(
    text: str, start: int, end: int, ends: re.Pattern[str] = _FORMS["sentence"]
) -> tuple[int, int]:
    """Where the sentence begins and ends that ``text`` has from ``start`` to ``end``."""
    begin = max((one.end() for one in ends.finditer(text, 0, start)), default=0)
    stop = ends.search(text, end)
    return begin, stop.end() if stop else len(text)


def where_it_holds(
    text: str, names: tuple[int, int], end: int, *, outside: bool = False
) -> tuple[tuple[PathPattern, ...], tuple[PathPattern, ...]]:
    """Where a rule on what ``text`` names holds, if that is said, and where it does not hold.

    ``names`` is the span of what it names, and ``end`` where that ends with all that belongs to it;
    with ``outside``, what follows says where it does not hold.
    """
    within: list[PathPattern] = []
    allowed: list[PathPattern] = []
    sentence = sentence_of(text, names[0], end)
    for place in PLACE.finditer(text):
        path, at = place[0].strip("./"), place.start()
        if not path or names[0] <= at < names[1] or path.count("*") > MOST_WILD:
            continue
        is_behind = end <= at < sentence[1]
        if _is_scope(text, at, sentence, end, outside=outside):
            within.append(PathPattern(path, existing=False))
        elif not (
            _FORMS["told"].match(text, place.end())
            or (is_behind and _FORMS["reason"].search(text, end, at))
        ):
            allowed.append(PathPattern(path, existing=False))
    return tuple(within), tuple(allowed)


def _is_scope(text: str, at: int, sentence: tuple[int, int], end: int, *, outside: bool) -> bool:
    """Whether the rule that ends at ``end`` holds in the place that ``text`` names ``at``."""
    begin, stop = sentence
    if at < end:
        if _FORMS["begins"].search(text[begin if at >= begin else 0 : at]):
            return True
        return at >= begin and IS_SCOPE.search(text, begin, at) is not None
    is_near = at < stop and not _FORMS["apart"].search(text, end, at)
    return is_near and not outside and IS_SCOPE.search(text, end, at) is not None
