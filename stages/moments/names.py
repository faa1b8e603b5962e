"""What a memory names that can be recognised where it is used: files, symbols, commands, values.

Ordinary words are none of it: they are met by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from ...bus.values import Value
from ...config.patterns import regex
from ..language.topics import find_entities
from ..language.words import STOP_WORDS, fold, is_negation, word_list, words
from ..text.code import BACKTICKED, LOCATION

MOST_NAMES = 12
"""What names more than this is stuffed: its first ones count, and more of them have to be met."""

READ_CHARS = 8_000
"""Of a memory, an action or an answer, no more is read."""

_KINDS = {
    "path": "file",
    "symbol": "symbol",
    "error": "error",
    "technology": "technology",
    "version": "value",
}
GENERIC_STEMS = word_list("generic_file_names")
GENERIC_FOLDERS = word_list("generic_folders")
_COMMON_ENDINGS = word_list("common_endings")
_FLAG = regex(r"(?<![\w-])--[a-z][\w-]{2,40}")
# A word of letters and digits, such as argon2id or rs256.
_MIXED = regex(r"(?<![\w./-])(?=[a-z]*\d)[a-z]\w{3,39}(?![\w/-])")
_NUMBER = regex(r"(?<![\w.,:/-])\d{3,9}(?![\w/%]|[.,]\d)")
_ROUND = regex(r"[1-9]0+|(?:19|20)\d\d")
_UNITS = {
    "ms": r"ms|milliseconds?|millis",
    "s": r"s|secs?|seconds?",
    "min": r"m|mins?|minutes?",
    "h": r"h|hrs?|hours?",
    "day": r"d|days?",
    "week": r"weeks?",
    "month": r"months?",
    "kb": r"kb|kib|kilobytes?",
    "mb": r"mb|mib|megabytes?",
    "gb": r"gb|gib|gigabytes?",
    "byte": r"bytes?",
    "percent": r"%|percent",
}
_MEASURE = regex(
    r"(?<![\w.,])(\d{1,7}(?:\.\d{1,3})?)[ -]?(?:"
    + "|".join(f"(?P<{unit}>{spelled})" for unit, spelled in _UNITS.items())
    + r")(?!\w)"
)
_VERSION = regex(r"(?<![\w.])v?(\d{1,5}(?:\.\d{1,5}){1,3})(?!\w|\.\d)")
_PART = regex(r"\d+|[^\W\d_]{3,}")
_PLAIN_WORD = regex(r"[a-z]*")


class Name(Value, frozen=True, kw_only=True):
    """Something that a memory names, in lower case.

    ``kind`` is file, symbol, command, error, technology or value.
    """

    kind: str
    text: str


class ReadText:
    """A text in which names are looked for: its first ``most`` characters."""

    def __init__(self, text: str, *, most: int = READ_CHARS) -> None:
        self.folded = _folded(text, most)

    def has(self, name: Name) -> bool:
        """Whether it names the same: a value in any spelling, anything else as it stands."""
        if name.kind == "value":
            return name.text in self.values
        return mentions(self.folded, name.text)

    def knows(self, name: Name) -> bool:
        """Whether it has ``name``, or a file's name without its folders."""
        if self.has(name):
            return True
        base = name.text.rpartition("/")[2]
        return name.kind == "file" and "." in base and mentions(self.folded, base)

    @cached_property
    def values(self) -> frozenset[str]:
        """The numbers and measures in it, in one spelling each."""
        return frozenset(_values(self.folded))

    @cached_property
    def words(self) -> frozenset[str]:
        """What names are made of: where two texts share none, neither names what the other does."""
        return frozenset(_PART.findall(self.folded)) - STOP_WORDS


def names_of(text: str) -> tuple[Name, ...]:
    """What ``text`` names, each once; what stands in backticks first."""
    found: dict[str, Name] = {}
    for name in _names(text[:READ_CHARS]):
        found.setdefault(name.text, name)
    return tuple(found.values())


