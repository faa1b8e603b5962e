from datetime import UTC, datetime, timedelta

import anyio
import pytest

from subcog.bus.anchors import Anchor
from subcog.bus.events import ExpireRequested, ForgetRequested, RestoreRequested
from subcog.bus.triggers import Trigger
from subcog.bus.values import Provenance, Scope
from subcog.sinks.memories.versions import _with_source
from subcog.sinks.store.rows import content_hash
from tests.archives import opened_desk
from tests.stores import ELSEWHERE, HERE
from tests.waiting import PATIENCE_S

BCRYPT = "We use bcrypt for password hashing in the login service"
FUTURE = datetime(2999, 1, 1, tzinfo=UTC)
PAST = datetime(2001, 1, 1, tzinfo=UTC)
ARGON = "We use argon2id for password hashing in the login service"


@pytest.fixture
async def bench(tmp_path):
    async with opened_desk(tmp_path) as bench:
        yield bench


async def test_a_new_text_is_stored_and_found_by_the_next_search(bench):
    settled = await bench.keep(BCRYPT, tags=("auth",))
    assert settled.kept.outcome == "stored"
    assert settled.memory.content == BCRYPT
    assert settled.memory.tags == ("auth",)
    assert settled.memory.content_hash == content_hash(BCRYPT)
    assert await bench.find("password hashing") == [settled.memory.id]


async def test_a_memory_is_as_old_as_its_words_and_never_from_the_future(bench):
    said = datetime(2025, 3, 1, tzinfo=UTC)
    old = await bench.keep(BCRYPT, said_at=said)
    ahead = await bench.keep("Releases are cut on Thursdays", said_at=FUTURE)

    assert (old.memory.created_at, old.memory.updated_at) == (said, said)
    assert ahead.memory.created_at < FUTURE


@pytest.mark.parametrize(
    ("text", "newer"),
    [
        ("The header is called x-trace-id", "The header is called X-Trace-ID"),
        ("if x:\n    a()\nb()", "if x:\n    a()\n    b()"),
    ],
)
async def test_the_newer_of_two_texts_that_differ_in_case_or_white_space_counts(bench, text, newer):
    first = await bench.keep(text, tags=("http",), provenance=Provenance(hook="cli", session="s1"))
    again = await bench.keep(newer, provenance=Provenance(hook="cli", session="s2"))
    assert (again.kept.outcome, again.kept.memory_id) == ("merged", first.memory.id)
    assert "takes the place of the text that differed in case or white space" in again.kept.reason

    history = await bench.archive.store.history(first.memory.id, [HERE])
    assert [one.content for one in history] == [text, newer]
    assert history[-1].tags == ("http",)
    assert history[-1].provenance.session == "s2"
    assert history[-1].summary == newer


@pytest.mark.parametrize("fields", [{"explicit": False}, {"said_at": PAST}])
async def test_what_nobody_asked_for_or_was_said_before_changes_no_case(bench, fields):
    first = await bench.keep("The header is called x-trace-id")
    again = await bench.keep("The header is called X-TRACE-ID", **fields)
    assert again.memory.content == "The header is called x-trace-id"
    assert "the text that is there stays" in again.kept.reason
    assert again.memory.id == first.memory.id


async def test_new_tags_stay_where_too_many_are_merged_and_what_is_left_out_is_named(bench):
    old = tuple(f"t{number}" for number in range(10))
    await bench.keep(BCRYPT, tags=old, questions=("a?", "b?", "c?"))
    again = await bench.keep(BCRYPT, tags=("urgent", "t3"), questions=("d?",))
    assert again.memory.tags == ("urgent", "t3", "t0", "t1", "t2", "t4", "t5", "t6", "t7", "t8")
    assert again.kept.reason == "there was no room for the tags t9; 1 of the questions"


async def test_the_same_words_are_merged_and_make_the_memory_surer(bench):
    first = await bench.keep(BCRYPT, tags=("auth",), confidence_percent=60)
    again = await bench.keep(
        f"{BCRYPT}\n",
        tags=("login",),
        confidence_percent=50,
        provenance=Provenance(hook="PostToolUse", session="s2"),
    )
    assert again.kept.outcome == "merged"
    assert again.kept.memory_id == first.memory.id
    memory = await bench.current(first.memory.id)
    assert memory.version == 2
    assert memory.content == BCRYPT
    assert memory.tags == ("login", "auth")
    assert memory.confidence_percent == 65
    assert again.kept.reason == ""
    assert memory.sources == (Provenance(hook="PostToolUse", session="s2"),)
    assert memory.provenance.gate == "merged: the same text"


