"""Pulls the team's changes, in the order of its feed."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

import anyio
from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Scope
from .protocol import (
    About,
    Changes,
    Cursor,
    Membership,
    OtherTeam,
    TeamServer,
    TeamUnavailable,
)
from .sync_state import Echoes, Gate, SyncContext, SyncCounters

# Changes in one answer, and in one transaction here.
BATCH_CHANGES = 500
# Writing a batch is given up after this.
APPLY_S = 60.0
# Of a list that any member may add to.
MAX_PROJECTS = 1_000
MAX_NAME_CHARS = 100
# The feed is also polled: a notification may be lost, or never get through.
POLL_S = 30.0
# An announced change may wait for an older transaction to end: poll again after this, then with
# exponential backoff up to the maximum, in seconds.
FIRST_RETRY_S = 0.02
MAX_RETRY_S = 1.0
# Whose server it is, is asked again after this, however much there is to receive.
VERIFY_S = 300.0
# Of the projects that this machine sends, which are fetched before those of any colleague.
OWN = ""
UNSTEADY = "the team's server began its feed anew twice in a row"
_log = logging.getLogger(__name__)


class Backfill(Struct):
    """Scopes whose changes from before this machine followed them are read, up to ``cursor``."""

    scopes: tuple[Scope, ...]
    cursor: Cursor


class Puller:
    """Follows the team's feed.

    ``gate`` is open while the server is known to be the team's, and not while a feed that began
    anew is read: what comes back by it as it is here is not sent again.

    ``restored`` is called when all local versions were queued again, ``received`` when something
    was applied. ``contested`` gives the numbers of entries that the server has another version of.
    """

    def __init__(
        self,
        here: SyncContext,
        membership: Membership,
        *,
        restored: Callable[[], None],
        received: Callable[[], None],
        contested: Callable[[], Sequence[int]],
        gate: Gate,
        echoes: Echoes,
        tally: SyncCounters,
    ) -> None:
        self._context = here
        self._replica = here.replica
        self._membership = membership
        self._restored = restored
        self._received = received
        self._contested = contested
        self._gate = gate
        self._echoes = echoes
        self._tally = tally
        self._about: About | None = None
        self._cursor: Cursor | None = None
        self._verification_due = True
        self._verified_at = -math.inf
        self._reads_anew = False
        # Under way, by who put the projects on the team's list, or OWN.
        self._backfills: dict[str, Backfill] = {}
        # Received projects that the team's list has no longer.
        self._kept: set[Scope] = set()
        # Echoes received since the cursor was last written.
        self._unnoted = 0
        # How many changes the last pull received.
        self.received_count = 0

    def refresh(self) -> None:
        """The shared scopes have changed: the next pull reads the team's list first."""
        self._verification_due = True

    async def pull(self, server: TeamServer) -> float:
        """Receive all there is; returns the seconds until the next poll without a notification.

        Raises ``ConnectionError``.
        """
        if self._verification_due or anyio.current_time() - self._verified_at > VERIFY_S:
            await self._verify_server(server)
        # What was not read yet may be what an entry has to be merged with.
        contested = () if OWN in self._backfills else self._contested()
        self.received_count, behind = await self._follow(server)
        self._reads_anew = False
        self._gate.open()
        await self._backfill(server)
        if not behind:
            self._tally.pulled()
            if contested:  # what the server has there was received, or refused
                await self._give_way(contested)
        if not self.received_count:  # the notification may have been about the team
            if anyio.current_time() - self._verified_at < MAX_RETRY_S:
                return 0.0 if self._backfills else MAX_RETRY_S
            await self._verify_server(server)
        if self._backfills:
            return 0.0
        return MAX_RETRY_S if behind else POLL_S

    # --- the team --------------------------------------------------------------------------------

    async def _verify_server(self, server: TeamServer) -> None:
        """Check that the server is the team's, and note which projects are to be fetched."""
        about = await self._ask_about(server)
        self._verification_due, self._verified_at = False, anyio.current_time()
        await self._note_who_forgets(about)
        if self._cursor is None:
            self._cursor = await self._replica.cursor()
        if about.epoch != self._cursor.epoch:
            await self._restart_feed(about.epoch)
        await self._follow_list(about)
        await self._begin_backfills(about)
        if not self._reads_anew:
            self._gate.open()

    async def _ask_about(self, server: TeamServer) -> About:
        """What the server says of the team. Raises OtherTeam, and nothing is sent from then on."""
        about = await server.about()
        if not self._membership.is_of(about.team, about.founded):
            self._verification_due = True
            self._gate.close()
            raise OtherTeam(self._membership.team, about.team)
        self._about = self._tally.about = about
        return about

    async def _note_who_forgets(self, about: About) -> None:
        """Remember the team's setting for when the server is away."""
        if self._membership.authors_alone != about.authors_alone:
            joined = replace(self._membership, authors_alone=about.authors_alone)
            await self._replica.note_who_forgets(about.authors_alone)
            self._membership = joined

    async def _restart_feed(self, epoch: int) -> None:
        """The server was restored from a backup: pull from the beginning, send everything again."""
        self._reads_anew = True
        self._gate.close()
        queued = await self._replica.rejoin(epoch)
        self._tally.waiting(await self._replica.depth())  # as no push says as yet
        self._cursor = Cursor(epoch=epoch)
        self._echoes.clear()
        self._backfills.clear()
        self._tally.fetching = 0
        _log.info(
            "the team's server was restored from a backup: everything is pulled and sent again",
            extra={"epoch": epoch, "queued": queued},
        )
        self._restored()

    async def _follow_list(self, about: About) -> None:
        """Receive from now on the projects that others share, without sending to them.

        One that is off the list, and of which nothing came, is not received any more.
        """
        listed = about.projects[:MAX_PROJECTS]
        off = {sharing.scope for sharing in await self._replica.shared() if not sharing.sends}
        off -= {project.scope for project in listed}
        if off - self._kept:
            await self._replica.drop_empty(off)
        self._kept = off
        known = {sharing.scope for sharing in await self._replica.shared()}
        known |= set(await self._replica.declined())
        for project in listed:
            if project.scope not in known and project.scope.kind == "project":
                name = "".join(filter(str.isprintable, project.name))[:MAX_NAME_CHARS]
                await self._replica.share(project.scope, name, sends=False)

    # --- what was there before -------------------------------------------------------------------

    async def _begin_backfills(self, about: About) -> None:
        """One for all new projects of each member, so that nobody's many delay another's one."""
        by = {project.scope: project.shared_by for project in about.projects}
        fresh: dict[str, list[Scope]] = {}
        partial = [sharing for sharing in await self._replica.shared() if not sharing.whole]
        if partial and self._at == Cursor(self._at.epoch):  # all of it comes with the feed
            await self._replica.backfilled([sharing.scope for sharing in partial])
            partial = []
        for sharing in partial:
            owner = OWN if sharing.sends else by.get(sharing.scope, "?")
            fresh.setdefault(owner, []).append(sharing.scope)
        for owner, scopes in fresh.items():
            start = Backfill(tuple(scopes), Cursor(self._at.epoch))
            self._backfills.setdefault(owner, start)
        self._tally.fetching = sum(map(len, fresh.values()))

    async def _backfill(self, server: TeamServer) -> None:
        """Read one page of each, own first; what is whole is followed in between."""
        for owner in sorted(self._backfills):
            part = self._backfills[owner]
            changes = await server.changes(part.cursor, part.scopes, limit=BATCH_CHANGES)
            if changes.cursor.epoch != self._at.epoch:
                return  # the whole feed is pulled anew
            if changes.changes:
                await self._apply(changes, moves=False)
            # An empty page may hold only what was forgotten since, with more behind it.
            if changes.cursor == part.cursor or not changes.behind:
                await self._replica.backfilled(part.scopes)
                self._tally.fetching = max(0, self._tally.fetching - len(part.scopes))
                del self._backfills[owner]
                # There may be more of that member's.
                self._verification_due |= self._tally.fetching > 0
            part.cursor = changes.cursor

    # --- the feed --------------------------------------------------------------------------------

    @property
    def _at(self) -> Cursor:
        return self._cursor or Cursor()

    async def _follow(self, server: TeamServer) -> tuple[int, bool]:
        """How many changes there were, and whether announced ones are not visible yet."""
        shared = await self._replica.shared()
        scopes = [sharing.scope for sharing in shared if sharing.whole]
        received_count, pause_s, restarted = 0, FIRST_RETRY_S, False
        while True:
            changes = await server.changes(self._at, scopes, limit=BATCH_CHANGES)
            if changes.cursor.epoch != self._at.epoch or changes.cursor < self._at:
                if restarted:
                    raise TeamUnavailable("failed", UNSTEADY)
                await self._restart_feed((await self._ask_about(server)).epoch)
                restarted = True
                continue
            if changes.changes:
                await self._take(changes)
                await self._note_progress(server, changes, scopes)
                received_count, pause_s = received_count + len(changes.changes), FIRST_RETRY_S
            moved, self._cursor = changes.cursor != self._at, changes.cursor
            if not changes.behind:
                return received_count, False
            if not moved:
                if pause_s >= MAX_RETRY_S:
                    return received_count, True
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
        """Apply ``changes``. Echoes alone advance the cursor on disk only now and then."""
        fresh = self._echoes.without(changes.changes)
        self._unnoted += len(changes.changes) - len(fresh)
        if fresh or self._unnoted >= BATCH_CHANGES:
            self._unnoted = 0
            await self._apply(replace(changes, changes=fresh))

    async def _apply(self, changes: Changes, *, moves: bool = True) -> None:
        member = self._about.member if self._about else self._membership.member
        # Shielded, since what is committed must reach the indexes.
        with anyio.fail_after(APPLY_S, shield=True):
            async with self._context.write_lock:
                applied = await self._replica.apply(
                    changes,
                    member=member,
                    encoder=self._context.encoder,
                    moves=moves,
                    authors_alone=self._membership.authors_alone,
                )
            self._tally.count(
                received=applied.received, conflicts=applied.conflicts, skipped=applied.skipped
            )
            await self._context.applied(applied)
        self._received()

    async def _give_way(self, seqs: Sequence[int]) -> None:
        with anyio.fail_after(APPLY_S, shield=True):
            async with self._context.write_lock:
                applied = await self._replica.give_way(seqs, encoder=self._context.encoder)
            await self._context.applied(applied)
        self._received()
