"""Which directories are the project whose remote they name.

Anybody can write a remote into a ``.git``. So a project is bound to the first repository that is
seen with its remote, and another one belongs to it if it shows that they are kin: one of the two
has a commit that the other names. Where the first one has none to compare, the same owner is
enough. What the user said of a directory counts before all that.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import msgspec
from msgspec import Struct

from ..files import replace_file
from .commits import has_any, named_commits

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
        """Whether the repository at ``common``, which is ``owner``'s, is ``project``."""
        with self._lock:
            noted = self._read()
            known, key = noted.projects.get(project), _key(common)
            if known is None:
                if len(noted.projects) < MAX_PROJECTS:
                    first = _Known(str(common), owner, named_commits(common), {key: True})
                    noted.projects[project] = first
                    self._write()
                return True
            if key not in known.members:
                if not _are_kin(known, common, owner):
                    return False
                self._judge(known, key, is_member=True)
            return known.members.get(key, True)

    def judge(self, project: str, common: Path, *, is_member: bool) -> None:
        """Note the user's word on the repository at ``common``."""
        with self._lock:
            known = self._read().projects.get(project)
            if known is not None:
                self._judge(known, _key(common), is_member=is_member)

    def was_parted(self, project: str, common: Path) -> bool:
        """Whether the user said that the repository at ``common`` is not ``project``."""
        with self._lock:
            known = self._read().projects.get(project)
            return known is not None and known.members.get(_key(common)) is False

    def is_first_telling(self, common: Path) -> bool:
        """Whether nobody was told yet that this repository is not the project that it names."""
        with self._lock:
            noted, key = self._read(), _key(common)
            if key in noted.told:
                return False
            noted.told = [*noted.told[-_MOST_DIRECTORIES:], key]
            self._write()
            return True

    def _judge(self, known: _Known, key: str, *, is_member: bool) -> None:
        if len(known.members) < _MOST_DIRECTORIES or key in known.members:
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
