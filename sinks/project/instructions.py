"""The files of instructions that an agent puts into every session: CLAUDE.md, AGENTS.md and such.

Nobody vouches for them. Their number, their bytes and the depth of what they import are bounded;
nothing outside the project and the user's folder of that agent is read, not by a link either. What
cannot be read says nothing.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import anyio
import anyio.to_thread
from cachetools import LRUCache
from msgspec import Struct

from ...config.patterns import regex
from ..files import Look, Stamp, unchanged

MAX_FILES = 12
"""Of one agent in one project, those that are imported among them."""
MAX_FILE_BYTES = 128 * 1024
MAX_BYTES = 256 * 1024
"""Of all of them together."""
MAX_DEPTH = 3
"""A file that is imported by one that is imported by one that is imported is the last."""
MAX_INDEX_LINES = 200
"""Claude Code reads no more of the index of its own memory."""

WAIT_S = 0.05
"""So long a hook waits for the files at most, in seconds; then it goes on with what is known."""
CHECKED_S = 3.0
"""For so long nobody looks whether the files have changed."""

_CACHED = 64
_IMPORT = regex(r"(?:^|(?<=\s))@(?P<path>[\w~./-][^\s`]*)", re.MULTILINE)
_CODE = regex(r"^(?P<fence>[ \t]*(?:```|~~~)).*?(?:^(?P=fence)|\Z)|`[^`\n]*`", re.M | re.S)

T = TypeVar("T")


class _Agent(NamedTuple):
    """Which files an agent reads: of the project, and of the user's folder for that agent."""

    name: str
    project: tuple[tuple[str, ...], ...]
    user: str
    imports: bool


# Of a group of files the first that is there is read.
_CLAUDE = _Agent(
    "CLAUDE.md", (("CLAUDE.md",), (".claude/CLAUDE.md",), ("CLAUDE.local.md",)), "CLAUDE.md", True
)
_CODEX = _Agent("AGENTS.md", (("AGENTS.override.md", "AGENTS.md"),), "AGENTS.md", False)
_GEMINI = _Agent("GEMINI.md", (("GEMINI.md",),), "GEMINI.md", True)
_AGENTS = {"claude": _CLAUDE, "codex": _CODEX, "gemini": _GEMINI}
_MEMORY = "MEMORY.md"


class _Loaded(Struct, Generic[T]):
    """What the files say, with the stamps that this rests on, and when those were looked at."""

    files: tuple[T, ...]
    stamps: Mapping[Path, Stamp]
    checked_at: float


class InstructionFiles(Generic[T]):
    """What the files say that a client reads at a root; ``known`` never touches the disk.

    ``read`` makes of a file's name and text what is known of it; it is called in a thread.
    """

    def __init__(
        self,
        read: Callable[[str, str], T],
        *,
        folders: Mapping[str, Path],
        enabled: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._folders = folders
        self._enabled = enabled
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded: LRUCache[tuple[str, str], _Loaded[T]] = LRUCache(_CACHED)
        self._loading: set[tuple[str, str]] = set()

    def known(self, root: str, client: str) -> tuple[T, ...]:
        """What was read last."""
        with self._lock:
            loaded = self._loaded.get((root, client))
        return loaded.files if loaded else ()

    async def refresh(self, root: str, client: str) -> None:
        """Read what is new or has changed, off the event loop. Takes at most ``WAIT_S``."""
        if not self._enabled or not root.startswith("/") or self._is_fresh((root, client)):
            return
        with anyio.move_on_after(WAIT_S):
            await anyio.to_thread.run_sync(self.load, root, client, abandon_on_cancel=True)

    def load(self, root: str, client: str) -> None:
        """The same without a limit of time; at once where another thread is at it."""
        key = (root, client)
        with self._lock:
            before = self._loaded.get(key)
            if key in self._loading:
                return
            self._loading.add(key)
        try:
            if before is not None and unchanged(before.stamps):
                before.checked_at = self._clock()
                return
            look = Look()
            files = tuple(self._files(Path(root), client, look))
            with self._lock:
                self._loaded[key] = _Loaded(files, look.stamps, self._clock())
        finally:
            with self._lock:
                self._loading.discard(key)

    def _is_fresh(self, key: tuple[str, str]) -> bool:
        with self._lock:
            loaded = self._loaded.get(key)
            return loaded is not None and self._clock() - loaded.checked_at < CHECKED_S

    def _files(self, root: Path, client: str, look: Look) -> Iterator[T]:
        # Whoever asks beside a session, as `subcog explain` does, may mean any agent.
        for name in _AGENTS if client == "cli" else _AGENTS.keys() & {client}:
            folder = self._folders[name]
            reading = _Reading(look, (_real(root), _real(folder)), _AGENTS[name])
            for text in reading.texts(root, folder):
                yield self._read(_AGENTS[name].name, text)
            if name == "claude":
                index = folder / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root)) / "memory"
                for text in reading.one(index / _MEMORY):
                    lines = text.splitlines()[:MAX_INDEX_LINES]
                    yield self._read(_MEMORY, "\n".join(lines))


class _Reading:
    """One reading of an agent's files, within the bounds; each file is read once."""

    def __init__(self, look: Look, inside: Sequence[Path], agent: _Agent) -> None:
        self._look = look
        self._inside = inside
        self._agent = agent
        self._seen: set[Path] = set()
        self._left = MAX_BYTES

    def texts(self, root: Path, folder: Path) -> Iterator[str]:
        for group in self._agent.project:
            there = (root / name for name in group if self._look.size(root / name))
            if (first := next(there, None)) is not None:
                yield from self.one(first)
        yield from self.one(folder / self._agent.user)

    def one(self, file: Path, depth: int = 0) -> Iterator[str]:
        """The text of ``file``, and of what it imports."""
        real = _real(file)
        is_inside = any(real.is_relative_to(folder) for folder in self._inside)
        if real in self._seen or len(self._seen) >= MAX_FILES or not is_inside:
            return
        text = self._look.text(file, min(MAX_FILE_BYTES, self._left))
        if text is None:
            return
        self._seen.add(real)
        self._left -= len(text.encode())
        yield text
        if self._agent.imports and depth < MAX_DEPTH:
            for path in _imported(text, file.parent):
                yield from self.one(path, depth + 1)


def _imported(text: str, folder: Path) -> Iterator[Path]:
    """The files that ``text`` imports with ``@path``, outside of code."""
    for found in _IMPORT.finditer(_CODE.sub("", text)):
        try:
            yield folder / Path(found["path"]).expanduser()
        except RuntimeError:  # of a user who is not known
            continue


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path("/dev/null")
