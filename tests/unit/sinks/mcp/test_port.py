import anyio
import pytest

from subcog.bus.events import MemoriesStored, MemoryForgotten
from subcog.bus.values import Encoding, Memory, Scope
from subcog.sinks.mcp import port
from subcog.sinks.mcp.port import MAX_NAMED, Changed, Changes
from tests.fakes import NOW
from tests.waiting import PATIENCE_S

HERE, USER, THERE = Scope("project", "here"), Scope("user", "u"), Scope("project", "there")
ENCODING = Encoding(model="", vectors=b"", words=b"", lengths=b"")


def stored(memory_id, scope=HERE, namespace="decisions", version=1):
    memory = Memory(
        id=memory_id,
        version=version,
        scope=scope,
        namespace=namespace,
        content="x",
        summary="x",
        created_at=NOW,
        updated_at=NOW,
    )
    return MemoriesStored(trace="t", stored=((memory, ENCODING),))


@pytest.fixture
def changes(monkeypatch):
    monkeypatch.setattr(port, "GATHER_S", 0)
    monkeypatch.setattr(port, "BUSY_CHECK_S", 0)
    return Changes(is_busy=lambda: False)


async def test_changes_of_its_scopes_are_told_together(changes):
    with changes.watching((HERE, USER)) as watch, anyio.fail_after(PATIENCE_S):
        changes.stored(stored("mem_1"))
        changes.stored(stored("mem_2", USER, "preferences"))
        changes.stored(stored("mem_3", THERE, "gotchas"))

        ids, namespaces = frozenset({"mem_1", "mem_2"}), frozenset({"decisions", "preferences"})
        assert await watch.next() == Changed(ids, namespaces)

        changes.stored(stored("mem_4"))
        assert await watch.next() == Changed(frozenset({"mem_4"}), frozenset({"decisions"}))


@pytest.mark.parametrize("event", [stored("mem_1", version=2), None])
async def test_where_a_memory_was_before_is_not_known(changes, event):
    with changes.watching((HERE,)) as watch, anyio.fail_after(PATIENCE_S):
        if event is None:
            changes.forgotten(MemoryForgotten(trace="t", id="mem_1", scope=HERE))
        else:
            changes.stored(event)

        assert await watch.next() == Changed(frozenset({"mem_1"}), None)


async def test_of_very_many_changes_only_that_there_were_some_is_held(changes):
    pairs = tuple(stored(f"mem_{n}").stored[0] for n in range(100_000 // 100))
    with changes.watching((HERE,)) as watch, anyio.fail_after(PATIENCE_S):
        changes.stored(MemoriesStored(trace="t", stored=pairs))
        assert len(watch._ids) <= MAX_NAMED + 1
        assert await watch.next() == Changed(None, frozenset({"decisions"}))


async def test_nothing_is_told_before_it_can_be_read(monkeypatch):
    monkeypatch.setattr(port, "GATHER_S", 0)
    monkeypatch.setattr(port, "BUSY_CHECK_S", 0)
    busy = [True, True, False]
    changes = Changes(is_busy=lambda: busy.pop(0))
    with changes.watching((HERE,)) as watch, anyio.fail_after(PATIENCE_S):
        changes.stored(stored("mem_1"))
        await watch.next()
    assert busy == []


async def test_who_has_left_is_told_nothing(changes):
    with changes.watching((HERE,)) as watch:
        pass
    changes.stored(stored("mem_1"))
    assert not watch._ids
