"""Which directories are the project whose remote they name.

Anybody can write a remote into a ``.git``. So a project is bound to the first repository that is
seen with its remote, or to the one at the path that is its remote, and another one belongs to it if
it shows that they are kin: one of the two has a commit that the other names. Where the first one
has none to compare, the same owner is enough. What the user said of a directory counts before all
that.

Commits are read from a repository's files, without running git. Every file may be hostile: reads
are bounded, and nothing behind a link counts, for it could lead into the very repository whose
commits are asked for. Alternates are not followed for that reason. Only commits count: the names of
other objects are no secret, such as that of a well-known licence.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from ...config.patterns import regex
from ..files import Look, replace_file

MAX_PROJECTS = 10_000
MAX_BYTES = 16_000_000
_MOST_DIRECTORIES = 500
_log = logging.getLogger(__name__)


class _Known(Struct):
    """A project by its remote: its first repository, whose it is, and commits that it named.

    ``members`` has each repository that was judged, as ``_key`` writes it.
    """

    common: str
    owner: int | None
    commits: tuple[str, ...]
    members: dict[str, bool]


class _Noted(Struct):
    projects: dict[str, _Known] = {}
    told: list[str] = []


class Kinship:
    """Remembers in ``file`` which repository belongs to which project; safe in several threads.

    Without a file it is remembered as long as this lives. ``common`` is always the directory that
    all worktrees of a repository share, without links.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._noted: _Noted | None = None

    def admits(self, project: str, common: Path, owner: int | None) -> bool:
        """Whether the repository at ``common``, which is ``owner``'s, is ``project``.

        Without an owner it has to show a commit.
        """
        # The repository may be on a disk that hangs: it is read without holding the lock.
        key = _key(common)
        with self._lock:
            known = self._read().projects.get(project)
        if known is None:
            first = _Known(str(common), owner, named_commits(common), {key: True})
            known = self._first(project, first)
        if key not in known.members:
            if not _are_kin(known, common, owner):
                return False
            with self._lock:
                if key not in known.members and len(known.members) < _MOST_DIRECTORIES:
                    self._judge(known, key, is_member=True)
        return known.members.get(key, True)

    def bind(self, project: str, home: Path, owner: int | None) -> None:
        """``project`` is the repository at ``home``, whichever was seen first."""
        commits = named_commits(home)
        key = _key(home)
        with self._lock:
            known = self._read().projects.get(project)
        if known is None:
            known = self._first(project, _Known(str(home), owner, commits, {key: True}))
        is_same = known.common == str(home) and key in known.members and known.commits == commits
        if not is_same:
            with self._lock:
                known.common, known.owner, known.commits = str(home), owner, commits
                _make_room(known, key)
                self._judge(known, key, is_member=True)

    def knows(self, project: str) -> bool:
        """Whether a repository is bound to ``project``."""
        with self._lock:
            known = self._read().projects.get(project)
            return known is not None and known.common != ""

    def is_first(self, project: str, common: Path) -> bool:
        """Whether ``project`` is bound to the repository at ``common``, and it was not parted."""
        with self._lock:
            known = self._read().projects.get(project)
            is_there = known is not None and known.common == str(common)
        return is_there and self.is_judged(project, common) and not self.was_parted(project, common)

    def is_judged(self, project: str, common: Path) -> bool:
        """Whether it is decided if the repository at ``common`` is ``project``."""
        key = _key(common)
        with self._lock:
            known = self._read().projects.get(project)
            return known is not None and key in known.members

    def is_at(self, project: str, directory: Path) -> bool:
        """Whether ``project`` is bound to that path, and the user parted nothing that was there."""
        with self._lock:
            known = self._read().projects.get(project)
            if known is None or known.common != str(directory):
                return False
            at_path = f":{directory}"
            return all(known.members[key] for key in known.members if key.endswith(at_path))

    def _first(self, project: str, seen: _Known) -> _Known:
        """``seen``, noted as what ``project`` is bound to, or else what was noted before it."""
        with self._lock:
            projects = self._read().projects
            if project not in projects and len(projects) < MAX_PROJECTS:
                projects[project] = seen
                self._write()
            return projects.get(project, seen)

    def judge(self, project: str, common: Path, *, is_member: bool) -> None:
        """Note the user's word on the repository at ``common``."""
        key = _key(common)
        known = self._first(project, _Known("", None, (), {}))
        with self._lock:
            _make_room(known, key)
            self._judge(known, key, is_member=is_member)

    def was_parted(self, project: str, common: Path) -> bool:
        """Whether the user said that the repository at ``common`` is not ``project``."""
        key = _key(common)
        with self._lock:
            known = self._read().projects.get(project)
            return known is not None and known.members.get(key) is False

    def is_first_telling(self, common: Path) -> bool:
        """Whether nobody was told yet that this repository is not the project that it names."""
        key = _key(common)
        with self._lock:
            noted = self._read()
            if key in noted.told:
                return False
            noted.told = [*noted.told[-_MOST_DIRECTORIES:], key]
            self._write()
            return True

    def _judge(self, known: _Known, key: str, *, is_member: bool) -> None:
        known.members[key] = is_member
        self._write()

    def _read(self) -> _Noted:
        if self._noted is None:
            self._noted = _read_file(self._file) if self._file else _Noted()
        return self._noted

    def _write(self) -> None:
        if self._file is None or self._noted is None:
            return
        try:
            replace_file(self._file, msgspec.json.encode(self._noted))
        except (OSError, ValueError) as error:  # it is decided anew after the next start
            _log.warning("cannot note the projects", extra={"error": type(error).__name__})


