"""The stages that bring something up unasked, with the parts that they need from outside."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import anyio.to_thread

from ...bus.events import Event, SessionStarted, ToolFailed, ToolUsed
from ...config.settings import HookSettings
from ...sinks.sessions import Sessions
from ...stages.moments.greet import Background, greet
from ...stages.moments.remedy import remedy
from ...stages.moments.remind import remind
from ...stages.ports import Projects
from .lazy_archive import LazyArchive


class Reminding:
    """Greets a session, and answers what its tools did."""

    def __init__(
        self,
        settings: HookSettings,
        *,
        archive: LazyArchive,
        projects: Projects,
        sessions: Sessions,
        clock: Callable[[], datetime],
        clean: Callable[[str], str],
    ) -> None:
        self._settings = settings
        self._archive = archive
        self._projects = projects
        self._sessions = sessions
        self._clock = clock
        self._clean = clean

    async def greet(self, event: SessionStarted) -> tuple[Event, ...]:
        facts = await anyio.to_thread.run_sync(self._projects.facts, event.place.root)
        return await greet(
            event,
            recall=self._archive,
            catalogue=self._archive,
            sessions=self._sessions,
            settings=self._settings.session_start,
            now=self._clock(),
            clean=self._clean,
            about=Background(facts),
        )

    async def remind(self, event: ToolUsed) -> tuple[Event, ...]:
        return await remind(
            event,
            recall=self._archive,
            catalogue=self._archive,
            sessions=self._sessions,
            settings=self._settings.post_tool_use,
            now=self._clock(),
            clean=self._clean,
        )

    async def remedy(self, event: ToolFailed) -> tuple[Event, ...]:
        return await remedy(
            event,
            recall=self._archive,
            sessions=self._sessions,
            settings=self._settings.post_tool_use_failure,
            now=self._clock(),
            clean=self._clean,
        )