@pytest.mark.parametrize("own", [True, False])
async def test_the_same_words_are_one_memory_of_the_namespace_that_the_user_names_last(bench, own):
    first = await bench.keep(BCRYPT, namespace="decisions")
    again = await bench.keep(BCRYPT.upper(), namespace="patterns", own_namespace=own)
    assert again.kept.outcome == "merged"
    assert (await bench.current(first.memory.id)).namespace == ("patterns" if own else "decisions")
    assert len(await bench.archive.store.page([HERE], limit=10)) == 1


def test_the_latest_source_is_last_and_those_that_somebody_asked_for_stay():
    asked, *found = [
        Provenance(hook="cli"),
        *(Provenance(hook="Stop", session=f"s{n}") for n in range(19)),
    ]
    new = Provenance(hook="Stop", session="new")
    assert _with_source((asked, *found), new) == (asked, *found[1:], new)
    assert _with_source((asked, *found), found[3])[-1] == found[3]
    assert len(_with_source((asked, *found), found[3])) == 20
    typed = tuple(Provenance(hook="cli", session=f"s{n}") for n in range(20))
    assert _with_source(typed, new) == (*typed[1:], new)


async def test_a_closed_blocker_is_open_again_once_it_is_said_again(bench):
    text, place = "CI is blocked by the runner image", {"namespace": "blockers"}
    closed = await bench.keep(text, tags=("ci", "Resolved"), **place)
    earlier = bench.clock.now - timedelta(days=1)
    for said_at, tags in ((earlier, ("ci", "Resolved")), (None, ("ci",))):
        bench.clock.now += timedelta(hours=1)
        await bench.keep(text, explicit=False, said_at=said_at, **place)
        assert (await bench.current(closed.memory.id)).tags == tags


@pytest.mark.parametrize(
    ("before", "again", "merged"), [(94, 50, 99), (96, 50, 100), (10, 100, 100)]
)
async def test_confirmed_confidence_ends_at_100_percent(bench, before, again, merged):
    first = await bench.keep(BCRYPT, confidence_percent=before)
    await bench.keep(BCRYPT, confidence_percent=again)
    assert (await bench.current(first.memory.id)).confidence_percent == merged


async def test_two_captures_of_one_text_at_the_same_moment_are_one_memory(bench):
    settled = []

    async def capture():
        settled.append(await bench.keep(BCRYPT))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(capture)
    assert sorted(each.kept.outcome for each in settled) == ["merged"] * 4 + ["stored"]
    assert len(await bench.archive.store.page([HERE], limit=10)) == 1


async def test_nearly_the_same_is_merged_if_nobody_insisted(bench):
    first = await bench.keep(BCRYPT, explicit=False)
    again = await bench.keep(f"{BCRYPT}.", explicit=False)
    assert again.kept.outcome == "merged"
    memory = await bench.current(first.memory.id)
    assert memory.provenance.gate.startswith("merged: ")
    assert memory.provenance.gate.endswith(" alike")


async def test_nearly_the_same_is_kept_when_it_is_explicit(bench):
    await bench.keep(BCRYPT)
    again = await bench.keep(f"{BCRYPT}, always")
    assert again.kept.outcome == "stored"
    assert again.memory.provenance.gate == "explicit"


async def test_an_automatic_capture_is_not_merged_into_what_it_denies(bench):
    first = await bench.keep("We can use Redis for the job queue", explicit=False)
    denied = await bench.keep("We can’t use Redis for the job queue", explicit=False)
    assert denied.kept.outcome == "stored"
    assert denied.kept.contradicts == first.memory.id
    again = await bench.keep("We can use Redis for the job queue.", explicit=False)
    assert again.kept.outcome == "merged"


async def test_an_automatic_capture_says_what_it_was_compared_with(bench):
    alone = await bench.keep(BCRYPT, explicit=False)
    assert alone.memory.provenance.gate == "new: nothing is like it"
    other = await bench.keep("Alembic migrations are written by hand", explicit=False)
    assert other.memory.provenance.gate.startswith("new: 0.")
    assert other.memory.provenance.gate.endswith(alone.memory.id)


