"""A project's files: listed and read within bounds, and never outside of the project.

They may be hostile, or on a file system that hangs: whoever calls does so in a thread. What git
would ignore by the ``.gitignore`` at the top is not listed, nor what is generated.
"""

from __future__ import annotations

import os
import re
import stat
import time
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ...bus.anchors import is_inside
from ...config.patterns import regex
from .ignored import Ignored

MAX_BYTES = 1_000_000
"""A larger file is no source text that somebody wrote."""

MOST_FILES = 20_000
"""So many files are listed beside pictures and the like,"""
MOST_LISTED = 100_000
"""so many with them,"""
MOST_FOLDERS = 4_000
"""in so many folders."""

_LISTED_S = 3.0
_GENERATED = frozenset(
    "node_modules bower_components vendor site-packages __pycache__ venv".split()
)
_OFTEN_GENERATED = frozenset("dist build target out coverage env".split())
"""Left out where no ``.gitignore`` says what is generated."""
_ENVIRONMENTS = _GENERATED - {"vendor"} | frozenset(".git .venv .tox .nox".split())
_MOST_NAMESAKES = 4_000
_SEEN_HIDDEN = frozenset(".github .gitlab .circleci .ci .devcontainer .husky".split())
_ASSETS = frozenset(
    "svg png jpg jpeg gif webp avif ico icns bmp tif tiff psd woff woff2 ttf otf"
    " eot mp3 mp4 wav ogg flac webm mov avi pdf zip gz tgz bz2 xz zst 7z jar war"
    " class o a so dll dylib exe bin dat pyc wasm map snap parquet npy npz pkl pt"
    " onnx safetensors db sqlite".split()
)
"""Suffixes of what no code moves to."""
_SECRET = regex(
    r"\.env(?!\.(?:example|sample|template)$)(?:\..*)?|.*\.(?:pem|key|p12|pfx|jks|keystore)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519).*|\.?(?:secrets?|credentials?|htpasswd|netrc|pgpass)(?:\..*)?",
    re.IGNORECASE,
)

Stamp = tuple[int, int, int, int, int]
Late = Callable[[], bool]


class Unreadable(OSError):
    """There is something, and it is not to be read: no text file of the project, or not ours."""


class Read(Struct, frozen=True):
    """The bytes of a file, UTF-16 as UTF-8, and its stamp from before it was read."""

    data: bytes
    stamp: Stamp


def places_of(named: str, folder: str) -> tuple[str, ...]:
    """Where a file may lie, seen from the top, that a text in ``folder`` names; the nearest first.

    Nothing outside of the project.
    """
    places = dict.fromkeys((f"{folder}/{named}", named) if folder else (named,))
    return tuple(filter(is_inside, places))


