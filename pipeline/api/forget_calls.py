"""The calls that delete for good: ``forget``, and the copies that may still hold what is gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from ...bus.events import ForgetRequested, ForgetSettled
from ...bus.values import Place, Scope
from ..app.app import App
from .params import (
    CallRefused,
    CopiesParams,
    ForgetParams,
    NoParams,
    Params,
    full_id,
    not_found,
)

if TYPE_CHECKING:
    from ...sinks.repair.kept_copies import Copy
    from ...sinks.repair.purge import Cleaned

FORGET_S = 10.0


class ForgetCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.table: dict[str, tuple[type[Params], Callable[..., Awaitable[Any]]]] = {
            "forget": (ForgetParams, self.forget),
            "copies": (NoParams, self.copies),
            "remove_copies": (CopiesParams, self.remove_copies),
        }

    async def forget(self, params: ForgetParams, place: Place) -> dict[str, Any]:
        """Delete a memory; ``copies`` are the files that may still hold it."""
        memory_id = full_id(params.id)
        archive = await self._app.archive.get()
        history = await archive.store.history(memory_id, place.readable)
        event = ForgetRequested(trace=self._app.new_id(), id=memory_id, scopes=place.readable)
        settled = await self._app.bus.request(event, ForgetSettled, within_s=FORGET_S)
        if not settled.found or not history:
            raise not_found(params.id, place)
        if params.now or params.everywhere:
            await (await self._app.archive.get()).compact()
        since = min(memory.created_at for memory in history)
        holding = [copy for copy in await self._copies() if copy.may_hold(since)]
        team = await self._team_of(history[0].scope)
        answer: dict[str, Any] = {"id": memory_id, "forgotten": True, "team": team}
        if params.everywhere:
            cleaned = await self._clean(holding, memory_id, str(history[0].scope))
            gone = {*cleaned.cleaned, *cleaned.removed}
            holding = [copy for copy in holding if copy.file not in gone]
            answer["cleaned"] = [str(file) for file in cleaned.cleaned]
            answer["removed"] = [str(file) for file in cleaned.removed]
            answer["left"] = [{"file": str(file), "why": why} for file, why in cleaned.left]
        return answer | {"copies": [_shown(copy) for copy in holding]}

    async def _team_of(self, scope: Scope) -> str | None:
        """The team that hears of it when a memory of ``scope`` is forgotten."""
        replica = await self._app.team.replica()
        membership = await replica.membership()
        if membership is None:
            return None
        sends = {sharing.scope for sharing in await replica.shared() if sharing.sends}
        return membership.team if scope in sends else None

    async def copies(self, params: NoParams, place: Place) -> dict[str, Any]:
        """The copies of the database that subcog keeps or has made."""
        return {"copies": [_shown(copy) for copy in await self._copies()]}

    async def remove_copies(self, params: CopiesParams, place: Place) -> dict[str, Any]:
        """Delete copies by their names, all of them or none."""
        known = {str(copy.file): copy for copy in await self._copies()}
        if strangers := [file for file in params.files if file not in known]:
            raise CallRefused(f"{strangers[0]} is no copy that subcog keeps or has made")
        chosen = [known[file] for file in params.files]
        try:
            await anyio.to_thread.run_sync(_remove, chosen)
        except OSError as error:
            raise CallRefused(f"{error.filename} cannot be deleted ({error.strerror})") from None
        return {"removed": [_shown(copy) for copy in chosen]}

    async def _copies(self) -> Sequence[Copy]:
        from ...sinks.repair.kept_copies import find_copies

        return await anyio.to_thread.run_sync(find_copies, self._app.paths.database)

    async def _clean(self, copies: Sequence[Copy], memory_id: str, scope: str) -> Cleaned:
        from ...sinks.repair.purge import clean_copies

        work = partial(clean_copies, copies, memory_id, [scope], self._app.clock())
        return await anyio.to_thread.run_sync(work)


def _remove(copies: Sequence[Copy]) -> None:
    from ...sinks.repair.kept_copies import remove_copy

    for copy in copies:
        remove_copy(copy)


def _shown(copy: Copy) -> dict[str, Any]:
    return {
        "file": str(Path(copy.file)),
        "kind": copy.kind,
        "at": copy.at.isoformat(),
        "bytes": copy.bytes,
    }