def _read_file(file: Path) -> _Noted:
    try:
        with file.open("rb") as source:
            return msgspec.json.decode(source.read(MAX_BYTES), type=_Noted)
    except FileNotFoundError:
        return _Noted()
    except (OSError, ValueError) as error:
        _log.warning("cannot read the projects", extra={"error": type(error).__name__})
        return _Noted()


def _make_room(known: _Known, key: str) -> None:
    """Drop the oldest that is kin, which it can show again; where there is none, the oldest."""
    members = known.members
    if key in members or len(members) < _MOST_DIRECTORIES:
        return
    first = _key(Path(known.common))
    others = [member for member in members if member != first]
    del members[next((other for other in others if members[other]), others[0])]


def _key(common: Path) -> str:
    """The repository there, and no other that is put in its place."""
    try:
        return f"{common.stat().st_ino}:{common}"
    except OSError:
        return f"0:{common}"


def _are_kin(known: _Known, common: Path, owner: int | None) -> bool:
    first = Path(known.common)
    is_there = known.members.get(_key(first)) is not None and os.path.realpath(first) == str(first)
    named = (*known.commits, *(named_commits(first) if is_there else ()))
    if not named:
        return owner is not None and owner == known.owner
    try:
        return has_any(common, named) or (is_there and has_any(first, named_commits(common)))
    except OSError:  # a disk that fails shows nothing
        return False


MOST_NAMED = 64
"""Commits of a repository that are compared."""

_NAME = regex(r"\^?([0-9a-f]{40}(?:[0-9a-f]{24})?)(?=\s|\Z)")
_LOOSE = ("refs/heads", "refs/remotes/origin", "refs/tags")
_MAX_REF_BYTES = 256
_MAX_PACKED_BYTES = 4_000_000
_MOST_REFS = 100
_MOST_PACKS = 64
# A pack's index, version 2: magic and version, 256 counts by first byte, then the sorted names.
_INDEX = b"\xfftOc\0\0\0\2"
_COUNT_BYTES = 4
_FAR = 1 << 31
_FARTHEST = 1 << 62
# In a pack: the kinds of object in bits 4 to 6 of the first byte.
_COMMIT_KIND, _OFFSET_DELTA = 1, 6
_MOST_DELTAS = 64
_HEAD_BYTES = 64
_COMMIT = b"commit "
_NAMES_AT = len(_INDEX) + 256 * _COUNT_BYTES


def named_commits(common: Path) -> tuple[str, ...]:
    """Commits that branches and tags of the repository at ``common`` name, a few of each."""
    look = Look()
    return tuple(dict.fromkeys(islice(_named(common, look), MOST_NAMED)))


def _named(common: Path, look: Look) -> Iterator[str]:
    texts: list[str | None] = []
    if _is_own(common, "HEAD"):
        texts.append(look.text(common / "HEAD", _MAX_REF_BYTES))
    for folder in _LOOSE:
        if _is_own(common, folder):
            files = look.children(common / folder, _MOST_REFS)
            texts += [look.text(file, _MAX_REF_BYTES) for file in files if not file.is_symlink()]
    if _is_own(common, "packed-refs"):
        texts += (look.text(common / "packed-refs", _MAX_PACKED_BYTES) or "").splitlines()
    for text in texts:
        if text and (match := _NAME.match(text)):
            yield match[1]


