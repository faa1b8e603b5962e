import anyio
import pytest

from subcog.bus.events import MemoriesStored, MemoryForgotten, SessionStarted
from subcog.bus.values import Encoding, Scope
from subcog.sinks.indexes.guide_index import MAX_GUIDES, MOST_FOUND, GuideIndex
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.index import Index
from subcog.stages.enrichment.guide_parser import read_guide
from subcog.stages.ports import RecallUnavailable
from tests.fakes import NOW, PLACE, PROJECT, FixedClock, make_memory
from tests.waiting import PATIENCE_S

OTHER = Scope("project", "other")
NOTHING = Encoding(model="", vectors=b"", words=b"", lengths=b"")


class FakeArchive:
    def __init__(self, *memories, embedder=None):
        self.memories = list(memories)
        self.index = Index(embedder)
        self.asked = []
        self.gate = None

    async def latest(self, scopes, *, limit, namespaces=()):
        self.asked.append(scopes)
        found = [m for m in self.memories if m.scope in scopes and m.namespace in namespaces]
        if self.gate is not None:
            await self.gate.wait()
        return tuple(sorted(found, key=lambda m: m.created_at, reverse=True)[:limit])


def guide_index(archive, clock=None):
    async def get():
        if archive is None:
            raise RecallUnavailable
        return archive

    return GuideIndex(
        archive=get, loaded=lambda: archive, read=read_guide, clock=clock or FixedClock()
    )


def task(number, text, **changes):
    return make_memory(number, text, **({"namespace": "tasks"} | changes))


async def ids(of, *keys, scopes=(PROJECT,), namespace="tasks"):
    found = await of.find(scopes, {namespace: keys})
    return [guide.memory_id[-1] for guide in found]


async def test_those_that_share_the_rarest_keys_come_first():
    archive = FakeArchive(
        task(1, "Add a login page"), task(2, "Add a login for OAuth"), task(3, "Rename foo")
    )
    assert await ids(guide_index(archive), "login", "oauth") == ["2", "1"]
    assert await ids(guide_index(archive), "domain:authentication") == ["1", "2"]
    assert await ids(guide_index(archive), "nothing") == []


async def test_a_scope_is_read_once_and_no_other_is_read():
    archive = FakeArchive(task(1, "Add login"), task(2, "Add login", scope=OTHER))
    of = guide_index(archive)
    assert await ids(of, "login") == await ids(of, "login") == ["1"]
    assert archive.asked == [(PROJECT,)]


async def test_what_is_stored_superseded_or_forgotten_later_is_followed():
    of = guide_index(FakeArchive())
    assert await ids(of, "login") == []
    first = task(1, "Add login")
    of.stored(MemoriesStored(trace="t", stored=((first, NOTHING),)))
    second = task(2, "Add login twice")
    of.stored(MemoriesStored(trace="t", stored=((second, NOTHING),)))
    assert await ids(of, "login") == ["1", "2"]
    changed = task(1, "Add logout", version=2)
    of.stored(MemoriesStored(trace="t", stored=((changed, NOTHING),)))
    assert await ids(of, "login") == ["2"]
    of.forgotten(MemoryForgotten(trace="t", id=second.id, scope=PROJECT))
    over = task(1, "Add login", superseded_by="mem_x")
    of.stored(MemoriesStored(trace="t", stored=((over, NOTHING),)))
    assert await ids(of, "login", "logout") == []


async def test_what_is_forgotten_while_the_others_are_read_stays_forgotten():
    memory = task(1, "Add login")
    archive = FakeArchive(memory)
    archive.gate = anyio.Event()
    of = guide_index(archive)
    found = []

    async def find():
        found.extend(await ids(of, "login"))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(find)
            await anyio.wait_all_tasks_blocked()
            of.forgotten(MemoryForgotten(trace="t", id=memory.id, scope=PROJECT))
            archive.gate.set()
    assert found == []


async def test_what_is_over_is_not_found():
    clock = FixedClock()
    of = guide_index(FakeArchive(task(1, "Add login", valid_to=NOW)), clock)
    assert await ids(of, "login") == []


async def test_another_archive_is_read_anew():
    first, second = FakeArchive(task(1, "Add login")), FakeArchive(task(2, "Add login"))
    current = [first]

    async def get():
        return current[0]

    of = GuideIndex(archive=get, loaded=lambda: current[0], read=read_guide, clock=FixedClock())
    assert await ids(of, "login") == ["1"]
    current[0] = second
    assert await ids(of, "login") == ["2"]


async def test_a_session_that_starts_warms_its_scopes():
    archive = FakeArchive(task(1, "Add login"))
    of = guide_index(archive)
    event = SessionStarted(trace="t", session="s", client="c", place=PLACE, source="startup")
    await of.warm(event)
    assert [scope for (scope,) in archive.asked] == list(PLACE.readable)
    await guide_index(None).warm(event)


async def test_what_is_held_and_found_is_bounded():
    archive = FakeArchive()
    of = guide_index(archive)
    await ids(of, "x")
    for number in range(MAX_GUIDES + 50):
        memory = task(number, f"Add login {number}")
        of.stored(MemoriesStored(trace="t", stored=((memory, NOTHING),)))
    found = await of.find((PROJECT,), {"tasks": ["login"]})
    assert len(found) == MOST_FOUND
    assert await of.find((PROJECT,), {"tasks": ["0"]}) == ()
    with pytest.raises(RecallUnavailable):
        await guide_index(None).find((PROJECT,), {})


def test_texts_are_compared_by_their_vectors_and_not_without_a_model():
    of = guide_index(FakeArchive(embedder=Embedder.load()))
    near, far = of.cosines("Add user authentication", ["Implement login", "Paint the fence"])
    assert 1 > near > far
    assert guide_index(FakeArchive()).cosines("x", ["y", "z"]) == (None, None)
    assert guide_index(None).cosines("x", ["y"]) == (None,)


def test_a_word_is_rare_where_few_memories_have_it():
    of = guide_index(archive := FakeArchive())
    for number in range(50):
        memory = make_memory(number, "redis queue" if number == 0 else "queue of orders")
        archive.index.add(memory, NOTHING)
    weights = dict(of.rarity(("queue", "redis", "unknown", "the"), (PROJECT,)))
    assert 0 < weights["queue"] < weights["redis"] < weights["unknown"] == 1
    assert "the" not in weights
    assert guide_index(None).rarity(("x",), (PROJECT,)) == ()
