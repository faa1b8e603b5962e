"""What a file of the project holds: the names it defines and the digest of each, and its own."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

from ...config.patterns import regex
from . import settings
from .definitions import definitions
from .forms import code_form, digest_of, file_form
from .languages import GO, GRAMMARS, PYTHON, parse

if TYPE_CHECKING:
    from tree_sitter import Node

_FAMILIES = (
    ".py .pyi",
    ".ts .tsx .mts .cts .js .jsx .mjs .cjs",
    ".yaml .yml",
    ".json .jsonc",
    ".ini .cfg",
    ".c .h .cc .cpp .hpp",
    ".md .mdx .markdown",
    ".sh .bash .zsh",
    ".css .scss",
    ".kt .kts",
    ".groovy .gradle",
    ".ex .exs",
    ".tf .hcl",
    ".graphql .gql",
    ".htm .html",
)
"""Suffixes between which code moves; any other stays as it is. Those of a line comment alike."""
_FAMILY_OF = {suffix: family for family in _FAMILIES for suffix in family.split()}

_SLASHES = frozenset(
    ".c .h .cc .cpp .hpp .cs .swift .kt .kts .scala .php .dart .m .css .scss .vue .svelte .proto"
    " .groovy .gradle .ts .mts .cts .tsx .jsx .js .mjs .cjs .go .rs .java".split()
)
_HASHES = frozenset(
    ".py .pyi .sh .bash .zsh .rb .pl .r .ex .exs .conf .tf .hcl .properties .mk .yaml .yml .toml"
    " .cfg .cmake .ps1 .nix .jl .graphql .gql .dockerfile".split()
)
_DASHES = frozenset(".sql .lua .hs".split())
_LISTS = regex(r"(?:requirements|constraints|CMakeLists)[\w.-]*\.txt")
"""Files of which the suffix does not tell that ``#`` begins a comment; so do those without one."""
_BROKEN = "\x03broken"
_WORD_BEFORE = r"(?<![\w$])"
_WORD_AFTER = r"(?![\w$])"


class Piece(Struct, frozen=True):
    """One definition: its qualified name, its first and last line from 1, and its normal form."""

    name: str
    first: int
    last: int
    form: Callable[[], Sequence[str]]


class Outline:
    """One file, read. ``is_whole``: it was understood, so that what is not named is not there."""

    def __init__(
        self, pieces: Sequence[Piece], form: Callable[[], Sequence[str]], *, is_whole: bool
    ) -> None:
        self.is_whole = is_whole
        self._form = form
        self._by_name: dict[str, list[Piece]] = {}
        for piece in pieces:
            self._by_name.setdefault(piece.name, []).append(piece)

    @property
    def names(self) -> Sequence[str]:
        """Every name that is defined, in the order of the file."""
        return tuple(self._by_name)

    def digest(self) -> str:
        """That of the whole file."""
        return digest_of(self._form())

    def has_substance(self) -> bool:
        """Whether two files with this form would hardly be alike by chance."""
        return len(self._form()) + len(self._by_name) >= 8

    def digest_of(self, name: str) -> str:
        """That of everything called ``name`` together; "" where nothing is."""
        pieces = self._by_name.get(name, ())
        return digest_of([token for piece in pieces for token in piece.form()]) if pieces else ""

    def ending_in(self, name: str) -> tuple[str, ...]:
        """The qualified names that end in ``name``; the name itself, if it is there, alone."""
        if name in self._by_name:
            return (name,)
        return tuple(own for own in self._by_name if own.endswith(f".{name}"))

    def at_line(self, line: int) -> str:
        """The name of the innermost definition around ``line``; "" for none."""
        around = (
            (piece.last - piece.first, piece.name)
            for pieces in self._by_name.values()
            for piece in pieces
            if piece.first <= line <= piece.last
        )
        return min(around, default=(0, ""))[1]


def outline(path: str, data: bytes) -> Outline:
    """Read ``data``, which is the file called ``path``. Never raises for what is in it.

    How its lines end does not matter, in a string neither.
    """
    suffix = suffix_of(path)
    data = data.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")
    try:
        if suffix in GRAMMARS:
            return _of_code(data, suffix) or _of_lines(path, data)
        read = settings.reader_of(path)
        if read is not None and len(data) <= settings.MAX_SETTINGS_BYTES:
            return _of_settings(list(read(data.decode())))
    except (settings.NotReadable, UnicodeDecodeError, RecursionError):
        pass
    return _of_lines(path, data)


def suffix_of(path: str) -> str:
    """The ending of a path, lower-cased: ".py"."""
    return PurePosixPath(path).suffix.casefold()


