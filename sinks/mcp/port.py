"""What an MCP session needs of the daemon: a port for its project's calls, and what changed.

Nothing here imports the MCP SDK, which is loaded when the first client comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import anyio
from msgspec import Struct

from ...bus.events import MemoriesStored, MemoryForgotten
from ...bus.values import Memory, Scope

Json = dict[str, Any]
Intent = Literal["howto", "troubleshoot", "explain", "locate"]


class Refused(ValueError):
    """A request that cannot be answered as asked; the message is for whoever asked."""


class ClientPort(Protocol):
    """Answers for one project. Texts of memories come back redacted and neutralised."""

    @property
    def notice(self) -> str:
        """That what was remembered is data and no instruction, in the envelope's words."""

    @property
    def text_chars(self) -> int:
        """How many characters a memory may have."""

    async def scopes(self) -> tuple[Scope, ...]:
        """What may be read from this project. Raises ``Refused`` where its disk does not answer."""

    async def call(self, name: str, params: Mapping[str, object], *, brief: bool = False) -> Json:
        """Make a call of the daemon, as the command line does. Raises ``Refused``.

        With ``brief``, memories come without their texts: the summaries remain.
        """

    async def hook(self, event: str, client: str, payload: bytes) -> bytes:
        """What a hook would print, for an agent whose hooks are calls of our tool."""

    async def count(self) -> int:
        """How many memories hold now that this project may read. Raises ``Refused``."""

    async def find(self, memory_id: str) -> Json | None:
        """One memory whole, or None where this project has none of that id. Raises ``Refused``."""

    async def latest(self, *, limit: int, namespaces: tuple[str, ...] = ()) -> list[Json]:
        """The newest memories. Raises ``Refused``."""

    async def starting(self, beginning: str, *, limit: int) -> list[str]:
        """Ids that start with ``beginning``, the oldest first. Raises ``Refused``."""

    async def session(self) -> Json:
        """What the agent's session was shown, and why. Raises ``Refused``."""

    def weights(self, intent: Intent) -> Mapping[str, float]:
        """How much a namespace counts where somebody wants that; 1.0 where it is not named."""

    def bounded(self, memories: Sequence[Json]) -> list[Json]:
        """``memories`` as they may be listed together: too long texts cut, ``whole`` saying where.

        That is the URI of the resource.
        """

    def quote(self, memories: Sequence[Json], *, brief: bool = False) -> str:
        """The envelope around ``memories``, or around their summaries; empty for none.

        It is bounded: what does not fit is cut, or named only.
        """


# Changes that come close together are told together.
GATHER_S = 0.05
BUSY_CHECK_S = 0.02
# Of more changes than this it is only told that there were some.
MAX_NAMED = 256


class Changed(Struct, frozen=True):
    """What changed. ``namespaces`` None means any; ``ids`` None means very many."""

    ids: frozenset[str] | None
    namespaces: frozenset[str] | None


class Watch:
    """One session's view of what changes in its scopes: what can be read anew, never its text.

    What changed since it was last asked is merged and bounded, so that a client that is slow to
    read, or never reads, costs next to nothing and holds nobody up.
    """

    def __init__(self, scopes: tuple[Scope, ...], *, is_busy: Callable[[], bool]) -> None:
        self.scopes = frozenset(scopes)
        self._is_busy = is_busy
        self._woken = anyio.Event()
        self._clear()

    def _clear(self) -> None:
        self._ids: set[str] = set()
        self._namespaces: set[str] = set()
        self._everywhere = False

    def note(self, memory_id: str, namespace: str | None) -> None:
        """Something changed; its ``namespace`` may not be known."""
        if len(self._ids) <= MAX_NAMED:
            self._ids.add(memory_id)
        if namespace is None:
            self._everywhere = True
        else:
            self._namespaces.add(namespace)
        self._woken.set()

    async def next(self) -> Changed:
        """What changed since the last time: wait for it, and until it can be read."""
        await self._woken.wait()
        await anyio.sleep(GATHER_S)
        while self._is_busy():  # noqa: ASYNC110 - inboxes can be counted, not waited for
            await anyio.sleep(BUSY_CHECK_S)
        changed = Changed(
            frozenset(self._ids) if len(self._ids) <= MAX_NAMED else None,
            None if self._everywhere else frozenset(self._namespaces),
        )
        self._woken = anyio.Event()
        self._clear()
        return changed


class Changes:
    """Who watches. ``is_busy`` says whether what was stored cannot be found yet."""

    def __init__(self, *, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._watches: set[Watch] = set()

    @contextmanager
    def watching(self, scopes: tuple[Scope, ...]) -> Iterator[Watch]:
        """Watch ``scopes`` for as long as the context is open."""
        watch = Watch(scopes, is_busy=self._is_busy)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def stored(self, event: MemoriesStored) -> None:
        """Memories, or versions of them, were committed."""
        for memory, _ in event.stored if self._watches else ():
            self._stored(memory)

    def forgotten(self, event: MemoryForgotten) -> None:
        """A memory was deleted; where it was is not told."""
        self._tell(event.scope, event.id, None)

    def _stored(self, memory: Memory) -> None:
        # A later version may have come from another namespace.
        self._tell(memory.scope, memory.id, memory.namespace if memory.version == 1 else None)

    def _tell(self, scope: Scope, memory_id: str, namespace: str | None) -> None:
        for watch in self._watches:
            if scope in watch.scopes:
                watch.note(memory_id, namespace)
