"""What a changed file is about: its folders, the words of its path and of the change, its symbols.

A pure helper of ``remind``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...bus.values import Value
from ...config.patterns import regex
from ..language.topics import find_entities
from ..language.words import word_list
from ..text.paths import seen_from, shortened, way_out
from .names import GENERIC_FOLDERS, GENERIC_STEMS, is_generic

MAX_TERMS = 6
MAX_WORDS = 10
MAX_SYMBOLS = 16

_MOST_FOLDERS = 12
_SUBJECT_CHARS = 4_000
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
PARTS = regex(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+|[^\W\d_a-zA-Z]+")
_DEFINED = regex(
    r"\b(?:def|class|func|function|fn|struct|enum|interface|trait|type|module|defmodule|const|let"
    r"|var|object|record|table)\s{1,4}([A-Za-z_][\w.]{2,80})"
)
_WORD = regex(r"[^\W\d]\w{1,60}")
_HUMP = regex(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")


class Subject(Value, frozen=True, kw_only=True):
    """What a change is about.

    ``path`` is relative to the project where the file is in it, with ``/`` between its parts;
    ``outside`` is as ``way_out`` gives it, and ``folders`` are the names of those that it lies in,
    folded.
    ``terms`` are the words of the path, ``words`` those that the change uses most. ``defined`` and
    ``used`` are identifiers that are unlikely to be met elsewhere by chance: the module and what
    the change defines in it, and what else it mentions.
    """

    path: str
    name: str
    folders: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    defined: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    outside: str = ""

    @property
    def is_distinctive(self) -> bool:
        """Whether the name alone tells which file is meant: "jwt.py" does, "index.ts" does not."""
        return "." in self.name and not is_generic(self.name.casefold())


def subject_of(path: str, text: str, *, tops: Sequence[str] = (), folder: str = "") -> Subject:
    """The subject of a change of ``path``, of which ``text`` is what was written.

    ``tops`` and ``folder`` are as ``seen_from`` takes them.
    """
    seen = seen_from(tops, path, folder)
    inside = shortened(seen)
    own = frozenset(_words(tops[0].rstrip("/").rpartition("/")[2] if tops else ""))
    read = text[:_SUBJECT_CHARS]
    found = Counter(_WORD.findall(read))
    defined = tuple(_defined(inside, read))
    return Subject(
        path=inside,
        name=inside.rpartition("/")[2],
        folders=tuple(inside.casefold().split("/")[:-1][-_MOST_FOLDERS:]),
        terms=tuple(_terms(inside, own))[:MAX_TERMS],
        words=tuple(_most_used(found, own)),
        defined=defined[:MAX_SYMBOLS],
        used=tuple(name for name in found if _is_distinctive(name) and name not in defined)[
            :MAX_SYMBOLS
        ],
        outside=way_out(seen),
    )


def _terms(path: str, own: frozenset[str]) -> Iterator[str]:
    """The telling words of ``path``, the file's name first; ``own`` are the project's name.

    A technology in the file's name is what the file is about, and stands alone.
    """
    *folders, name = path.split("/")
    stem = name.lstrip(".").partition(".")[0]
    named = [] if stem.casefold() in GENERIC_STEMS else _words(stem)
    if known := [one.value for one in find_entities(" ".join(named)) if one.kind == "technology"]:
        return iter(known)
    said = dict.fromkeys(named)
    for folder in reversed(folders):
        if folder.casefold() not in GENERIC_FOLDERS and not folder.startswith("."):
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
    parts = (part.casefold() for part in PARTS.findall(name))
    return [part for part in parts if len(part) > 1 or not part.isascii()]


def _defined(path: str, text: str) -> dict[str, None]:
    module = path.rpartition("/")[2].partition(".")[0]
    names = (name.rpartition(".")[2] for name in _DEFINED.findall(text))
    return {name: None for name in (module, *names) if _is_distinctive(name)}


def _is_distinctive(name: str) -> bool:
    """Whether an identifier is made of several words: "verify_token", "parseRows"."""
    return len(name) > 5 and not name.startswith("__") and _HUMP.search(name) is not None
