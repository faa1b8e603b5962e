"""The store tells its queue of every write, and needs none."""

import pytest

from subcog.sinks.store.store import Store
from tests.stores import HERE, FakeClock, make_row, versions_of


class RecordingQueue:
    """Notes what it is told, and fails where it is asked to."""

    def __init__(self) -> None:
        self.opened = 0
        self.noted: list[str] = []
        self.fails = False

    def open(self, connection) -> None:
        connection.execute("SELECT count(*) FROM store.memories").fetchall()
        self.opened += 1

    def note(self, connection, records, now) -> None:
        if self.fails:
            raise ValueError("the queue is full")
        self.noted += [record.key for record in records]

    def note_forgotten(self, connection, memory_id, now) -> None:
        if self.fails:
            raise ValueError("the queue is full")
        self.noted.append(memory_id)


@pytest.fixture
def queue():
    return RecordingQueue()


@pytest.fixture
async def store(tmp_path, queue):
    store = Store(tmp_path / "s.duckdb", memory_limit_mb=128, clock=FakeClock(), queue=queue)
    await store.open()
    yield store
    await store.close()


async def test_each_version_and_each_deletion_reaches_the_queue_once(store, queue):
    rows = versions_of(make_row(), {"content": "changed"})
    for row in (*rows, rows[0]):  # the last is stored already
        await store.put([row])
    one = rows[0].memory.id
    await store.forget(one, [HERE])
    await store.forget(one, [HERE])  # there is nothing left to forget
    assert queue.opened == 1
    assert queue.noted == [f"{one}:1", f"{one}:2", one]


async def test_what_the_queue_cannot_take_is_not_stored(store, queue):
    first, second = make_row(1), make_row(2)
    await store.put([first])
    queue.fails = True
    with pytest.raises(ValueError, match="queue is full"):
        await store.put([second])
    with pytest.raises(ValueError, match="queue is full"):
        await store.forget(first.memory.id, [HERE])
    assert await store.counts() == {HERE: 1}


async def test_without_a_queue_a_store_writes_and_forgets(tmp_path):
    store = Store(tmp_path / "s.duckdb", memory_limit_mb=128, clock=FakeClock())
    await store.open()
    assert await store.put([make_row()]) == (True,)
    assert await store.forget(make_row().memory.id, [HERE])
    await store.close()
