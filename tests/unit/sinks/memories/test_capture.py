import anyio
import pytest

from subcog.bus.events import ExpireRequested
from subcog.bus.values import Provenance
from subcog.sinks.store.rows import content_hash
from tests.archives import opened_desk
from tests.stores import HERE

BCRYPT = "We use bcrypt for password hashing in the login service"
ARGON = "We use argon2id for password hashing in the login service"


@pytest.fixture
async def desk(tmp_path):
    async with opened_desk(tmp_path) as desk:
        yield desk


async def test_a_new_text_is_stored_and_found_by_the_next_search(desk):
    settled = await desk.keep(BCRYPT, tags=("auth",))
    assert settled.kept.outcome == "stored"
    assert settled.memory.content == BCRYPT
    assert settled.memory.tags == ("auth",)
    assert settled.memory.content_hash == content_hash(BCRYPT)
    assert await desk.find("password hashing") == [settled.memory.id]


async def test_the_same_words_are_merged_and_make_the_memory_surer(desk):
    first = await desk.keep(BCRYPT, tags=("auth",), confidence_percent=60)
    again = await desk.keep(
        BCRYPT.upper(),
        tags=("login",),
        confidence_percent=50,
        provenance=Provenance(hook="PostToolUse", session="s2"),
    )
    assert again.kept.outcome == "merged"
    assert again.kept.memory_id == first.memory.id
    memory = await desk.current(first.memory.id)
    assert memory.version == 2
    assert memory.content == BCRYPT
    assert memory.tags == ("auth", "login")
    assert memory.confidence_percent == 65
    assert memory.sources == (Provenance(hook="PostToolUse", session="s2"),)
    assert memory.provenance.gate == "merged: the same text"


async def test_two_captures_of_one_text_at_the_same_moment_are_one_memory(desk):
    settled = []

    async def capture():
        settled.append(await desk.keep(BCRYPT))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(capture)
    assert sorted(each.kept.outcome for each in settled) == ["merged"] * 4 + ["stored"]
    assert len(await desk.archive.store.page([HERE], limit=10)) == 1


async def test_nearly_the_same_is_merged_if_nobody_insisted(desk):
    first = await desk.keep(BCRYPT, explicit=False)
    again = await desk.keep(f"{BCRYPT}.", explicit=False)
    assert again.kept.outcome == "merged"
    memory = await desk.current(first.memory.id)
    assert memory.provenance.gate.startswith("merged: ")
    assert memory.provenance.gate.endswith(" alike")


async def test_nearly_the_same_is_kept_when_it_is_explicit(desk):
    await desk.keep(BCRYPT)
    again = await desk.keep(f"{BCRYPT}, always")
    assert again.kept.outcome == "stored"
    assert again.memory.provenance.gate == "explicit"


async def test_an_automatic_capture_says_what_it_was_compared_with(desk):
    alone = await desk.keep(BCRYPT, explicit=False)
    assert alone.memory.provenance.gate == "new: nothing is like it"
    other = await desk.keep("Alembic migrations are written by hand", explicit=False)
    assert other.memory.provenance.gate.startswith("new: 0.")
    assert other.memory.provenance.gate.endswith(alone.memory.id)


async def test_a_memory_that_says_otherwise_is_stored_flagged_and_told(desk):
    old = await desk.keep(BCRYPT)
    new = await desk.keep(ARGON)
    assert new.kept.outcome == "stored"
    assert new.kept.contradicts == old.memory.id
    assert new.other.content == BCRYPT
    assert (await desk.current(new.memory.id)).contradicts == old.memory.id


async def test_what_is_superseded_or_over_is_contradicted_by_nothing(desk):
    old = await desk.keep(BCRYPT)
    await desk.keep(ARGON, supersedes=old.memory.id)
    third = await desk.keep("We use scrypt for password hashing in the login service")
    assert third.kept.contradicts not in {None, old.memory.id}
    event = ExpireRequested(trace="t", id=third.kept.contradicts, scopes=(HERE,))
    await desk.tell(await desk.archive.changing.expire(event))
    await desk.keep("Logins are counted by Prometheus", revises=third.memory.id)
    fourth = await desk.keep("We use PBKDF2 for password hashing in the login service")
    assert fourth.kept.contradicts is None


