"""The names that need another one beside them, or in their place, by what a memory says.

"A bare RestTemplate has no timeouts, use OutboundClients.forPartner()": where the first is new, and
nothing of the second is, the rule is broken. It is kept by what is in the same change alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from ..actions.written import FILLER, IDENTIFIER, Written, squeezed
from ..rules.claims import READ_CHARS, RULE_FORMS
from ..rules.denied_files import PLACE, PathPattern, sentence_of, where_it_holds
from .layers import places_of_layers

_NEEDED = RULE_FORMS["needed"].forms
_PARTNERS = RULE_FORMS["partners"].forms
_FORMS = RULE_FORMS["code"].forms
# What only tells of a name is no rule on it unless something else is asked for.
_TOLD = frozenset({"subject", "of_library", "in_brackets", "made"})
_SHORTEST = 4
_FOLDERS = 2
_DENIED_CHARS = 30
_CHAIN = 5


class NeededName(Struct, frozen=True, dict=True):
    """A name that is not to be used where none of its ``partners`` is.

    It is not meant where it is ``allowed``, only ``within`` these places if there are any, and in
    tests only if the rule is ``of_tests``. With ``beside`` that has to be there as well, with
    ``number`` as an argument of it. Files that are called like one of ``own`` may use it. ``form``
    is how it is said, by its name in ``wordings``.
    """

    name: str
    form: str
    partners: frozenset[str]
    allowed: tuple[PathPattern, ...] = ()
    within: tuple[PathPattern, ...] = ()
    of_tests: bool = False
    beside: str = ""
    number: str = ""
    own: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """The longest identifier of the name, folded; not one that stands for others."""
        parts = IDENTIFIER.findall(self.name)
        named = (parts[0], *parts[2:]) if _is_example(self.name) else parts
        return max(named, key=len, default="").casefold()

    def calls(self) -> tuple[str, str]:
        """What an action names that may use it: the key, and the call that does not wait."""
        return self.key, f"{self.key}async"

    def is_broken_by(self, written: Written) -> bool:
        """Whether what is new uses the name, and nothing that it needs."""
        if not self.is_missing_in(written) or self._pattern.search(written.removed):
            return False
        if self.beside not in written.added:
            return False
        ran = written.commands if self.form == "service" else ()
        return any(map(self._pattern.search, (written.code, *ran)))

    def is_missing_in(self, written: Written) -> bool:
        """Whether nothing that it needs is new, where the rule holds."""
        return self._holds_in(written.path) and not self._partner.search(written.added)

    def _holds_in(self, path: str) -> bool:
        if any(place.holds(path) for place in self.allowed) or self._is_own(path):
            return False
        if not self.of_tests and _FORMS["in_tests"].search(path):
            return False
        return not self.within or any(place.holds(path) for place in self.within)

    def _is_own(self, path: str) -> bool:
        """Whether the file at ``path``, or its folder, is called like what has to be used."""
        *folders, file = path.split("/")[-_FOLDERS - 1 :]
        names = (*folders, file.partition(".")[0])
        return not self.own.isdisjoint(map(squeezed, (*names, "".join(names[-2:]))))

    @cached_property
    def _partner(self) -> re.Pattern[str]:
        signs = "|".join(map(re.escape, sorted(self.partners)))
        return re.compile(rf"(?<![\w-])(?:{signs})(?!\w)")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        name = re.escape(self.name.removeprefix("new ").removesuffix("()"))
        if self.form == "service":
            return re.compile(rf"(?<!\w)(?:\w*{name}|{name.lower()})\s*[.(]")
        if self.form == "made":
            return re.compile(rf"(?<![\w-])(?:new\s+{name}\b|{name}\s*[.(])")
        if self.name.startswith("new "):
            return re.compile(rf"\bnew\s+{name}\b")
        if self.number:
            return re.compile(rf"(?<![\w$]){name}\((?:[^;\n]*[^\w.;\n])?{self.number}\b")
        return re.compile(_pattern_of(self.name))


def _pattern_of(name: str) -> str:
    """The pattern of ``name`` where it is used; a variable may be called like its type."""
    plain = re.escape(name.removesuffix("()"))
    if " " in name:
        return _pattern_in_library(*name.split(" "))
    if name.isidentifier() and name[0].isupper():
        return rf"(?<![\w-])(?:{plain}(?:Async)?\b|{plain[0].lower()}{plain[1:]}\.)"
    if name.removesuffix("()").isidentifier() and name.endswith("()"):
        return rf"(?<![\w.$-]){plain}(?:\.\w+)*\("
    return rf"(?<![\w@-]){_pattern_of_chain(name)}(?![\w-])"


def _pattern_in_library(library: str, name: str) -> str:
    """The pattern of a ``name`` of a ``library``: "tokio interval", ``tokio::time::interval(``."""
    joint = r"(?:::|\.)"
    return rf"(?i)(?<![\w-]){library}(?:{joint}\w+){{0,3}}?{joint}{name}(?:\(|::|\.\w+\()"


def _is_example(name: str) -> bool:
    return "(" not in name and len(_FORMS["piece"].findall(name)) >= _CHAIN


def _pattern_of_chain(name: str) -> str:
    """The pattern of a chain of names; one of three, not called, stands for others like it."""
    pieces = _FORMS["piece"].findall(name)
    if _is_example(name):
        return rf"{re.escape(''.join(pieces[:2]))}\w+{re.escape(''.join(pieces[3:]))}"
    return "".join(r"\([^()\n]*\)" if one == "()" else re.escape(one) for one in pieces)


class _Found(NamedTuple):
    """A name that is not to be used by itself, and where the memory has it."""

    name: str
    form: str
    begin: int
    end: int
    number: str = ""


class _Asked(NamedTuple):
    """Code that a memory asks for, and where."""

    code: str
    begin: int
    end: int


def needed_names(text: str) -> Iterator[NeededName]:
    """The names that the memory ``text`` says need another one."""
    text = text[:READ_CHARS]
    found = {one.name: one for one in _found(text)}
    if not found:
        return
    asked = list(_asked(text))
    wanted = {_plain(one.code) for one in asked}
    found = {key: one for key, one in found.items() if one.form not in _TOLD or key not in wanted}
    for one in found.values():
        codes = tuple(_partners(text, one, asked, found))
        partners = {sign for code in codes for sign in _signs(code)}
        partners -= {one.name, *IDENTIFIER.findall(one.name), *FILLER}
        if partners:
            yield _needed(text, one, codes, frozenset(partners))


def _needed(text: str, one: _Found, codes: tuple[str, ...], partners: frozenset[str]) -> NeededName:
    within, allowed = _where(text, one)
    beside = _FORMS["beside"].match(text, one.end) if one.form == "subject" else None
    beside = beside or _FORMS["table"].match(text)
    return NeededName(
        name=one.name,
        form=one.form,
        partners=partners,
        allowed=allowed,
        within=within,
        of_tests=_FORMS["of_tests"].search(text) is not None,
        beside=beside[1] if beside else "",
        number=one.number,
        own=frozenset(
            squeezed(name) for code in codes for name in IDENTIFIER.findall(_plain(code))
        ),
    )


def _where(text: str, one: _Found) -> tuple[tuple[PathPattern, ...], tuple[PathPattern, ...]]:
    """The places where the rule on ``one`` holds, and where it does not."""
    within, allowed = where_it_holds(text, (one.begin, one.end), one.end)
    if inside := _FORMS["lives_inside"].match(text, one.end):
        allowed += (PathPattern(inside[1], existing=False),)
    if layers := _FORMS["in_layer"].match(text, one.end):
        within += tuple(places_of_layers(layers[1]))
    there = tuple(_there(text))
    kept = (place for place in allowed if place not in there)
    return (*within, *there), (*kept, *_exceptions(text))


def _exceptions(text: str) -> Iterator[PathPattern]:
    for found in _FORMS["exception"].finditer(text):
        name = found[1] or found[2]
        yield PathPattern(name if "/" in name else f"*{name}*", existing=False)


def _there(text: str) -> Iterator[PathPattern]:
    """The places that a sentence of ``text`` names and then calls "there"."""
    for found in _FORMS["there"].finditer(text):
        begin, _ = sentence_of(text, found.start(), found.end())
        for place in PLACE.finditer(text, begin, found.start()):
            yield PathPattern(place[0].strip("./"), existing=False)


def _found(text: str) -> Iterator[_Found]:
    """The names that are not to be used by themselves."""
    for form, pattern in _NEEDED.items():
        for found in pattern.finditer(text):
            if service := found.groupdict().get("service"):
                yield _Found(service, "service", *found.span("service"))
            else:
                yield from _named(text, form, found)


def _named(text: str, form: str, found: re.Match[str]) -> Iterator[_Found]:
    names = found["names"]
    for code in (names,) if _FORMS["of_library"].fullmatch(names) else _listed(names):
        name, number = _plain(code), _FORMS["number"].search(code)
        begin, end = found.span("names")
        if _is_name(name) and not (_is_thing(name, form) and not _FORMS["harmed"].match(text, end)):
            yield _Found(name, form, begin, end, number[1] if number else "")


def _is_name(name: str) -> bool:
    if _FORMS["of_library"].fullmatch(name):
        return True
    name = name.removeprefix("new ")
    is_one = len(name) >= _SHORTEST and " " not in name and _FORMS["long_enough"].search(name)
    return bool(is_one and _FORMS["like_code"].search(name))


def _is_thing(name: str, form: str) -> bool:
    """Whether ``name`` may be that of a product, or of a column, which nobody uses or calls."""
    if form == "each":
        return name.isidentifier() and "_" in name
    return form == "subject" and name.isidentifier() and name[0].isupper() and "_" not in name


def _asked(text: str) -> Iterator[_Asked]:
    """What ``text`` asks for."""
    for pattern in _PARTNERS.values():
        for found in pattern.finditer(text):
            before = max(0, found.start() - _DENIED_CHARS)
            if not _FORMS["denied"].search(text, before, found.start()):
                begin, end = found.span("names")
                yield from (_Asked(code, begin, end) for code in _listed(found["names"]))


def _partners(
    text: str, one: _Found, asked: list[_Asked], found: dict[str, _Found]
) -> Iterator[str]:
    """What has to be there beside the name, or in its place; any other code if nothing is asked."""
    codes = [each.code for each in asked if each.end <= one.begin or one.end <= each.begin]
    if one.form not in _TOLD and found.keys() >= set(map(_plain, codes)):
        names = _FORMS["name"].finditer(text)
        codes = [name[0].strip("`") for name in names if not one.begin <= name.start() < one.end]
    yield from (code for code in codes if _plain(code) not in found)


def _plain(code: str) -> str:
    """``code`` without its arguments and the marks around it."""
    return _FORMS["arguments"].sub("()", code.strip("` ").removeprefix("#[").removesuffix("]"))


def _listed(names: str) -> Iterator[str]:
    for quoted, bare in _FORMS["listed"].findall(names):
        yield quoted or bare


def signs_in(said: str) -> Iterator[str]:
    """What tells that code is there which is ``said``."""
    for found in _FORMS["name"].finditer(said):
        yield from _signs(found[0].strip("`"))


def _signs(code: str) -> Iterator[str]:
    """What tells that ``code`` is there: each call in it, or its last name."""
    if _FORMS["comment"].match(code):
        return
    if " " in code.partition("(")[0]:
        yield from (one for one in IDENTIFIER.findall(code) if _FORMS["like_code"].search(one))
        return
    if handed := _FORMS["handed"].fullmatch(code):
        yield handed[0].removesuffix(")")
        return
    parts = _FORMS["part"].findall(_plain(code))
    joint = _FORMS["joint"].search(code)
    called = [at for at, (_, bracket) in enumerate(parts) if bracket]
    for at in called or range(len(parts))[-1:]:
        name = parts[at][0]
        is_enough = at == 0 or _FORMS["specific"].search(name)
        yield name if is_enough else f"{parts[at - 1][0]}{joint[0] if joint else '.'}{name}"
