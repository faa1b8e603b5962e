import msgspec

from subcog.bus.values import Scope
from subcog.sinks.memories.memory_cache import MemoryCache
from tests.stores import make_row

HERE, ELSEWHERE = Scope("project", "here"), Scope("project", "elsewhere")


class Store:
    """Memories by id, and how often each was asked for."""

    def __init__(self, *memories):
        self.memories = {memory.id: memory for memory in memories}
        self.asked = []

    def fetch(self, ids, scopes):
        self.asked += ids
        found = (self.memories.get(id_) for id_ in ids)
        return [memory for memory in found if memory is not None and memory.scope in scopes]


def _memories(count):
    return [make_row(number, scope=HERE).memory for number in range(count)]


def test_what_was_fetched_is_not_asked_for_again():
    one, two = _memories(2)
    store = Store(one, two)
    fetched = MemoryCache(store.fetch)
    assert fetched([one.id], [HERE]) == [one]
    assert fetched([two.id, one.id], [HERE]) == [two, one]
    assert store.asked == [one.id, two.id]


def test_no_scope_is_ever_crossed():
    (one,) = _memories(1)
    fetched = MemoryCache(Store(one).fetch)
    assert fetched([one.id], [HERE]) == [one]
    assert fetched([one.id], [ELSEWHERE]) == []


def test_what_changed_is_read_anew_and_what_was_forgotten_is_gone():
    one, two = _memories(2)
    store = Store(one)
    fetched = MemoryCache(store.fetch)
    fetched([one.id], [HERE])
    store.memories = {}
    fetched.drop(one.id)
    assert fetched([one.id], [HERE]) == []
    store.memories = {two.id: two}
    assert fetched([two.id], [HERE]) == [two]


def test_what_changes_while_it_is_read_is_not_remembered():
    (one,) = _memories(1)
    store = Store(one)
    fetched = MemoryCache(lambda ids, scopes: (store.fetch(ids, scopes), fetched.drop(one.id))[0])
    fetched([one.id], [HERE])
    fetched([one.id], [HERE])
    assert store.asked == [one.id, one.id]


def test_what_is_loaded_anyway_is_not_asked_for():
    one, two = _memories(2)
    store = Store(one, two)
    fetched = MemoryCache(store.fetch)
    fetched.warm([one])
    assert fetched([one.id, two.id], [HERE]) == [one, two]
    assert store.asked == [two.id]


def test_it_remembers_so_many_bytes_and_what_was_used_lately():
    memories = _memories(4)
    store = Store(*memories)
    fetched = MemoryCache(store.fetch, max_bytes=2 * len(msgspec.msgpack.encode(memories[0])))
    first, second, third, _ = (memory.id for memory in memories)
    fetched.warm(memories)
    fetched([first, second], [HERE])
    assert store.asked == []
    fetched([first], [HERE])
    fetched([third], [HERE])
    fetched([first], [HERE])
    assert store.asked == [third]
    fetched([second], [HERE])
    assert store.asked == [third, second]


def test_a_memory_that_comes_and_goes_takes_no_room():
    one, two = _memories(2)
    store = Store(one, two)
    fetched = MemoryCache(store.fetch, max_bytes=len(msgspec.msgpack.encode(one)))
    for _ in range(3):
        fetched.warm([one])
        fetched.drop(one.id)
    fetched.warm([two])
    assert fetched([two.id], [HERE]) == [two]
    assert store.asked == []