def _names(text: str) -> Iterator[Name]:
    folded = _folded(text)
    for code in BACKTICKED.findall(folded):
        yield from _coded(code.strip())
    for entity in find_entities(text):
        if (kind := _KINDS.get(entity.kind)) and (name := _named(kind, entity.value)):
            yield name
    for pattern in (_FLAG, _MIXED):
        yield from (Name(kind="symbol", text=word) for word in pattern.findall(folded))
    yield from (Name(kind="value", text=value) for value in _values(folded))


def _coded(code: str) -> Iterator[Name]:
    """What stands in backticks: a command of several words, or a word that nothing else tells."""
    if " " in code:
        yield Name(kind="command", text=code)
    elif not (_PLAIN_WORD.fullmatch(code) or find_entities(code)):
        yield Name(kind="symbol", text=code)


def is_generic(file: str) -> bool:
    """Whether projects often have several files of this lower-case name: not "schema.prisma"."""
    stem, _, ending = file.partition(".")
    return stem in GENERIC_STEMS and (not ending or ending in _COMMON_ENDINGS)


def _named(kind: str, written: str) -> Name | None:
    """A name as it is looked for; None for one that many things have."""
    text = _folded(written)
    if kind == "file" or "/" in text:
        kind, text = "file", LOCATION.sub("", text).removeprefix("./").strip("/~")
        if "/" not in text and is_generic(text):
            return None
    elif kind == "symbol":
        text = text.partition("(")[0].strip("@")
    elif kind == "value":
        text = text.removeprefix("v")
    return Name(kind=kind, text=text) if len(text) > 2 else None


def _values(folded: str) -> Iterator[str]:
    """The measures, and the numbers and versions that are hardly met by chance."""
    for match in _MEASURE.finditer(folded):
        yield f"{match[1]} {match.lastgroup}"
    for number in _NUMBER.findall(folded):
        if not _ROUND.fullmatch(number):
            yield number
    yield from _VERSION.findall(folded)


def _folded(text: str, most: int = READ_CHARS) -> str:
    return " ".join(fold(text[:most]).split())


def mentions(text: str, name: str, *, joins: str = "_") -> bool:
    """Whether ``name`` stands in ``text`` as a whole, joined to nothing by letters or ``joins``.

    So a path may be the end of a longer one, unless a slash joins.
    """
    at = text.find(name)
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
        if not any(one.isalnum() or one in joins for one in around):
            return True
        at = text.find(name, at + 1)
    return False


# --- folders --------------------------------------------------------------------------------------


PATH = regex(r"(?<![\w.@/-])(?:[\w.@-]{0,80}/){1,12}[\w.@*-]{0,80}")
"""What names a file or a folder with a slash: "gen/", "db/migrations", "proto/*.proto"."""

_MOST_PATHS = 32
_CLAUSE_END = regex(r"[,;:.!?\n]\s+")


def is_about_folder(text: str, folders: Sequence[str]) -> bool:
    """Whether ``text`` is about a folder among nested ones: names it first, or where it denies.

    ``folders`` are their names, folded, the outermost first. One that many projects have is not
    told by its name alone, unless the text begins with it.
    """
    for place, path in enumerate(islice(PATH.finditer(text), _MOST_PATHS)):
        named = _folders(path[0])
        if not named or not _holds(folders, named):
            continue
        before = _CLAUSE_END.split(text[: path.start()])[-1]
        vague = len(named) == 1 and named[0] in GENERIC_FOLDERS and path.start() > 1
        if (not place and not vague) or any(map(is_negation, words(before))):
            return True
    return False


def _folders(path: str) -> list[str]:
    """The names of the folder that ``path`` is, folded; [] for a file, and for an address."""
    parts = path.casefold().rstrip("./").split("/")
    if "*" in parts[-1]:
        del parts[-1]
    elif path[-1] != "/" and "." in parts[-1].lstrip("."):
        return []
    return [] if path.startswith("//") else [part for part in parts if part not in {"", ".", "~"}]


def _holds(folders: Sequence[str], named: Sequence[str]) -> bool:
    """Whether the names ``named`` stand in ``folders`` one after the other."""
    starts = range(len(folders) - len(named) + 1)
    return any(list(folders[at : at + len(named)]) == named for at in starts)
