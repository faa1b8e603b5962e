"""Reads which commit a working tree is at, without running git."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from ..files.untrusted import Look
from .git import Repository, find_repository

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\s*\Z")
_MAX_REF_BYTES = 256
_MAX_PACKED_BYTES = 4_000_000


def head_commit(root: str) -> str:
    """The hash of the commit that is checked out at ``root``; "" if there is none, or no git."""
    look = Look()
    repository = find_repository(Path(root), look)
    if repository is None:
        return ""
    if repository.branch is None:
        return _hash(look.text(repository.top / ".git" / "HEAD", _MAX_REF_BYTES))
    return _branch_commit(repository, repository.branch, look)


def _branch_commit(repository: Repository, branch: str, look: Look) -> str:
    if ".." in PurePosixPath(branch).parts:
        return ""
    name = f"refs/heads/{branch}"
    if found := _hash(look.text(repository.common / name, _MAX_REF_BYTES)):
        return found
    packed = look.text(repository.common / "packed-refs", _MAX_PACKED_BYTES) or ""
    for line in packed.splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return _hash(commit)
    return ""


def _hash(text: str | None) -> str:
    return text.strip() if text and _COMMIT.match(text) else ""