async def test_another_namespace_neither_merges_nor_contradicts(desk):
    await desk.keep(BCRYPT)
    same = await desk.keep(BCRYPT, namespace="learnings")
    other = await desk.keep(ARGON, namespace="gotchas")
    assert same.kept.outcome == other.kept.outcome == "stored"
    assert same.kept.contradicts is other.kept.contradicts is None


async def test_a_capture_that_supersedes_hides_the_old_memory(desk):
    old = await desk.keep(BCRYPT)
    new = await desk.keep(ARGON, supersedes=old.memory.id)
    assert new.memory.supersedes == old.memory.id
    assert (await desk.current(old.memory.id)).superseded_by == new.memory.id
    assert await desk.find("password hashing") == [new.memory.id]
    assert desk.archive.topics.lookup("password hashing", (HERE,)) == (new.memory.id,)


async def test_a_text_that_is_known_already_can_supersede_too(desk):
    old, new = await desk.keep(BCRYPT), await desk.keep(ARGON)
    again = await desk.keep(ARGON, supersedes=old.memory.id)
    assert again.kept.outcome == "merged"
    assert (await desk.current(old.memory.id)).superseded_by == new.memory.id
    assert await desk.find("password hashing") == [new.memory.id]


async def test_superseding_what_is_not_there_is_declined_and_stores_nothing(desk):
    settled = await desk.keep(ARGON, supersedes="mem_missing")
    assert settled.kept.outcome == "declined"
    assert await desk.archive.store.page([HERE], limit=10) == ()


async def test_a_revision_is_the_next_version_and_is_found_by_its_new_words(desk):
    old = await desk.keep(BCRYPT, tags=("auth",))
    desk.clock.now = desk.clock.now.replace(year=2027)
    new = await desk.keep("Passwords live in Keycloak now", revises=old.memory.id)
    assert new.memory.id == old.memory.id
    assert new.memory.version == 2
    assert new.memory.created_at == old.memory.created_at
    assert new.memory.updated_at == desk.clock.now
    assert await desk.find("Keycloak") == [old.memory.id]
    assert await desk.find("bcrypt", mode="text") == []
    history = await desk.archive.store.history(old.memory.id, [HERE])
    assert [each.content for each in history] == [BCRYPT, "Passwords live in Keycloak now"]


async def test_a_revision_that_changes_nothing_makes_no_version(desk):
    old = await desk.keep(BCRYPT, tags=("auth",))
    same = await desk.keep(BCRYPT, tags=("auth",), revises=old.memory.id)
    assert same.memory.version == 1


async def test_revising_what_is_not_there_is_declined(desk):
    assert (await desk.keep(ARGON, revises="mem_missing")).kept.outcome == "declined"


async def test_the_same_capture_twice_is_stored_once_whatever_became_of_it(desk):
    request = desk.request(BCRYPT)
    first = await desk.tell(await desk.archive.keeping.keep(request))
    again = await desk.tell(await desk.archive.keeping.keep(request))
    assert (again.kept.outcome, again.memory.version) == ("stored", 1)
    await desk.keep("Passwords live in Keycloak now", revises=first.memory.id)
    late = await desk.tell(await desk.archive.keeping.keep(request))
    assert late.memory.content == "Passwords live in Keycloak now"
    assert await desk.find("Keycloak") == [first.memory.id]


async def test_a_forgotten_capture_does_not_come_back_by_its_retry(desk):
    request = desk.request(BCRYPT)
    await desk.archive.keeping.keep(request)
    await desk.archive.store.forget(request.request.id, [HERE])
    settled = await desk.tell(await desk.archive.keeping.keep(request))
    assert settled.kept.outcome == "declined"
    assert await desk.current(request.request.id) is None


async def test_a_closed_store_fails_the_capture_in_words(desk):
    await desk.archive.store.close()
    settled = await desk.keep(BCRYPT)
    assert settled.kept.outcome == "failed"
    assert "closed" in settled.kept.reason


def test_the_hash_minds_neither_case_nor_white_space():
    assert content_hash("A  b\nC") == content_hash("a b c")
    assert content_hash("a b") != content_hash("ab")
