"""Watches the commands of each session, and captures what mended one that had failed.

No hook waits for it. What is captured goes the way of every capture.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread

from ...bus.events import ActionProposed, CaptureRequested, ToolFailed, ToolUsed
from ...bus.values import (
    AUTO_CAPTURED,
    COMMAND_TOOL,
    EARNED_PERCENT,
    FAILED_COMMAND,
    Provenance,
    Scope,
)
from ...config.ids import next_ulid
from ...config.settings import FailureCaptureSettings
from ...sinks.project.git import head_commit
from ...sinks.sessions import Sessions
from ...stages.actions.commands import MAX_CHARS, command_shape, read_line
from ...stages.actions.failures import (
    NAMESPACE,
    FailureRecord,
    Repetition,
    read_record,
    repetition,
)
from ...stages.actions.mends import Attempts, telling_lines
from ...stages.moments.reminder import context_of
from ...stages.ports import Warnings

_Act = ActionProposed | ToolUsed | ToolFailed


class Watched(Attempts):
    """The commands of one context; who reads or changes them holds ``turn``."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = anyio.Lock()


class FailureCaptures:
    """The part of PreToolUse, PostToolUse and PostToolUseFailure that no hook waits for."""

    def __init__(
        self,
        *,
        settings: FailureCaptureSettings,
        sessions: Sessions,
        known: Warnings,
        publish: Callable[[CaptureRequested], Awaitable[None]],
        clean: Callable[[str], str],
        new_id: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._sessions = sessions
        self._known = known
        self._publish = publish
        self._clean = clean
        self._new_id = new_id

    async def note_begun(self, event: ActionProposed) -> None:
        """A command is about to be run: what fails from now on is no reason for it."""
        if self._concerns(event) and event.action.command:
            watched = self._watched(event)
            async with watched.turn:
                watched.begun(event.action.command)

    async def note_failure(self, event: ToolFailed) -> None:
        """A tool failed: remember the command, if it was one."""
        if not self._concerns(event) or not event.action.command:
            return
        self._disturb_around(event)
        watched = self._watched(event)
        async with watched.turn:
            watched.ended(event.action.command)
            if event.interrupted:
                watched.disturb()
            else:
                # Redacted before it is cut: of half a secret nobody can tell what it was.
                lines = await anyio.to_thread.run_sync(telling_lines, event.error, self._clean)
                watched.failed(self._line(event), lines, event.error)

    async def note_mend(self, event: ToolUsed) -> None:
        """A tool was used: remember what it changed, or capture what the command has mended."""
        if not self._concerns(event):
            return
        self._disturb_around(event)
        watched = self._watched(event)
        async with watched.turn:
            began = watched.ended(event.action.command)
            if not watched:
                return
            if event.action.tool != COMMAND_TOOL:
                watched.edited(event.action, tops=event.place.tops)
                return
            if event.unfinished:
                watched.disturb()
                return
            records = watched.passed(self._line(event), began)
        for number, record in enumerate(records, 1):
            await self._publish(await self._request(event, record, number))

    def _concerns(self, event: _Act) -> bool:
        """Whether to remember what was done; what is explained only is not."""
        return self._settings.enabled and bool(event.session) and not event.detailed

    def _disturb_around(self, event: _Act) -> None:
        if event.agent:  # what a sub-agent does may mend what failed outside of it
            self._sessions.state(event.session).part(Watched).disturb()

    def _watched(self, event: _Act) -> Watched:
        return self._sessions.state(context_of(event)).part(Watched)

    def _line(self, event: _Act) -> str:
        command = event.action.command
        return self._clean(command) if len(command) <= MAX_CHARS else command

    async def _request(
        self, event: ToolUsed, record: FailureRecord, number: int
    ) -> CaptureRequested:
        commit = await anyio.to_thread.run_sync(
            head_commit, event.place.root, abandon_on_cancel=True
        )
        return CaptureRequested(
            trace=self._new_id(),
            id=f"mem_{next_ulid(event.trace, number)}",
            text=await self._said_before(record, event.place.project) or record.text,
            scope=event.place.project,
            before=event.place.before,
            namespace=NAMESPACE,
            tags=(FAILED_COMMAND, AUTO_CAPTURED),
            explicit=False,
            # Two commands of which one works differ in a few characters.
            verbatim=True,
            confidence_percent=EARNED_PERCENT,
            provenance=Provenance(
                hook="PostToolUse",
                session=event.session,
                client=event.client,
                file=record.files[0] if record.files else "",
                commit=commit,
                branch=event.place.branch or "",
            ),
            root=event.place.root,
        )

    async def _said_before(self, record: FailureRecord, scope: Scope) -> str:
        """The text of the memory that says the same, so that both become one; or ""."""
        failed = read_line(record.failed).commands
        works = command_shape(record.works)
        try:
            found = await self._known.warning((command_shape(record.failed),), (scope,))
        except ConnectionError:
            return ""
        for memory in found if works else ():
            known = read_record(memory)
            if (
                known is not None
                and command_shape(known.works) == works
                and repetition(known, failed) is Repetition.REPEATS
            ):
                return memory.content
        return ""
