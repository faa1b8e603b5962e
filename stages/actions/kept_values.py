"""The values that a memory says are to stay, or that are not to be set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Literal

from msgspec import Struct

from .claims import NEGATIONS, READ_CHARS, RULE_FORMS, cues_in
from .denied_files import PathPattern, where_it_holds
from .written import IDENTIFIER, TOKEN, Written, stems

_STAYS = RULE_FORMS["values_that_stay"].forms
_FORMS, _WORDS = RULE_FORMS["values"]
_CUES = NEGATIONS | _WORDS["cues"]

Kind = Literal["stay", "not", "up", "down", "any"]


class KeptValue(Struct, frozen=True, dict=True):
    """A value that is to stay, or one that is not to be set.

    ``kind`` is "stay" for a piece of code that is not to go, one of which the line or the path
    shares a word with ``subject`` if that is known; "not" for the ``value`` that ``key`` must not
    get; "up", "down" and "any" for how the value of ``key`` is not to move, with ``value`` as the
    limit if there is one. It holds within ``places`` if any.
    """

    kind: Kind
    key: str
    value: str
    places: tuple[PathPattern, ...]
    subject: frozenset[str] = frozenset()

    def keys(self) -> Iterator[str]:
        """What an action has to take away, or to set; see ``Written.changes``."""
        if self.kind == "stay":
            yield f"gone {max(TOKEN.findall(self.value), key=len, default='').casefold()}"
        else:
            name = IDENTIFIER.findall(self.key)[-1].casefold()
            yield from (f"set {name}", f"name {name}")

    def is_lost_by(self, written: Written) -> bool:
        """Whether what is new changes it, where it is to stay."""
        if self.places and not any(place.holds(written.path) for place in self.places):
            return False
        if self.kind == "stay":
            return self._goes(written)
        if self.kind == "not":
            set_now, set_before = self._values(written.added), self._values(written.removed)
            return _packed(self.value) in set_now and _packed(self.value) not in set_before
        return self._moves(written)

    def is_kept_by(self, written: Written) -> bool:
        """Whether it is to stay, and is only used."""
        value = _packed(self.value)
        return self.kind == "stay" and any(value in _packed(one) for one in written.commands)

    def _goes(self, written: Written) -> bool:
        kept = re.compile(rf"(?<![\w.]){re.escape(_packed(self.value))}(?!\w)")
        if not written.removed or kept.search(_packed(written.added)):
            return False
        about = stems(written.path)
        return any(
            kept.search(_packed(line))
            and (not self.subject or self.subject & (about | stems(line)))
            for line in written.removed.split("\n")
        )

    def _values(self, code: str) -> list[str]:
        name = rf"(?<![\w.-])(?:[\w@]+/)?{re.escape(self.key)}[\"']?\s*"
        found = re.findall(rf"{name}(?:[<>~^!=]=|[:=@])\s*[\"']?[~^>=]*([\w.-]+)", code, re.I)
        return [value.strip() for value in found]

    def _moves(self, written: Written) -> bool:
        new = self._values(written.added) + self._values("\n".join(written.commands))
        limit = self.value or next(iter(self._values(written.removed)), "")
        if not limit:
            return bool(new) and self.kind == "up" and not written.path
        return any(self._is_past(limit, value) for value in new)

    def _is_past(self, limit: str, value: str) -> bool:
        before, after = _FORMS["amount"].fullmatch(limit), _FORMS["amount"].fullmatch(value)
        if before is None or after is None or before[2] != after[2] or self.kind == "any":
            return limit != value
        old, new = (tuple(map(int, one[1].split("."))) for one in (before, after))
        if self.value:
            new = new[: len(old)]
        return new > old if self.kind == "up" else new < old


def _packed(code: str) -> str:
    """``code`` without quotes, and without blanks around "=" and ":"."""
    return _FORMS["space"].sub("", code)


def values_kept(text: str) -> Iterator[KeptValue]:
    """The values that the memory ``text`` says are to stay as they are."""
    text = text[:READ_CHARS]
    if cues_in(text).isdisjoint(_CUES):
        return
    for found in chain.from_iterable(form.finditer(text) for form in _STAYS.values()):
        said = found.groupdict()
        value = said.get("code") or said.get("plain") or said.get("value") or ""
        subject = stems(said.get("what") or "")
        if IDENTIFIER.search(value) or subject:
            places = _places(text, found.span("value" if said.get("what") else 0))
            yield KeptValue("stay", "", value, places, subject)
    for found in _FORMS["not_set"].finditer(text):
        key, value = found["key"] or found["other"], found["value"] or found["to"]
        yield KeptValue("not", key, value, _places(text, found.span()))
    for found in _FORMS["moved"].finditer(text):
        kind: Kind = "up" if found["up"] else "down" if found["down"] else "any"
        places = _places(text, found.span())
        if kind != "any" or places or _FORMS["code_word"].search(found["key"]):
            yield KeptValue(kind, found["key"], found["limit"] or "", places)


def _places(text: str, names: tuple[int, int]) -> tuple[PathPattern, ...]:
    return where_it_holds(text, names, names[0])[0]
