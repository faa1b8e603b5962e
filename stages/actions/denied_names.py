"""The names in code, the options and the libraries that a memory speaks against."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from ...config.patterns import regex
from .claims import FOREIGN, NEGATIONS, NOT, READ_CHARS, cues_in
from .denied_files import IS_SCOPE, DeniedFile, sentence_of, where_it_holds
from .written import FILLER, IDENTIFIER, TYPES, Written, stems

_NAME = (
    r"(?:`[^`\n]{2,60}`|--?[A-Za-z][\w-]+|(?!(?:for|in|on|from|per|to|at|it|its|they|we|i|the|this|that"
    r"|since|because|as|but|so|if|when|use|always|only|just|instead)\b)"
    r"(?-i:[A-Z]{3,}(?:\ [A-Z]{3,}){1,3}\b)"
    r"|[@:]?[A-Za-z_]\w*+(?:(?:::|->|[./-])\w++)*+(?:\(\)|\ ?=\ ?['\"]?\w++['\"]?)?!?)"
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
_HOW = r"(?:via|through|with|by|using|w/)"
_USED = regex(
    rf"\b{NOT}\s+(?:ever\s+|just\s+|directly\s+|again\s+)?(?:{_USE}|{_HOW})\s+{_ARTICLE}{_LIST}",
    re.IGNORECASE,
)
_REPLACED = regex(
    rf"\b(?:use|(?:go|going|went|stick) with|chose|picked|settled on|prefer|{_HOW})\s+{_NAME}"
    r"[^.,;:()\n]{0,40}?(?:\s*,)?\s+(?:and\s+)?"
    rf"(?:not|never|instead of|rather than)\s+(?:{_HOW}\s+)?{_ARTICLE}{_LIST}",
    re.IGNORECASE,
)
_INSTEAD = regex(
    rf"(?:^|[.;:]\s+){_NAME}\s+(?:instead of|rather than|not)\s+{_LIST}", re.IGNORECASE | re.M
)
_RATHER = regex(rf"(?:^|[.;:]\s+){_NAME},\s+not\s+{_LIST}", re.IGNORECASE | re.M)
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
    rf"\b{NOT}\s+(?:ever\s+|just\s+)?set(?:ting)?\s+(?:the\s+)?(?P<names>{_NAME})"
    r"(?=\s+(?:in|to|above|below|over)\b)",
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
_NEVER = regex(rf"(?:^|[.;:,(–—-]\s+|\band\s+|\bso\s+)never\s+{_ARTICLE}{_LIST}", re.I | re.M)
# "a Float column", "the letsencrypt-prod issuer": the name is the whole of what is denied.
_KIND = regex(
    r"\s+(?:columns?|fields?|types?|tags?|imports?|calls?|exports?|functions?|methods?|class(?:es)?"
    r"|components?|hooks?|issuers?|librar(?:y|ies)|packages?|modules?|dependenc(?:y|ies)|decorators?"
    r"|flags?|options?|headers?|images?|providers?)(?=\s*(?:[.,;:!?)]|\Z|\n|(?:in|on|under|from|for"
    r"|outside|inside|within|with|without|to|at|here|any ?more|anywhere)\b))",
    re.IGNORECASE,
)
_REJECTED = regex(
    rf"(?:\A|(?<=[\s(])){_LIST}\s+(?:(?:was|were|is|are|both|got|have|has|been|all)\s+){{0,3}}"
    rf"(?:{_OUT})\b",
    re.IGNORECASE,
)
_GONE = regex(
    rf"(?:\A|(?<=[.;:,]\s)|(?<=\n)){_LIST}\s+"
    r"(?:(?:is|are|was|were|got|has been|have been)\s+(?:now\s+)?"
    r"(?:out|gone|dead|history|deprecated|removed|(?:replaced|superseded) by\s+[^\s.,;]+"
    r"|no longer (?:used|allowed)|not (?:used|allowed))(?=\s*(?:[.,;:!)–—-]|\Z|\n|(?:here|now|since"
    r"|because|any ?more|in favou?r)\b))"
    r"|(?:must|should|may|can|is|are)\s?(?:n[o'’]t|\s?never)\s+(?:to\s+)?(?:ever\s+)?(?:come back"
    r"|be (?:added|used|imported|installed|reintroduced)(?:\s+again)?(?=\s*(?:[.,;:!)–—-]|\Z|\n))))"
    rf"|\bwe(?:'ve|’ve| have)?\s+(?:removed|uninstalled)\s+{_LIST.replace('names', 'other')}"
    r"(?=\s*(?:[.,;:!)–—-]|\Z|\n|(?:in|after|from|because|since|last)\b))",
    re.IGNORECASE,
)
_AT = r"`?(?:[\w.*-]+/[\w./*-]*|[\w-]+\.\w+)`?"
_USED_IN = r"(?:read|used|allowed|called|set|written|imported|permitted)"
_ONLY = regex(
    rf"(?P<names>{_NAME})\s+(?:is|are|may be|must be|should be|can be)\s+"
    rf"(?:only\s+(?:{_USED_IN}\s+)?"
    rf"|{_USED_IN}\s+only\s+)(?:in|inside|within|under|from|by)\s+(?={_AT})",
    re.IGNORECASE,
)
_HARMS = (
    r"(?:swallowed|lost|ignored|breaks?|broke|hangs?|hung|fails?|failed|crash(?:es|ed)?|leaks?"
    r"|leaked|killed|blocks?|blocked|deadlocks?|took|locked|froze|not (?:ok|allowed)|forbidden"
    r"|banned)"
)
_HARMFUL = regex(
    rf"(?P<names>{_NAME})(?=\s+(?:(?:in|inside|under)\s+{_AT}\s+(?:(?:gets?|is|are)\s+)?"
    rf"|without\s+(?:an?\s+)?`?\w+=?`?\s[^.;\n]{{0,40}}?\b){_HARMS}\b)"
    rf"|\b(?:plain|bare|raw)\s+(?P<other>{_NAME})\s+{_HARMS}\b",
    re.IGNORECASE,
)
_NEEDED = regex(
    rf"(?P<names>{_NAME})\s+"
    r"(?:(?:must|has to|have to|should)\s+(?:always\s+)?(?:get|have|take|be given)"
    r"|always\s+(?:gets?|takes?|needs?|has)|needs|requires)\s+(?:an?\s+|its\s+|an explicit\s+)?"
    r"(?P<argument>[a-z]\w*_\w+|`\w+=?`|\w+=)(?![\w/(-]|\.\w)"
)
_SAID_AS = regex(r"\bdefault exports?\b", re.IGNORECASE)
# "No JSON fixtures" is about fixtures: what is denied has to be the whole of it.
_END = regex(
    r"\s*(?:[.,;:!?)(—–。，、；]|-(?![\w-])|\Z|\n|please\b|here\b|anywhere\b|any ?more\b"
    r"|back\b|either\b|directly\b|by hand\b|manually\b|yourself\b|locally\b|ever again\b|because\b"
    r"|since\b)"
)
_SPLIT = regex(
    r"\s*,\s*(?:or\s+|and\s+|nor\s+)?(?:no\s+|an?\s+)?|\s+(?:or|and|nor)\s+(?:no\s+|an?\s+)?"
)
_LIKE_CODE = regex(
    r"=|^[A-Z]{3,} |[a-z][A-Z]|(?<![A-Z])[A-Z]{2}\w*+(?<=_)|[A-Z]{2}_|\w_\w|^--?[A-Za-z]|\(\)$"
    r"|^[@:]\w|::|->|\w\.\w|^[A-Z][a-z]+[A-Z]|\w!$"
)
_QUALIFIED = regex(
    r"\s*(?P<how>outside(?: of)?|beyond|except(?: for| in)?|unless|other than|elsewhere|in|on|for"
    r"|from|per|to|at|against|inside|under|within|below|during|before|after|with|without|when|if|over"
    r"|as)\b\s*(?P<what>[^.;:()—,]{0,60})",
    re.IGNORECASE,
)
_IS_NEAR = regex(r"(?:on|for|with|per|as|to|over)\Z", re.IGNORECASE)
_OUTSIDE = regex(r"outside|beyond|except|unless|other|elsewhere", re.IGNORECASE)
_AN = regex(r"an?\s+", re.IGNORECASE)
_RAW = regex(r"\b(?:bare|plain|raw|direct)\b", re.IGNORECASE)
_EVERYWHERE = frozenset("repo repos monor proje codeb code place purpo thing work app".split())
# What a memory means that says "money".
_MONEY = frozenset(
    "money price amoun cost costs fee fees disco balan invoi tax taxes vat billi payme payou refun"
    " curre cents salar".split()
)
_CODE = regex(r"`([^`\n]{2,80})`")
# Where a tool asks for what a rule speaks against.
_MADE_SO = {
    "export default": tuple(
        DeniedFile(f"*.{kind}.*", existing=False) for kind in ("config", "stories")
    )
}
_SHORTEST = 2
_CALLED = r"(?:\.\w+)*\("
_IS_ARGUMENT = regex(r"[a-z]\w*_\w+=?|\w+=|`\w+=?`")
_MORE_ARGUMENTS = regex(r",\s*(?![\w]+\s*=)[^\s)]")


class DeniedName(Struct, frozen=True, dict=True):
    """A name that is not to be used, where it is not ``allowed``, and within ``places`` if any.

    ``subject`` are the beginnings of other words of the memory; a rule that only says that there is
    no such thing ("no lock_id") has to share one with the action. ``topic`` are those of what
    limits it ("no sleep in tests"); then one of them has to be there, with ``near`` in the same
    statement. With ``lacking`` it is only denied where that argument is missing, with
    ``unless`` where none of these words is there. With ``is_library`` no call is denied.
    """

    name: str
    like_code: bool
    is_key: bool
    allowed: tuple[DeniedFile, ...]
    places: tuple[DeniedFile, ...]
    subject: frozenset[str] = frozenset()
    topic: frozenset[str] = frozenset()
    near: bool = False
    lacking: str = ""
    unless: frozenset[str] = frozenset()
    is_library: bool = False

    @property
    def key(self) -> str:
        """The longest identifier of the name, folded; "" for none."""
        return max(IDENTIFIER.findall(self.name), key=len, default="").casefold()

    def is_used_by(self, written: Written) -> bool:
        """Whether what is new uses the name, and where the rule holds."""
        if not self._holds_in(written.path):
            return False
        if not self.lacking and self._is_brought_in(written):
            return True
        return any(self._is_denied(use, written) for use in self._uses(written))

    def is_kept_by(self, written: Written) -> bool:
        """Whether what is new uses the name, and only as the rule says that it may be."""
        if self._holds_in(written.path):
            uses = list(self._uses(written)) if self.near or self.lacking else ()
            return bool(uses) and not any(self._is_denied(use, written) for use in uses)
        is_used = self.name.casefold() in written.brought_in or any(self._uses(written))
        return bool(written.path) and is_used

    def _holds_in(self, path: str) -> bool:
        if any(place.holds(path) for place in self.allowed):
            return False
        return not self.places or any(place.holds(path) for place in self.places)

    def _is_denied(self, use: str, written: Written) -> bool:
        if self.lacking:
            return self._lacks(use)
        if self.unless and not self.unless.isdisjoint(IDENTIFIER.findall(written.added)):
            return False
        return self._is_meant(stems(use) if self.near else written.stems, self.subject)

    def _is_brought_in(self, written: Written) -> bool:
        name = self.name.casefold()
        if name in written.installed:
            return True
        return name in written.brought_in and self._is_meant(written.stems, frozenset())

    def _is_meant(self, words: frozenset[str], subject: frozenset[str]) -> bool:
        return all(not asked or asked & words for asked in (subject, self.topic))

    def _lacks(self, statement: str) -> bool:
        """Whether it is called without the argument; one more without a name may be that one."""
        arguments = statement.rpartition(f"{self.name}(")[2]
        return self.lacking not in arguments and not _MORE_ARGUMENTS.search(arguments)

    def _uses(self, written: Written) -> Iterator[str]:
        """Each use that is new, with the whole statement and what the action says of itself."""
        if self.is_library:
            return
        pattern = self._pattern
        if self.like_code and any(map(pattern.search, written.commands)):
            yield written.said
        if not pattern.search(written.removed):
            for found in pattern.finditer(written.added):
                yield f"{written.said}\n{written.statement(found.start())}"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        name = re.escape(self.name.removesuffix("()").strip("."))
        if self.is_key and "=" not in name:
            return re.compile(rf"(?<![\w.$-]){name}[\"']?\s*[:=]")
        if self.lacking:
            return re.compile(rf"(?<![\w$]){name}\(")
        if self.name.casefold() in TYPES:
            before = r"[:<|&]\s*|->\s*|\bas\s+" + ("" if self.name == "any" else r"|\w\s+")
            family = rf"|(?<![\w$]){name.title()}[A-Z]\w*\("
            called = "" if self.name == "any" else rf"|(?<![\w.$-]){name}\("
            return re.compile(rf"(?:{before}){name}(?![\w(-]){called}{family}")
        if not self.like_code:
            return re.compile(rf"(?<![\w.$-]){name}{_CALLED}")
        if "=" in name:
            key, _, value = self.name.partition("=")
            value = re.escape(value.strip().strip("'\""))
            return re.compile(rf"(?<![\w-]){re.escape(key.strip())}[\"']?\s*[:=]\s*[\"']?{value}\b")
        before = r"(?<!\S)" if name[:2] == r"\-" else r"(?<![\w-])" if name[0].isalnum() else ""
        return re.compile(rf"{before}{name}(?![\w/-])")


def names_against(text: str) -> Iterator[DeniedName]:
    """The names that the memory ``text`` speaks against."""
    text = _SAID_AS.sub("`export default`", text[:READ_CHARS])
    said = cues_in(text)
    if not said.isdisjoint(_DATA_CUES):
        yield from _data_against(text)
    for form in _FORMS:
        if form.cues.isdisjoint(said):
            continue
        for found in form.pattern.finditer(text):
            kind = _KIND.match(text, found.end())
            end = kind.end() if kind else found.end()
            if form.has_subject and not (_END.match(text, end) or _QUALIFIED.match(text, end)):
                continue
            yield from _denied(text, found, end, form)


class Form(NamedTuple):
    """How a memory speaks against names; ``pattern`` needs one of the words ``cues`` in it.

    With ``is_limited``, what follows may limit where the rule holds; with ``is_outside`` it says
    where it does not. With ``is_code`` the name has to look like code. ``has_subject``, ``is_key``
    and ``is_library`` are as in ``DeniedName``.
    """

    cues: frozenset[str]
    pattern: re.Pattern[str]
    is_limited: bool = True
    has_subject: bool = False
    is_key: bool = False
    is_outside: bool = False
    is_code: bool = False
    is_library: bool = False


_FORMS = (
    Form(NEGATIONS, _USED),
    Form(frozenset({"not", "never", "instead", "rather"}), _REPLACED),
    Form(frozenset({"not", "instead", "rather"}), _INSTEAD),
    Form(frozenset({"not"}), _RATHER, is_library=True),
    Form(FOREIGN, _IN_OTHER_LANGUAGES),
    Form(FOREIGN, _IN_JAPANESE, is_limited=False),
    Form(frozenset(re.findall(r"\w+", _OUT)), _REJECTED, is_limited=False),
    Form(frozenset(re.findall(r"\w+", _AWAY)), _LEFT, is_limited=False),
    Form(NEGATIONS, _SET, is_key=True),
    Form(
        frozenset(
            "out gone dead history deprecated removed replaced superseded used allowed uninstalled"
            " come added imported installed reintroduced".split()
        ),
        _GONE,
        is_limited=False,
        is_library=True,
    ),
    Form(frozenset({"only"}), _ONLY, is_outside=True, is_code=True),
    Form(
        frozenset(re.findall(r"\w+", _HARMS)) | {"breaks", "crashes", "deadlock"},
        _HARMFUL,
        is_code=True,
    ),
    Form(frozenset("must has have should always needs requires".split()), _NEEDED, is_code=True),
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


def _denied(text: str, found: re.Match[str], end: int, form: Form) -> Iterator[DeniedName]:
    limit = _QUALIFIED.match(text, end) if form.is_limited else None
    what = limit["what"] if limit else ""
    lacking = found["argument"].strip("`=") if form.pattern is _NEEDED else ""
    if limit and limit["how"].casefold() == "without":
        argument = _IS_ARGUMENT.match(_AN.sub("", what))
        if argument is None:
            return
        lacking, what = argument[0].strip("`="), ""
    group = "names" if found["names"] else "other"
    outside = form.is_outside or (limit is not None and bool(_OUTSIDE.match(limit["how"])))
    within, allowed = where_it_holds(text, found.span(group), end, outside=outside)
    is_limited = bool(limit and not outside and not within)
    topic = stems(what) - _EVERYWHERE if is_limited else frozenset()
    is_whole = bool(limit or not form.is_limited or _END.match(text, end))
    codes = " ".join(_CODE.findall(text)) if group == "other" and form.is_code else ""
    so_far = text[: sentence_of(text, found.start(group), end)[1]]  # the rest is mostly a story
    in_path = IS_SCOPE.search(text, 0, found.start(group)) is not None
    for part in _parts(found[group], in_path):
        name = part.strip("`").rstrip(".,;:")
        if in_path and "/" in name:
            continue
        if len(name) <= _SHORTEST:
            continue
        is_type = name.casefold() in TYPES
        is_code = part[0] == "`" and (" " in name or is_type or end > found.end(group))
        like_code = (
            is_code
            or _LIKE_CODE.search(name) is not None
            or (bool(within) and (name[0].isupper() or "-" in name))
        )
        says = is_code or name.casefold() not in FILLER
        if says and (like_code or (is_whole and not form.is_code)):
            about = stems((so_far if is_type else text).replace(name, "")) - stems(name)
            near = is_type or bool(limit and _IS_NEAR.match(limit["how"]))
            subject = about if form.has_subject and not _RAW.search(found[0]) else frozenset()
            yield DeniedName(
                name=name,
                like_code=like_code,
                is_key=form.is_key,
                allowed=(*allowed, *_MADE_SO.get(name, ())),
                places=within,
                subject=_meant(subject),
                topic=_meant(topic),
                near=near,
                lacking=lacking,
                unless=frozenset(IDENTIFIER.findall(codes)).difference(IDENTIFIER.findall(name)),
                is_library=form.is_library,
            )


def _parts(names: str, is_path: bool) -> Iterator[str]:
    """The single names of a list; "@scope/name", ":ns/key" and a path are one each."""
    for at, part in enumerate(_SPLIT.split(names)):
        is_one = part[:1] in "@:`" or (is_path and not at)
        yield from (part,) if is_one else filter(None, map(str.strip, part.split("/")))


def _meant(words: frozenset[str]) -> frozenset[str]:
    return words | _MONEY if "money" in words else words
