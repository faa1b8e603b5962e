"""The values that a memory says are to stay, or that are not to be set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct

from ...config.patterns import regex
from ..actions.written import IDENTIFIER, TOKEN, Written, squeezed, stems
from .claims import NEGATIONS, READ_CHARS, RULE_FORMS, cues_in
from .denied_files import PLACE, PathPattern, sentence_of, where_it_holds

_STAYS = RULE_FORMS["values_that_stay"].forms
_FORMS, _WORDS = RULE_FORMS["values"]
_CUES = NEGATIONS | _WORDS["cues"]
_EVERYWHERE = RULE_FORMS["names"].words["everywhere"]
_FLAGS = frozenset(("true", "false"))
_SWITCHED = {"off": "false", "disabled": "false", "on": "true", "enabled": "true"}
_NEWEST = frozenset(("latest", "next"))
_MOST_WORDS = 3
_PATH_END = regex(r"[./]")

Kind = Literal["stay", "keep", "not", "up", "under", "down", "any"]


class KeptValue(Struct, frozen=True, dict=True):
    """A value that is to stay, or one that is not to be set.

    ``kind`` is "stay" for a piece of code that is not to go; "keep" for the ``value`` that ``key``
    is to have; "not" for the one that it
    must not get; "up", "down" and "any" for how it is not to move, with ``value`` as the limit if
    there is one, and "under" for a limit that is not to be reached. The ``key`` may be of several
    words; without one the value is all that the file holds. It holds within ``places`` if any, and
    where ``subject`` is known, the change has to share a word with it. A key that is not ``sure``
    to be meant has to have had a value there.
    """

    kind: Kind
    key: str
    value: str
    places: tuple[PathPattern, ...]
    subject: frozenset[str] = frozenset()
    sure: bool = True

    def keys(self) -> Iterator[str]:
        """What an action has to take away, or to set; see ``Written.changes``."""
        if self.kind == "stay":
            yield f"gone {max(TOKEN.findall(self.value), key=len, default='').casefold()}"
        elif not self.key:
            yield from (f"file {place.key}" for place in self.places)
        else:
            yield f"set {squeezed(_PATH_END.split(self.key)[-1])}"
            name = IDENTIFIER.findall(self.key)[-1].casefold()
            yield from (f"name {one}" for one in {name, name.replace("_", "-")})

    def is_lost_by(self, written: Written) -> bool:
        """Whether what is new changes it, where it is to stay."""
        if self.places and not any(place.holds(written.path) for place in self.places):
            return False
        if self.kind == "stay":
            return self._goes(written)
        if self.subject and not self.subject & (stems(written.path) | written.stems):
            return False
        if self.kind == "keep":
            return self._is_replaced(written)
        if self.kind == "not":
            key = self.key
            set_now, set_before = _values(key, written.added), _values(key, written.removed)
            return packed(self.value) in set_now and packed(self.value) not in set_before
        return self._moves(written)

    def _goes(self, written: Written) -> bool:
        kept = re.compile(rf"(?<![\w.]){re.escape(packed(self.value))}(?!\w)")
        if not written.removed or kept.search(packed(written.added)):
            return False
        about = stems(written.path)
        return any(
            kept.search(packed(line)) and (not self.subject or self.subject & (about | stems(line)))
            for line in written.removed.split("\n")
        )

    def _is_replaced(self, written: Written) -> bool:
        """Whether it is set to another value of its kind; a plain word has to have had its own."""
        key = _key_in(written, self.key)
        before, added = _values(key, written.removed), _values(key, written.added)
        is_sure = self.sure and key == self.key
        if not is_sure and not any(_is_same(self.value, one) for one in before):
            added = []
        ran = chain.from_iterable(_values_passed(self.key, one) for one in written.commands)
        new = {*added, *ran}.difference(before)
        return any(_is_another(self.value, value) for value in new)

    def _moves(self, written: Written) -> bool:
        key = _key_in(written, self.key)
        before, added = _values(key, written.removed), _values(key, written.added)
        is_sure = self.sure and key == self.key
        ran = chain.from_iterable(_values_passed(self.key, one) for one in written.commands)
        new = [*(added if is_sure or before else []), *ran]
        limit = self.value or next(iter(before), "")
        if not limit:
            return bool(new) and self.kind == "up" and not written.path
        return any(self._is_past(limit, value) for value in new)

    def _is_past(self, limit: str, value: str) -> bool:
        before, after = _FORMS["amount"].fullmatch(limit), _FORMS["amount"].fullmatch(value)
        if self.kind == "any":
            return limit != value
        if before is None or after is None or before[2] != after[2]:
            return value in _NEWEST if self.value else limit != value
        old, new = _numbers(before[1]), _numbers(after[1])
        if self.value:
            new = new[: len(old)]
        if self.kind == "under":
            return new >= old
        return new > old if self.kind == "up" else new < old


def _key_in(written: Written, key: str) -> str:
    """``key``, or all but its first word where that is in the name of the file that is changed.

    "Sidekiq concurrency" is "concurrency" in ``sidekiq.yml``, where it has no longer name.
    """
    first, _, rest = key.partition(" ")
    if not rest or rest.casefold() in _WORDS["common_names"] or _values(key, written.added):
        return key
    name = written.path.rpartition("/")[2].casefold()
    return rest if first.casefold() in _FORMS["words_in_name"].findall(name) else key


def _values(key: str, code: str) -> list[str]:
    """What ``key`` is set to in ``code``; without one the numbers that are all of a line."""
    if not key:
        return _FORMS["only_number"].findall(code)
    words = r"[\s_.-]?".join(map(re.escape, key.split()))
    name = rf"(?:(?<![\w.-])|(?<=\s--)|(?<=\sset\s))(?:[\w@]+/)?{words}[\"']?"
    is_set = r"(?:\s*:\s*\w+)?(?:\s*[<>~^]?=(?!=)|==|\s*:|@)"
    in_gemfile = r"(?<=[\"']),[ ]*(?=[\"'][~^>= ]*\d)"
    set_to = rf"(?:{is_set}\s*[\"']?[~^>=]*|{in_gemfile}[\"'][~^>= ]*)"
    found = re.findall(rf"{name}{set_to}([\w.-]+)", code, re.I)
    found += re.findall(rf"(?m)^\s*{words}[ ]+[\"']?(v?\d[\w.-]*)", code, re.I)
    return [value.strip() for value in found]


def _values_passed(key: str, command: str) -> Iterator[str]:
    """What ``command`` sets ``key`` to: as in code, by a switch, or as a name with a value."""
    yield from _values(key, command)
    if _FORMS["updates"].match(command) and key.casefold() in command.casefold().split():
        yield "latest"
    words = r"[_-]?".join(map(re.escape, _FORMS["word"].findall(key)))
    for switch in re.finditer(rf"(?<=\s--)(no-)?{words}(?=\s|\Z)(?!\s+[\w.])", command, re.I):
        yield "false" if switch[1] else "true"
    yield from re.findall(rf"[\s/\"']{words}[\"']?\s+--?value[=\s]\s*([\w.-]+)", command, re.I)


def _numbers(amount: str) -> tuple[int, ...]:
    return tuple(map(int, amount.split(".")))


def _is_same(kept: str, value: str) -> bool:
    return packed(kept).casefold() == value.casefold()


def _is_another(kept: str, value: str) -> bool:
    """Whether ``value`` is of the kind of ``kept``, a number or not, and another one."""
    kept = packed(kept)
    if value in _NEWEST and kept[:1].isdigit():
        return True
    before, after = _FORMS["amount"].fullmatch(kept), _FORMS["amount"].match(value)
    if before is None or after is None or value[after.end() :][:1] not in {"", "-"}:
        is_flag = kept.casefold() in _FLAGS and value.casefold() in _FLAGS
        return is_flag and kept.casefold() != value.casefold()
    old, new = _numbers(before[1]), _numbers(after[1])
    return new[: len(old)] != old and (before[2] == after[2] or not (before[2] and after[2]))


def packed(code: str) -> str:
    """``code`` without quotes, and without blanks around "=" and ":"."""
    return _FORMS["space"].sub("", code)


def values_kept(text: str) -> Iterator[KeptValue]:
    """The values that the memory ``text`` says are to stay as they are."""
    text = text[:READ_CHARS]
    if cues_in(text).isdisjoint(_CUES):
        return
    for name, form in _STAYS.items():
        for found in form.finditer(text):
            yield from _staying(text, found, is_told_later=name == "it")
    for found in _FORMS["not_set"].finditer(text):
        key, value = found["key"] or found["other"], found["value"] or found["to"]
        yield KeptValue("not", key, value, _places(text, found.span()))
    yield from _not_moved(text)
    yield from _settings(text)


def _staying(text: str, found: re.Match[str], *, is_told_later: bool) -> Iterator[KeptValue]:
    said = found.groupdict()
    what, value = said.get("what") or "", said.get("value") or said.get("code") or found["plain"]
    begin = sentence_of(text, *found.span())[0]
    subject = stems(text[begin : found.start()] if is_told_later else what)
    if not (subject or IDENTIFIER.search(value)):
        return
    places = _places(text, found.span("value" if what else 0))
    yield KeptValue("stay", "", value, places, subject)
    key, is_set, setting = packed(value).replace("=", ":", 1).partition(":")
    if is_set and not what and (_is_code(key) or setting.casefold() in _FLAGS):
        yield KeptValue("keep", key.strip(), setting, places, subject)


def _not_moved(text: str) -> Iterator[KeptValue]:
    """The values that are not to be moved, or not beyond a limit."""
    for found in chain(_FORMS["moved"].finditer(text), _FORMS["owned"].finditer(text)):
        said = found.groupdict()
        key = next(filter(None, map(said.get, ("key", "of", "off", "left"))), "")
        kind: Kind = "up" if said.get("up") else "down" if said.get("down") else "any"
        places = _places(text, found.span())
        is_none = PLACE.fullmatch(key) is not None or _names_nothing(key.split())
        if not is_none and (kind != "any" or places or _FORMS["code_word"].search(key)):
            yield KeptValue(kind, key, said.get("limit") or "", places)


def _settings(text: str) -> Iterator[KeptValue]:
    """The settings that are to have a value, or to keep within a limit."""
    for found in chain(_FORMS["kept"].finditer(text), _FORMS["told"].finditer(text)):
        said = found.groupdict()
        key, subject = _named(said["what"] or said.get("other") or "")
        subject = _there(text, found) or subject
        value = _SWITCHED.get(found["value"].casefold(), found["value"])
        sure = _is_telling(key) or value.casefold() in _FLAGS
        if key and (sure or said.get("stays") or said.get("other")):
            yield KeptValue("keep", key, value, _at(text, found), subject, sure)
    for found in _FORMS["limit"].finditer(text):
        key, subject = _named(found["what"])
        sure = _is_telling(key)
        if key and (sure or found["stays"]):
            kind: Kind = "under" if found["under"] else "up"
            kind = "down" if found["least"] or found["short"] else kind
            subject = _there(text, found) or subject
            yield KeptValue(kind, key, found["value"], _at(text, found), subject, sure)
    for found in _FORMS["version"].finditer(text):
        kind = "under" if found["under"] else "keep"
        key = (found["what"] or found["named"]).rstrip(".*")
        if key.casefold() not in _WORDS["common_names"] and not _names_nothing([key]):
            places = where_it_holds(text, found.span(), found.end("version"))[0]
            yield KeptValue(kind, key, found["version"], places)
    for found in _FORMS["pinned_in"].finditer(text):
        place = PathPattern(found["file"], existing=False)
        yield KeptValue("keep", "", found["value"], (place,))


def _named(what: str) -> tuple[str, frozenset[str]]:
    """The key that ``what`` names, "" for none, and what else is said of it.

    "The scheduler's replicaCount" is a key of the scheduler, "InvoicePump batch size" a batch size.
    """
    lead = _FORMS["lead"].match(what)
    what = _FORMS["articles"].sub("", what[lead.end() :] if lead else what)
    head, *beside = _FORMS["beside"].split(f"{what} ", 1)
    words = _FORMS["words_of"].findall(head)
    first = 0
    while first + 1 < len(words) and (words[first][1] or _is_code(words[first][0])):
        first += 1
    key = [word for word, _ in words[first:]]
    is_common = len(key) == 1 and key[0].casefold() in _WORDS["common_names"]
    if not 0 < len(key) <= _MOST_WORDS or is_common or _names_nothing(key):
        return "", frozenset()
    others = (*(word for word, _ in words[:first]), *beside, lead["of"] if lead else "")
    *owners, last = key[-1].rsplit(".", 1) if len(key) == 1 else [" ".join(key)]
    return last, stems(" ".join((*others, *owners)))


def _names_nothing(words: Sequence[str]) -> bool:
    return not _WORDS["no_names"].isdisjoint(map(str.casefold, words))


def _there(text: str, found: re.Match[str]) -> frozenset[str]:
    """What is told behind the value ``found`` of where it holds: an environment, or what for."""
    end = found.end("value")
    if place := _FORMS["there"].match(text, end):
        return stems(place[1]) | {place[1].casefold()[:4]}
    about = _FORMS["about"].match(text, end)
    words = stems(about["what"]) - _EVERYWHERE if about else frozenset[str]()
    return words | {word.removesuffix("s") for word in words}


def _is_telling(key: str) -> bool:
    """Whether a ``key`` is of more than one plain word, and so is likely to mean one thing."""
    return _is_code(key) or " " in key or "-" in key


def _is_code(word: str) -> bool:
    return _FORMS["code_word"].search(word) is not None


def _at(text: str, found: re.Match[str]) -> tuple[PathPattern, ...]:
    return _places(text, found.span("value"))


def _places(text: str, names: tuple[int, int]) -> tuple[PathPattern, ...]:
    return where_it_holds(text, names, names[0])[0]
