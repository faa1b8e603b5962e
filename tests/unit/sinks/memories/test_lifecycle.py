from datetime import timedelta

import pytest

from subcog.bus.events import ExpireRequested, RestoreRequested, SupersedeRequested
from tests.archives import opened_desk
from tests.stores import ELSEWHERE, HERE

BCRYPT = "We use bcrypt for password hashing in the login service"
ARGON = "Passwords are hashed by argon2id since the audit"


@pytest.fixture
async def desk(tmp_path):
    async with opened_desk(tmp_path) as desk:
        yield desk


async def supersede(desk, old, new, scopes=(HERE,)):
    event = SupersedeRequested(trace="t", old=old, new=new, scopes=scopes)
    return await desk.tell(await desk.archive.changing.answer(event))


async def expire(desk, memory_id, at=None):
    event = ExpireRequested(trace="t", id=memory_id, scopes=(HERE,), at=at)
    return await desk.tell(await desk.archive.changing.expire(event))


async def restore(desk, memory_id, version=None):
    event = RestoreRequested(trace="t", id=memory_id, scopes=(HERE,), version=version)
    return await desk.tell(await desk.archive.changing.restore(event))


async def ids(desk, *texts):
    return [(await desk.keep(text)).memory.id for text in texts]


async def test_a_superseded_memory_stays_is_marked_and_is_found_no_more(desk):
    old, new = await ids(desk, BCRYPT, ARGON)
    settled = await supersede(desk, old, new)
    assert settled.memory.superseded_by == new
    assert settled.memory.content == BCRYPT
    assert (await desk.current(new)).supersedes == old
    assert await desk.find("password hashing") == [new]
    assert [m.id for m in await desk.archive.latest((HERE,), limit=9)] == [new]
    assert old not in desk.archive.topics.lookup("bcrypt", (HERE,))


async def test_superseding_twice_by_the_same_memory_changes_nothing_more(desk):
    old, new = await ids(desk, BCRYPT, ARGON)
    await supersede(desk, old, new)
    assert (await supersede(desk, old, new)).memory.version == 2


async def test_a_superseding_that_makes_no_sense_is_refused_with_the_reason(desk):
    old, new, third = await ids(desk, BCRYPT, ARGON, "Keycloak holds the passwords")
    assert "itself" in (await supersede(desk, old, old)).reason
    await supersede(desk, old, new)
    assert new in (await supersede(desk, old, third)).reason
    await supersede(desk, new, third)
    assert "superseded by" in (await supersede(desk, third, old)).reason
    assert (await desk.current(third)).superseded_by is None


async def test_what_is_not_there_or_not_in_scope_is_named(desk):
    old, new = await ids(desk, BCRYPT, ARGON)
    assert (await supersede(desk, old, "mem_missing")).missing == "mem_missing"
    assert (await supersede(desk, old, new, (ELSEWHERE,))).missing == old
    assert (await expire(desk, "mem_missing")).missing == "mem_missing"
    assert (await restore(desk, "mem_missing")).missing == "mem_missing"


async def test_an_expired_memory_is_found_no_more(desk):
    [old] = await ids(desk, BCRYPT)
    settled = await expire(desk, old)
    assert settled.memory.valid_to == desk.clock.now
    assert await desk.find("password hashing") == []
    assert await desk.archive.latest((HERE,), limit=9) == ()
    assert desk.archive.topics.lookup("bcrypt", (HERE,)) == ()


async def test_a_memory_that_expires_later_is_found_until_then(desk):
    [old] = await ids(desk, BCRYPT)
    await expire(desk, old, desk.clock.now + timedelta(days=1))
    assert await desk.find("password hashing") == [old]
    desk.clock.now += timedelta(days=1)
    assert await desk.find("password hashing") == []


async def test_a_restored_memory_is_found_again(desk):
    old, new = await ids(desk, BCRYPT, ARGON)
    await supersede(desk, old, new)
    await expire(desk, old)
    settled = await restore(desk, old)
    assert settled.memory.id == old
    assert (settled.memory.superseded_by, settled.memory.valid_to) == (None, None)
    assert (await desk.current(new)).supersedes is None
    assert set(await desk.find("password hashing")) == {old, new}


async def test_an_older_version_comes_back_as_the_newest(desk):
    [old] = await ids(desk, BCRYPT)
    await desk.keep("Passwords live in Keycloak", revises=old, tags=("sso",), namespace="context")
    settled = await restore(desk, old, version=1)
    assert settled.memory.version == 3
    assert (settled.memory.content, settled.memory.namespace) == (BCRYPT, "decisions")
    assert settled.memory.tags == ()
    assert await desk.find("bcrypt") == [old]


async def test_a_version_that_never_was_is_refused_with_those_that_were(desk):
    [old] = await ids(desk, BCRYPT)
    assert "it has 1" in (await restore(desk, old, version=7)).reason


async def test_each_change_is_a_version_that_says_why(desk):
    old, new = await ids(desk, BCRYPT, ARGON)
    await supersede(desk, old, new)
    await restore(desk, old)
    await expire(desk, old)
    history = await desk.archive.store.history(old, [HERE])
    assert [each.provenance.gate for each in history] == [
        "explicit",
        f"superseded by {new}",
        "restored",
        "expired",
    ]
    assert [each.provenance.hook for each in history] == ["cli"] * 4
