"""Where files lie: the working trees of a project, and what a path names without its links."""

from __future__ import annotations

import os
from pathlib import Path

from ...config.patterns import regex
from ..files import Look
from .git import find_repository

_LOCATION = regex(r":\d{1,6}(?::\d{1,6})?$")
_MOST_TREES = 64
_MAX_POINTER_BYTES = 8_192


def other_trees(top: Path, look: Look) -> tuple[Path, ...]:
    """The working trees beside ``top`` of the repository that ``top`` is the top of, if any.

    They are as the repository lists them: whether they are still there is not looked at.
    """
    repository = find_repository(top, look)
    if repository is None:
        return ()
    common = repository.common
    trees = [common.parent] if common.name == ".git" else []
    for own in look.children(common / "worktrees", _MOST_TREES):
        pointer = (look.text(own / "gitdir", _MAX_POINTER_BYTES) or "").strip()
        if pointer and (dot_git := absolute(str(own / pointer))) is not None:
            trees.append(dot_git.parent)
    return tuple(tree for tree in dict.fromkeys(trees) if tree != top)


def is_inside(root: Path, named: str) -> bool:
    """Whether ``named`` (with a line number or without) is there and within ``root``."""
    plain = _LOCATION.sub("", named)
    try:
        found = Path(os.path.realpath(root / plain))
        return found.is_relative_to(root) and found.exists()
    except (OSError, ValueError):
        return False


def absolute(path: str) -> Path | None:
    """``path`` without links, or None where it is not absolute or cannot be a path."""
    if not path.startswith("/"):
        return None
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return None
