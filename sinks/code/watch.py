"""Anchors for a text, and what became of those of a memory; from a cache, off the event loop.

A check looks at the times of the files alone while they are as they were. What changed is read and
compared at once, as long as there is time; what takes longer goes on in its thread, and the next
check knows it. A file system that hangs costs its project one short wait, and then nothing until
it answers.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from cachetools import LRUCache
from msgspec import Struct
from msgspec.structs import replace

from ...bus.anchors import Anchor, AnchorState, CodeName, CodeState, add_up
from ...bus.signals import compared, emit
from .checkout import Checkout, Late, Read, Stamp, Unreadable, places_of

if TYPE_CHECKING:
    from ...bus.values import Memory, Place

ANSWER_S = 2.0
"""So long anchors are waited for at most, where the file system does not answer."""

RESOLVE_S = 0.3
"""So long the project is searched for what a text names; what is known by then is kept.

No capture waits for it, but the search takes its share of the one interpreter.
"""

_CACHED = 4096
_CHECKOUTS = 32
_MOST_TAKEN = 8
_THREADS = 4
# A part of the time that is left, and never more than so long: for a look at the times of files,
# and for reading and searching what changed.
_LOOK_SHARE, _LOOK_S = 0.04, 0.25
_WORK_SHARE, _WORK_S = 0.3, 1.0
# A thread that nobody waits for any more ends by itself after this.
_SEARCH_S = 5.0
# What is gone may come back under another name, and what was not found by then may be found by
# another search; nothing else would tell.
_AGAIN_S = 30.0
# A file that was written so shortly before it was read may be written again with the same time.
_RACY_NS = 50_000_000


class _Known(Struct, frozen=True):
    """A state, with what it rests on: the stamps of the file and of where it moved to."""

    state: AnchorState
    stamp: Stamp | None
    elsewhere: Stamp | None
    at: float
    is_racy: bool


class CodeWatch:
    """Fulfils ``ports.Code``. ``find_top`` gives a root's project directory, ``head`` its commit.

    ``names`` finds what a text names. All three are called in a thread.
    """

    def __init__(
        self,
        *,
        names: Callable[[str], Sequence[CodeName]],
        find_top: Callable[[str], Path],
        head: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = names
        self._find_top = find_top
        self._head = head
        self._clock = clock
        self._lock = threading.Lock()
        self._known: LRUCache[tuple[Path, Anchor], _Known] = LRUCache(_CACHED)
        self._tops: LRUCache[str, Path] = LRUCache(_CHECKOUTS)
        self._busy: Counter[str] = Counter()
        self._threads: anyio.CapacityLimiter | None = None

    # --- anchors of a text -----------------------------------------------------------------------

    async def anchors(self, text: str, root: str) -> tuple[Anchor, ...]:
        """Where the code is that ``text`` names, in the project at ``root``.

        Empty where it names none, or the file system does not answer.
        """
        key = f"{root}\0"
        if not root or self._is_busy(key, most=1):
            return ()
        told: list[tuple[Anchor, ...]] = []
        await self._in_thread(partial(self._resolve, text, root, told), ANSWER_S, {key})
        return told[-1] if told else ()

    def _resolve(self, text: str, root: str, told: list[tuple[Anchor, ...]]) -> None:
        if not (names := self._names(text)):
            return
        top = self._find_top(root)
        folder = _folder(root, top)
        taken = _take(names, Checkout(top), folder)
        from .anchors import resolve  # it brings the readers of files with it: up to a second

        commit = self._head(root)
        late = self._late_after(RESOLVE_S)
        found = resolve(
            names,
            Checkout(top, late=late, taken=taken),
            folder=folder,
            late=late,
            tell=lambda anchors: told.append(_dated(anchors, commit)),
        )
        told.append(_dated(found, commit))

    # --- what became of them ---------------------------------------------------------------------

    async def check(
        self, memories: Iterable[Memory], place: Place, *, patience_s: float = _WORK_S
    ) -> Mapping[str, CodeState]:
        """What became of the code that ``memories`` of the project at ``place`` name, by their ids.

        It waits a part of the time that is left, and never longer than ``patience_s``; what is not
        known by then is None in the states. Memories without anchors are not in the answer.
        """
        wanted = {m.id: m.anchors for m in memories if m.anchors and m.scope == place.project}
        if not wanted:
            return {}
        anchors = dict.fromkeys(anchor for each in wanted.values() for anchor in each)
        states = await self._states(list(anchors), place.root, patience_s)
        found = {id_: add_up(_state(one, states) for one in each) for id_, each in wanted.items()}
        for one in found.values():
            emit(compared, "code", state=one.state or "unknown")
        return found

    async def _states(
        self, anchors: Sequence[Anchor], root: str, patience_s: float
    ) -> dict[Anchor, AnchorState]:
        found: dict[Anchor, AnchorState] = {}
        if self._is_busy(root):
            return found
        left_s = anyio.current_effective_deadline() - anyio.current_time()
        look = partial(self._look, anchors, root, found)
        looked = await self._in_thread(look, min(_LOOK_SHARE * left_s, _LOOK_S), {root})
        keys = {anchor: f"{root}\0{anchor.path}" for anchor in anchors if anchor not in dict(found)}
        others = [anchor for anchor, key in keys.items() if not self._is_busy(key)]
        if looked and others:
            work = partial(self._examine, others, root, found)
            wait_s = min(_WORK_SHARE * left_s, patience_s)
            await self._in_thread(work, wait_s, {keys[anchor] for anchor in others})
        return dict(found)

    def _look(self, anchors: Sequence[Anchor], root: str, found: dict[Anchor, AnchorState]) -> None:
        """The states of ``anchors`` whose files have the times that they had."""
        checkout = self._checkout(root)
        stamps: dict[str, Stamp | None] = {}
        for anchor in anchors:
            with self._lock:
                known = self._known.get((checkout.top, anchor))
            if known is not None and self._holds(known, checkout, stamps):
                found[anchor] = known.state

    def _holds(self, known: _Known, checkout: Checkout, stamps: dict[str, Stamp | None]) -> bool:
        if known.is_racy or _stamped(known.state.path, checkout, stamps) != known.stamp:
            return False
        if known.state.now:
            return _stamped(known.state.now, checkout, stamps) == known.elsewhere
        is_open = known.state.state in {"gone", None}
        return not is_open or self._clock() - known.at < _AGAIN_S

    def _examine(
        self, anchors: Sequence[Anchor], root: str, found: dict[Anchor, AnchorState]
    ) -> None:
        """Read and compare; what is found is kept, whether somebody still waits for it or not."""
        from .anchors import examine

        late = self._late_after(_SEARCH_S)
        checkout = self._checkout(root, late)
        for anchor in anchors:
            stamps: dict[str, Stamp | None] = {}
            before = _stamped(anchor.path, checkout, stamps)
            is_in_time = not late()
            state = examine(anchor, checkout, late=late)
            if state.state is None and not is_in_time:  # it was not searched for at all
                continue
            known = _Known(
                state=state,
                stamp=before,
                elsewhere=_stamped(state.now, checkout, stamps) if state.now else None,
                at=self._clock(),
                is_racy=before is not None and time.time_ns() - max(before[3:]) < _RACY_NS,
            )
            with self._lock:
                self._known[checkout.top, anchor] = known
            found[anchor] = state

    # --- threads ---------------------------------------------------------------------------------

    def _late_after(self, seconds: float) -> Late:
        deadline = self._clock() + seconds
        return lambda: self._clock() > deadline

    def _checkout(self, root: str, late: Late = lambda: False) -> Checkout:
        with self._lock:
            top = self._tops.get(root)
        if top is None:
            top = self._find_top(root)
            with self._lock:
                self._tops[root] = top
        return Checkout(top, late=late)

    async def _in_thread(self, work: Callable[[], None], wait_s: float, keys: set[str]) -> bool:
        """Whether ``work`` was done in time; else it goes on, and its ``keys`` are busy so long."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_THREADS)
        if not self._threads.available_tokens:
            return False
        task = _Task(work, self._busy, keys, self._lock)
        try:
            with anyio.move_on_after(max(0.0, wait_s)):
                await anyio.to_thread.run_sync(
                    task.run, limiter=self._threads, abandon_on_cancel=True
                )
        finally:
            task.leave()
        return task.is_done

    def _is_busy(self, key: str, *, most: int = 0) -> bool:
        """Whether more than so many threads are left behind with ``key``."""
        with self._lock:
            return self._busy[key] > most


