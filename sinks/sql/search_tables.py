"""The tables that SQL finds memories by: what is in them, and what leaves them.

They follow from ``versions`` and hold nothing of their own: they may be emptied at any time, and
are filled again. A document is the current version of a memory that can be found; its number
appears in no other table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

TABLES = ("search_documents", "search_terms", "search_vectors")

_INCOMING = "incoming"
# Up to here the numbers stand in the statement, and DuckDB skips the row groups without them.
_FEW = 200
_FINDABLE = "forgotten_at IS NULL AND superseded_by IS NULL"
# Of memories that are to be found and are not, and of documents that are no current version.
_DIFFERENT = (
    "SELECT m.id FROM store.memories m ANTI JOIN store.search_documents d ON d.key = m.key "  # noqa: S608 - constants
    f"WHERE {_FINDABLE} UNION SELECT d.id FROM store.search_documents d ANTI JOIN "
    f"(SELECT key FROM store.memories WHERE {_FINDABLE}) m ON m.key = d.key"
)
# Each of so many is looked up through the primary key; with more of them DuckDB reads the table.
_LOOKED_UP = 100


class Document(NamedTuple):
    """What a memory is found by.

    ``terms`` are distinct, ``counts`` how often each occurs; ``length`` is how many terms count
    for BM25. ``vectors`` has one row a passage, and none where there is no model; each is to be
    multiplied by its scale.
    """

    key: str
    id: str
    scope: str
    model: str
    length: int
    terms: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint8]
    vectors: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]


def different(connection: DuckDBPyConnection) -> list[str]:
    """The ids of the memories of which the tables do not hold what they should.

    Takes 0.1 s at 100,000 memories.
    """
    return [id_ for (id_,) in connection.execute(_DIFFERENT).fetchall()]


def current(connection: DuckDBPyConnection, ids: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """(key, id, scope, body, model, vectors, words, lengths, terms) of those that can be found."""
    for start in range(0, len(ids), _LOOKED_UP):
        part = list(ids[start : start + _LOOKED_UP])
        named = ", ".join("?" * len(part))
        found = connection.execute(
            f"SELECT key FROM store.memories WHERE id IN ({named}) AND {_FINDABLE}",  # noqa: S608 - placeholders
            part,
        ).fetchall()
        yield from _versions(connection, [key for (key,) in found])


def _versions(connection: DuckDBPyConnection, keys: list[str]) -> list[tuple[Any, ...]]:
    if not keys:
        return []
    named = ", ".join("?" * len(keys))
    return connection.execute(
        "SELECT key, id, scope, body, model, vectors, words, lengths, terms FROM store.versions "  # noqa: S608 - placeholders
        f"WHERE key IN ({named})",
        keys,
    ).fetchall()


def unindex(connection: DuckDBPyConnection, column: str, values: Sequence[str]) -> None:
    """Delete the documents whose ``column`` (id or key) is one of ``values``, and all of theirs."""
    found = connection.execute(
        f"SELECT doc FROM store.search_documents WHERE {column} IN (SELECT unnest(?::VARCHAR[]))",  # noqa: S608 - constants
        [list(values)],
    ).fetchall()
    docs = [int(doc) for (doc,) in found]
    if not docs:
        return
    for table in TABLES:
        if len(docs) <= _FEW:
            numbers = ", ".join(map(str, docs))
            connection.execute(f"DELETE FROM store.{table} WHERE doc IN ({numbers})")  # noqa: S608 - integers
        else:
            connection.execute(
                f"DELETE FROM store.{table} WHERE doc IN (SELECT unnest(?::INTEGER[]))",  # noqa: S608 - constants
                [docs],
            )


def append(connection: DuckDBPyConnection, documents: Sequence[Document]) -> None:
    """Add ``documents``, which are not there yet."""
    if not documents:
        return
    [(last,)] = connection.execute("SELECT max(doc) FROM store.search_documents").fetchall()
    first = 0 if last is None else int(last) + 1
    connection.execute(
        "INSERT INTO store.search_documents SELECT unnest(?::INTEGER[]), unnest(?::VARCHAR[]), "
        "unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::INTEGER[])",
        [
            list(range(first, first + len(documents))),
            *([getattr(one, name) for one in documents] for name in _DOCUMENT),
        ],
    )
    _append_terms(connection, documents, first)
    _append_vectors(connection, documents, first)


_DOCUMENT = ("key", "id", "scope", "model", "length")


def _append_terms(
    connection: DuckDBPyConnection, documents: Sequence[Document], first: int
) -> None:
    sizes = [len(one.terms) for one in documents]
    columns = {
        "doc": np.repeat(np.arange(first, first + len(documents), dtype=np.int32), sizes),
        "term": np.concatenate([one.terms for one in documents]),
        "count": np.concatenate([one.counts for one in documents]),
    }
    _insert(connection, columns, "INSERT INTO store.search_terms SELECT doc, term, count")


def _append_vectors(
    connection: DuckDBPyConnection, documents: Sequence[Document], first: int
) -> None:
    """A list of Python's floats costs 0.23 ms to bind; an array that is grouped a tenth of it."""
    passages = [vector for one in documents for vector in one.vectors]
    if not passages:
        return
    sizes = [len(vector) for vector in passages]
    numbers = [len(one.vectors) for one in documents]
    docs = np.repeat(np.arange(first, first + len(documents), dtype=np.int32), numbers)
    columns = {
        "doc": np.repeat(docs, sizes),
        "scale": np.repeat(np.concatenate([one.scales for one in documents]), sizes),
        "passage": np.repeat(np.arange(len(passages), dtype=np.int32), sizes),
        "place": np.concatenate([np.arange(size, dtype=np.int32) for size in sizes]),
        "value": np.concatenate(passages),
    }
    _insert(
        connection,
        columns,
        "INSERT INTO store.search_vectors SELECT min(doc), min(scale), list(value ORDER BY place)",
        "GROUP BY passage ORDER BY passage",
    )


def _insert(
    connection: DuckDBPyConnection,
    columns: dict[str, npt.NDArray[np.generic]],
    insert: str,
    grouped: str = "",
) -> None:
    if not len(columns["doc"]):
        return
    connection.register(_INCOMING, columns)
    try:
        connection.execute(f"{insert} FROM {_INCOMING} {grouped}")
    finally:
        connection.unregister(_INCOMING)
