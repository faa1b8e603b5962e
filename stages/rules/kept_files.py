"""The files that a memory says are not to go, and those that change together.

"src/legacy/feed.py looks dead, the importer loads it by name" is broken by its removal, "rates live
in a.py and b.ts, touch both" by a change of one of them alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from msgspec import Struct

from ..actions.written import Written, squeezed, stems
from .claims import READ_CHARS, RULE_FORMS, cues_in
from .denied_files import MOST_WILD, PathPattern, sentence_of

_FORMS, _WORDS = RULE_FORMS["kept_files"]
_PAIR_FORMS, _PAIR_WORDS = RULE_FORMS["paired_files"]
_MOST_PLACES = 4
_NEAR_BEFORE, _NEAR_BEHIND = 40, 250
_LEAST_CHARS = 4


class KeptFile(Struct, frozen=True):
    """A file or folder that is not to be removed or moved, by its path or by its name alone."""

    path: PathPattern

    def keys(self) -> Iterator[str]:
        """What a command has to name: the file, or the folder it is in."""
        parts = [part for part in self.path.path.casefold().split("/") if part]
        yield from (f"file {part}" for part in (*parts[-2:-1], self.path.key))

    def goes_with(self, path: str) -> bool:
        """Whether it is gone when what is at ``path`` is."""
        kept = self.path.path.strip("/").casefold()
        return self.path.holds(path) or kept.startswith(path.strip("/").casefold() + "/")


class PairedFiles(Struct, frozen=True, dict=True):
    """What is written down in several ``places``, files or ``names`` in code, and changes in all.

    It is changed where a line has another literal than before; in a file that is not called after
    it, the line has to share a word with what is ``said``.
    """

    places: tuple[PathPattern, ...]
    names: tuple[str, ...]
    said: frozenset[str]

    def keys(self) -> Iterator[str]:
        """The files, or the names if it is in no file."""
        yield from (f"file {place.key}" for place in self.places)
        yield from (f"name {name.casefold().rpartition('.')[2]}" for name in self.names)

    def is_parted_by(self, written: Written, paths: Collection[str]) -> bool:
        """Whether ``written`` changes it in one place, and none of ``paths`` is another."""
        if not self.places:
            return self._is_set_alone(written)
        here = [place for place in self.places if place.holds(written.path)]
        if len(here) != 1 or not self._is_changed(written):
            return False
        if any(place.holds(path) for place in self.places if place not in here for path in paths):
            return False
        return not any(_names(written.added, name) for name in self.names)

    def _is_changed(self, written: Written) -> bool:
        """Whether a literal of it is another; what is only added has to be about it by itself."""
        before, after = (_literals(code) for code in (written.removed, written.added))
        lines = stems(f"{written.removed}\n{written.added}") - stems(written.path)
        files = [place.path for place in self.places] if before - after else [written.path]
        names = " ".join(_PAIR_FORMS["folder"].sub("", path) for path in files)
        about = lines | (stems(names) - _PAIR_WORDS["common"])
        return before != after and bool(after) and bool(_singular(about) & _singular(self.said))

    def _is_set_alone(self, written: Written) -> bool:
        set_here = [name for name in self.names if _is_set(written.added, name)]
        return bool(set_here) and not all(_names(written.added, name) for name in self.names)


def files_kept(text: str) -> Iterator[KeptFile]:
    """The files that the memory ``text`` says are not to be removed."""
    text = text[:READ_CHARS]
    if cues_in(text).isdisjoint(_WORDS["cues"]) or not _FORMS["keep"].search(text):
        return
    for path in _paths_kept(text):
        pattern = PathPattern(path, existing=True)
        if pattern.key and path.count("*") <= MOST_WILD:
            yield KeptFile(pattern)


def _paths_kept(text: str) -> Iterator[str]:
    for found in _FORMS["path"].finditer(text):
        near = max(0, found.start() - _NEAR_BEFORE), found.end() + _NEAR_BEHIND
        if _FORMS["keep"].search(text, *near):
            path = found["path"].strip("/.")
            owner = _FORMS["owner"].match(text, found.end())
            yield f"{owner['of']}/{path}" if owner else path
    if _FORMS["looks_dead"].search(text):
        yield from (f"{name}.*" for name in _FORMS["name"].findall(text))


def files_removed(command: str) -> Iterator[str]:
    """The files that the single ``command`` removes or moves, as it names them."""
    if found := _FORMS["removes"].match(command):
        words = command[found.end() :].split()
        paths = [word.strip("'\"") for word in words if not word.startswith("-")]
        yield from paths[:-1] if found["moves"] else paths


def pairs_in(text: str) -> Iterator[PairedFiles]:
    """What the memory ``text`` says is in two places, and has to be changed in both."""
    text = text[:READ_CHARS]
    if cues_in(text).isdisjoint(_PAIR_WORDS["cues"]):
        return
    together = _PAIR_FORMS["together"].search(text)
    if together is None:
        return
    told = together.end()
    begin = sentence_of(text, *together.span())[0]
    for start in (begin, 0):
        places, names = _places_and_names(text[start : sentence_of(text, told, told)[1]])
        if len(places) + len(names) > 1:
            break
    if 1 < len(places) <= _MOST_PLACES:
        names = ()
    if 1 < len(places) + len(names) <= _MOST_PLACES:
        yield PairedFiles(places, names, stems(_PAIR_FORMS["place"].sub(" ", text)))


def _places_and_names(said: str) -> tuple[tuple[PathPattern, ...], tuple[str, ...]]:
    paths = dict.fromkeys(one["path"].strip(".") for one in _PAIR_FORMS["place"].finditer(said))
    places = tuple(PathPattern(path, existing=False) for path in paths if _is_telling(path))
    names = _PAIR_FORMS["name"].findall(_PAIR_FORMS["place"].sub(" ", said))
    return places, tuple(dict.fromkeys(names))


def _is_telling(path: str) -> bool:
    return len(path) > _LEAST_CHARS and path.count("*") <= MOST_WILD


def _singular(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in words)


def _literals(code: str) -> set[str]:
    lines = [line for line in code.split("\n") if not _PAIR_FORMS["checks"].search(line)]
    return set(_PAIR_FORMS["literal"].findall("\n".join(lines)))


def _names(code: str, name: str) -> bool:
    """Whether ``code`` has ``name``, or a class that is called like that table."""
    short = name.rpartition(".")[2]
    return any(squeezed(one) in squeezed(code) for one in (short, short.partition("_")[2]) if one)


def _is_set(code: str, name: str) -> bool:
    short = re.escape(name.rpartition(".")[2])
    return re.search(rf"\b{short}\b[^=\n]{{0,40}}=(?!=)", code) is not None