async def test_a_memory_that_says_otherwise_is_stored_flagged_and_told(bench):
    old = await bench.keep(BCRYPT)
    new = await bench.keep(ARGON)
    assert new.kept.outcome == "stored"
    assert new.kept.contradicts == old.memory.id
    assert new.other.content == BCRYPT
    assert (await bench.current(new.memory.id)).contradicts == old.memory.id


async def test_what_is_superseded_or_over_is_contradicted_by_nothing(bench):
    old = await bench.keep(BCRYPT)
    await bench.keep(ARGON, supersedes=old.memory.id)
    third = await bench.keep("We use scrypt for password hashing in the login service")
    assert third.kept.contradicts not in {None, old.memory.id}
    event = ExpireRequested(trace="t", id=third.kept.contradicts, scopes=(HERE,))
    await bench.publish(await bench.archive.lifecycle.expire(event))
    await bench.keep("Logins are counted by Prometheus", revises=third.memory.id)
    fourth = await bench.keep("We use PBKDF2 for password hashing in the login service")
    assert fourth.kept.contradicts is None


async def test_a_memory_of_another_namespace_is_contradicted_and_never_merged(bench):
    old = await bench.keep(BCRYPT)
    other = await bench.keep(ARGON, namespace="gotchas")
    assert other.kept.outcome == "stored"
    assert other.kept.contradicts == old.memory.id


GONE = "We no longer use bcrypt for password hashing in the login service"


async def test_what_the_users_own_words_call_gone_is_superseded(bench):
    old = await bench.keep(BCRYPT)
    new = await bench.keep(GONE, own_words=True)
    assert (new.kept.supersedes, new.kept.contradicts) == (old.memory.id, None)
    assert new.other.content == BCRYPT
    assert new.memory.supersedes == old.memory.id
    assert (await bench.current(old.memory.id)).superseded_by == new.memory.id
    await bench.publish(
        await bench.archive.lifecycle.restore(
            RestoreRequested(trace="t", id=old.memory.id, scopes=(HERE,))
        )
    )
    restored, follower = [await bench.current(one.memory.id) for one in (old, new)]
    assert restored.superseded_by is follower.supersedes is None
    assert restored.updated_at >= follower.updated_at


async def test_of_what_speaks_of_it_that_is_superseded_which_says_that_it_is_used(bench):
    used = await bench.keep("Events of the rota go through RabbitMQ")
    told = await bench.keep("The RabbitMQ admin UI is at mq.internal")
    new = await bench.keep("We'll go with NATS instead of RabbitMQ", own_words=True)
    assert new.kept.supersedes == used.memory.id
    assert (await bench.current(used.memory.id)).superseded_by == new.memory.id
    assert (await bench.current(told.memory.id)).superseded_by is None
    assert (await bench.current(new.memory.id)).contradicts == told.memory.id


@pytest.mark.parametrize(
    ("text", "own_words"),
    [(GONE, False), (ARGON, True)],
    ids=["another's words", "no word of change"],
)
async def test_nothing_else_is_superseded_unasked(bench, text, own_words):
    old = await bench.keep(BCRYPT)
    new = await bench.keep(text, own_words=own_words)
    assert (new.kept.supersedes, new.kept.contradicts) == (None, old.memory.id)
    assert (await bench.current(old.memory.id)).superseded_by is None


@pytest.mark.parametrize(
    ("hooks", "replaced"),
    [
        (["cli"], False),
        (["mcp"], False),
        (["UserPromptSubmit"], False),
        (["Stop", "cli"], False),
        (["Stop"], True),
        (["SessionEnd", "Stop"], True),
    ],
)
async def test_what_nobody_asked_to_keep_replaces_only_its_like(bench, hooks, replaced):
    for hook in hooks:
        old = await bench.keep(BCRYPT, provenance=Provenance(hook=hook), explicit=hook == "cli")
    unasked = {"explicit": False, "own_words": True, "provenance": Provenance(hook="Stop")}
    new = await bench.keep(GONE, **unasked)
    expected = (old.memory.id, None) if replaced else (None, old.memory.id)
    assert (new.kept.supersedes, new.kept.contradicts) == expected
    assert new.other.content == BCRYPT


