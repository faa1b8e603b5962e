"""People's own questions to the store in SQL: one at a time, for a few seconds, read only."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ...bus.service_results import SqlColumn, SqlResult, SqlView, SqlViewsResult
from ...bus.values import Scope
from .archives import LazyArchive

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive
    from ...sinks.sql.questions import Answered

LIMIT_S = 5.0
"""So long a question may take, and so long it waits for the one before it."""

MARGIN_MB = 256
"""So much memory a question may take beside what DuckDB may, before it is interrupted."""

EXAMPLE = (
    "subcog sql --text 'how do we deploy' 'SELECT id, score, content "
    "FROM memory_bm25($terms) JOIN memories USING (id) ORDER BY score DESC LIMIT 5'"
)
_JSON_INTEGER = 2**63
_LARGE_MB = 64  # what a question leaves behind beyond that is given back at once


class QuestionTooSlow(ValueError):
    """A question that took too long was interrupted."""

    def __init__(self) -> None:
        super().__init__(f"the question took longer than {LIMIT_S:.0f} s and was interrupted")


class QuestionTooLarge(ValueError):
    """A question was interrupted for a write that needed its memory, or since the store closes."""

    def __init__(self) -> None:
        super().__init__(
            "the question was interrupted: a write needed the memory that it took, or the store "
            "was being closed"
        )


class Questions:
    """Answers questions as soon as the store can be read, indexes or not.

    DuckDB may take ``memory_limit_mb`` of memory.
    """

    def __init__(self, archive: LazyArchive, memory_limit_mb: int) -> None:
        self._archive = archive
        self._memory_limit_mb = memory_limit_mb
        self._one = anyio.Lock()

    async def views(self) -> SqlViewsResult:
        """What can be asked for."""
        from ...sinks.sql.views import columns

        archive = await self._archive.opened()
        found = await archive.store.read(columns)
        views = tuple(
            SqlView(name=name, columns=tuple(SqlColumn(name=n, type=kind) for n, kind in each))
            for name, each in found.items()
        )
        return SqlViewsResult(views=views, example=EXAMPLE)

    async def ask(
        self, query: str, text: str | None, *, scopes: Sequence[Scope] | None, limit: int
    ) -> SqlResult:
        """Answer ``query`` from what ``scopes`` hold, or all there are.

        ``text`` is what the parameters of the query are made of. Raises ValueError for a query
        that is refused, or takes too long or too much memory.
        """
        began = time.perf_counter()
        with anyio.move_on_after(LIMIT_S):
            async with self._one:
                archive = await self._archive.opened()
                given = await _given(archive, text)
                await archive.sql_index.catch_up()
                answered = await _asked(
                    archive,
                    text=query,
                    scopes=None if scopes is None else [str(scope) for scope in scopes],
                    limit=limit,
                    parameters=given,
                    most_mb=self._memory_limit_mb + MARGIN_MB,
                )
                return await anyio.to_thread.run_sync(_result, answered, began)
        raise QuestionTooSlow


async def _asked(archive: Archive, **question: Any) -> Answered:
    from ...sinks.sql.questions import ask
    from ...sinks.sql.resident import resident_mb
    from ...sinks.store.errors import StoreUnavailable

    began_mb = resident_mb()
    try:
        return await archive.store.ask(partial(ask, **question))
    except StoreUnavailable as error:
        raise QuestionTooLarge if error.reason == "closed" else error from None
    finally:
        if resident_mb() - began_mb > _LARGE_MB:
            archive.store.shrink()


async def _given(archive: Archive, text: str | None) -> Mapping[str, Any]:
    if text is None:
        return {}
    return await anyio.to_thread.run_sync(_parameters, archive, text)


def _parameters(archive: Archive, text: str) -> Mapping[str, Any]:
    question = archive.search.encode(text)
    vector = [] if question.vector is None else question.vector.tolist()
    return {"text": text, "terms": question.terms.tolist(), "vector": vector}


def _result(answered: Answered, began: float) -> SqlResult:
    """On a worker thread: a large answer would hold up whatever else the loop serves."""
    names = answered.columns
    columns = (
        SqlColumn(name=name, type=kind) for name, kind in zip(names, answered.types, strict=True)
    )
    rows = (dict(zip(names, map(_plain, row), strict=True)) for row in answered.rows)
    took_ms = (time.perf_counter() - began) * 1000
    return SqlResult(
        columns=tuple(columns), rows=tuple(rows), more=answered.more, took_ms=round(took_ms, 1)
    )


def _plain(value: Any) -> Any:
    """``value`` as JSON has it; times in UTC, as every other command gives them."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None else str(value)


def _number(value: float | Decimal) -> float | int | str | None:
    if isinstance(value, int):
        return value if -_JSON_INTEGER <= value < _JSON_INTEGER else str(value)
    return float(value) if math.isfinite(value) else None
