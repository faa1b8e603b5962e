"""What of a project's code a text names: paths, symbols, keys of settings, commands.

Only the text is read; whether there is such a thing is for the project to say. Prose names little:
"we chose DuckDB" has no name in it that a project would define, and where it has one by chance
the name must be defined in exactly one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...bus.anchors import CodeName
from ...config.patterns import regex
from .topics import is_path
from .words import STOP_WORDS, TECHNOLOGIES, word_list

MAX_NAMES = 24

_READ_CHARS = 8_000
_MAX_VALUE_CHARS = 200
_FENCED = regex(r"^[ \t]{0,8}(```+|~~~+).*?(?:^[ \t]{0,8}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_SPAN = regex(r"`([^`\n]{1,300})`")
_TOKEN = regex(r"[^\s`'\"“”‘’<>|,;{}]{1,300}")
_LEFT, _RIGHT = "([*_!?-", ".:!?)]*="
_LINE = regex(r"(?::|#L)(\d{1,6})(?:[:-]L?\d{1,6})?$")
_MEMBER = regex(r"(?:::|:|#)([A-Za-z_$][\w$.:]*)(?:\(.*)?$")

_NAME = r"[A-Za-z_$][\w$]*"
_QUALIFIED = regex(rf"@?\(?\*?({_NAME}(?:\)?(?:\.|::|#|->)#?{_NAME})*)(\(.*\)?)?(?:\[.*\])?")
_KEY = regex(r"[A-Za-z_][\w-]*(?:\.[\w-]+)*")
_CODE_FORM = regex(
    r"_*[A-Za-z]\w*_\w+|[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]*)+|(?:[A-Z][a-z0-9]+){2,}"
    r"|[A-Z]{2,}[a-z]\w*|_+[a-z]\w*"
)
_SEPARATOR = regex(r"\)?(?:::|#|->|\.)#?")
_KINDS = frozenset(
    "function method class struct type interface constant const variable key setting field enum"
    " component hook fixture handler helper decorator attribute option trait flag property"
    " target recipe task script func fn def parameter module export receiver".split()
)
_BEFORE_FILE = frozenset("in of from at inside within".split())
_COMMAND = regex(
    r"(?<![\w./-])(g?make|just|npm|pnpm|yarn|bun)[ \t]+((?:-\S+[ \t]+)*)"
    r"(run[ \t]+|run-script[ \t]+)?([A-Za-z0-9_][\w:./-]{0,60})"
)
# What prose says after "make", and npm's own commands, are no targets of the project.
_NO_TARGETS = frozenset(
    "sure it the a an all this that them use sense changes install add i ci init publish update"
    " audit link exec create global workspace up remove list".split()
)
_PLAIN_WORDS = STOP_WORDS | TECHNOLOGIES | _KINDS
# What a sentence that orders something begins with, with a capital letter as a type has one.
_ORDERS = word_list("actions") | frozenset("call cache keep set read never always must do".split())
_PROPER = regex(r"[A-Z]\w*[a-z]\w*")


def code_names(text: str) -> tuple[CodeName, ...]:
    """What ``text`` names, in its order, each once, at most 24."""
    plain = _FENCED.sub(" ", text[:_READ_CHARS])
    found = sorted((*_commands(plain), *_in_spans(plain), *_in_prose(plain)), key=_place)
    named: dict[tuple[str, str, int], CodeName] = {}
    for _, one in found:
        key = (one.kind, one.value, one.line)
        if key not in named or (one.distinctive and not named[key].distinctive):
            named[key] = one
    return tuple(named.values())[:MAX_NAMES]


_Found = tuple[int, CodeName]


def _place(found: _Found) -> int:
    return found[0]


# --- commands -------------------------------------------------------------------------------------


def _commands(text: str) -> Iterator[_Found]:
    for match in _COMMAND.finditer(text):
        tool, target = match[1].removeprefix("g"), match[4].rstrip(".:,")
        if target not in _NO_TARGETS and (tool == "make" or not match[2]):
            yield match.start(), CodeName(kind="command", value=target, tool=tool)


# --- code spans -----------------------------------------------------------------------------------


def _in_spans(text: str) -> Iterator[_Found]:
    """What stands between backticks: a path, or a name, that needs no other sign."""
    for match in _SPAN.finditer(text):
        said = match[1].strip()
        if _COMMAND.match(said):
            continue
        for token in _TOKEN.finditer(said):
            word = _bare(token[0])
            at = match.start() + token.start()
            if found := _path(word, in_code=True):
                yield from ((at, one) for one in found)
            elif one := _symbol(word, in_code=True):
                yield at, one


# --- prose ----------------------------------------------------------------------------------------


def _in_prose(text: str) -> Iterator[_Found]:
    blank = _SPAN.sub(lambda span: " " * len(span[0]), text)
    words = _TOKEN.finditer(blank)
    tokens = [(word.start(), _bare(word[0])) for word in words if word[0] != "s"]  # of "it's"
    for number, (at, word) in enumerate(tokens):
        if found := _path(word, in_code=False):
            yield from ((at, one) for one in found)
        elif one := _symbol(word, in_code=False):
            yield at, one
        elif _is_tied(tokens, number):
            is_type = number > 0 and tokens[number - 1][1].casefold() in _KINDS
            distinctive = is_type and _PROPER.fullmatch(word) is not None
            yield at, CodeName(kind="symbol", value=word, distinctive=distinctive)


def _is_tied(tokens: list[tuple[int, str]], number: int) -> bool:
    """Whether a plain word may be a name of a file: "login in src/auth.py", "the class Cart"."""
    word = tokens[number][1]
    if not _KEY.fullmatch(word) or len(word) < 2:
        return False
    if word.casefold() in (STOP_WORDS | TECHNOLOGIES if word[0].isupper() else _PLAIN_WORDS):
        return False
    before = tokens[number - 1][1].casefold() if number else ""
    after = tokens[number + 1][1].casefold() if number + 1 < len(tokens) else ""
    if before in _KINDS or after in _KINDS:
        return True
    if _PROPER.fullmatch(word) and word.casefold() not in _ORDERS:
        return True
    if number and is_path(tokens[number - 1][1]):
        return True
    return after in _BEFORE_FILE and number + 2 < len(tokens) and is_path(tokens[number + 2][1])


# --- one word -------------------------------------------------------------------------------------


def _bare(word: str) -> str:
    word = word.lstrip("*_" if word.startswith("*") else _LEFT) if word[0] in "*([" else word
    bare = word.rstrip(_RIGHT)
    if "(" in bare:
        return word[: word.rfind(")") + 1] or f"{bare.partition('(')[0]}()"
    return bare.removesuffix("’s").removesuffix("'s")


def _path(word: str, *, in_code: bool) -> tuple[CodeName, ...]:
    """The file that ``word`` names, perhaps with a line or a symbol in it."""
    if "://" in word or len(word) > _MAX_VALUE_CHARS:
        return ()
    line = _LINE.search(word)
    if line and _is_file(word[: line.start()], in_code=in_code):
        path = word[: line.start()]
        return (CodeName(kind="path", value=path, line=int(line[1]), distinctive=True),)
    member = _MEMBER.search(word)
    if member and _is_file(word[: member.start()], in_code=in_code):
        file = CodeName(kind="path", value=word[: member.start()], distinctive=True)
        symbol = _symbol(member[1], in_code=True)
        return (file, symbol) if symbol else (file,)
    if _is_file(word, in_code=in_code):
        return (CodeName(kind="path", value=word, distinctive=True),)
    return ()


def _is_file(word: str, *, in_code: bool) -> bool:
    return is_path(word) or (in_code and "/" in word.strip("/") and "(" not in word)


def _symbol(word: str, *, in_code: bool) -> CodeName | None:
    """The symbol or key that ``word`` is; in code any name may be one."""
    match = _QUALIFIED.fullmatch(word)
    if match is None:
        is_key = in_code and _KEY.fullmatch(word) is not None and len(word) > 2
        return CodeName(kind="symbol", value=word, distinctive=True) if is_key else None
    name = _SEPARATOR.sub(".", match[1])
    last = name.rpartition(".")[2]
    if len(name) < 2 or name.casefold() in TECHNOLOGIES or len(name) > _MAX_VALUE_CHARS:
        return None
    called, dotted = match[2] is not None, "." in name
    if in_code and name in _KINDS:
        return None
    if in_code or called or _CODE_FORM.fullmatch(last) or (dotted and _is_dotted(name)):
        distinctive = called or len(last) > 2
        return CodeName(kind="symbol", value=name, distinctive=distinctive)
    return None


def _is_dotted(name: str) -> bool:
    """Whether a dotted word is a name rather than an abbreviation: "server.port", not "e.g"."""
    return all(len(part) > 1 for part in name.split("."))