async def test_what_was_said_before_supersedes_nothing(bench):
    old = await bench.keep(BCRYPT)
    before = bench.clock.now - timedelta(days=1)
    late = await bench.keep(GONE, own_words=True, said_at=before)
    assert late.kept.supersedes is None
    assert (await bench.current(old.memory.id)).superseded_by is None


async def test_a_capture_that_supersedes_hides_the_old_memory(bench):
    old = await bench.keep(BCRYPT)
    new = await bench.keep(ARGON, supersedes=old.memory.id)
    assert new.memory.supersedes == old.memory.id
    assert (await bench.current(old.memory.id)).superseded_by == new.memory.id
    assert await bench.find("password hashing") == [new.memory.id]
    assert bench.archive.topics.lookup("password hashing", (HERE,)) == (new.memory.id,)


async def test_a_text_that_is_known_already_can_supersede_too(bench):
    old, new = await bench.keep(BCRYPT), await bench.keep(ARGON)
    again = await bench.keep(ARGON, supersedes=old.memory.id)
    assert again.kept.outcome == "merged"
    assert (await bench.current(old.memory.id)).superseded_by == new.memory.id
    assert await bench.find("password hashing") == [new.memory.id]


async def test_superseding_what_is_not_there_is_declined_and_stores_nothing(bench):
    settled = await bench.keep(ARGON, supersedes="mem_missing")
    assert settled.kept.outcome == "declined"
    assert await bench.archive.store.page([HERE], limit=10) == ()


async def forget(bench, memory_id):
    event = ForgetRequested(trace="t", id=memory_id, scopes=(HERE,))
    await bench.publish(await bench.archive.forget(event))


async def restore(bench, memory_id):
    event = RestoreRequested(trace="t", id=memory_id, scopes=(HERE,))
    await bench.publish(await bench.archive.lifecycle.restore(event))


async def test_a_successor_that_was_forgotten_is_not_brought_back_by_its_replayed_capture(bench):
    old = await bench.keep(BCRYPT)
    new = await bench.keep(ARGON, supersedes=old.memory.id)
    await forget(bench, new.memory.id)
    await restore(bench, old.memory.id)
    again = await bench.keep(ARGON, supersedes=old.memory.id, id=new.memory.id)
    assert again.kept.outcome == "declined"
    assert (await bench.current(old.memory.id)).superseded_by is None
    assert await bench.find("password hashing") == [old.memory.id]


async def test_a_replayed_capture_leaves_its_memory_and_the_old_one_as_they_are_now(bench):
    old = await bench.keep(BCRYPT)
    new = await bench.keep(ARGON, supersedes=old.memory.id)
    await restore(bench, old.memory.id)
    await bench.keep("Passwords live in Keycloak", revises=new.memory.id)
    again = await bench.keep(ARGON, supersedes=old.memory.id, id=new.memory.id)
    assert (again.kept.outcome, again.memory.version) == ("stored", 3)
    assert (await bench.current(old.memory.id)).superseded_by is None
    assert new.memory.id in await bench.find("Keycloak")


async def test_what_is_superseded_already_is_not_superseded_again(bench):
    old, known = await bench.keep(BCRYPT), await bench.keep("Logins use passkeys")
    new = await bench.keep(ARGON, supersedes=old.memory.id)
    other = await bench.keep("We use scrypt for passwords", supersedes=old.memory.id)
    same = await bench.keep("Logins use passkeys", supersedes=old.memory.id)
    assert other.kept.outcome == same.kept.outcome == "declined"
    assert new.memory.id in other.kept.reason
    assert new.memory.id in same.kept.reason
    assert (await bench.current(old.memory.id)).superseded_by == new.memory.id
    assert (await bench.current(known.memory.id)).supersedes is None


async def test_a_text_that_corrects_the_case_of_what_it_supersedes_revises_it(bench):
    old = await bench.keep(BCRYPT.lower())
    new = await bench.keep(BCRYPT, supersedes=old.memory.id)
    memory = await bench.current(old.memory.id)
    assert (new.memory.id, memory.version, memory.content) == (old.memory.id, 2, BCRYPT)
    assert memory.superseded_by is memory.supersedes is None


