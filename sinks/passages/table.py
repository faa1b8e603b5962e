"""The passages in DuckDB: written once, bounded, and never again once they were forgotten.

Each function works on a connection that its caller hands in: those that write, inside of a
transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from duckdb import DuckDBPyConnection
from msgspec import Struct

from ...bus.sessions import Passage
from ...bus.values import Encoding, Scope
from ..store.rows import aware, naive, to_scope
from ..store.writes import Insert, among, insert
from .forgotten import Forgotten, one_passage

TYPES = {
    "id": "VARCHAR",
    "session": "VARCHAR",
    "scope": "VARCHAR",
    "client": "VARCHAR",
    "speaker": "VARCHAR",
    "said_at": "TIMESTAMP",
    "branch": "VARCHAR",
    "files": "VARCHAR",
    "body": "VARCHAR",
    "model": "VARCHAR",
    "vectors": "BLOB",
    "words": "BLOB",
    "lengths": "BLOB",
    "terms": "BLOB",
}
_TEXT = ", ".join(list(TYPES)[:9])
_ROW = ", ".join(TYPES)
_INSERT = Insert("store.passages", TYPES)
FORGOTTEN_TYPES = {
    "scope": "VARCHAR",
    "session": "VARCHAR",
    "passage": "VARCHAR",
    "since": "TIMESTAMP",
    "until": "TIMESTAMP",
}
_FORGOTTEN = Insert("store.forgotten_passages", FORGOTTEN_TYPES)
# What goes with ``Forgotten``: of a span, the sessions that began in it.
_IDS_COVERED = (
    "SELECT id FROM store.passages WHERE scope = $scope AND $session IN ('', session) "
    "AND $passage IN ('', id) AND said_at BETWEEN $since AND $until "
    "AND ($session <> '' OR $passage <> '' OR $since = $until OR session IN ("
    "SELECT session FROM store.passages WHERE scope = $scope GROUP BY session "
    "HAVING min(said_at) >= $since))"
)
_BATCH_ROWS = 2_000
# What another session said at one of the moments given.
_SAID_ELSEWHERE = (
    "SELECT speaker, said_at, body FROM store.passages WHERE session <> ? "
    "AND scope IN (SELECT unnest(?::VARCHAR[])) AND said_at IN (SELECT unnest(?::TIMESTAMP[]))"
)
# Below this a text says too little of what it is about for anything to be found by it.
_FEWEST_WORDS = 4

_files = msgspec.json.Decoder(tuple[str, ...])


class Row(Struct, frozen=True):
    """A passage and what retrieval needs of it."""

    passage: Passage
    encoding: Encoding


def _select(
    connection: DuckDBPyConnection, columns: str, ids: Sequence[str]
) -> list[tuple[Any, ...]]:
    if not ids:
        return []
    condition, given = among("id", ids)
    found = connection.execute(f"SELECT {columns} FROM store.passages WHERE {condition}", given)  # noqa: S608 - constants
    return found.fetchall()


def known(connection: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, tuple[Scope, str]]:
    """The scope and the text of those of ``ids`` that are kept."""
    found = _select(connection, "id, scope, body", ids)
    return {id_: (to_scope(scope), body) for id_, scope, body in found}


def of_session(connection: DuckDBPyConnection, scope: Scope, session: str) -> list[str]:
    """The ids of all that is kept of ``session`` in ``scope``."""
    found = connection.execute(
        "SELECT id FROM store.passages WHERE scope = ? AND session = ?", [str(scope), session]
    )
    return [passage_id for (passage_id,) in found.fetchall()]


def copied(
    connection: DuckDBPyConnection, passages: Sequence[Passage], before: Collection[Scope] = ()
) -> set[str]:
    """The ids of those of ``passages``, all of one session, that another session said before them.

    The transcript of a session that was forked begins with a copy of the other's: the same words of
    the same speaker at the same moment, in its scope or those that its project had ``before``.
    """
    if not passages:
        return set()
    scopes = [str(scope) for scope in (passages[0].scope, *before)]
    moments = [naive(passage.said_at) for passage in passages]
    found = connection.execute(_SAID_ELSEWHERE, [passages[0].session, scopes, moments]).fetchall()
    said = {(speaker, aware(at), body) for speaker, at, body in found}
    return {one.id for one in passages if (one.speaker, one.said_at, one.text) in said}


def add(connection: DuckDBPyConnection, rows: Sequence[Row]) -> None:
    """Append ``rows``, none of which is kept already."""
    if rows:
        insert(connection, _INSERT, [_values(row) for row in rows])


def rewrite(connection: DuckDBPyConnection, row: Row) -> None:
    """Replace the text of a passage that is kept: the agent said more in the same exchange."""
    values = dict(zip(TYPES, _values(row), strict=True))
    connection.execute(
        "UPDATE store.passages SET said_at = ?, files = ?, body = ?, model = ?, vectors = ?, "
        "words = ?, lengths = ?, terms = ? WHERE id = ?",
        [
            *(values[name] for name in ("said_at", "files", "body", "model")),
            *(values[name] for name in ("vectors", "words", "lengths", "terms", "id")),
        ],
    )


def fetch(connection: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Passage]:
    """The passages with ``ids``, by id."""
    return {row[0]: _passage(row) for row in _select(connection, _TEXT, ids)}


def rows(connection: DuckDBPyConnection, ids: Sequence[str]) -> list[Row]:
    """The passages with ``ids`` and their encodings, in the order in which they were said."""
    found = map(_row, _select(connection, _ROW, ids))
    return sorted(found, key=lambda row: order_of(row.passage))


def load(connection: DuckDBPyConnection) -> Iterator[list[Row]]:
    """Every passage, in batches, session after session in the order in which it was said."""
    found = connection.execute(f"SELECT {_ROW} FROM store.passages ORDER BY scope, session, id")  # noqa: S608 - constants
    while batch := found.fetchmany(_BATCH_ROWS):
        yield [_row(row) for row in batch]


def order_of(passage: Passage) -> tuple[str, bool]:
    """The key by which a session's passages stand in order: the exchange, then the user first."""
    return (passage.id[:14], passage.speaker == "agent")


