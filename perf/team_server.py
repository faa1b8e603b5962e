"""A team's server for measurements: a real PostgreSQL that keeps every promise it makes on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from tests.postgres import Database, Server, fresh_database, prepare

# As somebody sets it up who runs it for a team on a small machine. Durability is PostgreSQL's own.
SETTINGS = {
    "shared_buffers": "512MB",
    "maintenance_work_mem": "512MB",
    "max_connections": "400",
    "max_wal_size": "4GB",
    "scram_iterations": "16",  # many connections at once are not what is measured
}


@contextmanager
def team_server() -> Iterator[Database]:
    """A fresh team on a server of its own, which is gone afterwards."""
    server = Server(SETTINGS)
    try:
        server.start()
        prepare(server)
        with fresh_database(server) as database:
            yield database
    finally:
        server.close()


def cpu_s(server: Server) -> float:
    """Processor seconds of the server so far, those of connections that were closed included."""
    head = _head(server)
    fields = Path(f"/proc/{head}/stat").read_text().rpartition(")")[2].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return ended + sum(_alive_s(pid) for pid in (head, *backends(server)))


def _alive_s(pid: int) -> float:
    # To the nanosecond: hundreds of connections that each use less than a tick add up.
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except FileNotFoundError:
        return 0.0


def backends(server: Server) -> list[int]:
    """The processes of the server, but for its first."""
    head = _head(server)
    return [int(one) for one in Path(f"/proc/{head}/task/{head}/children").read_text().split()]


def _head(server: Server) -> int:
    return int((server.folder / "data" / "postmaster.pid").read_text().split()[0])


class Relation(NamedTuple):
    """A table or an index, and what it takes on disk."""

    name: str
    kind: str
    total_bytes: int


def relations(owner: psycopg.Connection) -> list[Relation]:
    """Everything that takes space, the largest first."""
    found = owner.execute(
        """
        SELECT c.relname, CASE c.relkind WHEN 'i' THEN 'index' ELSE 'table' END,
               CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'subcog' AND c.relkind IN ('r', 'i', 'm')
        ORDER BY 3 DESC
        """
    ).fetchall()
    return [Relation(*row) for row in found]


def wal_bytes(owner: psycopg.Connection) -> int:
    """How much the server has written to its log so far."""
    row = owner.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").fetchone()
    assert row is not None
    return int(row[0])
