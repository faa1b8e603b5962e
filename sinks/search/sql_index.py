"""What SQL finds memories by, made of what is stored: the terms and vectors of each memory.

The same analyser and the same encodings as the warm index, so that both find the same.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import MsgspecError

from ...bus.values import Encoding, Memory
from ..models.analyzer import Analyzer, searchable
from ..models.grams import grams_of
from ..sql import search_tables
from ..sql.search_tables import Document
from ..store.errors import StoreUnavailable
from ..store.rows import to_memory
from .vectors import quantised

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ..store.store import Store

_log = logging.getLogger(__name__)

SLICE = 256
"""Memories that are noted in one transaction, in about 20 ms: so long a write may wait."""

_TOLD_EVERY = 20


class SqlIndexer:
    """Brings the search tables up to date; for the writer's thread, inside of transactions."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()

    def refresh(self, connection: DuckDBPyConnection, ids: Sequence[str]) -> None:
        """Note the memories with ``ids`` as they are now, without what is gone or superseded."""
        search_tables.unindex(connection, "id", ids)
        rows = list(search_tables.current(connection, ids))
        search_tables.append(connection, list(self._documents(rows)))

    def _documents(self, rows: Sequence[tuple[Any, ...]]) -> Iterator[Document]:
        for row in rows:
            try:
                yield self._document(row)
            except (MsgspecError, ValueError) as error:
                _log.warning("a memory is unreadable", extra={"error": type(error).__name__})

    def _document(self, row: tuple[Any, ...]) -> Document:
        key, id_, scope, body, *encoded = row
        encoding, memory = Encoding(*encoded), to_memory(body)
        terms = self._terms(memory, encoding)
        distinct, counts = np.unique(
            np.concatenate((terms, grams_of(searchable(memory)))), return_counts=True
        )
        return Document(
            key,
            id_,
            scope,
            encoding.model,
            len(terms),
            distinct.astype(np.uint32),
            np.minimum(counts, 255).astype(np.uint8),
            *vectors_of(encoding),
        )

    def _terms(self, memory: Memory, encoding: Encoding) -> npt.NDArray[np.uint32]:
        known = np.frombuffer(encoding.terms, dtype="<u4")
        return known if len(known) else self._analyzer.terms(searchable(memory))


def vectors_of(encoding: Encoding) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """The vectors of an encoding as the warm index has them, and their scales.

    None where it is damaged.
    """
    passages = len(encoding.lengths) // 2
    if not passages or len(encoding.vectors) % (2 * passages):
        return np.zeros((0, 0), dtype=np.int8), np.zeros(0, dtype=np.float32)
    return quantised(np.frombuffer(encoding.vectors, dtype="<f2").reshape(passages, -1))


class SqlIndex:
    """Keeps the search tables of ``store`` up to date, when its writer has nothing else to do."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._indexer = SqlIndexer()
        self._pending: deque[str] = deque()

    def note(self, ids: Iterable[str]) -> None:
        """Note soon that the memories with ``ids`` changed; ``fill`` finds what a crash forgot."""
        self._pending.extend(ids)
        self._store.write_later(self._note_some)

    async def fill(self) -> int:
        """Note whatever is not noted yet, in slices between which others write; how many it was."""
        missing = await self._missing()
        for start in range(0, len(missing), SLICE):
            part = missing[start : start + SLICE]
            await self._store.write(partial(self._refresh, part))
            if (start // SLICE) % _TOLD_EVERY == _TOLD_EVERY - 1:
                told = {"done": start + len(part), "of": len(missing)}
                _log.info("memories are being prepared for search by SQL", extra=told)
        return len(missing)

    async def _missing(self) -> list[str]:
        try:
            return await self._store.read(search_tables.different)
        except StoreUnavailable:  # they may be damaged
            anew = partial(self._store.database.transact, search_tables.different)
            return await self._store.write(anew)

    async def catch_up(self) -> None:
        """Note what is pending now."""
        while self._pending:
            await self._store.write(self._note_some)

    def _note_some(self) -> None:
        """One slice, on the writer's thread; the next one when there is time again."""
        ids = [self._pending.popleft() for _ in range(min(SLICE, len(self._pending)))]
        try:
            self._refresh(ids)
        except BaseException:
            self._pending.extendleft(reversed(ids))
            raise
        if self._pending:
            with suppress(StoreUnavailable):  # the store is being closed; ``fill`` finds the rest
                self._store.write_later(self._note_some)

    def _refresh(self, ids: Sequence[str]) -> None:
        if ids:
            distinct = list(dict.fromkeys(ids))
            self._store.database.transact(lambda found: self._indexer.refresh(found, distinct))
