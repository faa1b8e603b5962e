"""Takes in what the team has changed, in the order of its feed."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

import anyio
from msgspec.structs import replace

from ...bus.values import Scope
from .protocol import About, Changes, Cursor, Membership, TeamServer
from .sync_state import Echoes, Here, Tally

# Changes in one answer, and in one transaction here.
BATCH_CHANGES = 500
# What takes longer to be written than this is not written at all.
APPLY_S = 60.0
# Of a list that any member may add to.
MAX_PROJECTS = 1_000
MAX_NAME_CHARS = 100
# Without a notification it is looked so often: one may be lost, or may not get through at all.
POLL_S = 30.0
# A change that was announced may wait for an older transaction to end: look again after this,
# then twice as long, and so on up to the last, in seconds.
FIRST_LOOK_S = 0.02
LAST_LOOK_S = 1.0
_log = logging.getLogger(__name__)


class OtherTeam(ConnectionError):
    """The address leads to another team than the one that was joined; nothing goes there."""

    reason = "other_team"

    def __init__(self, joined: str, found: str) -> None:
        super().__init__(
            f"[team] url leads to the team {found}, and this machine joined "
            f"{joined if joined != found else 'another of that name'}: set the url of that team, "
            "or `subcog team leave` first"
        )


class Receiving:
    """Moves this machine on along the feed.

    ``restored`` is called when all of one's own is to be sent again, and ``received`` when
    something was applied.
    """

    def __init__(
        self,
        here: Here,
        membership: Membership,
        *,
        restored: Callable[[], None],
        received: Callable[[], None],
        echoes: Echoes,
        tally: Tally,
    ) -> None:
        self._here = here
        self._replica = here.replica
        self._membership = membership
        self._restored = restored
        self._received = received
        self._echoes = echoes
        self._tally = tally
        self._about: About | None = None
        self._cursor: Cursor | None = None
        self._is_due = True
        self._greeted_at = -math.inf
        # Echoes that the cursor on disk lies before.
        self._unnoted = 0
        # How many changes the last pull found.
        self.brought = 0
        # Set once the server was seen to be the team's; nothing may be sent before.
        self.greeted = anyio.Event()

    def refresh(self) -> None:
        """What is shared has changed: the next pull looks first."""
        self._is_due = True

    async def pull(self, server: TeamServer) -> float:
        """Receive all there is; the seconds until it is worth a look without a notification.

        Raises ``ConnectionError``.
        """
        if self._is_due:
            await self._greet(server)
        self.brought, behind = await self._follow(server)
        if not behind:
            self._tally.pulled()
        if not self.brought:  # it may have been about something else than memories
            if anyio.current_time() - self._greeted_at < LAST_LOOK_S:
                return LAST_LOOK_S
            await self._greet(server)
        return LAST_LOOK_S if behind else POLL_S

    # --- the team --------------------------------------------------------------------------------

    async def _greet(self, server: TeamServer) -> None:
        """Look who is there, and bring what is shared since from its beginning."""
        about = await server.about()
        if not self._membership.is_of(about):
            raise OtherTeam(self._membership.team, about.team)
        self._is_due, self._greeted_at = False, anyio.current_time()
        self._about = self._tally.about = about
        if self._cursor is None:
            self._cursor = await self._replica.cursor()
        if about.epoch != self._cursor.epoch:
            await self._begin_anew(about.epoch)
        await self._note_projects(about)
        for sharing in await self._replica.shared():
            if not sharing.whole:
                await self._fill(server, sharing.scope)
        self.greeted.set()

    async def _begin_anew(self, epoch: int) -> None:
        """The server was restored: what it has is received again, what it may have lost is sent."""
        queued = await self._replica.rejoin(epoch)
        self._cursor = Cursor(epoch=epoch)
        self._echoes.clear()
        _log.info("the team's server was restored", extra={"epoch": epoch, "queued": queued})
        self._restored()

    async def _note_projects(self, about: About) -> None:
        """Receive from now on what others share, but send nothing of it."""
        known = {sharing.scope for sharing in await self._replica.shared()}
        known |= set(await self._replica.declined())
        for project in about.projects[:MAX_PROJECTS]:
            if project.scope not in known and project.scope.kind == "project":
                name = "".join(filter(str.isprintable, project.name))[:MAX_NAME_CHARS]
                await self._replica.share(project.scope, name, sends=False)

    async def _fill(self, server: TeamServer, scope: Scope) -> None:
        """Receive what was said in ``scope`` before this machine followed it."""
        at = self._at
        cursor = Cursor(epoch=at.epoch)
        while cursor < at:  # what is beyond comes with everything else
            changes = await server.changes(cursor, [scope], limit=BATCH_CHANGES)
            if changes.cursor.epoch != at.epoch:
                return  # all of it comes anew
            if changes.changes:
                await self._apply(changes, moves=False)
            # A page of what was forgotten since brings nothing, and there may be more behind it.
            if changes.cursor == cursor:
                break
            cursor = changes.cursor
        await self._replica.filled(scope)

    # --- the feed --------------------------------------------------------------------------------

    @property
    def _at(self) -> Cursor:
        return self._cursor or Cursor()

    async def _follow(self, server: TeamServer) -> tuple[int, bool]:
        """How many changes there were, and whether some are announced that cannot be seen yet."""
        scopes = [sharing.scope for sharing in await self._replica.shared()]
        brought, pause_s = 0, FIRST_LOOK_S
        while True:
            changes = await server.changes(self._at, scopes, limit=BATCH_CHANGES)
            if changes.cursor.epoch != self._at.epoch or changes.cursor < self._at:
                await self._begin_anew(changes.cursor.epoch)
                continue
            if changes.changes:
                await self._take(changes)
                await self._note_progress(server, changes, scopes)
                brought, pause_s = brought + len(changes.changes), FIRST_LOOK_S
            moved, self._cursor = changes.cursor != self._at, changes.cursor
            if not changes.behind:
                return brought, False
            if not moved:
                if pause_s >= LAST_LOOK_S:
                    return brought, True
                await anyio.sleep(pause_s)
                pause_s *= 2

    async def _note_progress(
        self, server: TeamServer, changes: Changes, scopes: Sequence[Scope]
    ) -> None:
        if self._tally.remaining:
            self._tally.remaining = max(0, self._tally.remaining - len(changes.changes))
        elif changes.behind:
            self._tally.remaining = await server.remaining(changes.cursor, scopes)

    async def _take(self, changes: Changes) -> None:
        """Apply ``changes``; for echoes alone nothing is written, up to a number of them."""
        fresh = self._echoes.without(changes.changes)
        self._unnoted += len(changes.changes) - len(fresh)
        if fresh or self._unnoted >= BATCH_CHANGES:
            self._unnoted = 0
            await self._apply(replace(changes, changes=fresh))

    async def _apply(self, changes: Changes, *, moves: bool = True) -> None:
        member = self._about.member if self._about else self._membership.member
        # What is committed must reach the indexes, whoever wants this to end.
        with anyio.fail_after(APPLY_S, shield=True):
            async with self._here.turn:
                applied = await self._replica.apply(
                    changes, member=member, encoder=self._here.encoder, moves=moves
                )
            self._tally.count(
                received=applied.received, conflicts=applied.conflicts, skipped=applied.skipped
            )
            await self._here.applied(applied)
        self._received()
