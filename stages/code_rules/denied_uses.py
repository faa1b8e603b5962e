"""The use of a name that does harm, or that was tried and given up: what of an action is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from ...config.patterns import regex
from ..actions.written import IDENTIFIER, Written, squeezed, stems
from ..rules.claims import RULE_FORMS
from ..rules.denied_files import PathPattern

_WORDS = RULE_FORMS["uses"].words
_PIECE = regex(r"\.{3}|…|\w+|\s+|\*|[\"']|.")
_ARGUMENTS = regex(r"\(([^()]*)\)\Z")
_LITERAL_ARGUMENTS = regex(r"[\"'\d={]")
_TAKES_AWAY = regex(r"\b(?:uninstall|remove|rm|purge|unset|drop|revert)\b")
_NEW = regex(r"new [\w.]+")
_CAMEL = regex(r"(?<=[a-z\d])(?=[A-Z])")
_GAP = r"[^\n]{0,80}?"
_STATEMENT = regex(r"[A-Z]{2,}(?:(?: |\.{3}|…)+[A-Z]{2,})*")
_PACKAGE_JOINTS = regex(r"[^a-z0-9]+")


class DeniedUse(Struct, frozen=True, dict=True):
    """A name in code that is not to be used where it is not ``allowed``, and within ``places``.

    ``subject``, ``topic``, ``context`` and ``near`` are beginnings of words. One of ``subject``,
    one of ``topic`` and all of ``context`` have to be in what is written, and nothing of
    ``unless``; one of ``near``, and ``beside``, in the statement itself, which must not have
    ``lacking``. With ``is_part`` a package or class that has the name as a part is meant as well,
    with ``after_dot`` a method of that name, with ``in_files`` no command, and with
    ``is_library`` only what is imported or installed. With ``is_quoted`` it may stand in a string.
    """

    name: str
    allowed: tuple[PathPattern, ...] = ()
    places: tuple[PathPattern, ...] = ()
    subject: frozenset[str] = frozenset()
    topic: frozenset[str] = frozenset()
    context: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()
    beside: str = ""
    lacking: str = ""
    unless: frozenset[str] = frozenset()
    is_part: bool = False
    after_dot: bool = False
    in_files: bool = False
    is_library: bool = False
    is_quoted: bool = False

    @property
    def key(self) -> str:
        """The longest identifier of the name, folded; "" for none."""
        return max(IDENTIFIER.findall(self._plain), key=len, default="").casefold()

    def is_used_by(self, written: Written) -> bool:
        """Whether what is new uses the name, and where the rule holds."""
        if not self._holds_in(written.path) or any(one in written.added for one in self.unless):
            return False
        is_brought_in = self._is_brought_in(written)
        if is_brought_in and self.is_part:
            return True
        words = words_in(f"{written.said}\n{written.added}")
        topic = frozenset[str]() if self.is_part and not written.path else self.topic
        if any(asked and asked.isdisjoint(words) for asked in (self.subject, topic)):
            return False
        if not self.context <= words:
            return False
        return is_brought_in or any(self._is_meant(use) for use in self._uses(written))

    def _holds_in(self, path: str) -> bool:
        if self.in_files and not path:
            return False
        if any(place.holds(path) for place in self.allowed):
            return False
        return not self.places or any(place.holds(path) for place in self.places)

    def _is_meant(self, statement: str) -> bool:
        if self.lacking and self.lacking.casefold() in statement.casefold():
            return False
        if self.near and self.near.isdisjoint(words_in(statement)):
            return False
        return not self.beside or self._beside.search(statement) is not None

    @cached_property
    def _beside(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![A-Za-z]){re.escape(self.beside)}(?![a-z])", re.I)

    def _uses(self, written: Written) -> Iterator[str]:
        """The statement of each use that is new."""
        if self.is_library:
            return
        pattern = self._pattern
        if not self.in_files:
            commands = (one for one in written.commands if not _TAKES_AWAY.search(one))
            yield from filter(pattern.search, commands)
        if not pattern.search(written.removed):
            added = written.added if self._may_be_quoted else written.code
            for found in pattern.finditer(added):
                yield written.statement(found.start())

    def _is_brought_in(self, written: Written) -> bool:
        name = self.name.casefold()
        if name in written.brought_in or name in written.hosts:
            return True
        return (self.is_part or self.is_library) and any(
            self._is_of(_PACKAGE_JOINTS.split(one.rpartition("/")[2]))
            for one in written.new_packages
        )

    def _is_of(self, parts: list[str]) -> bool:
        """Whether the package that has ``parts`` in its name is this one, or made for it."""
        name = squeezed(self.name)
        if self.is_part:
            return name in parts
        return name == parts[-1] or (name == parts[0] and _WORDS["editions"].issuperset(parts[1:]))

    @property
    def _may_be_quoted(self) -> bool:
        return (
            self.is_quoted
            or self.is_part
            or self._is_statement
            or '"' in self.name
            or "'" in self.name
        )

    @property
    def _is_statement(self) -> bool:
        """Whether it is of SQL."""
        is_one = _STATEMENT.fullmatch(self.name) is not None
        return is_one and (" " in self.name or self.name.casefold() in _WORDS["clauses"])

    @cached_property
    def _plain(self) -> str:
        """The name without a receiver that only stands for one: "df.count()" is ".count()"."""
        receiver, dot, method = self.name.partition(".")
        if dot and receiver.casefold() in _WORDS["receivers"]:
            return f".{method}"
        return self.name

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        name = self._plain
        if self.is_part:
            return re.compile(rf"(?<![A-Za-z]){_spelled(name)}(?:s|es)?(?![a-z])", re.I)
        if self.is_quoted:
            return re.compile(rf"(?<![\w-]){re.escape(name)}")
        if self.beside and _STATEMENT.fullmatch(name):
            return re.compile(rf"(?<![\w$-]){name}(?![\w-])", re.I)
        if self._is_statement:
            return re.compile(rf"(?<![\w.$-]){_spelled(name)}(?![\w-])(?=\s+[^\s=:,.)])", re.I)
        arguments = _ARGUMENTS.search(name)
        if arguments and not _LITERAL_ARGUMENTS.search(arguments[1]):
            name = name[: arguments.start()] + "("
        made = _NEW.match(name)
        name = made[0] if made else name
        is_word = name[0].isalnum() or name[0] == "_"
        before = "" if not is_word else r"(?<![\w$-])" if self._is_open else r"(?<![\w.$-])"
        after = r"(?:Async)?(?![\w-])" if name[-1].isalnum() else ""
        return re.compile(before + _spelled(name) + after)

    @property
    def _is_open(self) -> bool:
        """Whether it may stand behind a dot: "prisma.boat.create" in "this.prisma.boat.create"."""
        return self.after_dot or "." in self._plain or self._plain[0].isupper()


def _spelled(name: str) -> str:
    """The pattern of ``name`` as it may be spelled in code."""
    pieces = _PIECE.findall(name)
    spelled = "".join(map(_piece, pieces))
    first = name[0]
    if first.isupper() and not name.isupper():
        return f"[{first}{first.lower()}]{spelled[1:]}"
    return spelled


def _piece(piece: str) -> str:
    if piece in {"...", "…"}:
        return _GAP
    if piece in _WORDS["placeholders"]:
        return r"\w+"
    if piece == "*":
        return r"\w*"
    if piece in "\"'":
        return "[\"']"
    return r"\s+" if piece.isspace() else re.escape(piece)


def words_in(text: str) -> frozenset[str]:
    """The beginnings of the words of ``text``, also of those that are joined in a name."""
    words = stems(text) | stems(_CAMEL.sub(" ", text))
    return words | {word.removesuffix("s") for word in words}