def is_read(path: str) -> bool:
    """Whether the names in a file called so can be read."""
    return suffix_of(path) in GRAMMARS or settings.reader_of(path) is not None


def are_related(path: str, other: str) -> bool:
    """Whether what is in ``path`` could move to ``other``: they are of one language."""
    ours, theirs = suffix_of(path), suffix_of(other)
    if ours == theirs:
        return bool(ours) or PurePosixPath(path).name == PurePosixPath(other).name
    return ours in _FAMILY_OF and _FAMILY_OF[ours] is _FAMILY_OF.get(theirs)


def mentions(data: bytes, name: str) -> bool:
    """Whether the last part of a qualified ``name`` occurs in ``data`` as a word."""
    last = re.escape(name.rpartition(".")[2])
    return re.search(f"{_WORD_BEFORE}{last}{_WORD_AFTER}".encode(), data) is not None


def may_define(path: str, data: bytes, name: str) -> bool:
    """Whether a look without parsing leaves it open that ``path`` defines ``name``; it is quick."""
    plain = name.encode()
    if plain not in data:
        return False
    form = _DEFINING.get(
        GRAMMARS[suffix].package if (suffix := suffix_of(path)) in GRAMMARS else ""
    )
    if form is None:
        return mentions(data, name)
    return re.search(form.replace(b"NAME", re.escape(plain)), data, re.MULTILINE) is not None


_DEFINING = {
    PYTHON.package: rb"(?:def|class|type)\s+NAME\b|(?:^|[,;])[ \t]*NAME[ \t]*[:=,]",
    GO.package: rb"(?:func|type|const|var)\s+NAME\b|func\s*\([^)]{0,500}\)\s*NAME\b"
    rb"|(?:^|[,{;])[ \t]*NAME\b",
}
"""How what defines a name begins, where it can be told from what uses it, by grammar."""


# --- how each kind of file is read ----------------------------------------------------------------


def _of_code(data: bytes, suffix: str) -> Outline | None:
    tree = parse(data, suffix)
    if tree is None:
        return None
    root = tree.root_node
    pieces = [
        Piece(
            one.name,
            one.nodes[0].start_point[0] + 1,
            one.nodes[-1].end_point[0] + 1,
            partial(_form_of, one.nodes, data, suffix),
        )
        for one in definitions(root, suffix)
    ]
    if root.has_error:
        return Outline(pieces, partial(_lines, f"code{suffix}", data), is_whole=False)
    return Outline(pieces, partial(_form_of_file, root, data, suffix), is_whole=True)


def _form_of(nodes: Sequence[Node], data: bytes, suffix: str) -> Sequence[str]:
    """Its normal form; what is not parsed in it is read with errors, and is never the same."""
    try:
        form = code_form(nodes, data, suffix)
        return [*form, _BROKEN] if any(node.has_error for node in nodes) else form
    except RecursionError:
        return _lines(f"code{suffix}", data[nodes[0].start_byte : nodes[-1].end_byte])


def _form_of_file(root: Node, data: bytes, suffix: str) -> Sequence[str]:
    try:
        return file_form(root, data, suffix)
    except RecursionError:
        return _lines(f"code{suffix}", data)


def _of_settings(found: list[settings.Setting]) -> Outline:
    pieces = [Piece(one.name, *one.lines, partial(_said, one.form)) for one in found]
    return Outline(pieces, partial(_all_said, found), is_whole=True)


def _said(form: str) -> tuple[str, ...]:
    return (form,)


def _all_said(found: list[settings.Setting]) -> tuple[str, ...]:
    return tuple(sorted(one.form for one in found if "." not in one.name))


def _of_lines(path: str, data: bytes) -> Outline:
    return Outline((), partial(_lines, path, data), is_whole=False)


def _lines(path: str, data: bytes) -> tuple[str, ...]:
    """The lines without what surrounds them, and without those that are empty or comments."""
    text, comment = data.decode("utf-8", "replace"), _comment(path)
    return tuple(line for line in _spaced(text) if not line.startswith(comment))


def _spaced(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if spaced := " ".join(line.split()):
            yield spaced


def _comment(path: str) -> str | tuple[str, ...]:
    suffix, name = suffix_of(path), PurePosixPath(path).name
    if suffix in _SLASHES or name == "Jenkinsfile":
        return ("//", "/*", "*")
    if suffix in _HASHES or not suffix or _LISTS.fullmatch(name):
        return "#"
    return "--" if suffix in _DASHES else ("\0",)
