"""The tables of the attached database ``store``, as numbered steps from an empty file on.

``memories`` has one row an id: which version is current, what finding and filtering need, how
often it was used, and the tombstone. ``versions`` is only ever appended to and deleted from, and
holds every text: ``body`` is the memory as JSON, which is read and written in half the time that
a column a field takes. A composite primary key is scanned, not looked up, hence ``key``
(id:version). There is no further index on purpose: DuckDB's have a history of damage on update.

The second step is for a team. ``team`` holds the membership and the place in the team's feed,
``shared`` the scopes that are shared, ``outbox`` which versions (0: that it was forgotten) are to
be sent, in the order of ``seq``. ``received`` has the versions that were ``pulled``, and those that
are somebody else's text, whose ``author`` is not empty.

The third step is for sessions. ``passages`` has one row for what one side said at one moment, and
``forgotten_passages`` the spans of time, sessions and single passages that must not come back when
a transcript is read again. Neither ever leaves the machine.

The fourth step is for texts that must not come back under another id. ``forgotten_texts`` is only
ever appended to: for each text that was forgotten a keyed digest, and the key, and again when it
was ``lifted`` since somebody asked to keep that text after all; what was noted last counts.
``merged_texts`` has the digests of what a memory took in without keeping the words, and of a memory
that a colleague forgot those of the texts that the colleague may bring back.

The fifth step is for the use of memories. ``use_events`` has one row for each thing that became of
a memory after it was shown, ``use_sums`` how many older ones there were. Neither holds a text of
anybody, and neither ever leaves the machine.

The sixth step is for ranking by SQL alone. ``search_documents`` has a row for each memory that can
be found, with a number; ``search_terms`` how often it has which term, ``search_vectors`` a vector
of each of its passages, in bytes that are to be multiplied by ``scale``. They follow from
``versions`` and are filled when there is time (``sinks/sql/search_tables.py``), so that no capture
waits for it; what is deleted from ``versions`` leaves them in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE store.memories (
        id VARCHAR PRIMARY KEY,
        key VARCHAR NOT NULL,
        version BIGINT NOT NULL,
        scope VARCHAR NOT NULL,
        namespace VARCHAR NOT NULL,
        fingerprint BIGINT,
        created_at TIMESTAMP NOT NULL,
        valid_from TIMESTAMP,
        valid_to TIMESTAMP,
        superseded_by VARCHAR,
        forgotten_at TIMESTAMP,
        times_injected BIGINT NOT NULL DEFAULT 0,
        last_used TIMESTAMP
    );
    CREATE TABLE store.versions (
        key VARCHAR PRIMARY KEY,
        id VARCHAR NOT NULL,
        version BIGINT NOT NULL,
        scope VARCHAR NOT NULL,
        body VARCHAR NOT NULL,
        model VARCHAR NOT NULL,
        vectors BLOB NOT NULL,
        words BLOB NOT NULL,
        lengths BLOB NOT NULL,
        terms BLOB NOT NULL
    );
    """,
    """
    CREATE TABLE store.team (
        name VARCHAR PRIMARY KEY,
        value VARCHAR NOT NULL
    );
    CREATE TABLE store.shared (
        scope VARCHAR PRIMARY KEY,
        name VARCHAR NOT NULL,
        sends BOOLEAN NOT NULL,
        whole BOOLEAN NOT NULL
    );
    CREATE TABLE store.outbox (
        seq BIGINT NOT NULL,
        key VARCHAR NOT NULL,
        id VARCHAR NOT NULL,
        version BIGINT NOT NULL,
        scope VARCHAR NOT NULL,
        queued_at TIMESTAMP NOT NULL
    );
    CREATE TABLE store.received (
        key VARCHAR NOT NULL,
        author VARCHAR NOT NULL,
        pulled BOOLEAN NOT NULL
    );
    """,
    """
    CREATE TABLE store.passages (
        id VARCHAR PRIMARY KEY,
        session VARCHAR NOT NULL,
        scope VARCHAR NOT NULL,
        client VARCHAR NOT NULL,
        speaker VARCHAR NOT NULL,
        said_at TIMESTAMP NOT NULL,
        branch VARCHAR NOT NULL,
        files VARCHAR NOT NULL,
        body VARCHAR NOT NULL,
        model VARCHAR NOT NULL,
        vectors BLOB NOT NULL,
        words BLOB NOT NULL,
        lengths BLOB NOT NULL,
        terms BLOB NOT NULL
    );
    CREATE TABLE store.forgotten_passages (
        scope VARCHAR NOT NULL,
        session VARCHAR NOT NULL,
        passage VARCHAR NOT NULL,
        since TIMESTAMP NOT NULL,
        until TIMESTAMP NOT NULL
    );
    """,
    """
    CREATE TABLE store.forgotten_texts (
        key BLOB NOT NULL,
        digest BLOB NOT NULL,
        noted_at TIMESTAMP NOT NULL,
        lifted BOOLEAN NOT NULL
    );
    CREATE TABLE store.merged_texts (
        id VARCHAR NOT NULL,
        key BLOB NOT NULL,
        digest BLOB NOT NULL
    );
    """,
    """
    CREATE TABLE store.use_events (
        memory_id VARCHAR NOT NULL,
        session VARCHAR NOT NULL,
        seen_at TIMESTAMP NOT NULL,
        kind VARCHAR NOT NULL,
        moment VARCHAR NOT NULL,
        rank INTEGER NOT NULL,
        detail VARCHAR NOT NULL
    );
    CREATE TABLE store.use_sums (
        memory_id VARCHAR NOT NULL,
        shown BIGINT NOT NULL,
        sessions BIGINT NOT NULL
    );
    """,
    """
    CREATE TABLE store.search_documents (
        doc INTEGER NOT NULL,
        key VARCHAR NOT NULL,
        id VARCHAR NOT NULL,
        scope VARCHAR NOT NULL,
        model VARCHAR NOT NULL,
        length INTEGER NOT NULL
    );
    CREATE TABLE store.search_terms (
        doc INTEGER NOT NULL,
        term UINTEGER NOT NULL,
        count UTINYINT NOT NULL
    );
    CREATE TABLE store.search_vectors (
        doc INTEGER NOT NULL,
        scale FLOAT NOT NULL,
        vector TINYINT[] NOT NULL
    );
    """,
)

