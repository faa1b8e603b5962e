"""The calls about a team: join it, share with it, look how it stands, search it, leave it.

What makes something leave this machine, or go from it, says first what that would be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ...bus.service_results import (
    JoinResult,
    LeaveResult,
    NotJoined,
    Presence,
    Problem,
    SharedProject,
    ShareResult,
    TeamProject,
    TeamRecallResult,
    TeamStatusResult,
    UnshareResult,
)
from ...bus.values import Place, Query, Scope
from ...stages.text.unicode import name_line
from ..app.app import App
from ..app.team import NoServer
from .params import CallRefused, NoParams, Params, Table
from .team_recall import HERE_INSTEAD, RECALL_S, TeamRecallParams, asked, found, scopes_to_search

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ...sinks.team.postgres.store import PostgresStore
    from ...sinks.team.protocol import About, Membership, Project
    from ...sinks.team.replica import Replica

# A server that does not answer is not waited for longer than the command line waits for us.
SERVER_S = 20.0
CLOSE_S = 1.0
NOT_JOINED = "no team was joined: `subcog team join URL`"
NO_ORIGIN = (
    "this project has no git remote, so a colleague's copy of it is another project there: only "
    "this machine will send to it"
)


class JoinParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``team-join``. ``scopes`` are the projects to send of, None for all that the team shares."""

    url: str = ""
    yes: bool = False
    scopes: tuple[str, ...] | None = None


class ShareParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``team-share``: the project that asks, or the one with the name ``scope``."""

    scope: str = ""
    yes: bool = False


class UnshareParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``team-unshare``: the project that asks, or the one with the name ``scope``."""

    scope: str = ""


class LeaveParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``team-leave``. ``forget_url``: who asks removes the setting ``team.url``."""

    yes: bool = False
    forget_url: bool = False


class TeamCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._team = app.team
        self.table: Table = {
            "team-join": (JoinParams, self.join),
            "team-share": (ShareParams, self.share),
            "team-unshare": (UnshareParams, self.unshare),
            "team-leave": (LeaveParams, self.leave),
            "team-status": (NoParams, self.status),
            "team-recall": (TeamRecallParams, self.recall),
        }

    # --- join ------------------------------------------------------------------------------------

    async def join(self, params: JoinParams, place: Place) -> JoinResult:
        """What would leave this machine; with ``yes`` it is joined, and leaves."""
        replica = await self._team.replica()
        url = params.url or self._team.url
        try:
            async with self._server(url) as server:
                about = await server.about()
                address = server.server
        except ConnectionError as error:
            raise CallRefused(_not_joined(error)) from None
        joined = await replica.membership()
        if joined is not None and not joined.is_of(about.team, about.founded):
            raise CallRefused(
                f"this machine is in the team {name_line(joined.team)}: `subcog team leave` first"
            )
        counts = await self._counts()
        wanted = {str(project.scope) for project in about.projects}
        if params.scopes is not None:
            wanted &= set(params.scopes)
        sending = [place.organisation, *(p.scope for p in about.projects if str(p.scope) in wanted)]
        answer = JoinResult(
            joined=params.yes,
            team=about.team,
            member=about.member,
            members=tuple(about.members),
            server=address,
            epoch=about.epoch,
            organisation=counts.get(place.organisation, 0),
            projects=tuple(_project(project, counts) for project in about.projects),
            leaves=sum(counts.get(scope, 0) for scope in sending),
        )
        if params.yes:
            leaves = await self._join(url, address, about, place.organisation, wanted)
            return replace(answer, leaves=leaves)
        return answer

    async def _join(
        self, url: str, address: str, about: About, organisation: Scope, wanted: set[str]
    ) -> int:
        """How many versions are on their way then."""
        from ...sinks.team.protocol import Membership, Sharing

        replica = await self._team.replica()
        shared = [Sharing(organisation, about.team, sends=True)]
        shared += [
            Sharing(project.scope, project.name, sends=str(project.scope) in wanted)
            for project in about.projects
            if project.scope.kind == "project"
        ]
        async with self._team.paused():
            queued = await replica.join(
                Membership(
                    team=about.team,
                    member=about.member,
                    epoch=about.epoch,
                    joined_at=self._app.clock(),
                    server=address,
                    founded=about.founded,
                    authors_alone=about.authors_alone,
                ),
                shared,
            )
            self._team.url = url
        return queued

    # --- share -----------------------------------------------------------------------------------

    async def share(self, params: ShareParams, place: Place) -> ShareResult:
        """What would leave this machine of a project; with ``yes`` it does."""
        replica, membership = await self._joined()
        scope = self._project(params.scope, place)
        known = next((one for one in self._known() if one.scope == scope), None)
        name = known.name if known else scope.id.rpartition("-")[0]
        here = (await self._counts()).get(scope, 0)
        answer = ShareResult(
            shared=params.yes,
            team=membership.team,
            scope=str(scope),
            name=name,
            leaves=here,
            shared_by=known.shared_by if known else "",
            warning="" if params.scope or self._app.projects.has_origin(place.root) else NO_ORIGIN,
        )
        if params.yes:
            async with self._server(self._team.url, joined=membership) as server:
                await self._same_team(server, membership)
                await server.share(scope, name)
            leaves = await replica.share(scope, name, sends=True)
            self._team.refresh()
            return replace(answer, leaves=leaves)
        return answer

    async def unshare(self, params: UnshareParams, place: Place) -> UnshareResult:
        """Stop both ways, at once; what others wrote of the project is taken off this machine.

        ``listed`` says whether the team's list still has it, also where nobody could be asked.
        """
        replica, membership = await self._joined()
        scope = self._project(params.scope, place)
        shared = {sharing.scope: sharing.name for sharing in await replica.shared()}
        if scope not in shared:
            raise CallRefused(f"{scope.id} is not shared")
        before = (await self._counts()).get(scope, 0)
        async with self._team.paused():
            applied = await replica.unshare(scope)
        await self._team.tell(applied)
        kept = (await self._counts()).get(scope, 0)
        return UnshareResult(
            scope=str(scope),
            name=shared[scope],
            removed=before - kept,
            kept=kept,
            listed=await self._unlist(scope, membership),
        )

    async def _unlist(self, scope: Scope, membership: Membership) -> bool:
        """Take it off the team's list, where it was put there by us; whether it is on it yet."""
        try:
            async with self._server(self._team.url, joined=membership) as server:
                await self._same_team(server, membership)
                await server.unshare(scope)
                return any(one.scope == scope for one in (await server.about()).projects)
        except (ConnectionError, CallRefused):
            return True

    # --- leave -----------------------------------------------------------------------------------

    async def leave(self, params: LeaveParams, place: Place) -> LeaveResult:
        """What would be taken off this machine; with ``yes`` it is, be a server there or not."""
        replica, membership = await self._joined()
        shared = {sharing.scope for sharing in await replica.shared()}
        counts, received = await self._counts(), await replica.received()
        removed = sum(received.values())
        answer = LeaveResult(
            left=params.yes,
            team=membership.team,
            member=membership.member,
            server=membership.server,
            removed=removed,
            kept=sum(counts.get(scope, 0) for scope in shared) - removed,
            unsent=(await replica.depth()).count,
            url_of_another=(self._team.problem or ("",))[0] == "other_team",
        )
        if params.yes:
            async with self._team.paused():
                applied = await replica.leave()
                if params.forget_url and not answer.url_of_another:
                    self._team.url = ""
            await self._team.tell(applied)
        return answer

    # --- status ----------------------------------------------------------------------------------

    async def status(self, params: NoParams, place: Place) -> TeamStatusResult | NotJoined:
        """How it stands, by what this machine knows: nothing waits for the server."""
        replica = await self._team.replica()
        membership = await replica.membership()
        if membership is None:
            return NotJoined(url=bool(self._team.url))
        counts, received = await self._counts(), await replica.received()
        depth, state, problem = await replica.depth(), self._team.state, self._team.problem
        organisation = place.organisation
        return TeamStatusResult(
            joined=True,
            url=bool(self._team.url),
            team=membership.team,
            member=membership.member,
            server=membership.server,
            connected=state is not None and state.connected,
            answer_s=round(state.answer_s, 1) if state else None,
            authors_alone=membership.authors_alone,
            polling=state is not None and state.is_polling,
            problem=Problem(reason=problem[0], message=problem[1]) if problem else None,
            last_push=state.last_push if state else None,
            last_pull=state.last_pull if state else None,
            lag_s=round(state.lag_s, 1) if state else None,
            outbox=depth.count,
            oldest=depth.oldest,
            sent=state.sent if state else 0,
            received=state.received if state else 0,
            conflicts=state.conflicts if state else 0,
            skipped=state.skipped if state else 0,
            refused=state.refused if state else 0,
            remaining=state.remaining if state else None,
            fetching=state.fetching if state else 0,
            members=state.about.members if state and state.about else (),
            projects=await self._projects(replica, organisation, counts),
            organisation=Presence(
                here=counts.get(organisation, 0), received=received.get(organisation, 0)
            ),
        )

    async def _projects(
        self, replica: Replica, organisation: Scope, counts: Mapping[Scope, int]
    ) -> tuple[SharedProject, ...]:
        by = {project.scope: project.shared_by for project in self._known()}
        return tuple(
            SharedProject(
                scope=str(sharing.scope),
                name=sharing.name,
                here=counts.get(sharing.scope, 0),
                sends=sharing.sends,
                shared_by=by.get(sharing.scope, ""),
            )
            for sharing in await replica.shared()
            if sharing.scope != organisation
        )

    # --- recall ----------------------------------------------------------------------------------

    async def recall(self, params: TeamRecallParams, place: Place) -> TeamRecallResult:
        """What the team's server finds, also of projects that this machine does not receive."""
        _, membership = await self._joined()
        embedder = (await self._app.archive.get()).encoder.embedder
        text, vector = await anyio.to_thread.run_sync(
            asked, params.query, self._app.redactor, embedder
        )
        try:
            async with self._server(self._team.url, joined=membership, within_s=RECALL_S) as server:
                about = await self._same_team(server, membership)
                query = Query(
                    text=text,
                    scopes=scopes_to_search(params.project, about, place.organisation),
                    limit=params.limit,
                    namespaces=(params.namespace,) if params.namespace else (),
                )
                hits = await server.search(query, vector)
                address = server.server
        except ConnectionError as error:
            raise CallRefused(f"{str(error).rstrip('.')}. {HERE_INSTEAD}.") from None
        memories, skipped = await anyio.to_thread.run_sync(found, hits, query, about)
        return TeamRecallResult(
            query=text,
            team=about.team,
            server=address,
            mode="text" if vector is None else "hybrid",
            memories=memories,
            skipped=skipped,
            degraded="embedder.unavailable" if vector is None else None,
        )

    # --- what they need --------------------------------------------------------------------------

    async def _joined(self) -> tuple[Replica, Membership]:
        replica = await self._team.replica()
        membership = await replica.membership()
        if membership is None:
            raise CallRefused(NOT_JOINED)
        return replica, membership

    async def _counts(self) -> Mapping[Scope, int]:
        return await (await self._app.archive.get()).store.counts()

    def _known(self) -> Sequence[Project]:
        """The team's list, as it was when the server was seen last."""
        state = self._team.state
        return state.about.projects if state and state.about else ()

    @asynccontextmanager
    async def _server(
        self, url: str, *, joined: Membership | None = None, within_s: float = SERVER_S
    ) -> AsyncIterator[PostgresStore]:
        """A server for one call, which does nothing where that is not the team ``joined``.

        Raises ``ConnectionError`` where it does not answer in time.
        """
        server = await anyio.to_thread.run_sync(self._team.server, url, joined)
        try:
            with anyio.fail_after(within_s):
                yield server
        except TimeoutError:
            raise NoServer("timeout", "the team's server did not answer in time") from None
        finally:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await server.close()

    async def _same_team(self, server: PostgresStore, membership: Membership) -> About:
        about = await server.about()
        if not membership.is_of(about.team, about.founded):
            raise CallRefused("[team] url leads to another team than the one that was joined")
        return about

    def _project(self, named: str, place: Place) -> Scope:
        """The project that is meant. Raises ``CallRefused`` where there is none."""
        scope = place.project
        if named:
            kind, _, identity = named.partition(":")
            if kind != "project" or not identity:
                raise CallRefused(f"{named} is no project: the user's own is never shared")
            scope = msgspec.convert({"kind": kind, "id": identity}, Scope)
        if scope.kind != "project":
            raise CallRefused("no project was named: only a project can be shared")
        return scope


def _not_joined(error: ConnectionError) -> str:
    from ...sinks.team.protocol import SENT_LATER

    return f"nothing was joined: {str(error).removesuffix(SENT_LATER)}"


def _project(project: Project, counts: Mapping[Scope, int]) -> TeamProject:
    return TeamProject(
        scope=str(project.scope),
        name=project.name,
        here=counts.get(project.scope, 0),
        shared_by=project.shared_by,
    )
