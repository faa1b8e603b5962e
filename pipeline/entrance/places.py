"""Where a request comes from, found without waiting for a disk that does not answer.

A project's directory may be on a network file system that hangs. What looks at it does so in a
thread, and as long as one waits for a directory nobody else does: that costs the sessions of that
project alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread

from ...bus.values import Place, Scope
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
        self._waiting: dict[str, _Look[Any]] = {}
        self._threads: anyio.CapacityLimiter | None = None

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
        return await self._ask(directory, partial(self.at, fields, cwd))

    async def is_directory(self, path: str) -> bool:
        """Whether ``path``, an absolute one, is a directory. Raises like ``find``."""
        return await self._ask(path, partial(os.path.isdir, path))

    async def _ask(self, directory: str, work: Callable[[], T]) -> T:
        """What ``work`` finds at ``directory``."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_THREADS)
        before = self._waiting.get(directory)
        # One that began just now may only have lost its client.
        if before is not None and before.hangs and time.monotonic() - before.made_at > WITHIN_S:
            raise TimeoutError("the directory of the project does not answer")
        look = _Look(work)
        try:
            with anyio.fail_after(WITHIN_S):
                return await anyio.to_thread.run_sync(
                    look, limiter=self._threads, abandon_on_cancel=True
                )
        finally:
            self._keep_oldest(directory, look)

    def _keep_oldest(self, directory: str, look: _Look[Any]) -> None:
        """Keep the look at ``directory`` that hangs the longest, if any does."""
        before = self._waiting.pop(directory, look)
        if before.hangs or look.hangs:
            self._waiting[directory] = before if before.hangs else look


class _Look(Generic[T]):
    """A look at the disk, of which another thread knows whether it is over."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.made_at = time.monotonic()
        self.has_begun = False
        self.is_over = False
        self._work = work

    @property
    def hangs(self) -> bool:
        """Whether a thread is still at it."""
        return self.has_begun and not self.is_over

    def __call__(self) -> T:
        self.has_begun = True
        try:
            return self._work()
        finally:
            self.is_over = True