_SEARCH = MIGRATIONS[5]
_DROP_SEARCH = """
    DROP TABLE store.search_documents;
    DROP TABLE store.search_terms;
    DROP TABLE store.search_vectors;
"""

_APPLIED = (
    "CREATE TABLE IF NOT EXISTS store.migrations (version INTEGER NOT NULL, applied_at TIMESTAMP)"
)


class NewerSchema(ValueError):
    """The file was written by a later version of subcog than this one."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"its tables have version {found}, this subcog knows up to {known}")
        self.found = found
        self.known = known


class ForeignSchema(ValueError):
    """The file is a DuckDB database of some other program."""

    def __init__(self) -> None:
        super().__init__("it is a DuckDB database, but not one of subcog")


def schema_version(connection: DuckDBPyConnection) -> int:
    """How many migrations the file has had; 0 for an empty one. Raises ForeignSchema."""
    there = tables(connection)
    if not there:
        return 0
    if "migrations" not in there:
        raise ForeignSchema
    # Every result is fetched to its end: an open one is an open transaction.
    [(newest,)] = connection.execute("SELECT max(version) FROM store.migrations").fetchall()
    return int(newest or 0)


def tables(connection: DuckDBPyConnection) -> set[str]:
    """The names of the tables in the file."""
    found = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'"
    )
    return {name for (name,) in found.fetchall()}


def migrate(
    connection: DuckDBPyConnection, now: datetime, migrations: Sequence[str] = MIGRATIONS
) -> tuple[int, int]:
    """Bring the file to the newest version, one transaction a step; the versions before and after.

    Raises NewerSchema and ForeignSchema, and leaves such a file as it is.
    """
    before = schema_version(connection)
    if before > len(migrations):
        raise NewerSchema(before, len(migrations))
    for version in range(before + 1, len(migrations) + 1):
        with connection.cursor() as step:
            step.execute("BEGIN")
            step.execute(_APPLIED)
            step.execute(migrations[version - 1])
            step.execute("INSERT INTO store.migrations VALUES (?, ?)", [version, now])
            step.execute("COMMIT")
    if before < len(migrations):
        # Replay of altered tables from the log has open bugs upstream: never leave any in it.
        connection.execute("CHECKPOINT store")
    return before, len(migrations)


def begin_search_anew(connection: DuckDBPyConnection) -> None:
    """Empty the tables that SQL finds memories by, without reading what is in them."""
    connection.execute(_DROP_SEARCH)
    connection.execute(_SEARCH)
