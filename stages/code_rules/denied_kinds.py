"""What a memory speaks against by its kind: any new dependency, what is personal in a log line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise

from msgspec import Struct

from ..actions.written import LOG_CALL, NEW_DEPENDENCY, Written
from ..rules.claims import READ_CHARS, RULE_FORMS
from ..rules.denied_files import PathPattern, sentence_of

_FORMS = RULE_FORMS["kinds"].forms
_FEWEST_KINDS = 2
_SAYS, _PARTS = RULE_FORMS["data"]
_MANAGERS = RULE_FORMS["managers"].words


class NewDependency(Struct, frozen=True):
    """Any library that is added, within ``places`` if any; of the ``managers`` alone, if any."""

    managers: frozenset[str]
    places: tuple[PathPattern, ...]
    is_for_runtime: bool

    name: str = ""
    key: str = NEW_DEPENDENCY

    def is_used_by(self, written: Written) -> bool:
        """Whether it adds a library."""
        if not written.new_packages or (self.is_for_runtime and _is_for_development(written)):
            return False
        said = "\n".join((written.path, written.said)).casefold()
        if written.path and self.places and not any(one.holds(written.path) for one in self.places):
            return False
        return not self.managers or any(manager in said for manager in self.managers)


class LoggedData(Struct, frozen=True):
    """Names that have one of ``parts`` in them, which are not to be given to a logger."""

    parts: frozenset[str]

    name: str = ""
    key: str = LOG_CALL

    def is_used_by(self, written: Written) -> bool:
        """Whether a new call of a logger is given one of them."""
        return any(self._tells(line, written.removed) for line in written.log_calls)

    def _tells(self, call: str, before: str) -> bool:
        if _FORMS["masked"].search(call):
            return False
        return bool(self.parts & (_parts_of(call) - _parts_of(before)))


def _parts_of(code: str) -> set[str]:
    """The parts of the names in ``code``, one and two of them together; no plain strings."""
    found: set[str] = set()
    for name in _FORMS["identifier"].findall(_FORMS["plain_string"].sub(" ", code)):
        parts = [part.casefold() for part in _FORMS["part"].findall(name)]
        found.update(parts, map("".join, pairwise(parts)))
    return found


def _is_for_development(written: Written) -> bool:
    return (
        _FORMS["for_development"].search("\n".join((*written.commands, written.added))) is not None
    )


def kinds_against(text: str) -> Iterator[NewDependency | LoggedData]:
    """The kinds of things that the memory ``text`` speaks against."""
    text = text[:READ_CHARS]
    for form in (_FORMS["dependency"], _FORMS["asked_before"]):
        yield from (_dependency(text, found) for found in form.finditer(text))
    if _FORMS["logs"].search(text) and (parts := _logged(text)):
        yield LoggedData(parts)


def _dependency(text: str, found: re.Match[str]) -> NewDependency:
    said = text[slice(*sentence_of(text, *found.span()))].casefold()
    folders = (PathPattern(one, existing=False) for one in _FORMS["in_folder"].findall(said))
    return NewDependency(_managers(found[0].casefold()), tuple(folders), "runtime" in said)


def _managers(said: str) -> frozenset[str]:
    """What is said in the commands and the files of gems, of crates, or what else is spoken of."""
    of_kinds = (
        managers
        for kind, managers in _MANAGERS.items()
        if f" {kind}" in f" {said}" or any("." in one and one in said for one in managers)
    )
    return frozenset(chain.from_iterable(of_kinds))


def _logged(text: str) -> frozenset[str]:
    """The parts of names of what is not to be logged."""
    parts: set[str] = set()
    for found in _FORMS["not_logged"].finditer(text):
        what = found["what"] or found["before"]
        kinds = {kind for kind, says in _SAYS.items() if says.search(what)}
        if len(kinds) >= _FEWEST_KINDS or (kinds and _FORMS["logs"].search(found[0])):
            parts.update(chain.from_iterable(_PARTS[kind] for kind in kinds))
    return frozenset(parts)