class _Task:
    """Work in a thread. While it goes on without anybody who waits, its ``keys`` are ``busy``."""

    def __init__(
        self, work: Callable[[], None], busy: Counter[str], keys: set[str], lock: threading.Lock
    ) -> None:
        self.is_done = False
        self._work = work
        self._busy = busy
        self._keys = keys
        self._lock = lock
        self._is_begun = self._is_over = self._is_left = False

    def run(self) -> None:
        with self._lock:
            if self._is_left:  # before it began
                return
            self._is_begun = True
        # A disk that fails is as one that does not answer.
        with suppress(OSError, ValueError):
            self._work()
            self.is_done = True
        with self._lock:
            self._is_over = True
            if self._is_left:
                self._busy.subtract(self._keys)
                for key in self._keys:
                    if not self._busy[key]:
                        del self._busy[key]

    def leave(self) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._is_left = True
            if self._is_begun and not self._is_over:
                self._busy.update(self._keys)


def _take(names: Sequence[CodeName], checkout: Checkout, folder: str) -> dict[str, Read]:
    """The files that a text names, as they are now: they may be edited before they are parsed."""
    taken: dict[str, Read] = {}
    paths = [one.value.removeprefix("./") for one in names if one.kind == "path"][:_MOST_TAKEN]
    for path in chain.from_iterable(places_of(each, folder) for each in paths):
        with suppress(Unreadable):
            if (read := checkout.read(path)) is not None:
                taken[path] = read
    return taken


def _dated(anchors: tuple[Anchor, ...], commit: str) -> tuple[Anchor, ...]:
    return tuple(replace(anchor, commit=commit) for anchor in anchors)


def _folder(root: str, top: Path) -> str:
    """Where ``root`` is below ``top``; "" for the top itself."""
    below = os.path.relpath(os.path.realpath(root), os.path.realpath(top))
    return "" if below == "." or below.startswith("..") else below.replace(os.sep, "/")


def _state(anchor: Anchor, states: Mapping[Anchor, AnchorState]) -> AnchorState:
    return states.get(anchor) or AnchorState(path=anchor.path, symbol=anchor.symbol)


def _stamped(path: str, checkout: Checkout, stamps: dict[str, Stamp | None]) -> Stamp | None:
    if path not in stamps:
        try:
            stamps[path] = checkout.stamp(path)
        except Unreadable:
            stamps[path] = None
    return stamps[path]
