"""Rows of the organisation, and what a replica makes of them."""

from __future__ import annotations

from msgspec.structs import replace

from subcog.sinks.store.rows import Row
from tests.stores import make_row
from tests.teams import ORG

ID = make_row().memory.id


def org(number: int = 1, **fields: object) -> Row:
    return make_row(number, scope=ORG, **fields)


def after(row: Row, **fields: object) -> Row:
    return Row(replace(row.memory, version=row.memory.version + 1, **fields), row.encoding)


async def waiting(store) -> list[tuple[str, int]]:
    return [(each.id, each.version) for each in await store.replica.outbox(limit=99)]


async def current(store, memory_id: str = ID):
    [memory] = await store.get([memory_id], [ORG])
    return memory


def as_row(memory) -> Row:
    return Row(memory, make_row().encoding)
