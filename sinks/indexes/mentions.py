"""Which memories name a file, and which may warn of an action; caches, as the topics are.

A memory names a file where it was captured with it, and where its text does: "see src/auth/jwt.py".
It names a folder where its text does with a slash: "gen/", "db/migrations". Whether it means the
same file or folder of that name is decided by whoever reads the memory.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ...bus.values import Memory, Scope
from ...config.patterns import regex

MOST_NAMING = 20
MAX_NAMES = 20

_READ_CHARS = 4_000
_MOST_CHARS = 80
# Dots are rare, so they are looked for first, and the name before each is read backwards.
_EXTENSION = regex(r"\.[A-Za-z]\w{0,7}(?![\w-]|\.\w)")
_PATH = regex(r"(?<![\w.@/-])(?:[\w.@-]{0,80}/){1,12}[\w.@*-]{0,80}")


class FileIndex:
    """Names of files, each scope for itself. Safe to share between threads.

    Lean rather than exact: a memory that named a file before it was changed is still found by it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: dict[Scope, dict[str, tuple[str, ...]]] = {}

    def add(self, memory: Memory) -> None:
        """Index ``memory``, or its newer version."""
        names = dict.fromkeys(names_in(memory))
        with self._lock:
            for name in names:
                by_name = self._ids.setdefault(memory.scope, {})
                others = (id_ for id_ in by_name.get(name, ()) if id_ != memory.id)
                by_name[name] = (*others, memory.id)[-MOST_NAMING:]

    def remove(self, memory_id: str) -> None:
        """Remove a memory; does nothing if it is not there."""
        with self._lock:
            for by_name in self._ids.values():
                for name in [name for name, ids in by_name.items() if memory_id in ids]:
                    by_name[name] = tuple(id_ for id_ in by_name[name] if id_ != memory_id)
                    if not by_name[name]:
                        del by_name[name]

    def naming(self, name: str, scopes: Iterable[Scope]) -> tuple[str, ...]:
        """The ids of the memories that name a file called so, the newest first, at most 20.

        Of a folder, the name ends in a slash.
        """
        with self._lock:
            found_in = [self._ids[scope] for scope in dict.fromkeys(scopes) if scope in self._ids]
            found = [id_ for by_name in found_in for id_ in by_name.get(name.casefold(), ())]
        return tuple(sorted(found, reverse=True)[:MOST_NAMING])


def names_in(memory: Memory) -> Iterator[str]:
    """The names of the files and folders that ``memory`` names, lower-cased.

    At most 20 of each, perhaps twice; that of a folder ends in a slash.
    """
    for provenance in (memory.provenance, *memory.sources[:MAX_NAMES]):
        if provenance.file:
            yield provenance.file.replace("\\", "/").rpartition("/")[2].casefold()
    found = _EXTENSION.finditer(memory.content, 0, _READ_CHARS)
    for match, _ in zip(found, range(MAX_NAMES), strict=False):
        if stem := _stem(memory.content, match.start()):
            yield (stem + match[0]).casefold()
    paths = _PATH.finditer(memory.content, 0, _READ_CHARS) if "/" in memory.content else ()
    for match, _ in zip(paths, range(MAX_NAMES), strict=False):
        if folder := _folder(match[0]):
            yield f"{folder.casefold()}/"


def _folder(path: str) -> str:
    """The name of the folder that ``path`` is; "" for that of a file, and for an address."""
    *folders, name = path.rstrip("./").split("/")
    if path.startswith("//") or (path[-1] != "/" and "." in name.lstrip(".") and "*" not in name):
        return ""
    return folders[-1] if "*" in name and folders else name


def _stem(text: str, end: int) -> str:
    start = end
    while start > max(0, end - _MOST_CHARS) and (
        text[start - 1].isalnum() or text[start - 1] in "_-."
    ):
        start -= 1
    return text[start:end]


MOST_WITH_KEY = 8
MOST_WARNING = 32
"""Of one key in one scope, and in one look-up; the newest."""

# Twice as many as are wanted: some are over, or were lifted.
_MOST_SHARING = 16
# Of one key in one scope, the newest.
_MOST_COUNTED = 200
# So many memories are added to those that say for which orders they are needed: among few, every
# word is rare. From about sixty on, a word weighs no more than it does there.
_PRIOR_MEMORIES = 20
_MOST_WEIGHT = math.log1p(60)


class WarningIndex:
    """Keys of what memories warn of, each scope for itself. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Of each key the oldest first.
        self._ids: dict[Scope, dict[str, list[str]]] = {}
        self._known: dict[str, tuple[Scope, tuple[str, ...]]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, memory: Memory, keys: tuple[str, ...]) -> None:
        """Index ``memory``, or its newer version, by its ``keys``; most memories have none."""
        with self._lock:
            self._drop(memory.id)
            if not keys or memory.superseded_by is not None:
                return
            self._known[memory.id] = (memory.scope, keys)
            by_key = self._ids.setdefault(memory.scope, {})
            for key in keys:
                insort(by_key.setdefault(key, []), memory.id)

    def remove(self, memory_id: str) -> None:
        """Remove a memory; does nothing if it is not there."""
        with self._lock:
            self._drop(memory_id)

    def warning(self, keys: Iterable[str], scopes: Iterable[Scope]) -> tuple[str, ...]:
        """The ids of the memories that have one of ``keys``, newest first, at most 32."""
        wanted = tuple(dict.fromkeys(keys))
        with self._lock:
            found = [
                id_
                for by_key in self._of(scopes)
                for key in wanted
                for id_ in by_key.get(key, ())[-MOST_WITH_KEY:]
            ]
        return tuple(sorted(dict.fromkeys(found), reverse=True)[:MOST_WARNING])

    def sharing(
        self, keys: Iterable[str], scopes: Iterable[Scope], *, among: str
    ) -> tuple[tuple[str, float], ...]:
        """The ids of the memories that share most with ``keys``, and how much; at most 16.

        Each key weighs log(1 + n / m) where m of the n memories that have the key ``among`` have
        it as well: a few are added to n, so that not every key is rare where there are few.
        """
        wanted = tuple(dict.fromkeys(keys))
        shared: defaultdict[str, float] = defaultdict(float)
        with self._lock:
            found_in = self._of(scopes)
            total = sum(len(by_key.get(among, ())) for by_key in found_in) + _PRIOR_MEMORIES
            for key in wanted:
                having = [by_key[key] for by_key in found_in if key in by_key]
                weight = math.log1p(total / max(1, sum(map(len, having))))
                for id_ in chain.from_iterable(ids[-_MOST_COUNTED:] for ids in having):
                    shared[id_] += min(weight, _MOST_WEIGHT)
        ranked = sorted(shared.items(), key=lambda one: (one[1], one[0]), reverse=True)
        return tuple(ranked[:_MOST_SHARING])

    def _of(self, scopes: Iterable[Scope]) -> list[Mapping[str, Sequence[str]]]:
        return [self._ids[scope] for scope in dict.fromkeys(scopes) if scope in self._ids]

    def _drop(self, memory_id: str) -> None:
        scope, keys = self._known.pop(memory_id, (None, ()))
        for key in keys:
            by_key = self._ids[scope] if scope is not None else {}
            ids = by_key[key]
            del ids[bisect_left(ids, memory_id)]
            if not ids:
                del by_key[key]
