"""The call that looks through memories without a search: the newest, or those that disagree."""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ...bus.values import Memory, Place
from ...stages.text.envelope import author_name
from ..app.app import App
from . import results as answers
from .params import ListParams, Params

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive

PAGE = 500


class ListCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.table: dict[str, tuple[type[Params], Callable[..., Awaitable[Any]]]] = {
            "list": (ListParams, self.list),
        }

    async def list(self, params: ListParams, place: Place) -> dict[str, Any]:
        """The newest memories that hold, newest first."""
        archive = await self._app.archive.get()
        if params.author is None and not params.contradicting:
            names = (params.namespace,) if params.namespace else ()
            found = await archive.latest(place.readable, limit=params.limit, namespaces=names)
        else:
            found = await self._chosen(archive, params, place)
        return {"memories": [answers.listed_answer(memory) for memory in found]}

    async def _chosen(
        self, archive: Archive, params: ListParams, place: Place
    ) -> tuple[Memory, ...]:
        """The newest of those that ``params`` ask for; reads them all, a page at a time."""
        newest: list[tuple[datetime, str, Memory]] = []
        after = ""
        while page := await archive.store.page(place.readable, after=after, limit=PAGE):
            after = page[-1].id
            for memory in page:
                if self._is_asked_for(memory, params):
                    add = heapq.heappush if len(newest) < params.limit else heapq.heappushpop
                    add(newest, (memory.created_at, memory.id, memory))
        return tuple(memory for _, _, memory in sorted(newest, reverse=True))

    def _is_asked_for(self, memory: Memory, params: ListParams) -> bool:
        return (
            (not params.contradicting or memory.contradicts is not None)
            and (params.author is None or _is_by(memory, params.author))
            and (params.namespace is None or memory.namespace == params.namespace)
            and answers.hidden_because(memory, self._app.clock()) is None
        )


def _is_by(memory: Memory, author: str) -> bool:
    return author_name(memory.provenance.author).casefold() == author_name(author).casefold()
