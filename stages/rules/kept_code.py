"""The code and the numbers that a memory asks for, so that they are not to be taken away.

"Models must be extra="ignore"" is broken by a line that had it and has it no longer, "batches of
200 are the sweet spot" by a line on batches that had 200 and has another number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Literal

from msgspec import Struct

from ..actions.written import TOKEN, Written, stems
from .claims import READ_CHARS, RULE_FORMS, cues_in
from .denied_files import PLACE, PathPattern, where_it_holds
from .kept_values import KeptValue, packed

_FORMS, _WORDS = RULE_FORMS["asked"]
_CUES = _WORDS["cues"]
_UNITS = _WORDS["units"]
_SYNONYMS = {"chunk": "batch"}
_LEAST_CHARS = 4
_SHORT_NUMBER = 2
_LEAST_SHARED = 2
_NEAR = 30

Direction = Literal["up", "down", "any"]

_MOVES: dict[Direction, re.Pattern[str]] = {
    "up": _FORMS["up"],
    "down": _FORMS["down"],
    "any": _FORMS["any"],
}


class KeptCode(Struct, frozen=True, dict=True):
    """A piece of ``code`` that is asked for, and not to be replaced within ``places`` if any.

    What is said to ``stay`` is not to be taken away without anything in its place either. A
    setting is meant only where the path or the line shares a word with what is ``said`` of it.
    """

    code: str
    places: tuple[PathPattern, ...]
    stays: bool
    said: frozenset[str]

    def keys(self) -> Iterator[str]:
        """What an action has to take away; see ``Written.changes``."""
        yield f"gone {max(TOKEN.findall(self.code), key=len, default='').casefold()}"

    @cached_property
    def _form(self) -> re.Pattern[str]:
        before = r"(?<!\w)" if self.stays else r"(?<![\w.])"
        return re.compile(rf"{before}{re.escape(self.code)}(?!\w)")

    def is_lost_by(self, written: Written) -> bool:
        """Whether ``written`` takes it away."""
        if not (written.added or self.stays) or not _is_at(self.places, written.path):
            return False
        lines = [line for line in written.removed.split("\n") if self._form.search(packed(line))]
        if not any(self._is_about(f"{written.path} {line}") for line in lines):
            return False
        new = packed(written.added)
        return not (self._form.search(new) or all(word in new for word in self.code.split()))

    def _is_about(self, line: str) -> bool:
        return not (self.said and _FORMS["setting"].search(self.code)) or bool(
            self.said & (stems(line) - stems(self.code))
        )


class KeptNumber(Struct, frozen=True, dict=True):
    """A number that a setting is to have, or that is not to be exceeded ("up", "down").

    A line is about it that shares a word with its sentence, ``said``; of a number of more than one
    digit it may be with the rest of the memory, ``about``. An option of a command is meant that
    shares a word with what stands ``near`` the number; it may be called as one of ``options``.
    The ``others`` of the same sentence may be what it has elsewhere: "1 in CI and 0 local".
    """

    value: str
    direction: Direction
    said: frozenset[str]
    about: frozenset[str]
    others: frozenset[str]
    near: frozenset[str]
    options: frozenset[str]
    places: tuple[PathPattern, ...]

    def keys(self) -> Iterator[str]:
        """What an action has to take away, or to name."""
        yield f"gone {self.value}"
        yield from (f"name {option}" for option in self.options)

    def is_lost_by(self, written: Written) -> bool:
        """Whether ``written`` has another number in its place."""
        return self._is_replaced(written) or any(map(self._is_passed_to, written.commands))

    def _is_replaced(self, written: Written) -> bool:
        if not written.added or not _is_at(self.places, written.path):
            return False
        new = _numbers(written.added)
        if self.value in new:
            return False
        lines = [line for line in written.removed.split("\n") if self.value in _numbers(line)]
        is_about = any(self._is_about(stems(line)) for line in lines)
        if self.value.count(".") > 1:  # a version that can hardly be another's
            is_about = bool(lines) or (bool(self.places) and not _numbers(written.removed))
        return is_about and (not new or any(map(self._is_past, new)))

    def _is_about(self, words: frozenset[str]) -> bool:
        about = self.said if len(self.value) < _SHORT_NUMBER else self.about
        return bool(_alike(words) & about)

    def _is_passed_to(self, command: str) -> bool:
        """Whether ``command`` gives another number to an option that is called like it."""
        if len(_alike(stems(command)) & self.about) < _LEAST_SHARED:
            return False
        return any(
            _alike(stems(found["name"])) & self.near and self._is_past(_plain(found["value"]))
            for found in _FORMS["option"].finditer(command)
        )

    def _is_past(self, value: str) -> bool:
        old, new = (tuple(map(int, one.split("."))) for one in (self.value, value))
        if self.direction == "any":
            return old != new and value not in self.others
        return new > old if self.direction == "up" else new < old


def code_kept(text: str) -> Iterator[KeptCode | KeptNumber | KeptValue]:
    """The code and the numbers that the memory ``text`` asks for."""
    text = text[:READ_CHARS]
    if cues_in(text).isdisjoint(_CUES):
        return
    yield from _told_later(text)
    begin = 0
    for end in chain((one.end() for one in _FORMS["end"].finditer(text)), (len(text),)):
        yield from _codes(text, begin, end)
        yield from _numbers_kept(text, begin, end)
        begin = end


def _told_later(text: str) -> Iterator[KeptCode]:
    """The code before "leave it" or "that line has to stay", whatever is said of it."""
    told = _FORMS["told_later"].search(text)
    if told is None:
        return
    for found in _FORMS["code"].finditer(text, 0, told.start()):
        code = _without_arguments(packed(found["code"] or found["plain"]).strip())
        if len(code) >= _LEAST_CHARS and _FORMS["is_code"].fullmatch(code):
            yield KeptCode(code, _places(text, found.span()), stays=True, said=frozenset())


def _codes(text: str, begin: int, end: int) -> Iterator[KeptCode | KeptValue]:
    for found in _FORMS["code"].finditer(text, begin, end):
        code = _without_arguments(packed(found["code"] or found["plain"]).strip())
        if len(code) < _LEAST_CHARS or not _FORMS["is_code"].fullmatch(code):
            continue
        stays = _FORMS["stays_after"].match(text, found.end()) is not None
        if stays or _is_asked_for(text, begin, found.span(), end):
            said = stems(_FORMS["code"].sub(" ", text[begin : found.start()])) - _UNITS
            places = _places(text, found.span())
            yield KeptCode(code, places, stays, said)
            if setting := _FORMS["is_setting"].fullmatch(code):
                yield KeptValue("keep", setting["key"], setting["value"], places, sure=False)
    for found in _FORMS["stays_on"].finditer(text, begin, end):
        word = packed(found["word"])
        is_plain = _FORMS["number"].search(word) is None
        said = stems(text[begin : found.start()]) - _UNITS if is_plain else frozenset[str]()
        yield KeptCode(word, _places(text, found.span()), stays=False, said=said)


def _is_asked_for(text: str, begin: int, names: tuple[int, int], end: int) -> bool:
    """Whether the sentence from ``begin`` to ``end`` asks for what it ``names``."""
    before = text[begin : names[0]]
    clause = _FORMS["clause"].split(before)[-1]
    if _FORMS["denied"].search(clause) or _FORMS["denied_after"].match(text, names[1], end):
        return False
    is_preferred = _FORMS["preferred"].match(text, names[1]) is not None
    return is_preferred or _FORMS["asked"].search(before) is not None


def _without_arguments(code: str) -> str:
    """The name of a call, unless its arguments are literal."""
    call = _FORMS["call"].fullmatch(code)
    return call["name"] if call else code


def _places(text: str, names: tuple[int, int]) -> tuple[PathPattern, ...]:
    """Where it is asked for; "`local_day()` in core/days.py" is where it is defined."""
    if _FORMS["home"].match(text, names[1]):
        return ()
    return where_it_holds(text, names, names[1])[0]


def _numbers_kept(text: str, begin: int, end: int) -> Iterator[KeptNumber]:
    limits = [(way, one) for way, form in _MOVES.items() for one in form.finditer(text, begin, end)]
    if not limits:
        return
    sentence = PLACE.sub(" ", text[begin:end])
    said, about = (_alike(stems(one)) - _UNITS for one in (sentence, text))
    others = frozenset(_numbers(sentence))
    options = frozenset(map(str.casefold, _FORMS["named"].findall(sentence)))
    if _FORMS["batch"].search(sentence):
        options |= _WORDS["batch_options"]
    for direction, found in limits:
        places = where_it_holds(text, found.span(), found.end())[0]
        near = _alike(stems(text[max(begin, found.start() - _NEAR) : found.end()])) - _UNITS
        for value in map(_plain, filter(None, found.groups())):
            yield KeptNumber(value, direction, said, about, others, near, options, places)


def _alike(words: frozenset[str]) -> frozenset[str]:
    """``words``, those that mean the same by one of them."""
    return frozenset(_SYNONYMS.get(word, word) for word in words)


def _numbers(code: str) -> set[str]:
    return set(map(_plain, _FORMS["number"].findall(code)))


def _plain(number: str) -> str:
    return number.replace(",", "").replace("_", "")


def _is_at(places: tuple[PathPattern, ...], path: str) -> bool:
    return not places or any(place.holds(path) for place in places)