def delete(connection: DuckDBPyConnection, ids: Sequence[str]) -> None:
    """Delete passages; their bytes leave the disk when the file is compacted."""
    if ids:
        condition, given = among("id", ids)
        connection.execute(f"DELETE FROM store.passages WHERE {condition}", given)  # noqa: S608 - placeholders


def remember_forgotten(connection: DuckDBPyConnection, forgotten: Iterable[Forgotten]) -> None:
    """Note what must not come back when its transcript is read again."""
    values = [
        (str(one.scope), one.session, one.passage, naive(one.since), naive(one.until))
        for one in forgotten
    ]
    if values:
        insert(connection, _FORGOTTEN, values)


def allow_spans(connection: DuckDBPyConnection, scopes: Sequence[Scope] | None) -> int:
    """Let come back what was forgotten by when it was said alone, of all or ``scopes``.

    How many spans that were. The sessions that went with a span come back with it: barred from its
    beginning on, where one that was forgotten by its name is barred from the epoch on.
    """
    given = [scopes is None, list(map(str, scopes or ()))]
    connection.execute(
        "DELETE FROM store.forgotten_passages WHERE session <> '' AND passage = '' "
        "AND since > TIMESTAMP '1970-01-01' AND (? OR scope IN (SELECT unnest(?::VARCHAR[])))",
        given,
    )
    deleted = connection.execute(
        "DELETE FROM store.forgotten_passages WHERE session = '' AND passage = '' "
        "AND since < until AND (? OR scope IN (SELECT unnest(?::VARCHAR[])))",
        given,
    )
    [(number,)] = deleted.fetchall()
    return int(number)


def forgotten(connection: DuckDBPyConnection) -> list[Forgotten]:
    """All that must not come back."""
    found = connection.execute(
        "SELECT scope, session, passage, since, until FROM store.forgotten_passages"
    )
    return [
        Forgotten(
            scope=to_scope(scope),
            session=session,
            passage=passage,
            since=aware(since),
            until=aware(until),
        )
        for scope, session, passage, since, until in found.fetchall()
    ]


def covered(connection: DuckDBPyConnection, forgotten: Forgotten) -> set[str]:
    """The ids of the passages that go with ``forgotten``."""
    found = connection.execute(_IDS_COVERED, _values_covered(forgotten)).fetchall()
    return {id_ for (id_,) in found}


def delete_forgotten(connection: DuckDBPyConnection, forgotten: Forgotten) -> int:
    """Delete the passages that go with ``forgotten``; how many."""
    ids = covered(connection, forgotten)
    delete(connection, list(ids))
    return len(ids)


def _values_covered(forgotten: Forgotten) -> dict[str, Any]:
    """The parameters of ``_IDS_COVERED``."""
    return {
        "scope": str(forgotten.scope),
        "session": forgotten.session,
        "passage": forgotten.passage,
        "since": naive(forgotten.since),
        "until": naive(forgotten.until),
    }


def saying(connection: DuckDBPyConnection, scope: Scope, text: str) -> list[str]:
    """The ids of the passages of ``scope`` that hold ``text``, in any case."""
    found = connection.execute(
        "SELECT id FROM store.passages WHERE scope = ? AND contains(lower(body), lower(?))",
        [str(scope), text],
    )
    return [passage_id for (passage_id,) in found.fetchall()]


def to_forget(connection: DuckDBPyConnection, scope: Scope, text: str) -> list[Passage]:
    """The passages of ``scope`` that go with a memory of ``text``: those that hold it.

    Of fewer than ``_FEWEST_WORDS`` words only those that say nothing else: a word or two stand in
    passages about anything.
    """
    found = fetch(connection, saying(connection, scope, text)).values()
    short = len(text.split()) < _FEWEST_WORDS
    return [one for one in found if not short or one.text.strip() == text.strip()]


def forget_saying(
    connection: DuckDBPyConnection, scopes: Iterable[Scope], texts: Iterable[str]
) -> int:
    """Delete for good what ``to_forget`` finds of each; how many passages. No index follows."""
    found = [(scope, text) for scope in scopes for text in dict.fromkeys(texts)]
    gone = [one for scope, text in found for one in to_forget(connection, scope, text)]
    by_id = {one.id: one for one in gone}
    delete(connection, list(by_id))
    remember_forgotten(connection, chain.from_iterable(map(one_passage, by_id.values())))
    return len(by_id)


def _values(row: Row) -> tuple[Any, ...]:
    passage, encoding = row.passage, row.encoding
    return (
        passage.id,
        passage.session,
        str(passage.scope),
        passage.client,
        passage.speaker,
        naive(passage.said_at),
        passage.branch,
        msgspec.json.encode(passage.files).decode(),
        passage.text,
        encoding.model,
        encoding.vectors,
        encoding.words,
        encoding.lengths,
        encoding.terms,
    )


def _passage(row: Sequence[Any]) -> Passage:
    id_, session, scope, client, speaker, said_at, branch, files, body = row[:9]
    return Passage(
        id=id_,
        session=session,
        scope=to_scope(scope),
        client=client,
        speaker=speaker,
        said_at=aware(said_at),
        branch=branch,
        files=_files.decode(files),
        text=body,
    )


def _row(row: Sequence[Any]) -> Row:
    return Row(_passage(row), Encoding(*row[9:]))
