"""Knows a project from its files: who it is, where it is, and what it is made of.

Nothing is run and no tree is walked. What was read is kept until one of the files that were looked
at changes.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from cachetools import LRUCache

from ...bus.values import Place, ProjectFacts, Scope
from ..files import Look, Stamp, unchanged
from .git import Repository, find_repository, working_tree_of
from .manifests import read_facts

_CACHED = 256
_ID_HEX_DIGITS = 12
_MAX_NAME_CHARS = 40
_LOCATION = re.compile(r":\d{1,6}(?::\d{1,6})?$")
_T = TypeVar("_T")


class Projects:
    """Places and facts of projects, cached. Safe to use from several threads."""

    def __init__(self) -> None:
        self._places: _Cache[tuple[Scope, Path, str | None]] = _Cache()
        self._facts: _Cache[ProjectFacts] = _Cache()

    def place(self, *, project_dir: str, cwd: str, user: str) -> Place:
        """Where the agent works.

        ``project_dir`` is the directory that the agent calls the project; where it is empty or not
        absolute, ``cwd`` is asked. The project's identity is its origin, so that clones share and
        forks do not; without one the directory that all its worktrees share; without git the
        directory. ``root`` is ``project_dir`` or else the top of the working tree. Never raises for
        what the file system holds.
        """
        named = _absolute(project_dir)
        start = named or _absolute(cwd) or Path("/")
        scope, top, branch = self._places.get(start, lambda look: _locate(start, look))
        root = str(start if named else top).encode("utf-8", "replace").decode()
        return Place(project=scope, root=root, user=Scope("user", user), branch=branch)

    def has_origin(self, directory: str) -> bool:
        """Whether clones elsewhere are the same project: it has an origin that is no path here."""
        start = _absolute(directory)
        repository = find_repository(start, Look()) if start is not None else None
        return repository is not None and _is_elsewhere(repository.origin)

    def facts(self, root: str) -> ProjectFacts:
        """What the manifests directly under ``root`` say; empty where they say nothing."""
        start = _absolute(root)
        if start is None:
            return ProjectFacts()
        return self._facts.get(start, lambda look: read_facts(start, look))

    def existing(self, root: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of ``paths`` that name something inside the project at ``root``."""
        start = _absolute(root)
        return tuple(path for path in paths if start is not None and _is_inside(start, path))


class _Cache(Generic[_T]):
    """Answers, each with the stamps of the files that it came from. Safe in several threads."""

    def __init__(self) -> None:
        self._kept: LRUCache[Path, tuple[Mapping[Path, Stamp], _T]] = LRUCache(_CACHED)
        self._lock = threading.Lock()

    def get(self, key: Path, make: Callable[[Look], _T]) -> _T:
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and unchanged(kept[0]):
            return kept[1]
        look = Look()
        made = make(look)
        with self._lock:
            self._kept[key] = (look.stamps, made)
        return made


def _locate(start: Path, look: Look) -> tuple[Scope, Path, str | None]:
    repository = find_repository(start, look)
    if repository is None:
        return _scope(f"tree:{start}", start.name), start, None
    return _scope(*_identity(repository)), repository.top, repository.branch


def _identity(repository: Repository) -> tuple[str, str]:
    if _is_elsewhere(repository.origin):
        return f"remote:{repository.origin}", repository.origin
    # A clone from a path shares with the working tree that it was cloned from, and `git init`
    # does not make a new project of a directory.
    tree = repository.origin or working_tree_of(str(repository.common))
    return f"tree:{tree}", tree


def _is_elsewhere(origin: str) -> bool:
    return bool(origin) and not origin.startswith("/")


def _scope(identity: str, path: str) -> Scope:
    """A scope whose id tells the project's name and nothing of where it is."""
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    name = re.sub(r"[^a-z0-9._-]+", "-", path.rsplit("/", 1)[-1].lower()).strip("-.")
    return Scope("project", f"{name[:_MAX_NAME_CHARS] or 'root'}-{digest[:_ID_HEX_DIGITS]}")


def _is_inside(root: Path, named: str) -> bool:
    """Whether ``named`` (with a line number or without) is there and within ``root``."""
    plain = _LOCATION.sub("", named)
    try:
        found = Path(os.path.realpath(root / plain))
        return found.is_relative_to(root) and found.exists()
    except (OSError, ValueError):
        return False


def _absolute(path: str) -> Path | None:
    """``path`` without links, or None where it is not absolute or cannot be a path."""
    if not path.startswith("/"):
        return None
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return None
