"""``undo``: takes back what the user did within the last minute.

What is needed for it is held in the daemon's memory alone: the text of a memory that was forgotten
is nowhere else. It comes back under another id, since the old one is never to come back; so it does
for a team, to which the deletion may have been sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal

import anyio
from msgspec import Struct
from msgspec.structs import replace

from ...bus.events import (
    CaptureRequested,
    ChangeSettled,
    Event,
    ExpireRequested,
    ForgetRequested,
    ForgetSettled,
    RestoreRequested,
    SupersedeRequested,
)
from ...bus.results import NotUndone, Undone, UndoResult
from ...bus.values import Memory, Place, Scope
from ...config.ids import full_id
from ..app.app import App
from ..entrance.set_aside import capture_durably
from .params import FAILURES, CallRefused, Table, UndoParams, reason_of

UNDO_S = 60.0
"""A change can be taken back for so long."""

MAX_CHANGES = 2_000
MAX_CHARS = 16_000_000
_CHANGE_S = 10.0

What = Literal["forget", "update", "supersede", "expire", "restore", "keep", "bury"]


class Change(Struct, frozen=True):
    """A change that a user began at ``at`` of the memory that was ``before``.

    ``after`` is the version that it became; None where it became none, or that is not known.
    ``made`` is the id of the memory that came with it; empty where none did. Changes of the same
    ``command`` were asked for together; empty where it was the only one. Where it ``is_final``,
    ``before`` has no text, and it cannot be taken back.
    """

    at: datetime
    what: What
    before: Memory
    after: int | None = None
    made: str = ""
    command: str = ""
    is_final: bool = False


class Journal:
    """The changes of the last ``UNDO_S`` seconds, bounded. ``clock`` is aware."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._changes: deque[Change] = deque()
        self._chars = 0

    def note(
        self,
        what: What,
        before: Memory,
        *,
        at: datetime | None = None,
        after: int | None = None,
        made: str = "",
        command: str = "",
        is_final: bool = False,
    ) -> None:
        """A user changed the memory that was ``before`` to version ``after``; it began ``at``.

        Without ``at`` it began now.

        What was done to a memory before it was forgotten cannot be taken back any more. Of what
        ``is_final`` no text is held.
        """
        if what == "forget":
            self._drop(before.id)
        if is_final:
            before = replace(
                before,
                content="",
                content_hash="",
                summary="",
                tags=(),
                anchors=(),
                questions=(),
                triggers=(),
            )
        change = Change(at or self._clock(), what, before, after, made, command, is_final)
        self._changes.append(change)
        self._chars += len(before.content)
        self._let_go()

    def _drop(self, memory_id: str) -> None:
        self._keep(change for change in self._changes if change.before.id != memory_id)

    def latest(self, ids: Collection[str], scopes: Sequence[Scope]) -> list[Change]:
        """The last change of each of ``ids``, or all that the last command changed.

        The latest first. They stay in the journal: see ``remove``.
        """
        self._let_go()
        found: dict[str, Change] = {}
        for change in reversed(self._changes):
            memory = change.before
            if memory.scope in scopes and (not ids or memory.id in ids):
                found.setdefault(memory.id, change)
        latest = list(found.values())
        if not ids and latest:
            last = latest[0]
            latest = [one for one in latest if one is last or one.command == last.command != ""]
        return latest

    def remove(self, change: Change) -> None:
        """Know nothing of ``change`` any more: it was taken back."""
        self._keep(each for each in self._changes if each is not change)

    def _let_go(self) -> None:
        oldest = self._clock() - timedelta(seconds=UNDO_S)
        while self._changes and (
            self._changes[0].at < oldest
            or len(self._changes) > MAX_CHANGES
            or self._chars > MAX_CHARS
        ):
            self._chars -= len(self._changes.popleft().before.content)

    def _keep(self, changes: Iterator[Change]) -> None:
        self._changes = deque(changes)
        self._chars = sum(len(change.before.content) for change in self._changes)


class UndoCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App, journal: Journal) -> None:
        self._app = app
        self._journal = journal
        # Two at once would take the same change back.
        self._one = anyio.Lock()
        self.table: Table = {"undo": (UndoParams, self.undo)}

    async def undo(self, params: UndoParams, place: Place) -> UndoResult:
        async with self._one:
            changes = self._journal.latest({*map(full_id, params.ids)}, place.readable)
            if not changes:
                raise CallRefused(f"nothing was changed here within the last {UNDO_S:.0f} seconds")
            return await self._take_back_each(changes, place)

    async def _take_back_each(self, changes: Sequence[Change], place: Place) -> UndoResult:
        """Take ``changes`` back; what fails stays in the journal, so that it can be tried again.

        Once the time of one ran out, the rest is not tried. Raises its error where the first one
        failed and no other was taken back.
        """
        undone, errors = list[Undone](), list[tuple[Change, Exception]]()
        for each in changes:
            if errors and isinstance(late := errors[-1][1], TimeoutError):
                errors.append((each, late))
                continue
            try:
                taken_back = await self._take_back(each, place)
            except FAILURES as error:
                errors.append((each, error))
                continue
            self._journal.remove(each)
            undone.append(taken_back)
        if not undone:
            raise errors[0][1]
        return UndoResult(
            undone=tuple(undone),
            failed=tuple(
                NotUndone(id=each.before.id, what=each.what, reason=reason_of(error))
                for each, error in errors
            ),
        )

    async def _take_back(self, change: Change, place: Place) -> Undone:
        memory = change.before
        done = Undone(id=memory.id, what=change.what, now=memory.id)
        if change.is_final:
            raise CallRefused(f"{memory.id} was erased from the disk: that cannot be undone")
        if change.what == "forget":
            return replace(done, now=await self._keep_again(memory, place))
        if change.what in {"keep", "bury"}:
            uses = (await self._app.archive.get()).uses
            await uses.retract(memory.id, change.at)
            return done
        await self._refuse_newer(change, place)
        if change.made and not await self._forget_made(change.made, place):
            done = replace(done, kept=change.made)
        await self._put_back(memory, place)
        return done

    async def _refuse_newer(self, change: Change, place: Place) -> None:
        """Raises ``CallRefused`` where the memory was changed or said again after ``change``.

        Somebody was told of that: taking an older change back must not take it back as well.
        """
        memory_id = change.before.id
        history = await (await self._app.archive.get()).store.history(memory_id, place.readable)
        made = next((one for one in history if one.version == change.after), None)
        if made is not None and not _is_as_made(made, history[-1]):
            raise CallRefused(
                f"{memory_id} was changed since: `subcog history {memory_id}` shows how, and "
                f"`subcog restore {memory_id} --version {change.before.version}` "
                "brings the older version back"
            )

    async def _forget_made(self, made: str, place: Place) -> bool:
        """Forget the memory that came with a change; False where it is kept.

        It is where it was said again or changed since: somebody was told that this is kept.
        """
        history = await (await self._app.archive.get()).store.history(made, place.readable)
        if not history:
            return True
        if not _is_as_made(history[0], history[-1]):
            return False
        event = ForgetRequested(
            trace=self._app.new_id(),
            id=made,
            scopes=place.readable,
            version=history[-1].version,
        )
        return (await self._app.bus.request(event, ForgetSettled, within_s=_CHANGE_S)).found

    async def _keep_again(self, memory: Memory, place: Place) -> str:
        request = CaptureRequested(
            trace=self._app.new_id(),
            id=f"mem_{self._app.new_id()}",
            text=memory.content,
            scope=memory.scope,
            namespace=memory.namespace,
            tags=memory.tags,
            confidence_percent=memory.confidence_percent,
            provenance=memory.provenance,
            said_at=memory.created_at,
            verbatim=True,
            root="" if memory.anchors else place.root,
            brings_back=memory.id,
            summary=memory.summary,
            anchors=memory.anchors,
            questions=memory.questions,
            triggers=memory.triggers,
        )
        kept = (await capture_durably(self._app, request, within_s=_CHANGE_S)).kept
        if kept.memory_id is None:
            failure = TimeoutError if kept.outcome == "pending" else CallRefused
            raise failure(f"{memory.id} is not back: {kept.reason or kept.outcome}")
        await self._supersede_again(memory, kept.memory_id, place)
        await self._hide(memory, kept.memory_id, place)
        return kept.memory_id

    async def _supersede_again(self, memory: Memory, now: str, place: Place) -> None:
        """Let ``now`` be the successor of what ``memory`` superseded, if that is not restored."""
        if memory.supersedes is None:
            return
        store, scopes = (await self._app.archive.get()).store, place.readable
        [old] = await store.get([memory.supersedes], scopes) or [None]
        if old is not None and old.superseded_by == memory.id:
            await self._change(
                SupersedeRequested(
                    trace=self._app.new_id(),
                    old=old.id,
                    new=now,
                    scopes=scopes,
                    instead_of=memory.id,
                )
            )

    async def _put_back(self, memory: Memory, place: Place) -> None:
        """Make ``memory`` as it was, by a new version."""
        await self._change(
            RestoreRequested(
                trace=self._app.new_id(),
                id=memory.id,
                scopes=place.readable,
                version=memory.version,
                undoes=True,
            )
        )
        await self._hide(memory, memory.id, place)

    async def _hide(self, memory: Memory, now: str, place: Place) -> None:
        """Let the memory that is ``now`` hold no longer than ``memory`` did."""
        trace, scopes = self._app.new_id(), place.readable
        if memory.valid_to is not None:
            at = memory.valid_to
            await self._change(ExpireRequested(trace=trace, id=now, scopes=scopes, at=at))
        if (newer := memory.superseded_by) is not None:
            await self._change(SupersedeRequested(trace=trace, old=now, new=newer, scopes=scopes))

    async def _change(self, event: Event) -> None:
        settled = await self._app.bus.request(event, ChangeSettled, within_s=_CHANGE_S)
        if settled.memory is None:
            raise CallRefused(settled.reason or f"{settled.missing} is not there any more")


def _is_as_made(first: Memory, last: Memory) -> bool:
    """Whether the ``last`` version has what the ``first`` has, but for what is noted unasked."""
    return last == replace(
        first,
        version=last.version,
        updated_at=last.updated_at,
        provenance=last.provenance,
        anchors=last.anchors,
        contradicts=last.contradicts,
    )
