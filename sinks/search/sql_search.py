"""Search without the warm index: DuckDB finds the candidates, which are then ranked as ever.

The macros give the best by BM25 and by cosine, as the first stages of the warm index do. These few
are read, and make an index of their own, in which they are measured against what is known of all:
how many memories there are, and how many have which term of the question. So the same model of
relevance decides, and the same floor. Only how rare the question's other words are in this store is
not known; what the embedding knows of that in general takes its place.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection
from msgspec.structs import replace

from ...bus.values import Query
from ..models.embedder import EncodedQuery, Encoder
from ..sql.views import show_scopes
from ..store.rows import Row, naive, to_row
from ..store.writes import among
from .index import Index
from .ranking import CANDIDATES, Collection, Ranking

_COLLECTION = (
    "SELECT count(*), coalesce(avg(length), 0) FROM store.search_documents "
    "WHERE list_contains(?::VARCHAR[], scope)"
)
_FREQUENCY = (
    "SELECT t.term, count(*) FROM store.search_terms t JOIN store.search_documents d USING (doc) "
    "WHERE t.term IN (SELECT unnest(?::UINTEGER[])) AND list_contains(?::VARCHAR[], d.scope) "
    "GROUP BY t.term"
)
_ALLOWED = (
    "SELECT m.id, m.key, m.scope FROM store.memories m "
    "WHERE list_contains($scopes::VARCHAR[], m.scope) "
    "AND m.forgotten_at IS NULL AND m.superseded_by IS NULL "
    "AND (m.valid_to IS NULL OR m.valid_to > $now) "
    "AND (len($namespaces::VARCHAR[]) = 0 OR list_contains($namespaces::VARCHAR[], m.namespace)) "
    "AND ($since::TIMESTAMP IS NULL OR m.created_at >= $since::TIMESTAMP) "
    "AND ($until::TIMESTAMP IS NULL OR m.created_at <= $until::TIMESTAMP)"
)
_TAGGED = (
    " AND m.key IN (SELECT v.key FROM store.versions v WHERE list_has_all("
    "CAST(json(lower(CAST(v.body -> '$.tags' AS VARCHAR))) AS VARCHAR[]), $tags::VARCHAR[]))"
)
_TOTAL = "SELECT count(*) FROM (ALLOWED)"
_BEST = (
    "WITH allowed AS (ALLOWED), ranked AS (SELECT a.key, row_number() OVER ("
    "PARTITION BY a.scope ORDER BY s.score DESC, s.id) AS place "
    "FROM FOUND s JOIN allowed a USING (id)) SELECT key FROM ranked WHERE place <= $count"
)
_BY_WORDS = _BEST.replace("FOUND", "memory_bm25($terms)")
_BY_VECTOR = _BEST.replace("FOUND", "memory_cosine($vector)")
# A whole search takes so many times as long as to choose by words.
_WHOLE = 3.0
_READ = "SELECT body, model, vectors, words, lengths, terms FROM store.versions WHERE KEYS"


def search_by_sql(
    cursor: DuckDBPyConnection,
    query: Query,
    encoder: Encoder,
    question: EncodedQuery,
    now: datetime,
    *,
    within_s: float = math.inf,
) -> Ranking:
    """The best ``query.limit`` memories of the query's scopes, best first.

    Where it is likely to take longer than ``within_s`` the words alone choose the candidates. They
    are measured by their vectors all the same.
    """
    scopes = list(dict.fromkeys(map(str, query.scopes)))
    show_scopes(cursor, scopes)
    filters = _filters(query, scopes, now)
    [(total,)] = cursor.execute(_allowing(_TOTAL, query), filters).fetchall()
    keys = _candidates(cursor, query, question, filters, within_s)
    index = _index_of(_read(cursor, keys), encoder)
    ranking = index.search(query, question, now, _collection(cursor, question, scopes))
    return replace(ranking, total=total)


def _read(cursor: DuckDBPyConnection, keys: Sequence[str]) -> list[Row]:
    """The versions with ``keys``, each through the primary key."""
    if not keys:
        return []
    wanted, parameters = among("key", keys)
    found = cursor.execute(_READ.replace("KEYS", wanted), parameters).fetchall()
    return [to_row(row) for row in found]


def _index_of(rows: Sequence[Row], encoder: Encoder) -> Index:
    """An index of ``rows``, without those whose encoding is damaged: it may be why we are here."""
    pairs = encoder.refresh([(row.memory, row.encoding) for row in rows])
    index = Index(encoder.embedder)
    try:
        index.extend(pairs)
    except (LookupError, ValueError):
        index = Index(encoder.embedder)
        for memory, encoding in pairs:
            with suppress(LookupError, ValueError):
                index.add(memory, encoding)
    return index


def _filters(query: Query, scopes: Sequence[str], now: datetime) -> dict[str, Any]:
    filters = {
        "scopes": list(scopes),
        "now": naive(now),
        "namespaces": list(query.namespaces),
        "since": naive(query.since) if query.since else None,
        "until": naive(query.until) if query.until else None,
    }
    return filters | ({"tags": [tag.lower() for tag in query.tags]} if query.tags else {})


def _allowing(sql: str, query: Query) -> str:
    return sql.replace("ALLOWED", _ALLOWED + (_TAGGED if query.tags else ""))


def _candidates(
    cursor: DuckDBPyConnection,
    query: Query,
    question: EncodedQuery,
    filters: dict[str, Any],
    within_s: float,
) -> list[str]:
    began = time.perf_counter()
    given = {**filters, "count": max(CANDIDATES, query.limit)}
    found: dict[str, None] = {}
    if query.mode != "vector" and len(question.terms):
        by_words = {**given, "terms": question.terms.tolist()}
        found |= dict.fromkeys(_keys(cursor, _allowing(_BY_WORDS, query), by_words))
    is_late = (time.perf_counter() - began) * _WHOLE > within_s and query.mode == "hybrid"
    if not is_late and query.mode != "text" and question.vector is not None:
        by_vector = {**given, "vector": question.vector.tolist()}
        found |= dict.fromkeys(_keys(cursor, _allowing(_BY_VECTOR, query), by_vector))
    return list(found)


def _keys(cursor: DuckDBPyConnection, sql: str, given: dict[str, Any]) -> list[str]:
    return [key for (key,) in cursor.execute(sql, given).fetchall()]


def _collection(
    cursor: DuckDBPyConnection, question: EncodedQuery, scopes: Sequence[str]
) -> Collection:
    [(memories, mean_length)] = cursor.execute(_COLLECTION, [list(scopes)]).fetchall()
    given = [question.terms.tolist(), list(scopes)]
    counts = dict(cursor.execute(_FREQUENCY, given).fetchall())
    frequency = [counts.get(term, 0) for term in question.terms.tolist()]
    return Collection(memories, float(mean_length), np.array(frequency, dtype=np.float32))
