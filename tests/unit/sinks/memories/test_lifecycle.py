from datetime import timedelta

import pytest

from subcog.bus.events import ExpireRequested, RestoreRequested, SupersedeRequested
from subcog.stages.statements.outdated import contradicted
from tests.archives import opened_desk
from tests.stores import ELSEWHERE, HERE

BCRYPT = "We use bcrypt for password hashing in the login service"
ARGON = "Passwords are hashed by argon2id since the audit"


@pytest.fixture
async def bench(tmp_path):
    async with opened_desk(tmp_path) as bench:
        yield bench


async def supersede(bench, old, new, scopes=(HERE,)):
    event = SupersedeRequested(trace="t", old=old, new=new, scopes=scopes)
    return await bench.publish(await bench.archive.lifecycle.supersede(event))


async def expire(bench, memory_id, at=None):
    event = ExpireRequested(trace="t", id=memory_id, scopes=(HERE,), at=at)
    return await bench.publish(await bench.archive.lifecycle.expire(event))


async def restore(bench, memory_id, version=None, undoes=False):
    event = RestoreRequested(
        trace="t", id=memory_id, scopes=(HERE,), version=version, undoes=undoes
    )
    return await bench.publish(await bench.archive.lifecycle.restore(event))


async def ids(bench, *texts):
    return [(await bench.keep(text)).memory.id for text in texts]


async def test_a_superseded_memory_stays_is_marked_and_is_found_no_more(bench):
    old, new = await ids(bench, BCRYPT, ARGON)
    settled = await supersede(bench, old, new)
    assert settled.memory.superseded_by == new
    assert settled.memory.content == BCRYPT
    assert (await bench.current(new)).supersedes == old
    assert await bench.find("password hashing") == [new]
    assert [m.id for m in await bench.archive.latest((HERE,), limit=9)] == [new]
    assert old not in bench.archive.topics.lookup("bcrypt", (HERE,))


async def test_superseding_twice_by_the_same_memory_changes_nothing_more(bench):
    old, new = await ids(bench, BCRYPT, ARGON)
    await supersede(bench, old, new)
    assert (await supersede(bench, old, new)).memory.version == 2


async def test_a_superseding_that_makes_no_sense_is_refused_with_the_reason(bench):
    old, new, third = await ids(bench, BCRYPT, ARGON, "Keycloak holds the passwords")
    assert "itself" in (await supersede(bench, old, old)).reason
    await supersede(bench, old, new)
    assert new in (await supersede(bench, old, third)).reason
    await supersede(bench, new, third)
    assert "superseded by" in (await supersede(bench, third, old)).reason
    assert (await bench.current(third)).superseded_by is None


async def test_what_is_not_there_or_not_in_scope_is_named(bench):
    old, new = await ids(bench, BCRYPT, ARGON)
    assert (await supersede(bench, old, "mem_missing")).missing == "mem_missing"
    assert (await supersede(bench, old, new, (ELSEWHERE,))).missing == old
    assert (await expire(bench, "mem_missing")).missing == "mem_missing"
    assert (await restore(bench, "mem_missing")).missing == "mem_missing"


async def test_an_expired_memory_is_found_no_more(bench):
    [old] = await ids(bench, BCRYPT)
    settled = await expire(bench, old)
    assert settled.memory.valid_to == bench.clock.now
    assert await bench.find("password hashing") == []
    assert await bench.archive.latest((HERE,), limit=9) == ()
    assert bench.archive.topics.lookup("bcrypt", (HERE,)) == ()


async def test_a_memory_that_expires_later_is_found_until_then(bench):
    [old] = await ids(bench, BCRYPT)
    await expire(bench, old, bench.clock.now + timedelta(days=1))
    assert await bench.find("password hashing") == [old]
    bench.clock.now += timedelta(days=1)
    assert await bench.find("password hashing") == []


async def test_a_restored_memory_is_found_again(bench):
    old, new = await ids(bench, BCRYPT, ARGON)
    await supersede(bench, old, new)
    await expire(bench, old)
    settled = await restore(bench, old)
    assert settled.memory.id == old
    assert (settled.memory.superseded_by, settled.memory.valid_to) == (None, None)
    assert (await bench.current(new)).supersedes is None
    assert set(await bench.find("password hashing")) == {old, new}


async def test_what_is_restored_contradicts_what_had_superseded_it(bench):
    """Else "Petra signs off the tax rules" is held to say the same as "Ibrahim signs them off"."""
    old, new = await ids(bench, BCRYPT, ARGON)
    await supersede(bench, old, new)
    bench.clock.now += timedelta(minutes=1)
    restored = (await restore(bench, old)).memory
    other = await bench.current(new)
    assert restored.contradicts == new
    assert contradicted([restored, other]) == {new: old}
    assert other.contradicts is None


