"""What a stage needs from outside. ``pipeline/app.py`` chooses the sink that fulfils each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from ..bus.events import PromptSubmitted
from ..bus.values import (
    IntentType,
    Kept,
    Marked,
    Memory,
    ProjectFacts,
    Query,
    Recalled,
    Scope,
    Vote,
)


class RecallUnavailable(ConnectionError):
    """There is nothing to search with at this moment."""


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


class Local(Protocol):
    """Guesses the kind of a prompt without a network, in well under a millisecond."""

    def weigh(self, text: str, cues: Sequence[str]) -> Mapping[IntentType | None, float]:
        """The probability of each kind of search and of None (no search); together 1.0.

        ``cues`` are the names of what the keyword racer noticed about ``text``.
        """


class Model(Protocol):
    """Asks a language model what kind of search a prompt is."""

    async def ask(
        self,
        text: str,
        *,
        within_s: float,
        late: Callable[[Vote], Awaitable[bool]] | None = None,
    ) -> Vote:
        """The model's vote on ``text``; its ``missing`` says why where none came ``within_s``.

        With ``late`` the question may go on for a while after that, and a vote that comes then is
        handed to ``late``, which returns whether it takes it. Cancelled, it cancels the question.
        """


class Keeper(Protocol):
    """Keeps what a prompt marks explicitly."""

    async def keep(self, marked: Marked, *, prompt: PromptSubmitted, number: int) -> Kept:
        """Store ``marked``, the prompt's ``number``-th from 0, and say what became of it.

        ``pending`` if that takes longer than there is time. The same marker of the same prompt
        (by its trace) is stored once, however often it comes.
        """


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
