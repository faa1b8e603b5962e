"""The names in code, the options and the libraries that a memory speaks against."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..actions.written import FILLER, IDENTIFIER, TYPES, Written, squeezed, stems
from ..rules.claims import NEGATIONS, READ_CHARS, RULE_FORMS, cues_in
from ..rules.denied_files import IS_SCOPE, PathPattern, sentence_of, where_it_holds

_AGAINST, _CUES = RULE_FORMS["names_against"]
_FORMS, _WORDS = RULE_FORMS["names"]
_WRITING = stems("delete update insert truncate drop alter write merge overwrite save create")
# What is meant by each verb: statements in SQL, and words about a change in code.
_CHANGES = {
    "insert": (_FORMS["inserts"], stems("insert write merge save create")),
    "updat": (_FORMS["updates"], stems("update write merge overwrite save")),
    "delet": (_FORMS["deletes"], stems("delete truncate drop")),
    "truncat": (_FORMS["truncates"], stems("truncate drop")),
    "drop": (_FORMS["drops"], stems("drop")),
    "alter": (_FORMS["alters"], stems("alter drop")),
}
# Where a tool asks for what a rule speaks against.
_MADE_SO = {
    "export default": tuple(
        PathPattern(f"*.{kind}.*", existing=False) for kind in ("config", "stories")
    )
}
_SHORTEST = 2
_MOST_CLAUSE_CHARS = 400
_CALLED = r"(?:\.\w+)*\("
_CALLED_BARE = r" +(?=[\"']|:\w)"


class DeniedName(Struct, frozen=True, dict=True):
    """A name that is not to be used, where it is not ``allowed``, and within ``places`` if any.

    ``subject`` are the beginnings of other words of the memory; a rule that only says that there is
    no such thing ("no lock_id") has to share one with the action, but for a method. ``topic`` are
    those of what limits it ("no sleep in tests"); then one of them has to be there, with ``near``
    in the same statement. With ``lacking`` it is only denied where that argument is missing, with
    ``unless`` where none of these words is there. With ``is_library`` no call is denied, and with
    ``is_made_with`` no command: it is about what code makes with it. Of a table, ``data`` is the
    pattern of the statements that are. Of an SQL statement, ``clause`` is what has to be in it.
    """

    name: str
    like_code: bool
    is_key: bool
    allowed: tuple[PathPattern, ...]
    places: tuple[PathPattern, ...]
    subject: frozenset[str] = frozenset()
    topic: frozenset[str] = frozenset()
    near: bool = False
    lacking: str = ""
    unless: frozenset[str] = frozenset()
    is_library: bool = False
    data: str = ""
    is_made_with: bool = False
    clause: str = ""

    @property
    def key(self) -> str:
        """The longest identifier of the name, folded; of a plain name the last; "" for none."""
        if self._is_service:
            return self.name.casefold().split()[-1]
        return max(IDENTIFIER.findall(self.name), key=len, default="").casefold()

    def is_used_by(self, written: Written) -> bool:
        """Whether what is new uses the name, and where the rule holds."""
        if not self._holds_in(written.path):
            return False
        if self.is_made_with:
            written = replace(written, commands=())
        if not (self.lacking or self.data) and self._is_brought_in(written):
            return True
        return any(self._is_denied(use, written) for use in self._uses(written))

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
        if self._is_service:
            words = [re.escape(word.removesuffix("s")) for word in name.split()]
            beside = re.compile("|".join(map("s?".join, (words, words[::-1]))))
            return any(map(beside.search, map(squeezed, (*written.brought_in, *written.hosts))))
        if name in written.installed:
            return True
        return name in written.brought_in and self._is_meant(written.stems, frozenset())

    @property
    def _is_service(self) -> bool:
        return self.is_library and " " in self.name

    def _is_meant(self, words: frozenset[str], subject: frozenset[str]) -> bool:
        return all(not asked or asked & words for asked in (subject, self.topic))

    def _lacks(self, statement: str) -> bool:
        """Whether it is called without the argument; one more without a name may be that one."""
        arguments = statement.rpartition(f"{self.name}(")[2]
        return self.lacking not in arguments and not _FORMS["more_arguments"].search(arguments)

    def _uses(self, written: Written) -> Iterator[str]:
        """Each use that is new, with the whole statement and what the action says of itself."""
        if self.is_library:
            return
        pattern = self._pattern
        if self.like_code and any(map(pattern.search, written.commands)):
            yield written.said
        if not pattern.search(written.removed):
            added = written.code if self._is_only_code else written.added
            for found in pattern.finditer(added):
                yield f"{written.said}\n{written.statement(found.start())}"

    @property
    def _is_only_code(self) -> bool:
        """Whether it is a call or a type, which no string is."""
        is_call = self.name.endswith("()") or (not self.like_code and self.name.isidentifier())
        return not self.data and (is_call or self.name.casefold() in TYPES)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        name = re.escape(self.name.removesuffix("()").strip("."))
        return self._in_sql(name) or self._in_code(name)

    def _in_sql(self, name: str) -> re.Pattern[str] | None:
        if self.data:
            table = rf"\s+(?:only\s+)?[\"`\[]?(?:\w+\.)*[\"`\[]?{name}(?![\w.])"
            return re.compile(rf"\b{self.data}{table}", re.I)
        if _FORMS["statement"].fullmatch(self.name):
            words = name.replace(r"\ ", r"\s+(?:UNIQUE\s+)?")
            clause = self.clause.replace(" ", r"\s+")
            lacking = rf"(?![^;]{{0,{_MOST_CLAUSE_CHARS}}}?\b{clause}\b)" if clause else ""
            return re.compile(rf"(?<![\w-]){words}(?![\w/-]){lacking}", re.I)
        return None

    def _in_code(self, name: str) -> re.Pattern[str]:
        if self.is_key and "=" not in name:
            return re.compile(rf"(?<![\w.$-]){name}[\"']?\s*[:=]")
        if self.lacking:
            return re.compile(rf"(?<![\w$]){name}\(")
        if self.name.casefold() in TYPES:
            before = r"[:<|&]\s*|->\s*|\bas\s+" + ("" if self.name == "any" else r"|\w\s+")
            if self.name.casefold() in {
                "float",
                "double",
            }:  # "double total", after a bracket as well
                before += r"|^\s*|[(,]\s*"
            family = rf"|(?<![\w$]){name.title()}[A-Z]\w*\("
            called = "" if self.name == "any" else rf"|(?<![\w.$-]){name}\("
            return re.compile(rf"(?:{before}){name}(?![\w(-]){called}{family}", re.MULTILINE)
        is_plain_call = self.name.endswith("()") and name.isalpha() and name.islower()
        if not self.like_code or is_plain_call:  # "eval()" is no "model.eval()"
            return re.compile(rf"(?<![\w.$-]){name}{_CALLED}|^{name}{_CALLED_BARE}", re.MULTILINE)
        if "=" in name:
            key, _, value = self.name.partition("=")
            value = re.escape(value.strip().strip("'\""))
            return re.compile(rf"(?<![\w-]){re.escape(key.strip())}[\"']?\s*[:=]\s*[\"']?{value}\b")
        before = r"(?<!\S)" if name[:2] == r"\-" else r"(?<![\w-])" if name[0].isalnum() else ""
        return re.compile(rf"{before}{name}(?![\w/-])")


class Form(NamedTuple):
    """What holds for a form of words that speaks against names.

    With ``is_limited``, what follows may limit where the rule holds; with ``is_outside`` it says
    where it does not. With ``is_code`` the name has to look like code. ``has_subject``, ``is_key``
    and ``is_library`` are as in ``DeniedName``. With ``is_anywhere`` it holds in every place. With
    ``has_rival`` it begins with what is to be used, which is no place.
    """

    is_limited: bool = True
    has_subject: bool = False
    is_key: bool = False
    is_outside: bool = False
    is_code: bool = False
    is_library: bool = False
    is_anywhere: bool = False
    has_rival: bool = False


_PLAIN = Form()
FORMS = {
    "rather": Form(is_library=True, has_rival=True),
    "instead": Form(has_rival=True),
    "in_japanese": Form(is_limited=False),
    "rejected": Form(is_limited=False),
    "left": Form(is_limited=False),
    "set": Form(is_key=True),
    "gone": Form(is_limited=False, is_library=True),
    "must_not": Form(is_library=True),
    "service": Form(is_limited=False, is_library=True, is_anywhere=True),
    "tolerated": Form(is_limited=False, is_outside=True),
    "only_there": Form(is_code=True),
    "only": Form(is_outside=True, is_code=True),
    "harmful": Form(is_code=True),
    "needed": Form(is_code=True),
    "no_new": Form(is_library=True),
    "none_of": Form(has_subject=True),
    "never": Form(has_subject=True),
}
"""Those forms that are not plain, by their names in ``wordings/names.toml``."""


def names_against(text: str) -> Iterator[DeniedName]:
    """The names that the memory ``text`` speaks against."""
    text = _FORMS["said_as"].sub("`export default`", text[:READ_CHARS])
    said = cues_in(text)
    if not said.isdisjoint(_WORDS["data_cues"]):
        yield from _data_against(text)
    if "without" in said:
        yield from _sql_without(text)
    for name, pattern in _AGAINST.items():
        if not said.isdisjoint(_CUES.get(name, NEGATIONS)):
            for found in pattern.finditer(text):
                yield from _denied(text, found, FORMS.get(name, _PLAIN))


def _data_against(text: str) -> Iterator[DeniedName]:
    """The tables and the like that are not to be read, or not to be changed."""
    for found in _FORMS["of_data"].finditer(text):
        if name := found["behind"] or found["before"]:
            like_code = _FORMS["like_code"].search(name) is not None
            which = "behind" if found["behind"] else "before"
            data, topic = _changes(text[found.start() : found.start(which)])
            if like_code:
                about = frozenset[str]() if found["reads"] else topic
                yield DeniedName(name, True, False, (), (), topic=about)
            elif not found["reads"]:
                yield DeniedName(name, True, False, (), (), data=data)
        elif name := found["plain"] or found["on"] or found["subject"]:
            data, _ = _changes(text[found.start() : found.start("on")] if found["on"] else "")
            data = _FORMS["changes_rows"].pattern if found["grows"] else data
            yield DeniedName(name, True, False, (), (), data=data)


def _sql_without(text: str) -> Iterator[DeniedName]:
    """The SQL statements that are denied, or do harm, without a clause."""
    for found in _FORMS["sql_without"].finditer(text):
        if found["never"] or found["harms"]:
            within, allowed = where_it_holds(text, found.span("sql"), found.end("clause"))
            name, clause = found["sql"], found["clause"]
            yield DeniedName(name, True, False, allowed, within, clause=clause)


def _changes(said: str) -> tuple[str, frozenset[str]]:
    """The statements that are ``said`` not to be done, and the words about them in code.

    They are all where no verb is named that means some of them alone: "hands off", "touch".
    """
    meant = [_CHANGES[verb.casefold()] for verb in _FORMS["change"].findall(said)]
    if not meant:
        return _FORMS["changes_data"].pattern, _WRITING
    patterns = "|".join(statements.pattern for statements, _ in meant)
    return f"(?:{patterns})", frozenset(chain.from_iterable(words for _, words in meant))


def _denied(text: str, found: re.Match[str], form: Form) -> Iterator[DeniedName]:
    """The names that the words ``found`` in ``text`` speak against."""
    kind = _FORMS["kind"].match(text, found.end())
    there = found.groupdict().get("there")
    end = found.start("there") if there else kind.end() if kind else found.end()
    limit = _FORMS["qualified"].match(text, end)
    is_end = _FORMS["end"].match(text, end) is not None
    if form.has_subject and (not (is_end or limit) or _FORMS["done_to_it"].match(text, end)):
        return
    is_rule = _FORMS["holds"].search(found[0]) and not (limit and limit["how"] == "with")
    limit = limit if form.is_limited or there or is_rule else None
    how = limit["how"].casefold() if limit else ""
    lacking = _argument(found, limit if how == "without" else None)
    if lacking is None:
        return
    group = "names" if found["names"] else "other"
    outside = form.is_outside or _FORMS["outside"].match(how) is not None
    named = (found.start() if form.has_rival else found.start(group), found.end(group))
    within, allowed = where_it_holds(text, named, end, outside=outside)
    if form.is_anywhere:
        within = ()
    is_topic = limit and how != "without" and not (outside or within)
    topic = stems(limit["what"]) - _WORDS["everywhere"] if limit and is_topic else frozenset[str]()
    where = found.groupdict().get("where") or ""
    allowed += _places_like(where)
    made = found.groupdict().get("made") or ""
    topic |= stems(made)
    codes = " ".join(_FORMS["code"].findall(text)) if group == "other" and form.is_code else ""
    has_subject = form.has_subject and not _FORMS["raw"].search(found[0])
    so_far = text[: sentence_of(text, found.start(group), end)[1]]  # the rest is mostly a story
    in_path = IS_SCOPE.search(text, 0, found.start(group)) is not None
    for part in _parts(found[group], in_path):
        name = part.strip("` ").rstrip(".,;:")
        if name.removesuffix("s").casefold() in TYPES:
            name = name.removesuffix("s")  # "no floats"
        if len(name) <= _SHORTEST or (in_path and "/" in name):
            continue
        if name.casefold() in _WORDS["manners"]:
            continue
        is_type = name.casefold() in TYPES
        is_code = part[0] == "`" and (" " in name or is_type or end > found.end(group))
        like_code = is_code or _is_like_code(name, is_placed=bool(within))
        is_called = _FORMS["called"].search(name) is not None
        is_method = name.endswith("()") and "." in name
        is_plain = not form.is_code or "/" in where
        is_whole = bool(limit or is_end or not form.is_limited) and is_plain
        if not (is_code or name.casefold() not in FILLER) or not (like_code or is_whole):
            continue
        about = stems((so_far if is_type else text).replace(name, "")) - stems(name)
        yield DeniedName(
            name=name,
            like_code=like_code,
            is_key=form.is_key,
            allowed=(*allowed, *_MADE_SO.get(name, ())),
            places=within,
            subject=_meant(about) if has_subject and not is_method else frozenset(),
            topic=_meant(topic | {word.removesuffix("s") for word in topic}),
            near=is_type or _FORMS["is_near"].match(how) is not None,
            lacking=lacking,
            unless=frozenset(IDENTIFIER.findall(codes)).difference(IDENTIFIER.findall(name)),
            is_library=form.is_library and (" " in name or not is_called),
            is_made_with=bool(made),
        )


def _places_like(words: str) -> tuple[PathPattern, ...]:
    """The files and folders that are called like one of ``words``: "main and tests"."""
    named = (word.removesuffix("s") for word in _FORMS["place_name"].findall(words))
    return tuple(PathPattern(f"*{word}*", existing=False) for word in named)


def _argument(found: re.Match[str], without: re.Match[str] | None) -> str | None:
    """The argument that the name has to have, "" for none; None for "without" something else."""
    if without is None:
        return (found.groupdict().get("argument") or "").strip("`=")
    argument = _FORMS["is_argument"].match(_FORMS["an"].sub("", without["what"]))
    return argument[0].strip("`=") if argument else None


def _is_like_code(name: str, *, is_placed: bool) -> bool:
    """Whether ``name`` looks like code; with ``is_placed`` a capital or a hyphen is enough."""
    if _FORMS["like_code"].search(name):
        return True
    return is_placed and (name[0].isupper() or "-" in name)


def _parts(names: str, is_path: bool) -> Iterator[str]:
    """The single names of a list; "@scope/name", ":ns/key" and a path are one each."""
    for at, part in enumerate(_FORMS["split"].split(names)):
        is_one = part[:1] in "@:`" or (is_path and not at) or _FORMS["module"].match(part)
        yield from (part,) if is_one else filter(None, map(str.strip, part.split("/")))


def _meant(words: frozenset[str]) -> frozenset[str]:
    return words | _WORDS["money"] if "money" in words else words