async def test_a_revision_is_the_next_version_and_is_found_by_its_new_words(bench):
    old = await bench.keep(BCRYPT, tags=("auth",))
    bench.clock.now = bench.clock.now.replace(year=2027)
    new = await bench.keep("Passwords live in Keycloak now", revises=old.memory.id)
    assert new.memory.id == old.memory.id
    assert new.memory.version == 2
    assert new.memory.created_at == old.memory.created_at
    assert new.memory.updated_at == bench.clock.now
    assert await bench.find("Keycloak") == [old.memory.id]
    assert await bench.find("bcrypt", mode="text") == []
    history = await bench.archive.store.history(old.memory.id, [HERE])
    assert [each.content for each in history] == [BCRYPT, "Passwords live in Keycloak now"]


async def test_a_revision_that_changes_nothing_makes_no_version(bench):
    old = await bench.keep(BCRYPT, tags=("auth",))
    same = await bench.keep(BCRYPT, tags=("auth",), revises=old.memory.id)
    assert same.memory.version == 1


PURPOSE = "how do we keep secrets of users safe?"


async def test_a_memory_is_found_by_the_questions_that_came_with_it(bench):
    other = await bench.keep("Releases are cut on Thursdays")
    kept = await bench.keep(BCRYPT, questions=(PURPOSE, "what slows signing in down?"))
    assert kept.memory.questions == (PURPOSE, "what slows signing in down?")
    for mode in ("text", "vector", "hybrid"):
        found = await bench.find("what slows signing in down", mode=mode)
        assert found[0] == kept.memory.id, mode
    assert await bench.find("Thursdays", mode="text") == [other.memory.id]


async def test_what_is_said_again_brings_newer_questions(bench):
    first = await bench.keep(BCRYPT, questions=("one?", "two?"))
    for questions in (None, ("three?", "one?")):
        await bench.keep(BCRYPT, questions=questions)
    memory = await bench.current(first.memory.id)
    assert memory.questions == ("three?", "one?", "two?")
    await bench.keep(BCRYPT, questions=("four?",))
    assert (await bench.current(first.memory.id)).questions == ("four?", "three?", "one?")


async def test_what_is_said_again_brings_newer_triggers(bench):
    first = await bench.keep(BCRYPT, triggers=tuple(Trigger(run=f"a{n}") for n in range(7)))
    await bench.keep(BCRYPT, triggers=(Trigger(run="new"), Trigger(run="a0"), Trigger(edit="x")))
    runs = [one.run for one in (await bench.current(first.memory.id)).triggers]
    assert runs == ["new", "a0", "", "a1", "a2", "a3", "a4", "a5"]


@pytest.mark.parametrize(
    ("text", "given", "left"),
    [
        (BCRYPT, None, (PURPOSE,)),
        (BCRYPT, (), ()),
        (BCRYPT, ("new?",), ("new?",)),
        (ARGON, None, (PURPOSE,)),
        ("Passwords live in Keycloak now", None, ()),
        ("Passwords live in Keycloak now", ("new?",), ("new?",)),
    ],
)
async def test_questions_stay_with_their_text(bench, text, given, left):
    triggers = {what: (Trigger(run=what),) for what in (PURPOSE, "new?")}
    old = (await bench.keep(BCRYPT, questions=(PURPOSE,), triggers=triggers[PURPOSE])).memory
    now = {"questions": given, "triggers": triggers[given[0]] if given else given}
    await bench.keep(text, revises=old.id, tags=("auth",), **now)
    revised = await bench.current(old.id)
    assert revised.questions == left
    assert revised.triggers == (triggers[left[0]] if left else ())
    event = RestoreRequested(trace="t", id=old.id, scopes=(HERE,), version=1)
    settled = await bench.publish(await bench.archive.lifecycle.restore(event))
    assert settled.memory.questions == (PURPOSE,)
    assert settled.memory.triggers == triggers[PURPOSE]


async def test_questions_that_changed_since_are_not_written_over(bench):
    old = (await bench.keep(BCRYPT)).memory
    await bench.keep(BCRYPT, revises=old.id, questions=(PURPOSE,))
    late = await bench.keep(BCRYPT, revises=old.id, made_from=old.version, questions=("late?",))
    assert late.kept.outcome == "declined"
    assert (await bench.current(old.id)).questions == (PURPOSE,)