def has_any(common: Path, names: Iterable[str]) -> bool:
    """Whether the repository at ``common`` itself holds one of the commits ``names``."""
    wanted = [name for name in names if _NAME.fullmatch(name)]
    return any(_is_loose(common, name) for name in wanted) or any(
        _holds(index, wanted) for index in _indexes(common)
    )


def _is_loose(common: Path, name: str) -> bool:
    file = f"objects/{name[:2]}/{name[2:]}"
    if not _is_own(common, file):
        return False
    with _opened(common / file) as handle, suppress(zlib.error):
        begin = os.pread(handle, _HEAD_BYTES, 0) if handle is not None else b""
        return zlib.decompressobj().decompress(begin, len(_COMMIT)) == _COMMIT
    return False


def _indexes(common: Path) -> Iterator[Path]:
    folder = common / "objects" / "pack"
    if _is_own(common, "objects/pack"):
        names = sorted(name for name in Look().names(folder) if name.endswith(".idx"))
        yield from (folder / name for name in names[:_MOST_PACKS])


def _holds(index: Path, names: Iterable[str]) -> bool:
    with _opened(index) as handle, _opened(index.with_suffix(".pack")) as pack:
        if handle is None or pack is None:
            return False
        counts = os.pread(handle, _NAMES_AT, 0)
        if len(counts) < _NAMES_AT or not counts.startswith(_INDEX):
            return False
        found = (_offset(handle, counts, bytes.fromhex(name)) for name in names)
        return any(at is not None and _is_commit(pack, at) for at in found)


@contextmanager
def _opened(file: Path) -> Iterator[int | None]:
    """A descriptor of the regular file, None where it is none. Reading it may raise ``OSError``."""
    handle = None
    try:
        with suppress(OSError, ValueError):
            handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        yield handle if handle is not None and stat.S_ISREG(os.fstat(handle).st_mode) else None
    finally:
        if handle is not None:
            os.close(handle)


def _is_own(common: Path, name: str) -> bool:
    """Whether that is there, and no part of the way to it is a link."""
    path = common / name
    try:
        return os.path.realpath(path) == str(path) and path.exists()
    except (OSError, ValueError):
        return False


def _offset(handle: int, counts: bytes, name: bytes) -> int | None:
    """Where in its pack the object ``name`` begins; None where it is not in this index."""
    total = _count(counts, 255)
    low, high = _count(counts, name[0] - 1) if name[0] else 0, _count(counts, name[0])
    while low < high:
        middle = (low + high) // 2
        found = os.pread(handle, len(name), _NAMES_AT + middle * len(name))
        if found == name:
            # Behind the names stands a checksum each, then an offset each.
            at = _NAMES_AT + total * (len(name) + _COUNT_BYTES) + middle * _COUNT_BYTES
            offset = int.from_bytes(os.pread(handle, _COUNT_BYTES, at), "big")
            if not offset & _FAR:
                return offset
            far = _NAMES_AT + total * (len(name) + 2 * _COUNT_BYTES) + (offset ^ _FAR) * 8
            return int.from_bytes(os.pread(handle, 8, far), "big")
        low, high = (middle + 1, high) if found < name else (low, middle)
    return None


def _count(counts: bytes, first: int) -> int:
    at = len(_INDEX) + first * _COUNT_BYTES
    return int.from_bytes(counts[at : at + _COUNT_BYTES], "big")


def _is_commit(pack: int, at: int) -> bool:
    """Whether the object at that offset is a commit, or a difference from one."""
    for _ in range(_MOST_DELTAS):
        head = os.pread(pack, _HEAD_BYTES, at) if 0 < at < _FARTHEST else b""
        kind = (head[0] >> 4) & 7 if head else 0
        if kind != _OFFSET_DELTA:
            return kind == _COMMIT_KIND
        rest = iter(head)
        while next(rest, 0) & 0x80:  # the size
            pass
        back = -1
        for byte in rest:
            back = ((back + 1) << 7) | (byte & 0x7F)
            if not byte & 0x80:
                break
        at -= max(back, 1)
    return False