async def test_what_was_outdated_in_part_is_restored_for_the_rest_and_stays_the_older(bench):
    said = "The simulator listens on port 7700 on host sim-1."
    old, new = await ids(bench, said, "We moved the simulator from sim-1 to sim-4.")
    await supersede(bench, old, new)
    bench.clock.now += timedelta(minutes=1)
    restored, other = (await restore(bench, old)).memory, await bench.current(new)
    assert (restored.superseded_by, restored.contradicts) == (None, None)
    assert restored.updated_at < bench.clock.now
    assert other.contradicts == old
    assert contradicted([restored, other]) == {old: new}


async def test_an_older_version_comes_back_as_the_newest(bench):
    [old] = await ids(bench, BCRYPT)
    await bench.keep("Passwords live in Keycloak", revises=old, tags=("sso",), namespace="context")
    settled = await restore(bench, old, version=1)
    assert settled.memory.version == 3
    assert (settled.memory.content, settled.memory.namespace) == (BCRYPT, "decisions")
    assert settled.memory.tags == ()
    assert await bench.find("bcrypt") == [old]


async def test_a_version_that_never_was_is_refused_with_those_that_were(bench):
    [old] = await ids(bench, BCRYPT)
    assert "it has 1" in (await restore(bench, old, version=7)).reason


async def test_each_change_is_a_version_that_says_why(bench):
    old, new = await ids(bench, BCRYPT, ARGON)
    await supersede(bench, old, new)
    await restore(bench, old)
    await expire(bench, old)
    history = await bench.archive.store.history(old, [HERE])
    assert [each.provenance.gate for each in history] == [
        "explicit",
        f"superseded by {new}",
        "restored",
        "expired",
    ]
    assert [each.provenance.hook for each in history] == ["cli"] * 4


async def test_an_earlier_text_comes_back_with_what_it_contradicts(bench):
    old = await bench.keep("We use bcrypt for password hashing in the login service")
    new = await bench.keep("We use argon2id for password hashing in the login service")
    assert new.memory.contradicts == old.memory.id
    await bench.keep("Logins are counted by Prometheus", revises=new.memory.id)
    assert (await bench.current(new.memory.id)).contradicts is None
    assert (await restore(bench, new.memory.id, 1)).memory.contradicts == old.memory.id
    assert (await restore(bench, new.memory.id, 2)).memory.contradicts is None


@pytest.mark.parametrize("undoes", [False, True])
async def test_two_that_contradict_each_other_do_so_again_and_undone_the_newer_stays_newer(
    bench, undoes
):
    old = (await bench.keep("We use bcrypt for password hashing in the login service")).memory
    bench.clock.now += timedelta(days=1)
    new = (await bench.keep("We use argon2id for password hashing in the login service")).memory
    bench.clock.now += timedelta(days=1)
    await supersede(bench, old.id, new.id)
    restored = (await restore(bench, old.id, 1, undoes=undoes)).memory
    if undoes:
        assert (await bench.current(new.id)).contradicts == old.id
        assert (restored.updated_at, restored.contradicts) == (old.updated_at, None)
    else:
        assert (restored.updated_at, restored.contradicts) == (bench.clock.now, new.id)


@pytest.mark.parametrize("first", [0, 1])
async def test_what_was_noted_of_a_superseded_text_holds_once_it_is_back(bench, first):
    texts = ["We use bcrypt for password hashing", "We use argon2id for password hashing"]
    other, denying = [(await bench.keep(text)).memory for text in (texts[first], texts[1 - first])]
    assert denying.contradicts == other.id
    await supersede(bench, denying.id, other.id)
    assert (await restore(bench, denying.id, 1)).memory.contradicts == other.id


async def test_a_successor_contradicts_what_its_predecessor_did(bench):
    old = await bench.keep("We use bcrypt for password hashing in the login service")
    new = await bench.keep("We use argon2id for password hashing in the login service")
    assert new.memory.contradicts == old.memory.id
    [third] = await ids(bench, "Keycloak holds the passwords")
    await supersede(bench, new.memory.id, third)
    assert (await bench.current(third)).contradicts == old.memory.id
    fourth = await bench.keep("Nobody has a password any more", supersedes=third)
    assert fourth.memory.contradicts == old.memory.id
    await supersede(bench, fourth.memory.id, old.memory.id)
    assert (await bench.current(old.memory.id)).contradicts is None