async def test_a_revision_of_a_version_that_was_changed_since_is_declined(bench):
    old = (await bench.keep(BCRYPT)).memory
    await bench.keep(BCRYPT)  # said again, which changes nothing of what it says
    first = await bench.keep(ARGON, revises=old.id, made_from=old.version)
    again = await bench.keep(ARGON, revises=old.id, made_from=old.version)
    assert [first.kept.outcome, again.kept.outcome] == ["stored", "stored"]
    assert again.memory.version == first.memory.version
    await bench.keep(BCRYPT, revises=old.id)  # taken back
    late = await bench.keep(ARGON, revises=old.id, made_from=old.version)
    assert late.kept.outcome == "declined"
    assert late.kept.reason == f"{old.id} was changed since it was read"
    assert (await bench.current(old.id)).content == BCRYPT


async def test_revising_what_is_not_there_is_declined(bench):
    assert (await bench.keep(ARGON, revises="mem_missing")).kept.outcome == "declined"


async def test_the_same_capture_twice_is_stored_once_whatever_became_of_it(bench):
    request = bench.request(BCRYPT)
    first = await bench.publish(await bench.archive.captures.store(request))
    again = await bench.publish(await bench.archive.captures.store(request))
    assert (again.kept.outcome, again.memory.version) == ("stored", 1)
    await bench.keep("Passwords live in Keycloak now", revises=first.memory.id)
    late = await bench.publish(await bench.archive.captures.store(request))
    assert late.memory.content == "Passwords live in Keycloak now"
    assert await bench.find("Keycloak") == [first.memory.id]


async def test_a_retry_tells_what_was_replaced_once_more(bench):
    old = await bench.keep(BCRYPT)
    request = bench.request(GONE, own_words=True)
    for _ in range(2):
        settled = await bench.publish(await bench.archive.captures.store(request))
        assert settled.kept.supersedes == old.memory.id


async def test_a_forgotten_capture_does_not_come_back_by_its_retry(bench):
    request = bench.request(BCRYPT)
    await bench.archive.captures.store(request)
    await bench.archive.store.forget(request.request.id, [HERE])
    settled = await bench.publish(await bench.archive.captures.store(request))
    assert settled.kept.outcome == "declined"
    assert await bench.current(request.request.id) is None


async def forgotten(bench, text):
    """``text`` was kept, and then forgotten."""
    settled = await bench.keep(text)
    event = ForgetRequested(trace="t", id=settled.memory.id, scopes=(HERE,))
    await bench.publish(await bench.archive.forget(event))


async def test_what_was_forgotten_is_not_kept_by_itself_in_whatever_form(bench):
    await forgotten(bench, ARGON)
    for text in (ARGON, f"**{ARGON.upper()}**", f"- {ARGON}"):
        for how in ({"explicit": False}, {"explicit": False, "verbatim": True}):
            settled = await bench.keep(text, namespace="learnings", **how)
            assert settled.kept.outcome == "declined"
            assert "forgotten" in settled.kept.reason
    assert await bench.find("argon2id") == []


async def test_what_a_project_forgot_under_an_earlier_name_is_not_kept_by_itself(bench):
    await forgotten(bench, ARGON)
    settled = await bench.keep(ARGON, scope=ELSEWHERE, before=(HERE,), explicit=False)
    assert settled.kept.outcome == "declined"
    assert (await bench.keep(ARGON, scope=ELSEWHERE, explicit=False)).kept.outcome == "stored"


async def test_what_somebody_asks_for_again_is_kept_and_says_so_once(bench):
    await forgotten(bench, ARGON)
    again = await bench.keep(ARGON.upper())
    assert (again.kept.outcome, again.kept.was_forgotten) == ("stored", True)
    once_more = await bench.keep(ARGON)
    assert (once_more.kept.outcome, once_more.kept.was_forgotten) == ("merged", False)
    by_itself = await bench.keep(ARGON, explicit=False)
    assert by_itself.kept.outcome == "merged"


