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

from msgspec.structs import replace

from ...bus.events import ActionProposed, Event, ToolFailed, ToolUsed
from ...bus.values import Place, Scope
from ...sinks.disk import Disk
from ...sinks.project.identity import Projects
from ...sinks.project.trees import absolute
from ...stages.text.paths import seen_from, way_out

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

    async def resolve(self, event: Event | None, cwd: str) -> Event | None:
        """``event`` with where its action is done, which is ``cwd``.

        Links are followed in what seems to be outside of the project. Where the disk does not
        answer, the directory stays unknown, and the files are as they are named.
        """
        if not isinstance(event, (ActionProposed, ToolUsed, ToolFailed)):
            return event
        action, trees = event.action, event.place.trees
        named = [path for path in (cwd, *action.paths) if path.startswith("/")]
        real = {path: path for path in named}
        if strange := [path for path in named if way_out(seen_from(trees, path))]:
            try:
                real |= await self._look(f"{event.place.root}\0", partial(_real, strange))
            except TimeoutError:
                if cwd in strange:
                    del real[cwd]
        resolved = replace(
            action,
            directory=real.get(cwd, ""),
            paths=tuple(real.get(path, path) for path in action.paths),
            changes=tuple(
                replace(one, path=real.get(one.path, one.path)) for one in action.changes
            ),
        )
        return replace(event, action=resolved)

    async def is_directory(self, path: str) -> bool:
        """Whether ``path``, an absolute one, is a directory. Raises like ``find``."""
        return await self._look(path, partial(os.path.isdir, path))

    async def _look(self, directory: str, work: Callable[[], T]) -> T:
        try:
            return await self._disk.look(directory, work, within_s=WITHIN_S)
        except TimeoutError:
            raise TimeoutError("the directory of the project does not answer") from None


def _real(paths: list[str]) -> dict[str, str]:
    return {path: str(absolute(path) or path) for path in paths}
