"""A search on the server itself, also in what the machine that asks keeps no replica of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psycopg import Connection

from ....bus.values import Hit, Query
from ...store.reads import scope_texts
from .columns import half_vector, read_memory, search_text, signed

_SEARCH = (
    "SELECT body, author, text_score, cosine, rank FROM ("
    " SELECT *, sum(octet_length(body)) OVER best AS bytes"
    " FROM subcog.search(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " WINDOW best AS (ORDER BY rank DESC, id DESC ROWS UNBOUNDED PRECEDING)"
    ") AS found WHERE bytes <= %s ORDER BY rank DESC, id DESC"
)
# What one answer may hold: a member can make each memory as large as the server takes them.
_MOST_BYTES = 4_000_000


def search(
    connection: Connection, query: Query, vector: Sequence[float] | None, now: datetime
) -> tuple[Hit, ...]:
    """The hits of ``query`` in its scopes, best first; large ones fewer."""
    asked = "" if query.mode == "vector" else search_text(query.text)
    near = half_vector(vector) if vector is not None and query.mode != "text" else None
    arguments = [
        asked,
        near,
        scope_texts(query.scopes),
        list(query.namespaces),
        list(query.tags),
        query.since,
        query.until,
        now,
        query.limit,
        _MOST_BYTES,
    ]
    hits = (_hit(*found) for found in connection.execute(_SEARCH, arguments))
    return tuple(hit for hit in hits if hit and hit.relevance >= query.min_relevance)


def _hit(body: str, author: str, text: float, cosine: float, rank: float) -> Hit | None:
    """None for what is no memory: a member can put anything there."""
    memory = read_memory(body)
    if memory is None:
        return None
    return Hit(
        memory=signed(memory, author),
        text=text,
        late=0.0,
        vector=cosine,
        order=rank,
        relevance=max(0.0, min(1.0, cosine)),
    )