class Checkout:
    """The files below ``top``. A listing is kept for a few seconds. For use in one thread.

    Where ``late()`` says so, a listing ends with what it has by then. ``taken`` are files that were
    read before; they are not read again.
    """

    def __init__(
        self,
        top: Path,
        *,
        late: Late = lambda: False,
        clock: Callable[[], float] = time.monotonic,
        taken: Mapping[str, Read] | None = None,
    ) -> None:
        self.top = top
        self._taken = taken or {}
        self._real = Path(os.path.realpath(top))
        self._late = late
        self._clock = clock
        self._listed: tuple[float, tuple[str, ...]] | None = None
        self._is_whole = False
        self._left_out: list[str] = []

    def stamp(self, path: str) -> Stamp | None:
        """What is at ``path``: its mode, inode, size and times; None for nothing."""
        try:
            found = (self.top / path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise Unreadable(str(type(error).__name__)) from None
        return (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def read(self, path: str) -> Read | None:
        """The file at ``path``; None where there is none. Raises ``Unreadable``."""
        if path in self._taken:
            return self._taken[path]
        stamp = self.stamp(path)
        if stamp is None:
            return None
        if not stat.S_ISREG(stamp[0]) or stamp[2] > MAX_BYTES or not may_be_read(path):
            raise Unreadable("no text file")
        real = Path(os.path.realpath(self.top / path))
        if not real.is_relative_to(self._real):
            raise Unreadable("outside")
        try:
            data = _read(real)
        except (OSError, ValueError) as error:
            raise Unreadable(str(type(error).__name__)) from None
        text = _in_utf8(data)
        if b"\0" in text:
            raise Unreadable("binary")
        return Read(text, stamp)

    def read_listed(self, path: str) -> bytes | None:
        """A file that ``files`` named, where no link leads to it; None where it is no text."""
        try:
            data = _read(self.top / path)
        except (OSError, ValueError):
            return None
        text = _in_utf8(data)
        return text if len(data) <= MAX_BYTES and b"\0" not in text else None

    def files(self) -> tuple[str, ...]:
        """The paths of the project's files, those near the top first; see ``is_whole``."""
        if self._listed is None or self._clock() - self._listed[0] > _LISTED_S:
            self._is_whole, self._left_out = False, []
            self._listed = (self._clock(), tuple(self._counted()))
        return self._listed[1]

    @property
    def is_whole(self) -> bool:
        """Whether ``files`` names all of them: neither their number nor the time cut it off."""
        if self._listed is None:
            self.files()
        return self._is_whole

    def namesakes(self, name: str) -> Iterator[str]:
        """The files called ``name`` in folders that ``files`` left out for what they are called.

        It looks at 4,000 entries at most, into nothing that was installed, and no other checkout.
        """
        folders = list(self._left_out)
        seen = 0
        for folder in folders:  # they grow meanwhile
            entries = [] if _is_installed(folder) else _entries(self.top / folder)
            if any(entry.name == ".git" for entry in entries):
                continue
            for entry in entries:
                seen += 1
                if seen > _MOST_NAMESAKES or self._late():
                    return
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{path}/")
                elif entry.name == name and may_be_read(path):
                    yield path

    def _counted(self) -> Iterator[str]:
        """As many of the files as may be listed."""
        counted = 0
        for number, path in enumerate(self._walk()):
            counted += path.rpartition(".")[2].casefold() not in _ASSETS
            if counted > MOST_FILES or number == MOST_LISTED:
                return
            yield path

    def _walk(self) -> Iterator[str]:
        """Every file. What ends it before it saw all leaves ``_is_whole`` as it is."""
        rules = cache(lambda folder: Ignored(self._rules(folder)))
        ignored, folders = rules(""), [""]
        for folder in islice(folders, MOST_FOLDERS):  # they grow meanwhile
            entries = _entries(self.top / folder)
            for entry in entries:
                if self._late() or len(entries) > MOST_LISTED:
                    return
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if not ignored.matches(path, is_folder=True):
                        is_left_out = _is_left_out(path, rules)
                        (self._left_out if is_left_out else folders).append(f"{path}/")
                    continue
                is_file = entry.is_file(follow_symlinks=False) and may_be_read(path)
                if is_file and not ignored.matches(path, is_folder=False):
                    yield path
        self._is_whole = len(folders) <= MOST_FOLDERS

    def _rules(self, folder: str) -> str:
        try:
            read = self.read(f"{folder}.gitignore")
        except Unreadable:
            return ""
        return read.data.decode("utf-8", "replace") if read else ""


def _is_installed(folder: str) -> bool:
    return folder.rstrip("/").rpartition("/")[2] in _ENVIRONMENTS


def _is_left_out(path: str, rules: Callable[[str], Ignored]) -> bool:
    """Whether a folder is hidden, or its name says that it is generated and no rule might.

    ``rules`` are those of the ``.gitignore`` in a folder.
    """
    name = path.rpartition("/")[2]
    if name not in _OFTEN_GENERATED:
        return name in _GENERATED or (name.startswith(".") and name not in _SEEN_HIDDEN)
    above = [f"{each}/" for each in PurePosixPath(path).parents if each.name]
    return rules("").is_empty or any(
        rules(folder).matches(path.removeprefix(folder), is_folder=True) for folder in above
    )


def may_be_read(path: str) -> bool:
    """Whether a file called so is read at all: not where secrets are kept, or git's own."""
    return is_inside(path) and _SECRET.fullmatch(path.rpartition("/")[2]) is None


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, MOST_LISTED + 1), key=lambda entry: entry.name)
    except (OSError, ValueError):
        return []


def _in_utf8(data: bytes) -> bytes:
    """``data`` as it is, or, where it begins with the mark of UTF-16 and is that, as UTF-8."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        with suppress(UnicodeDecodeError):
            return data.decode("utf-16").encode()
    return data


def _read(path: Path) -> bytes:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("no regular file")
        parts = []
        left = MAX_BYTES + 1
        while left > 0 and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
