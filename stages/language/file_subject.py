"""What a changed file is about: its name, the words of its path and of the change, its symbols.

A pure helper of ``remind``. Paths are the agent's, of any system; nothing here looks at a disk.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ...bus.values import Value
from .entities import find_entities
from .words import word_list

MAX_TERMS = 6
MAX_WORDS = 10
MAX_SYMBOLS = 16

_READ_CHARS = 4_000
_OUTSIDE_PARTS = 3
_GENERIC_FOLDERS = word_list("generic_folders")
_GENERIC_STEMS = word_list("generic_file_names")
_FULL = {
    "auth": "authentication",
    "authn": "authentication",
    "authz": "authorization",
    "db": "database",
    "i18n": "internationalization",
    "k8s": "kubernetes",
    "perf": "performance",
}
_KEYWORDS = word_list("keywords")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+|[^\W\d_a-zA-Z]+")
_DEFINED = re.compile(
    r"\b(?:def|class|func|function|fn|struct|enum|interface|trait|type|module|defmodule|const|let"
    r"|var|object|record|table)\s{1,4}([A-Za-z_][\w.]{2,80})"
)
_WORD = re.compile(r"[^\W\d]\w{1,60}")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")


class Subject(Value, frozen=True, kw_only=True):
    """What a change is about.

    ``path`` is relative to the project where the file is in it, with ``/`` between its parts.
    ``terms`` are the words of the path, ``words`` those that the change uses most. ``defined`` and
    ``used`` are identifiers that are unlikely to be met elsewhere by chance: the module and what
    the change defines in it, and what else it mentions.
    """

    path: str
    name: str
    terms: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    defined: tuple[str, ...] = ()
    used: tuple[str, ...] = ()

    @property
    def is_distinctive(self) -> bool:
        """Whether the name alone tells which file is meant: "jwt.py" does, "index.ts" does not."""
        return "." in self.name and self.name.partition(".")[0].casefold() not in _GENERIC_STEMS


def subject_of(path: str, text: str, *, root: str = "") -> Subject:
    """The subject of a change of ``path``, of which ``text`` is what was written."""
    inside = within(path, root)
    own = frozenset(_words(root.replace("\\", "/").rstrip("/").rpartition("/")[2]))
    read = text[:_READ_CHARS]
    found = Counter(_WORD.findall(read))
    defined = tuple(_defined(inside, read))
    return Subject(
        path=inside,
        name=inside.rpartition("/")[2],
        terms=tuple(_terms(inside, own))[:MAX_TERMS],
        words=tuple(_most_used(found, own)),
        defined=defined[:MAX_SYMBOLS],
        used=tuple(name for name in found if _is_distinctive(name) and name not in defined)[
            :MAX_SYMBOLS
        ],
    )


def within(path: str, root: str) -> str:
    """``path`` relative to ``root``; the last parts alone of one that is outside of it."""
    path = re.sub(r"/{2,}", "/", path.replace("\\", "/")).removeprefix("./")
    root = root.replace("\\", "/").rstrip("/")
    if root and path.startswith(f"{root}/"):
        return path[len(root) + 1 :]
    if path.startswith("/") or path[1:3] == ":/":
        return "/".join(path.split("/")[-_OUTSIDE_PARTS:])
    return path


def _terms(path: str, own: frozenset[str]) -> Iterator[str]:
    """The telling words of ``path``, the file's name first; ``own`` are the project's name.

    A technology in the file's name is what the file is about, and stands alone.
    """
    *folders, name = path.split("/")
    stem = name.lstrip(".").partition(".")[0]
    named = [] if stem.casefold() in _GENERIC_STEMS else _words(stem)
    if known := [one.value for one in find_entities(" ".join(named)) if one.kind == "technology"]:
        return iter(known)
    said = dict.fromkeys(named)
    for folder in reversed(folders):
        if folder.casefold() not in _GENERIC_FOLDERS and not folder.startswith("."):
            said.update(dict.fromkeys(_words(folder)))
    for word in own:
        said.pop(word, None)
    return iter(said | {_FULL[word]: None for word in said if word in _FULL})


def _most_used(found: Counter[str], own: frozenset[str]) -> Iterator[str]:
    """The words that identifiers and prose are made of, the most frequent first."""
    words: Counter[str] = Counter()
    for name, count in found.items():
        for word in _words(name):
            if len(word) > 2 or not word.isascii():
                words[word] += count
    telling = (word for word, _ in words.most_common() if word not in _KEYWORDS | own)
    for word, _ in zip(telling, range(MAX_WORDS), strict=False):
        yield word


def _words(name: str) -> list[str]:
    """The parts of an identifier, lower-cased: "jwtHandler_v2" is jwt, handler and v2."""
    parts = (part.casefold() for part in _PARTS.findall(name))
    return [part for part in parts if len(part) > 1 or not part.isascii()]


def _defined(path: str, text: str) -> dict[str, None]:
    module = path.rpartition("/")[2].partition(".")[0]
    names = (name.rpartition(".")[2] for name in _DEFINED.findall(text))
    return {name: None for name in (module, *names) if _is_distinctive(name)}


def _is_distinctive(name: str) -> bool:
    """Whether an identifier is made of several words: "verify_token", "parseRows"."""
    return len(name) > 5 and not name.startswith("__") and _HUMP.search(name) is not None
