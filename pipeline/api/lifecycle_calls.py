"""The calls about the life of one memory: changed, replaced, ended, brought back, explained."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from ...bus.events import (
    CaptureRequested,
    ChangeSettled,
    Event,
    ExpireRequested,
    RestoreRequested,
    SupersedeRequested,
)
from ...bus.values import Memory, Place, Provenance
from ..app.app import App
from . import results as answers
from .params import (
    CallRefused,
    ExpireParams,
    IdParams,
    Params,
    RestoreParams,
    SupersedeParams,
    UpdateParams,
    full_id,
    not_found,
)

CHANGE_S = 10.0


class LifecycleCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.table: dict[str, tuple[type[Params], Callable[..., Awaitable[Any]]]] = {
            "update": (UpdateParams, self.update),
            "supersede": (SupersedeParams, self.supersede),
            "expire": (ExpireParams, self.expire),
            "restore": (RestoreParams, self.restore),
            "history": (IdParams, self.history),
            "why": (IdParams, self.why),
        }

    # --- change ----------------------------------------------------------------------------------

    async def update(self, params: UpdateParams, place: Place) -> dict[str, Any]:
        if params.text is None and params.namespace is None and params.tags is None:
            raise CallRefused("nothing to update: give a text, a namespace or tags")
        old = await self._memory(params.id, place)
        request = CaptureRequested(
            trace=self._app.new_id(),
            id=old.id,
            text=old.content if params.text is None else params.text,
            scope=old.scope,
            namespace=params.namespace or old.namespace,
            tags=old.tags if params.tags is None else params.tags,
            confidence_percent=old.confidence_percent,
            provenance=Provenance(hook=params.hook, branch=place.branch or ""),
            revises=old.id,
        )
        return await self._capture(request)

    async def supersede(self, params: SupersedeParams, place: Place) -> dict[str, Any]:
        if (params.new is None) == (params.text is None):
            raise CallRefused("name either the new memory or its text")
        old = await self._memory(params.old, place)
        if params.new is not None:
            event = SupersedeRequested(
                trace=self._app.new_id(),
                old=old.id,
                new=full_id(params.new),
                scopes=place.readable,
            )
            return answers.change_answer(await self._change(event, place))
        if old.superseded_by is not None:
            raise CallRefused(f"{old.id} is superseded already, by {old.superseded_by}")
        request = CaptureRequested(
            trace=self._app.new_id(),
            id=f"mem_{self._app.new_id()}",
            text=params.text or "",
            scope=old.scope,
            namespace=old.namespace,
            tags=old.tags,
            provenance=Provenance(hook=params.hook, branch=place.branch or ""),
            supersedes=old.id,
        )
        return await self._capture(request) | {"supersedes": old.id}

    async def expire(self, params: ExpireParams, place: Place) -> dict[str, Any]:
        event = ExpireRequested(
            trace=self._app.new_id(), id=full_id(params.id), scopes=place.readable, at=params.at
        )
        return answers.change_answer(await self._change(event, place))

    async def restore(self, params: RestoreParams, place: Place) -> dict[str, Any]:
        event = RestoreRequested(
            trace=self._app.new_id(),
            id=full_id(params.id),
            scopes=place.readable,
            version=params.version,
        )
        return answers.change_answer(await self._change(event, place))

    async def _capture(self, request: CaptureRequested) -> dict[str, Any]:
        with anyio.fail_after(CHANGE_S):
            settled = await self._app.captures.capture(request)
        answer = answers.capture_answer(settled)
        if settled.memory is not None:
            answer["version"] = settled.memory.version
        return answer

    async def _change(self, event: Event, place: Place) -> Memory:
        settled = await self._app.bus.request(event, ChangeSettled, within_s=CHANGE_S)
        if settled.missing is not None:
            raise not_found(settled.missing, place)
        if settled.memory is None:
            raise CallRefused(settled.reason)
        return settled.memory

    # --- explain ---------------------------------------------------------------------------------

    async def history(self, params: IdParams, place: Place) -> dict[str, Any]:
        return answers.history_answer(await self._versions(params.id, place))

    async def why(self, params: IdParams, place: Place) -> dict[str, Any]:
        versions = await self._versions(params.id, place)
        archive = await self._app.archive.get()
        usage = await archive.store.usage([versions[-1].id])
        return answers.why_answer(versions, usage.get(versions[-1].id), now=self._app.clock())

    async def _versions(self, memory_id: str, place: Place) -> tuple[Memory, ...]:
        archive = await self._app.archive.get()
        versions = await archive.store.history(full_id(memory_id), place.readable)
        if not versions:
            raise not_found(memory_id, place)
        return versions

    async def _memory(self, memory_id: str, place: Place) -> Memory:
        archive = await self._app.archive.get()
        found = await archive.store.get([full_id(memory_id)], place.readable)
        if not found:
            raise not_found(memory_id, place)
        return found[0]
