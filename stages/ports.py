"""What the stages need from outside; ``pipeline/app/app.py`` hands in a sink for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from ..bus.anchors import CodeState
from ..bus.enrichment import Guide
from ..bus.events import PromptSubmitted
from ..bus.prompts import Marked, ProjectFacts, Span, Vote
from ..bus.sessions import SessionHit
from ..bus.values import Kept, Memory, Place, Query, Recalled, Scope, Usefulness


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


class Warnings(Protocol):
    """Knows which memories may warn of an action."""

    async def warning(self, keys: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        """The memories of ``scopes`` that have one of ``keys`` (``breaches/stated.py``).

        Newest first, at most 32. Raises ``RecallUnavailable`` (a ``ConnectionError``).
        """

    async def sharing(
        self, keys: Sequence[str], scopes: tuple[Scope, ...], *, among: str
    ) -> tuple[tuple[Memory, float], ...]:
        """The memories of ``scopes`` that share most with ``keys``, and how much; at most 8.

        Each key weighs by how rare it is among those that have the key ``among``. Most first; the
        same errors.
        """


class Conversations(Protocol):
    """Finds what was said in sessions."""

    async def find(self, text: str, place: Place, *, session: str) -> tuple[SessionHit, ...]:
        """What other sessions of the project at ``place`` than ``session`` hold on ``text``.

        Best first, the newer word on a subject before the older; those that are not relevant
        enough come last, without passages. Raises ``RecallUnavailable`` (a ``ConnectionError``)
        while there is nothing to search with.
        """

    async def said(
        self, place: Place, span: Span | None, *, session: str, limit: int
    ) -> tuple[SessionHit, ...]:
        """What was said within ``span`` in other sessions than ``session``, the newest first.

        Without a span the end of the newest session. Raises ``RecallUnavailable``.
        """


class Chronicle(Protocol):
    """Knows when memories were made. Raises ``ConnectionError`` while it cannot tell."""

    async def made(
        self,
        scopes: tuple[Scope, ...],
        *,
        limit: int,
        namespaces: tuple[str, ...] = (),
        within: Span | None = None,
        by_use: bool = False,
    ) -> tuple[Memory, ...]:
        """The memories of ``scopes`` that were made ``within`` a span, newest first.

        Of every time where that is None; ``by_use`` puts first what was shown most often.
        """


class Uses(Protocol):
    """Knows what became of memories after they were shown."""

    def of(self, memory_id: str) -> Usefulness:
        """The evidence on a memory; all zero where there is none."""

    @property
    def usual(self) -> Usefulness:
        """The evidence on all memories together."""


class Catalogue(Protocol):
    """Finds memories otherwise than by searching. Raises ``ConnectionError`` while it cannot."""

    async def fetch(self, ids: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        """The memories with ``ids`` that are in ``scopes``, in the order asked."""

    async def naming(self, file: str, scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        """The memories that name a file called ``file``, in whatever folder, newest first.

        With a slash at its end it is a folder's name.
        """

    async def subjects(self, scopes: tuple[Scope, ...], *, limit: int) -> tuple[str, ...]:
        """What several memories of ``scopes`` are about, the most frequent first."""


class Code(Protocol):
    """Knows the code of a project, and what became of what memories name of it."""

    async def check(
        self, memories: Iterable[Memory], place: Place, *, patience_s: float = 1.0
    ) -> Mapping[str, CodeState]:
        """What became of the code that ``memories`` name, by their ids; those that name none lack.

        It answers within a part of the time that is left, reads and searches for no longer than
        ``patience_s``, and says None of what it does not know by then. Only memories of the project
        at ``place`` are compared with it.
        """


class Local(Protocol):
    """Guesses the kind of a prompt without a network, in well under a millisecond."""

    def weigh(self, features: Iterable[tuple[str, float]]) -> Mapping[str, float]:
        """The probability of each kind of search, of an order and of chat; together 1.0.

        ``features`` are those of the prompt, each with its name and its strength.
        """

    def __hash__(self) -> int:
        """It never changes, so its votes are kept."""


class Spelling(Protocol):
    """Knows the words of English and of the memories."""

    def meant(self, words: Sequence[str], scopes: tuple[Scope, ...]) -> Mapping[str, str]:
        """What each misspelt one of the lower-case ``words`` of a question was meant as."""


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

    def existing(self, root: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of ``paths`` that are there, in the project at ``root``; may wait for a disk."""


class Guides(Protocol):
    """Knows the tasks, patterns and gotchas that are remembered, without a search."""

    async def find(
        self, scopes: tuple[Scope, ...], keys: Mapping[str, Sequence[str]]
    ) -> tuple[Guide, ...]:
        """The guides of ``scopes`` that share most with ``keys`` (namespace → keys of ``Guide``).

        Raises ``RecallUnavailable`` (a ``ConnectionError``) while they cannot be read.
        """

    def read(self, memory: Memory) -> Guide:
        """``memory`` as a guide."""

    def cosines(self, text: str, others: Sequence[str]) -> tuple[float | None, ...]:
        """How near each of ``others`` is to ``text``, −1 to 1; None where nothing can tell."""

    def rarity(
        self, words: Sequence[str], scopes: tuple[Scope, ...]
    ) -> tuple[tuple[str, float], ...]:
        """Each of ``words`` with how rare it is in ``scopes``: 0.0 is in every memory, 1.0 in none.

        Empty while there is nothing to look it up in.
        """


class Sessions(Protocol):
    """Remembers what was shown in a session.

    ``by`` is the trace of the hook that shows it: where its answer does not arrive, it was not.
    """

    def shown(self, session: str) -> frozenset[tuple[str, int]]:
        """The (id, version) pairs that this session has already seen."""

    def show(self, session: str, shown: frozenset[tuple[str, int]], *, by: str = "") -> None:
        """Note that the session has now seen these."""

    def warned(self, session: str) -> frozenset[tuple[str, int]]:
        """The (id, version) pairs of which this session was warned before an action."""

    def warn(self, session: str, warned: frozenset[tuple[str, int]], *, by: str = "") -> None:
        """Note that the session was warned of these."""

    def lost(self, session: str) -> tuple[str, ...]:
        """What was shown or captured before the context was emptied last: ids, latest first."""

    def is_greeted(self, session: str) -> bool:
        """Whether the session was greeted, and its context still has that."""

    def greet(self, session: str, *, by: str = "") -> None:
        """Note that the session was greeted."""
