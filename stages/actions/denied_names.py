"""The names in code, the options and the libraries that a memory speaks against."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from ...config.patterns import regex
from .claims import FOREIGN, NEGATIONS, NOT, READ_CHARS, cues_in
from .written import FILLER, IDENTIFIER, Written, stems

_NAME = (
    r"(?:`[^`\n]{2,60}`|--?[A-Za-z][\w-]+|(?!(?:for|in|on|from|per|to|at|it|its|they|we|i|the|this|that"
    r"|since|because|as|but|so|if|when|use|always|only|just|instead)\b)"
    r"[@:]?[A-Za-z_]\w*+(?:(?:::|->|[./-])\w++)*+(?:\(\))?!?)"
)
_ARTICLE = r"(?:(?:an?|the|any|more|own|new|bare|plain|raw|direct|local|global)\s+){0,2}"
_USE = (
    r"(?:us(?:e|es|ing)|call(?:s|ing)?|import(?:s|ing)?|add(?:ing)?|install(?:ing)?|mock(?:ing)?"
    r"|throw(?:ing)?|rais(?:e|ing)|reintroduc(?:e|ing)|pull(?:ing)? in|reach(?:ing)? for"
    r"|go(?:ing)? back to|introduc(?:e|ing)|pass(?:ing)?|log(?:ging)? with)"
)
_LIST = (
    rf"(?P<names>{_NAME}(?:(?:\s*,\s*{_NAME}){{0,6}}\s*,?\s+(?:or|and|nor)\s+(?:no\s+|an?\s+)?{_NAME}"
    rf"|(?:\s*,\s*no\s+{_NAME}(?:\s*/\s*{_NAME}){{0,5}}){{1,6}}|(?:\s*/\s*{_NAME}){{1,6}})?)"
)
_HOW = r"(?:via|through|with|by|using)"
_USED = regex(
    rf"\b{NOT}\s+(?:ever\s+|just\s+|directly\s+|again\s+)?(?:{_USE}|{_HOW})\s+{_ARTICLE}{_LIST}",
    re.IGNORECASE,
)
_REPLACED = regex(
    rf"\b(?:use|{_HOW})\s+{_NAME}(?:\s+{_NAME})?(?:\s+and\s+{_NAME})?(?:\s*,)?\s+(?:and\s+)?"
    rf"(?:not|never|instead of|rather than)\s+(?:{_HOW}\s+)?{_ARTICLE}{_LIST}",
    re.IGNORECASE,
)
_INSTEAD = regex(
    rf"(?:^|[.;:]\s+){_NAME}\s+(?:instead of|rather than|not)\s+{_LIST}", re.IGNORECASE | re.M
)
# The plainest forms in German, French, Spanish, Portuguese, Chinese and Japanese.
_BEFORE = (
    r",\s*(?:nicht|pas|não|niet)\b|\b(?:statt|anstatt|au lieu de|en vez de|en lugar de|em vez de"
    r"|niemals|nie|nunca|jamais|(?:jamais|pas|nunca|no) (?:utiliser|usar))\b"
    r"|不要用|别用|不用|禁止使用|禁用"
)
_IN_OTHER_LANGUAGES = regex(rf"(?:{_BEFORE})\s*{_LIST}", re.IGNORECASE | re.ASCII)
_IN_JAPANESE = regex(
    rf"(?P<names>{_NAME})\s*(?:ではなく|は使わない|は使用禁止|は禁止)", re.IGNORECASE | re.ASCII
)
_SET = regex(
    rf"\b{NOT}\s+(?:ever\s+|just\s+)?(?:set(?:ting)?|chang(?:e|ing)|bump(?:ing)?|rais(?:e|ing)"
    rf"|lower(?:ing)?)\s+(?:the\s+)?(?P<names>{_NAME})(?=\s+(?:in|to|above|below|over)\b)",
    re.IGNORECASE,
)
_DATA = r"(?:table|dataset|schema|view|collection|bucket|column)"
_ON_DATA = (
    r"(?P<reads>query(?:ing)?|read(?:ing)?|select(?:ing)?|join(?:ing)?)|(?:touch|chang|edit|updat|alter"
    r"|modify|writ|delet|truncat|drop|insert)(?:e|ing|)"
)
_OF_DATA = regex(
    rf"\b(?:{NOT}\s+(?:ever\s+|just\s+|directly\s+)?(?:{_ON_DATA})|hands off)"
    r"(?:\s+(?:from|to|into|in|on|the|rows?|anything|data|of|with)){0,4}"
    rf"(?:\s+{_DATA}\s+`?(?P<behind>[a-z]\w*(?:\.\w+)?)|\s+`?(?P<before>[a-z]\w*(?:\.\w+)?)`?\s+{_DATA})\b",
    re.IGNORECASE,
)
_DATA_CUES = frozenset("table dataset schema view collection bucket column".split())
_WRITING = stems("delete update insert truncate drop alter write merge overwrite save create")
_AWAY = (
    "dropped|threw out|kicked out|got rid of|ditched|abandoned|replaced|(?:moved|migrated|switched)"
    "(?: away)? from"
)
_LEFT = regex(rf"\b(?:{_AWAY})\s+{_LIST}", re.IGNORECASE)
_NONE_OF = regex(rf"(?:^|[.;:,(–—-]\s+|\band\s+|\bso\s+)no\s+{_ARTICLE}{_LIST}", re.I | re.M)
_OUT = "rejected|turned down|thrown out|banned|forbidden|not allowed|refused|off limits"
_NEVER = regex(rf"(?:^|[.;:,(–—-]\s+|\band\s+|\bso\s+)never\s+{_LIST}", re.I | re.M)
_REJECTED = regex(
    rf"(?:\A|(?<=[\s(/])){_LIST}\s+(?:(?:was|were|is|are|both|got|have|has|been|all)\s+){{0,3}}"
    rf"(?:{_OUT})\b",
    re.IGNORECASE,
)
# "No JSON fixtures" is about fixtures: what is denied has to be the whole of it.
_END = regex(
    r"\s*(?:[.,;:!?)(—–。，、；-]|\Z|\n|please\b|here\b|anywhere\b|any ?more\b"
    r"|either\b|directly\b|by hand\b|manually\b|yourself\b|locally\b|ever again\b|because\b"
    r"|since\b)"
)
_SPLIT = regex(
    r"\s*,\s*(?:or\s+|and\s+|nor\s+)?(?:no\s+|an?\s+)?|\s+(?:or|and|nor)\s+(?:no\s+|an?\s+)?|\s*/\s*"
)
_LIKE_CODE = regex(
    r"[a-z][A-Z]|[A-Z]{2,}\w*_|\w_\w|^--?[A-Za-z]|\(\)$|^[@:]\w|::|->|\w\.\w|^[A-Z][a-z]+[A-Z]|\w!$"
)
_QUALIFIED = regex(
    r"\s*(?P<how>outside(?: of)?|beyond|except(?: for| in)?|unless|other than|elsewhere|in|on|for"
    r"|from|per|to|at|against|inside|under|within|below|during|before|after|with|without|when|if|over"
    r"|as)\b\s*(?P<what>[^.;:()—,]{0,60})",
    re.IGNORECASE,
)
_OUTSIDE = regex(r"outside|beyond|except|unless|other|elsewhere", re.IGNORECASE)
_PLACE = regex(r"(?<![\w./-])(?:[\w.*-]+/)+[\w.*-]*|(?<![\w./-])\w[\w-]*\.[a-z]{1,5}\b")
# Before a path where a rule holds: "in src/units", and what begins a sentence.
_IS_SCOPE = regex(
    r"(?:(?:\A|[.;:]\s+)(?:everything\s+)?|\b(?:in|under|inside|within)\s+`?)\Z", re.I
)
_EVERYWHERE = frozenset("repo repos monor proje codeb code place purpo thing work".split())


class DeniedName(Struct, frozen=True):
    """A name that is not to be used, where it is not ``allowed``, and within ``places`` if any.

    ``subject`` are the beginnings of other words of the memory; a rule that only says that there is
    no such thing ("no lock_id") has to share one with the action. ``topic`` are those of what
    limits it ("no sleep in tests"); then one of them has to be there.
    """

    name: str
    like_code: bool
    is_key: bool
    allowed: tuple[str, ...]
    places: tuple[str, ...]
    subject: frozenset[str] = frozenset()
    topic: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """The longest identifier of the name, folded; "" for none."""
        return max(IDENTIFIER.findall(self.name), key=len, default="").casefold()

    def is_used_by(self, written: Written) -> bool:
        """Whether what is new uses the name, and where the rule holds."""
        is_library = self.name.casefold() in written.brought_in
        if not (is_library or self._is_code_of(written)):
            return False
        if any(place in written.path for place in self.allowed):
            return False
        if self.places and not any(place in written.path for place in self.places):
            return False
        words = written.stems
        shared = (self.topic,) if is_library else (self.subject, self.topic)
        return all(not asked or asked & words for asked in shared)

    def _is_code_of(self, written: Written) -> bool:
        if not self.like_code:
            name = rf"(?<![\w.$-]){re.escape(self.name)}"
            called = re.compile(rf"{name}[\"']?\s*[:=]" if self.is_key else rf"{name}(?:\.\w+)*\(")
            return bool(called.search(written.added)) and not called.search(written.removed)
        bare = self.name.removesuffix("()").strip(".")
        before = r"(?<!\S)" if bare.startswith("-") else r"(?<![\w-])"
        found = re.compile(rf"{before}{re.escape(bare)}(?![\w/-])")
        if any(map(found.search, written.commands)):
            return True
        return bool(found.search(written.added)) and not found.search(written.removed)


def names_against(text: str) -> Iterator[DeniedName]:
    """The names that the memory ``text`` speaks against."""
    text = text[:READ_CHARS]
    said = cues_in(text)
    if not said.isdisjoint(_DATA_CUES):
        yield from _data_against(text)
    for form in _FORMS:
        if form.cues.isdisjoint(said):
            continue
        for found in form.pattern.finditer(text):
            end = found.end() if form.is_limited else len(text)
            if form.has_subject and not (_END.match(text, end) or _QUALIFIED.match(text, end)):
                continue
            yield from _denied(text, found["names"], end, form)


class Form(NamedTuple):
    """How a memory speaks against names; ``pattern`` needs one of the words ``cues`` in it.

    With ``is_limited``, what follows may limit where the rule holds. ``has_subject`` and ``is_key``
    are as in ``DeniedName``.
    """

    cues: frozenset[str]
    pattern: re.Pattern[str]
    is_limited: bool = True
    has_subject: bool = False
    is_key: bool = False


_FORMS = (
    Form(NEGATIONS, _USED),
    Form(frozenset({"not", "never", "instead", "rather"}), _REPLACED),
    Form(frozenset({"not", "instead", "rather"}), _INSTEAD),
    Form(FOREIGN, _IN_OTHER_LANGUAGES),
    Form(FOREIGN, _IN_JAPANESE, is_limited=False),
    Form(frozenset(re.findall(r"\w+", _OUT)), _REJECTED, is_limited=False),
    Form(frozenset(re.findall(r"\w+", _AWAY)), _LEFT, is_limited=False),
    Form(NEGATIONS, _SET, is_key=True),
    Form(frozenset({"no"}), _NONE_OF, has_subject=True),
    Form(frozenset({"never"}), _NEVER, has_subject=True),
)


def _data_against(text: str) -> Iterator[DeniedName]:
    """The tables and the like that are not to be read, or not to be changed."""
    for found in _OF_DATA.finditer(text):
        name = found["behind"] or found["before"]
        if _LIKE_CODE.search(name):
            topic = frozenset[str]() if found["reads"] else _WRITING
            yield DeniedName(name, True, False, (), (), topic=topic)


def _denied(text: str, names: str, end: int, form: Form) -> Iterator[DeniedName]:
    limit = _QUALIFIED.match(text, end)
    what = limit["what"] if limit else ""
    limited = _PLACE.findall(what)
    outside = limit is not None and _OUTSIDE.match(limit["how"]) is not None
    within = () if outside else tuple(map(_folder, limited))
    others = [(_folder(found[0]), found.start()) for found in _PLACE.finditer(text)]
    if not outside:
        within += tuple(place for place, at in others if _IS_SCOPE.search(text, 0, at))
    allowed = tuple(place for place, _ in others if place and place not in within)
    topic = stems(what) - _EVERYWHERE if limit and not outside and not limited else frozenset()
    is_whole = bool(limit or _END.match(text, end))
    for part in _SPLIT.split(names):
        name = part.strip("`").rstrip(".,;:")
        like_code = _LIKE_CODE.search(name) is not None
        if len(name) > 2 and name.casefold() not in FILLER and (is_whole or like_code):
            subject = stems(text.replace(name, "")) if form.has_subject else frozenset()
            yield DeniedName(name, like_code, form.is_key, allowed, within, subject, topic)


def _folder(place: str) -> str:
    return place.partition("*")[0].strip("./")
