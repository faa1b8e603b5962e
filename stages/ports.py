"""What a stage needs from outside. ``pipeline/app.py`` chooses the sink that fulfils each."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from ..bus.values import Kept, Marked, Memory, Place, ProjectFacts, Query, Recalled, Scope


class Recall(Protocol):
    """Finds memories."""

    async def recall(self, query: Query) -> Recalled:
        """Answer ``query``, best first, from its scopes alone.

        Raises ``RecallUnavailable`` (a ``ConnectionError``) while there is nothing to search with.
        """

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        """The newest memories of ``scopes``, newest first."""


class Keeper(Protocol):
    """Keeps what a prompt marks explicitly."""

    async def keep(self, marked: Marked, *, place: Place, session: str, client: str) -> Kept:
        """Store ``marked`` durably and say what became of it; ``pending`` if it takes too long."""


class Projects(Protocol):
    """Knows a project from its files."""

    def facts(self, root: str) -> ProjectFacts:
        """What the files under ``root`` say; cached, never walking a tree."""


class Sessions(Protocol):
    """Remembers what was shown in a session."""

    def shown(self, session: str) -> frozenset[tuple[str, int]]:
        """The (id, version) pairs that this session has already seen."""

    def show(self, session: str, shown: frozenset[tuple[str, int]]) -> None:
        """Note that the session has now seen these."""


class Clock(Protocol):
    """Tells the time."""

    def __call__(self) -> datetime:
        """Now, aware, UTC."""