async def test_what_is_forgotten_while_its_text_is_being_captured_stays_so(bench):
    """The check before the write has passed already when the memory is forgotten."""
    store = bench.archive.store
    settled = await bench.keep(ARGON)
    await store.forget(settled.memory.id, [HERE])
    is_forgotten, store.is_forgotten = store.is_forgotten, lambda *args, **how: False
    late = await bench.keep(ARGON, explicit=False)
    store.is_forgotten = is_forgotten
    assert late.kept.outcome == "declined"
    assert await bench.current(late.kept.memory_id or "") is None


async def test_a_revision_by_itself_brings_no_forgotten_text_back(bench):
    await forgotten(bench, ARGON)
    old = await bench.keep(BCRYPT)
    by_itself = await bench.keep(ARGON, revises=old.memory.id, explicit=False)
    assert by_itself.kept.outcome == "declined"
    asked = await bench.keep(ARGON, revises=old.memory.id)
    assert (asked.kept.outcome, asked.kept.was_forgotten) == ("stored", True)


async def test_a_closed_store_fails_the_capture_in_words(bench):
    await bench.archive.store.close()
    settled = await bench.keep(BCRYPT)
    assert settled.kept.outcome == "failed"
    assert "closed" in settled.kept.reason


def test_the_hash_minds_neither_case_nor_white_space():
    assert content_hash("A  b\nC") == content_hash("a b c")
    assert content_hash("a b") != content_hash("ab")


# --- the code that a text names -------------------------------------------------------------------


def finding(bench):
    """Let ``bench`` find a place for every text, another one each time."""
    asked = []

    async def find(text, root):
        asked.append((text, root))
        return (Anchor(path=f"a{len(asked)}.py", digest="1:0"),)

    bench.archive.captures.find_anchors = find
    return asked


async def test_a_memory_is_tied_to_the_code_of_the_day_it_was_kept_confirmed_or_changed(bench):
    finding(bench)
    first = await bench.keep(BCRYPT, root="/src/shop")
    assert first.memory.anchors == ()
    memory = await bench.current(first.memory.id)
    assert [one.path for one in memory.anchors] == ["a1.py"]
    assert (memory.version, memory.updated_at) == (2, first.memory.updated_at)
    await bench.keep(BCRYPT, root="/src/shop")
    assert [one.path for one in (await bench.current(first.memory.id)).anchors] == ["a2.py"]
    await bench.keep(ARGON, root="/src/shop", revises=first.memory.id)
    assert [one.path for one in (await bench.current(first.memory.id)).anchors] == ["a3.py"]
    await bench.keep(ARGON, root="/src/shop", revises=first.memory.id, tags=("auth",))
    assert [one.path for one in (await bench.current(first.memory.id)).anchors] == ["a3.py"]


@pytest.mark.parametrize(
    "fields",
    [
        {"root": "/src/shop", "scope": Scope("user", "u")},
        {"root": "/src/shop", "namespace": "tasks"},
        {"root": ""},
    ],
)
async def test_what_belongs_to_no_project_or_tells_what_was_done_is_tied_to_nothing(bench, fields):
    asked = finding(bench)
    settled = await bench.keep(BCRYPT, **fields)
    assert settled.memory.anchors == ()
    assert asked == []


async def test_where_the_process_ends_before_only_the_anchors_are_lost(tmp_path):
    async with opened_desk(tmp_path) as bench:
        finding(bench)
        bench.anchors = False
        kept = await bench.keep(BCRYPT, root="/src/shop")
    async with opened_desk(tmp_path) as bench:
        finding(bench)
        memory = await bench.current(kept.memory.id)
        assert (memory.content, memory.anchors) == (BCRYPT, ())
        await bench.keep(BCRYPT, root="/src/shop", id="mem_another")
        assert [one.path for one in (await bench.current(memory.id)).anchors] == ["a1.py"]


async def test_the_code_of_a_text_that_changed_meanwhile_is_not_noted(bench):
    finding(bench)
    bench.anchors = False
    *_, named = await bench.archive.captures.store(bench.request(BCRYPT, root="/src/shop"))
    find = bench.archive.captures.find_anchors

    async def find_late(text, root):
        await bench.keep(ARGON, revises=named.memory.id)
        return await find(text, root)

    bench.archive.captures.find_anchors = find_late
    assert await bench.archive.captures.anchor(named) == ()
    assert (await bench.current(named.memory.id)).content == ARGON
