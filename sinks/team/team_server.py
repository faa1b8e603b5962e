"""What the synchronisation needs of the team's server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol

from ...bus.values import Scope
from ..store.rows import Row
from .protocol import About, Changes, Cursor


class TeamServer(Protocol):
    """It connects when it is first asked, and again after the line was lost.

    Each method raises a ``ConnectionError`` while the server cannot be used, and is idempotent.
    """

    async def about(self) -> About:
        """Whose server this is, who asks, and what the team shares."""

    async def put(self, rows: Sequence[Row]) -> tuple[bool, ...]:
        """Append versions, all or none; False for one that is there or was forgotten.

        Raises ValueError where one of them cannot be stored.
        """

    async def forget(self, id: str, scopes: Sequence[Scope]) -> bool:  # noqa: A002
        """Delete a memory for everybody; False where it is not there."""

    async def digests(self, keys: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], bytes]:
        """The digests of those (id, version) pairs that are there."""

    async def changes(self, after: Cursor, scopes: Sequence[Scope], *, limit: int = 500) -> Changes:
        """What was changed in ``scopes`` beyond ``after``, in the order of the feed."""

    async def remaining(self, after: Cursor, scopes: Sequence[Scope]) -> int:
        """How many changes of ``scopes`` there are beyond ``after``."""

    def listen(self) -> AsyncGenerator[None, None]:
        """One item at the start, and one whenever something was changed."""

    async def tidy(self) -> int:
        """Put a little of what was sent in order for searching; how much is left to do."""

    async def close(self) -> None:
        """Let go of the server."""
