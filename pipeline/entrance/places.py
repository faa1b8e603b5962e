"""Where a request comes from, found without waiting for a disk that does not answer.

A project's directory may be on a network file system that hangs. What looks at it does so in a
thread, and as long as one waits for a directory nobody else does: that costs the sessions of that
project alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ...bus.values import Place, Scope
from ...sinks.disk import Disk
from ...sinks.project.identity import Projects

WITHIN_S = 2.0
"""So long a disk may take; a hook that has less time hangs up earlier."""

_THREADS = 16
T = TypeVar("T")


class Places:
    """Finds places, of ``user``."""

    def __init__(self, projects: Projects, user: str) -> None:
        self._projects = projects
        self._user = user
        self._disk = Disk(_THREADS)

    def at(self, fields: dict[str, str], cwd: str = "") -> Place:
        """The project that a request comes from; the user alone where it says that it has none."""
        if fields.get("scope") == "user":
            user = Scope("user", self._user)
            return Place(project=user, root="", user=user, organisation=user)
        return self._projects.place(
            project_dir=fields.get("project", ""),
            cwd=cwd or fields.get("cwd", ""),
            user=self._user,
        )

    async def find(self, fields: dict[str, str], cwd: str = "") -> Place:
        """The same, for the event loop. Raises ``TimeoutError`` where the disk does not answer."""
        if fields.get("scope") == "user":
            return self.at(fields)
        directory = fields.get("project", "") or cwd or fields.get("cwd", "")
        return await self._look(directory, partial(self.at, fields, cwd))

    async def is_directory(self, path: str) -> bool:
        """Whether ``path``, an absolute one, is a directory. Raises like ``find``."""
        return await self._look(path, partial(os.path.isdir, path))

    async def _look(self, directory: str, work: Callable[[], T]) -> T:
        try:
            return await self._disk.look(directory, work, within_s=WITHIN_S)
        except TimeoutError:
            raise TimeoutError("the directory of the project does not answer") from None
