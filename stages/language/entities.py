"""Finds what a text names: paths, symbols, technologies, errors, messages, versions, features."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from ...bus.values import Entity
from .words import TECHNOLOGIES, word_list

MAX_ENTITIES = 50
_READ_CHARS = 20_000

_WORD = re.compile(r"[^\s`'\"“”<>|,;{}]{2,200}")
_TRIM_LEFT = "([*_=!?-"
_TRIM_RIGHT = ".:!?)]*_="
_PATH = re.compile(r"(?:~|\.{1,2})?/?(?:[\w@.+\[\]-]+/)+[\w@.+\[\]-]*|[A-Za-z]:\\[\w\\. -]+")
_FILE = re.compile(
    r"[\w.-]*\w\.(?:py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|java|kt|kts|scala|rb|php|c|h|cc|cpp|hpp|cs"
    r"|swift|m"
    r"|ex|exs|erl|hs|ml|clj|lua|sh|bash|zsh|ps1|sql|html|css|scss|vue|svelte|json|jsonc|yaml|yml"
    r"|toml|ini"
    r"|cfg|conf|env|lock|md|rst|txt|csv|parquet|proto|graphql|tf|hcl|xml|gradle|ipynb|log|duckdb"
    r"|sqlite)"
    r"|Dockerfile|Makefile|Justfile|Procfile|Gemfile|Rakefile|Jenkinsfile|\.env[\w.]*|\.gitignore"
)
_LOCATION = re.compile(r":\d{1,6}(?::\d{1,6})?$")
_ERROR = re.compile(
    r"(?:\w+\.){0,5}[A-Z]\w*(?:Error|Exception|Warning|Fault|Panic)|SIG(?:SEGV|KILL|TERM|ABRT|BUS"
    r"|PIPE|INT|HUP)"
    r"|E(?:NOENT|ACCES|PERM|EXIST|AGAIN|PIPE|CONNREFUSED|CONNRESET|ADDRINUSE|TIMEDOUT|MFILE|NOSPC"
    r"|NOMEM|INVAL"
    r"|BADF|XDEV|HOSTUNREACH)|(?:TS|CS|CVE-\d{4}-|ORA-|E|AADSTS|MSB|LNK|CA|SC|F|W)\d{3,7}|OOMKilled"
    r"|CrashLoopBackOff|ImagePullBackOff"
)
_VERSION = re.compile(
    r"v\d{1,5}(?:\.\d{1,5}){0,3}(?:[-+.][\w.]{1,20})?"
    r"|\d{1,5}(?:\.\d{1,5}){1,3}(?:[-+][\w.]{1,20})?|\d{1,4}\.x"
)
_SYMBOL = re.compile(
    r"_{0,2}[A-Za-z]\w*(?:(?:\.|::|#|->)_{0,2}[A-Za-z]\w*){0,6}\(\S{0,80}\)?"
    r"|_{0,2}[a-z]\w*_\w+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]+)+"
    r"|(?:[A-Z][a-z0-9]+){2,}|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.[a-z]+[A-Z_]\w*"
    r"|@[a-z]\w*(?:\.\w+)*"
)
_FEATURES = word_list("features")


_MOST_MESSAGES = 5
_MESSAGE = re.compile(
    r"\b(?:[A-Z]\w{0,60}(?:Error|Exception|Panic)|[Ee]rror(?:\[\w{1,12}\])?|ERROR|FATAL|fatal"
    r"|panic(?:ked at)?): {1,4}(\S{1,80} [^\n]{2,200})"
)


def find_entities(text: str) -> tuple[Entity, ...]:
    """What ``text`` names, each once, in order, at most 50; "feature" is a part of a product."""
    found: dict[Entity, None] = {}
    for word in _words(text[:_READ_CHARS]):
        kind = next((kind for kind, is_one in _KINDS if is_one(word)), None)
        if kind is not None:
            lowered = kind in ("technology", "feature")
            found[Entity(kind=kind, value=word.lower() if lowered else word)] = None
            if len(found) == MAX_ENTITIES:
                break
    # What an error says about itself: the rest of its line.
    for match in islice(_MESSAGE.finditer(text[:_READ_CHARS]), _MOST_MESSAGES):
        found[Entity(kind="message", value=match[1].rstrip())] = None
    return tuple(found)[:MAX_ENTITIES]


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0].lstrip(_TRIM_LEFT)
        bare = word.rstrip(_TRIM_RIGHT)
        yield f"{bare})" if bare.endswith("(") else bare


def _is_path(word: str) -> bool:
    if "://" in word:
        return False
    word = _LOCATION.sub("", word)
    if _FILE.fullmatch(word):
        return True
    if "/" not in word and "\\" not in word:
        return False
    # "and/or", "read/write" and "1/2" are no paths.
    named = (
        word.startswith(("/", "./", "../", "~/"))
        or word.count("/") > 1
        or "." in word
        or "_" in word
    )
    return (named or word.endswith("/")) and _PATH.fullmatch(word) is not None


def _is_symbol(word: str) -> bool:
    return len(word) > 3 and _SYMBOL.fullmatch(word) is not None


_KINDS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("technology", lambda word: word.lower() in TECHNOLOGIES),
    ("feature", lambda word: word.lower() in _FEATURES),
    ("error", _ERROR.fullmatch),
    ("version", _VERSION.fullmatch),
    ("path", _is_path),
    ("symbol", _is_symbol),
)
