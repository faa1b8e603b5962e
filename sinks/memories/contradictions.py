"""Finds the older memory that a new one contradicts in other words, by a model that reads both.

Nobody waits for it: the capture is acknowledged before, and the contradiction is noted in the next
version of the memory. At a prompt nothing is read again; who finds the older memory gets the newer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import anyio.to_thread
import numpy as np

from ...bus.events import MemoriesStored, TextStored
from ...bus.values import Memory
from ...config.languages import ENGLISH, language_of
from ..models.analyzer import Analyzer
from ..models.cross_encoder import CrossEncoder
from ..models.embedder import Encoder
from ..search.index import Index
from ..search.newer_memories import Fetch
from .comparison import NEAR, Judge, may_be_denied
from .lifecycle import Lifecycle

FLOOR = 1.0
"""Log-odds that both orders have to reach: four in five of such pairs contradict; see ADR 0049."""
COMPARABLE = 0.25
"""Two statements are read from this cosine on."""
# With a cosine below the first, two statements have to reach the second.
_ALIKE, _FLOOR_UNLIKE = 0.5, 2.0
# The reranker's log-odds from which on two statements are about the same: those that have a word in
# common, and others; see ADR 0052.
_SAME, _SAME_IN_OTHER_WORDS = -1.5, 0.5
# So many of the nearest are read.
_READ = 6


class Contradictions:
    """Handles ``TextStored``.

    ``load`` loads the model, and gives None where it cannot be used. It is kept until ``let_go``:
    it takes up to 80 MB, for a few texts a day. ``reranker`` gives the one that questions are read
    with; None where it cannot be used.
    """

    def __init__(
        self,
        *,
        index: Index,
        fetch: Fetch,
        encoder: Encoder,
        lifecycle: Lifecycle,
        load: Callable[[], CrossEncoder | None],
        reranker: Callable[[], Awaitable[CrossEncoder | None]],
        judge: Judge,
        clock: Callable[[], datetime],
    ) -> None:
        self._index = index
        self._fetch = fetch
        self._encoder = encoder
        self._lifecycle = lifecycle
        self.load = load
        self._reranker = reranker
        self._analyzer = Analyzer()
        self.enabled = True
        self._judge = judge
        self._model: CrossEncoder | None = None
        self._clock = clock

    async def note(self, event: TextStored) -> tuple[MemoriesStored, ...]:
        """Note which memory the text of ``event`` contradicts, in its memory's next version."""
        read = event.memory
        if not self.enabled or _contradicts_any(read):
            return ()
        reranker = await self._reranker()
        if reranker is None:
            return ()
        other = await anyio.to_thread.run_sync(self._contradicted, read, reranker)
        if other is None or await self._lifecycle.find(other, [read.scope]) is None:
            return ()
        return await self._lifecycle.annotate(
            event.trace, read, unless=_contradicts_any, contradicts=other
        )

    def _contradicted(self, memory: Memory, reranker: CrossEncoder) -> str | None:
        """On a worker thread: the older memory that ``memory`` contradicts the likeliest."""
        older = self._older(memory)
        if not older:
            return None
        model = self._model = self._model or self.load()
        if model is None:
            self.enabled = False  # it is missing for the next text as well
            return None
        read = {
            other.id: likelihood(model, memory.content, other.content) - floor_of(alike)
            for other, alike in older
        }
        denied = [
            other.id
            for other, _ in older
            if read[other.id] >= 0 and self._same_subject(reranker, memory, other)
        ]
        return max(denied, key=lambda id_: read[id_], default=None)

    def _same_subject(self, reranker: CrossEncoder, memory: Memory, other: Memory) -> bool:
        return same_subject(reranker, self._analyzer, memory.content, other.content)

    def let_go(self) -> None:
        """Give the memory of the model back to the system; the next text loads it again."""
        if self._model is not None:
            self._model = None
            if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
                trim(0)

    def _older(self, memory: Memory) -> Sequence[tuple[Memory, float]]:
        """Those that ``memory`` may deny, and how alike each is."""
        near = self._index.related(self._encoder.encode(memory), memory.scope, k=NEAR)
        alike = {id_: cos for id_, cos in near if cos >= COMPARABLE and id_ != memory.id}
        found = self._fetch(list(alike), [memory.scope]) if alike else ()
        denied = [(one, alike[one.id]) for one in found if self._may_be_denied(one, memory)]
        return denied[:_READ]

    def _may_be_denied(self, other: Memory, memory: Memory) -> bool:
        """Whether ``other`` holds, was said before ``memory``, and speaks of the same.

        What ``memory`` contains it does not deny. The model knows English alone, and finds most
        short statements of another language at odds.
        """
        if not (may_be_denied(other, memory) and other.holds(self._clock())):
            return False
        if not language_of(other.content) == language_of(memory.content) == ENGLISH:
            return False
        is_older = other.updated_at < memory.updated_at
        if not is_older or self._judge.says_same(other.content, memory.content):
            return False
        return not self._judge.holds_beside(memory.content, other.content)


def _contradicts_any(memory: Memory) -> bool:
    return memory.contradicts is not None


def floor_of(alike: float) -> float:
    """The log-odds from which on two statements with the cosine ``alike`` contradict each other."""
    return FLOOR if alike >= _ALIKE else _FLOOR_UNLIKE


def same_subject(reranker: CrossEncoder, words: Analyzer, newer: str, older: str) -> bool:
    """Whether one of two statements answers the other, as if that were a question."""
    if np.intersect1d(words.terms(newer), words.terms(older)).size:
        least = _SAME
    elif language_of(newer) == language_of(older) == ENGLISH:  # it can read no other language
        least = _SAME_IN_OTHER_WORDS
    else:
        return False
    return reranker.score(older, newer) >= least or reranker.score(newer, older) >= least


def likelihood(model: CrossEncoder, newer: str, older: str) -> float:
    """Log-odds that two statements contradict each other: those of the order that says less."""
    read = model.score(older, newer)
    return read if read < FLOOR else min(read, model.score(newer, older))
