from datetime import UTC, datetime, timedelta

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.prompts import Span
from subcog.sinks.passages import archive as module
from subcog.sinks.passages.index import CONTEXT_PASSAGES
from tests.stores import FakeClock

from .conftest import (
    CALLED,
    ELSEWHERE,
    HERE,
    IDLE,
    MEETING,
    NOW,
    RETRIES,
    RETRIES_LATER,
    opened,
    talk,
)

YEAR = timedelta(days=365)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ASKED = "how many attempts does the retrier make before it gives up?"


def resumed(session="s1", *, days_ago=10, after_days=3):
    """A session that goes on days later."""
    again = talk(RETRIES_LATER, session, days_ago=days_ago - after_days)
    return [*talk(RETRIES, session, days_ago=days_ago), *again]


async def shown(archive, text=ASKED, scope=HERE, **more):
    return [hit for hit in await archive.find(text, scope, **more) if hit.passages]


async def test_a_session_that_settled_it_is_found_word_for_word(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        assert await archive.add(talk(RETRIES, "s1")) == 4
        await archive.add(talk(IDLE, "s2", days_ago=5))
        [hit] = await shown(archive)
        assert hit.session == "s1"
        assert [(p.speaker, p.text) for p in hit.passages] == list(RETRIES)
        assert hit.passages[1].files == ("src/retry.py",)


async def test_what_nothing_answers_finds_nothing_to_show(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1"))
        await archive.add(talk(IDLE, "s2"))
        assert await shown(archive, "how do we book refunds of vaccination packages?") == []
        assert await shown(archive, "ok") == []


@pytest.mark.parametrize(
    "said",
    [
        (("user", "please do it"), ("agent", "done")),
        (("user", "can you look at that again"), ("agent", "I looked again and it is fine now.")),
    ],
)
async def test_a_session_without_a_word_of_its_own_is_never_quoted(tmp_path, embedder, said):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(said, "s1"))
        for asked in ("how do we deploy here?", "what do you do on error?", "who looks after it?"):
            assert await shown(archive, asked) == []
        await archive.add(talk(RETRIES_LATER, "s1"))
        assert await shown(archive) != [], "what is said in it later counts"


async def test_of_a_question_in_another_language_its_words_decide(tmp_path, embedder):
    said = (
        ("user", "Wir nehmen Hetzner statt AWS für das Staging, das ist entschieden."),
        ("agent", "Verstanden, das Staging läuft ab jetzt auf Hetzner."),
        ("user", "これからは外部APIの呼び出しには必ずリトライを入れる。"),
        ("agent", "了解しました。"),
    )
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(said[:2], "de"))
        await archive.add(talk(said[2:], "ja"))
        [hit] = await shown(archive, "worauf läuft das Staging, AWS oder Hetzner?", session="s")
        assert hit.session == "de"
        [hit] = await shown(archive, "外部APIの呼び出しにリトライは必要？", session="s")
        assert hit.session == "ja"
        for asked in (
            "ゲームで遊びたいけど何がいい？",
            "ミドルウェアとは何ですか？",
            "APIとは何ですか？",
            "warum ist mein Laptop so langsam?",
        ):
            assert await shown(archive, asked, session="s") == []


async def test_reading_the_same_again_keeps_it_once(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES))
        assert await archive.add(talk(RETRIES)) == 0
        assert archive.count == 4


async def test_the_agents_later_words_replace_the_earlier_ones(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES))
        assert await archive.add(talk((*RETRIES[:3], ("agent", "Exactly 7, I have set it.")))) == 0
        assert archive.count == 4
        [hit] = await shown(archive)
        assert hit.passages[-1].text == "Exactly 7, I have set it."


async def test_a_session_goes_on_slice_by_slice(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        for passage in talk(RETRIES * 12):
            await archive.add([passage])
        assert archive.count == 48
        assert [p.text for p in await archive.show(HERE, "s1")] == [t for _, t in RETRIES * 12]


async def test_a_forked_session_keeps_what_it_adds_alone(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        assert await archive.add(talk(RETRIES, "s1")) == 4
        forked = talk((*RETRIES, ("user", "Now write that down."), ("agent", "Done.")), "s2")
        assert await archive.add(forked) == 2
        assert await archive.add(talk(RETRIES, "s3", scope=ELSEWHERE), [HERE]) == 0
        assert await archive.add(talk(RETRIES, "s3", scope=ELSEWHERE)) == 4
        assert [p.text for p in await archive.show(HERE, "s2")] == ["Now write that down.", "Done."]
    async with opened(tmp_path, embedder) as archive:
        assert await archive.add(forked) == 0


async def test_what_was_said_earlier_and_comes_later_stands_in_its_place(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        said = talk(RETRIES)
        await archive.add(said[2:])
        await archive.add(said[:2])
        assert [p.id for p in await archive.show(HERE, "s1")] == [p.id for p in said]


async def test_the_newer_word_on_a_subject_comes_first(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "old", days_ago=20))
        await archive.add(talk(RETRIES_LATER, "new", days_ago=3))
        await archive.add(talk(IDLE, "idle", days_ago=1))
        newer, older = await shown(archive)
        assert (newer.session, newer.replaces) == ("new", "old")
        assert (older.session, older.replaced_by) == ("old", "new")


async def test_who_searches_is_given_as_many_sessions_as_they_ask_for(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        for number in range(4):
            await archive.add(talk(RETRIES, f"s{number}", days_ago=10 + number))
            await archive.add(talk(IDLE, f"idle{number}", days_ago=30 + number))
        assert len(await shown(archive)) == 2
        assert len(await shown(archive, most=4)) == 4


async def test_who_searches_finds_a_word_however_little_it_says(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(MEETING, "s1"))
        await archive.add(talk(RETRIES, "s2", days_ago=5))
        for word in ("JVM", "Henk", "vim"):
            [hit] = await shown(archive, word, searched=True)
            assert hit.session == "s1"
            assert await shown(archive, word) == []
        assert await shown(archive, "zeppelin", searched=True) == []
        assert await shown(archive, "the", searched=True) == []


async def test_who_asks_what_somebody_said_finds_one_sentence_of_a_long_session(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(MEETING, "s1"))
        await archive.add(talk(RETRIES, "s2", days_ago=5))
        await archive.add(talk(IDLE, "s3", days_ago=4))
        for asked in ("what did Henk want?", "remind me what Henk said about java"):
            [hit] = await shown(archive, asked)
            assert hit.session == "s1"
        assert await shown(archive, "what did Ilaria want?") == []


async def test_a_later_word_among_other_things_comes_before_what_it_replaces(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(MEETING, "s1"))
        await archive.add(talk(CALLED, "s2", days_ago=5))
        await archive.add(talk(RETRIES, "s3", days_ago=4))
        newer, older = await shown(archive, "is the retention of the positions still open?")
        assert (newer.session, newer.replaces) == ("s2", "s1")
        assert (older.session, older.replaced_by) == ("s1", "s2")


async def test_the_session_that_asks_replaces_nothing(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "old", days_ago=20))
        await archive.add(talk(RETRIES_LATER, "new", days_ago=3))
        await archive.add(talk(IDLE, "idle", days_ago=1))
        [hit] = await shown(archive, session="new")
        assert (hit.session, hit.replaced_by) == ("old", "")


ASKING = (
    ("user", "how many attempts does the retrier make before it gives up?"),
    ("agent", "The retrier makes exactly 7 attempts before it gives up."),
)


async def test_who_only_asked_before_neither_replaces_what_was_settled_nor_is_quoted_beside_it(
    tmp_path, embedder
):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "settled", days_ago=9))
        await archive.add(talk(ASKING, "asked", days_ago=2))
        await archive.add(talk(IDLE, "idle", days_ago=1))
        [hit] = await shown(archive)
        assert (hit.session, hit.replaced_by) == ("settled", "")


async def test_another_project_is_not_read(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1", scope=ELSEWHERE))
        await archive.add(talk(IDLE, "s2"))
        assert await shown(archive) == []
        assert await archive.show(HERE, "s1") == ()
        assert [one.session for one in await archive.list((HERE,), limit=9)] == ["s2"]


async def test_the_session_that_asks_is_left_out(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1"))
        assert await shown(archive, session="s1") == []


async def test_it_is_found_after_a_restart(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1"))
        await archive.add(talk(IDLE, "s2"))
        before = await shown(archive)
    async with opened(tmp_path, embedder) as archive:
        assert archive.count == 8
        assert await shown(archive) == before


async def test_without_an_embedding_it_is_kept_and_encoded_later(tmp_path, embedder):
    async with opened(tmp_path, None) as archive:
        await archive.add(talk(RETRIES, "s1"))
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(IDLE, "s2"))
        assert [hit.session for hit in await shown(archive)] == ["s1"]


async def test_sessions_are_listed_newest_first(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "old", days_ago=9))
        await archive.add(talk(IDLE, "new", days_ago=2))
        new, old = await archive.list((HERE,), limit=10)
        assert (new.session, old.session) == ("new", "old")
        assert (old.passages, old.client, old.branch) == (4, "claude-code", "main")
        assert old.opening.startswith("The upstream blocks us")
        assert await archive.list((HERE,), limit=1) == (new,)


def chatter(turns):
    return [(("user", "agent")[n % 2], f"{n}: the tests of the parser") for n in range(turns)]


async def test_an_episode_is_quoted_with_what_stands_around_it(tmp_path, embedder):
    filler = chatter(20)
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk((*filler, *RETRIES), "s1"))
        await archive.add(talk(IDLE, "s2"))
        [hit] = await shown(archive)
        assert [p.text for p in hit.passages] == [text for _, text in (*filler, *RETRIES)]


async def test_of_a_long_session_the_neighbours_alone_are_quoted(tmp_path, embedder):
    filler = chatter(80)
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk((*filler, *RETRIES, *filler), "s1"))
        await archive.add(talk(IDLE, "s2"))
        [hit] = await shown(archive)
        said = [p.text for p in hit.passages]
        assert {text for _, text in RETRIES} <= set(said)
        assert len(said) <= CONTEXT_PASSAGES


# --- bounds --------------------------------------------------------------------------------------


async def test_what_is_too_old_is_neither_kept_nor_left(tmp_path, embedder):
    clock = FakeClock(NOW)
    async with opened(tmp_path, embedder, clock=clock, days=30) as archive:
        clock.now += timedelta(days=1)
        await archive.trim()
        assert await archive.add(talk(RETRIES, "ancient", days_ago=40)) == 0
        await archive.add(talk(RETRIES, "s1", days_ago=20))
        clock.now += timedelta(days=19)
        assert await archive.trim() == 0, "the clock may be ahead"
        clock.now += timedelta(days=1)
        assert await archive.trim() == 4
        assert archive.count == 0


async def test_on_the_first_day_nothing_is_too_old_to_be_kept(tmp_path, embedder):
    clock = FakeClock(NOW + YEAR)  # it may be ahead
    async with opened(tmp_path, embedder, clock=clock, days=30) as archive:
        assert await archive.add(talk(RETRIES, "s1", days_ago=5)) == 4
        clock.now = NOW
        assert await archive.trim() == 0


async def test_a_clock_that_was_ahead_for_less_than_a_day_deletes_nothing(tmp_path, embedder):
    clock = FakeClock(NOW)
    bounds = {"clock": clock, "days": 30}
    async with opened(tmp_path, embedder, **bounds) as archive:
        await archive.add(talk(RETRIES, "s1", days_ago=5))
    clock.now += timedelta(days=365)
    for hours in (0, 12, 11):
        clock.now += timedelta(hours=hours)
        async with opened(tmp_path, embedder, **bounds) as archive:
            assert await archive.add(talk(IDLE, "unread", days_ago=5)) in {4, 0}
            assert archive.count == 8
    clock.now = NOW + timedelta(days=1)
    for _ in range(3):
        clock.now += timedelta(days=1)
        async with opened(tmp_path, embedder, **bounds) as archive:
            assert archive.count == 8


async def test_of_too_many_the_oldest_sessions_go(tmp_path, embedder):
    async with opened(tmp_path, embedder, max_passages=8) as archive:
        for number in range(4):
            await archive.add(talk(RETRIES, f"s{number}", days_ago=20 - number))
        assert archive.count == 8
        assert [s.session for s in await archive.list((HERE,), limit=9)] == ["s3", "s2"]


async def test_a_session_is_as_old_as_what_was_said_in_it_last(tmp_path, embedder):
    clock = FakeClock(NOW)
    async with opened(tmp_path, embedder, clock=clock, days=30) as archive:
        await archive.add(resumed("s1", days_ago=29, after_days=29))
        await archive.add(talk(IDLE, "s2", days_ago=5))
        assert [s.session for s in await archive.list((HERE,), limit=9)] == ["s1", "s2"]
        clock.now += timedelta(days=25)
        await archive.trim()
        clock.now += timedelta(days=1)
        await archive.trim()
        clock.now += timedelta(days=1)
        assert await archive.trim() == 4
        assert [s.session for s in await archive.list((HERE,), limit=9)] == ["s1"]


async def test_of_too_many_the_session_goes_that_was_longest_silent(tmp_path, embedder):
    async with opened(tmp_path, embedder, max_passages=10) as archive:
        await archive.add(resumed("s1", days_ago=20, after_days=20))
        await archive.add(talk(IDLE, "s2", days_ago=5))
        assert [s.session for s in await archive.list((HERE,), limit=9)] == ["s1"]


# --- forgetting ----------------------------------------------------------------------------------


async def forgotten_session(archive):
    return await archive.forget_session(HERE, "s1")


async def forgotten_span(archive):
    return await archive.forget_span(HERE, NOW - timedelta(days=11), NOW - timedelta(days=9))


async def forgotten_text(archive):
    return await archive.forget_saying(HERE, RETRIES[2][1])


@pytest.mark.parametrize("forget", [forgotten_session, forgotten_span])
async def test_what_was_forgotten_does_not_come_back(tmp_path, embedder, forget):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1"))
        await archive.add(talk(RETRIES, "theirs", scope=ELSEWHERE))
        assert await forget(archive) == 4
        assert await shown(archive) == []
        for _ in range(20):
            assert await archive.add(talk(RETRIES, "s1")) == 0
        assert len(await shown(archive, scope=ELSEWHERE)) == 1
    async with opened(tmp_path, embedder) as archive:
        assert await archive.add(talk(RETRIES, "s1")) == 0
        assert archive.count == 4


async def test_what_was_said_by_a_clock_that_was_ahead_is_forgotten_too(tmp_path, embedder):
    said = talk(RETRIES, "s1", days_ago=-2)
    async with opened(tmp_path, embedder) as archive:
        await archive.add([said[0], said[-1]])
        assert await forgotten_session(archive) == 2
        assert await archive.add(said) == 0
    async with opened(tmp_path, embedder) as archive:
        assert await archive.add(said) == 0


async def test_what_has_no_time_is_forgotten_without_all_that_has_none(tmp_path, embedder):
    timeless = [replace(one, said_at=EPOCH) for one in (*talk(RETRIES, "s1"), *talk(IDLE, "s2"))]
    async with opened(tmp_path, embedder, days=40_000) as archive:
        assert await archive.add(timeless[:1]) == 1
        assert await forgotten_session(archive) == 1
        assert await archive.add(timeless[:1]) == 0
        assert await archive.add(timeless[4:5]) == 1
        assert await archive.forget_saying(HERE, timeless[4].text) == 1
        assert await archive.add(timeless[4:5]) == 0
        assert await archive.add(timeless[5:6]) == 1


async def test_of_a_session_that_began_in_a_forgotten_span_nothing_comes_back(tmp_path, embedder):
    said = resumed("s1")
    async with opened(tmp_path, embedder) as archive:
        await archive.add(said)
        await archive.add(talk(RETRIES, "named", days_ago=5))
        await archive.forget_session(HERE, "named")
        assert await forgotten_span(archive) == 8
        assert await archive.add(said) == 0
        assert await archive.add(talk(IDLE, "other", days_ago=7)) == 4
    async with opened(tmp_path, embedder) as archive:
        assert archive.forgotten.has_all([HERE], "s1", said[-1].said_at)
        assert await archive.add(said) == 0
        assert await archive.allow([HERE]) == 1
        assert await archive.add(said) == 8
        assert await archive.add(talk(RETRIES, "named", days_ago=5)) == 0


async def test_what_went_with_all_that_was_said_comes_back_once_that_is_allowed(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(resumed("s1"))
        await archive.forget_span(HERE, EPOCH, NOW + YEAR)
        assert await archive.add(resumed("s1")) == 0
        assert await archive.allow() == 1
        assert await archive.add(resumed("s1")) == 8


@pytest.mark.parametrize("forget", [forgotten_session, forgotten_span, forgotten_text])
async def test_what_a_project_forgot_under_an_earlier_name_does_not_come_back(
    tmp_path, embedder, forget
):
    said = talk(RETRIES, "s1", scope=ELSEWHERE)
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1"))
        whole = await forget(archive) == len(RETRIES)
        assert await archive.add(said, [HERE]) == 0  # what is left is kept under its first name
        assert archive.forgotten.has_all([ELSEWHERE, HERE], "s1", said[0].said_at) == whole
        assert not archive.forgotten.has_all([ELSEWHERE], "s1", said[0].said_at)


async def test_what_was_kept_under_an_earlier_name_is_not_said_anew_under_todays(
    tmp_path, embedder
):
    longer = (*RETRIES[:3], ("agent", "Exactly 7, I have set it."))
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1"))
        assert await archive.add(talk(longer, "s1", scope=ELSEWHERE), [HERE]) == 0
        assert [(p.speaker, p.text) for p in await archive.show(HERE, "s1")] == list(RETRIES)
        assert await forgotten_session(archive) == 4
    async with opened(tmp_path, embedder) as archive:
        assert archive.count == 0


@pytest.mark.parametrize("forget", [forgotten_session, forgotten_text])
async def test_a_forked_session_does_not_bring_back_what_was_forgotten(tmp_path, embedder, forget):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1"))
        gone = await forget(archive)
        assert await archive.allow() == 0
        more = ("user", "Now write that down.")
        forked = talk((*RETRIES, more), "s2")
        assert await archive.add(forked) == 1
        assert [p.text for p in await archive.show(HERE, "s2")] == [more[1]]
        assert archive.forgotten.has_all([HERE], "s2", forked[2].said_at)
        assert not archive.forgotten.has_all([HERE], "s2", forked[4].said_at)
    async with opened(tmp_path, embedder) as archive:
        assert await archive.add(forked) == 0
        assert archive.count == len(RETRIES) - gone + 1


async def test_what_is_said_after_a_session_was_forgotten_is_kept(tmp_path, embedder):
    clock = FakeClock(NOW)
    async with opened(tmp_path, embedder, clock=clock) as archive:
        await archive.add(talk(RETRIES, "s1"))
        await archive.forget_session(HERE, "s1")
        clock.now += timedelta(days=2)
        assert await archive.add(talk(IDLE, "s1", days_ago=-1)) == 4


async def test_a_forgotten_text_leaves_every_passage_that_holds_it(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1"))
        assert await archive.forget_saying(HERE, "seven attempts. Eight trips it.") == 1
        assert archive.count == 3
        assert await archive.add(talk(RETRIES, "s1")) == 0


async def test_a_word_or_two_take_no_passage_that_says_more(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk((*RETRIES, ("user", "Eight trips"))))
        assert await archive.forget_saying(HERE, "Eight trips") == 1
        assert archive.count == 4


@pytest.mark.parametrize("forget", [forgotten_session, forgotten_span, forgotten_text])
async def test_nothing_is_forgotten_while_something_is_made_of_it(tmp_path, embedder, forget):
    said = talk(RETRIES, "s1")
    async with opened(tmp_path, embedder) as archive:
        await archive.add(said)
        async with anyio.create_task_group() as tasks, archive.holding(HERE, "s1") as kept:
            assert kept == {one.id for one in said}
            tasks.start_soon(forget, archive)
            await anyio.wait_all_tasks_blocked()
            assert archive.count == len(RETRIES)
        async with archive.holding(HERE, "s1") as left:
            assert said[2].id not in left


async def test_what_is_forgotten_while_it_waits_to_be_kept_is_not_kept(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        async with anyio.create_task_group() as tasks, archive._writing:
            tasks.start_soon(archive.add, talk(RETRIES, "s1"))
            await anyio.wait_all_tasks_blocked()
            since, until = NOW - YEAR, NOW + YEAR
            gone = module.Forgotten(scope=HERE, session="s1", since=since, until=until)
            archive._forgotten.add([gone])
        assert archive.count == 0


@pytest.mark.parametrize("forget", [forgotten_session, forgotten_span, forgotten_text])
async def test_what_is_being_kept_is_forgotten_as_well(tmp_path, embedder, forget):
    async with opened(tmp_path, embedder) as archive:
        async with anyio.create_task_group() as tasks, archive._writing:
            tasks.start_soon(forget, archive)
            await anyio.wait_all_tasks_blocked()
            await archive._add(talk(RETRIES, "s1"), ())
        assert not [p for p in await archive.show(HERE, "s1") if p.text == RETRIES[2][1]]


async def test_what_a_clock_that_went_back_dates_later_does_not_come_back(tmp_path, embedder):
    clock = FakeClock(NOW)
    async with opened(tmp_path, embedder, clock=clock) as archive:
        await archive.add(talk(RETRIES, "s1", days_ago=2))
        clock.now -= timedelta(days=3)
        assert await archive.forget_span(HERE, EPOCH, NOW + YEAR) == 4
        assert await archive.add(talk(RETRIES, "s1", days_ago=2)) == 0
        assert await archive.allow() == 1
        assert await archive.add(talk(RETRIES, "s1", days_ago=2)) == 4


async def test_a_failed_write_leaves_nothing_findable(tmp_path, embedder, monkeypatch):
    async with opened(tmp_path, embedder) as archive:

        def fail(*_):
            raise OSError("disk full")

        monkeypatch.setattr(module.table, "add", fail)
        with pytest.raises(OSError, match="disk full"):
            await archive.add(talk(RETRIES))
        assert archive.count == 0
        assert await shown(archive) == []


async def test_what_was_said_in_a_span_is_read_newest_session_first(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES, "s1", days_ago=10))
        await archive.add(talk(IDLE, "s2", days_ago=5))
        await archive.add(talk(IDLE, "s3", days_ago=5, scope=ELSEWHERE))
        both = Span(NOW - timedelta(days=12), NOW)

        hits = await archive.said(HERE, both, session="", limit=9)
        first = Span(NOW - timedelta(days=12), NOW - timedelta(days=10) + timedelta(minutes=2))
        [part] = await archive.said(HERE, first, session="", limit=9)

        assert [hit.session for hit in hits] == ["s2", "s1"]
        assert [passage.text for passage in part.passages] == [text for _, text in RETRIES[:2]]
        assert await archive.said(HERE, Span(NOW, NOW + YEAR), session="", limit=9) == ()
        assert [hit.session for hit in await archive.said(HERE, both, session="s2", limit=9)] == [
            "s1"
        ]
        assert len(await archive.said(HERE, both, session="", limit=1)) == 1


async def test_of_a_session_that_went_on_long_after_a_span_what_was_said_in_it_is_read(
    tmp_path, embedder
):
    async with opened(tmp_path, embedder) as archive:
        await archive.add([*talk(chatter(24), days_ago=10), *talk(chatter(120), days_ago=1)])
        span = Span(NOW - timedelta(days=11), NOW - timedelta(days=9))

        [hit] = await archive.said(HERE, span, session="", limit=9)

        assert hit.passages[-1].text == chatter(24)[-1][1]


async def test_an_episode_that_goes_on_for_days_is_read_for_each_of_them(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(resumed("s1", days_ago=10, after_days=5))
        await archive.add(talk(IDLE, "s2", days_ago=8))
        last = Span(NOW - timedelta(days=6), NOW - timedelta(days=4))
        between = Span(NOW - timedelta(days=9), NOW - timedelta(days=7))

        [hit] = await archive.said(HERE, last, session="", limit=9)

        *telling, done = [text for _, text in RETRIES_LATER]
        assert done == "Done."
        assert [passage.text for passage in hit.passages] == telling
        assert [one.session for one in await archive.said(HERE, between, session="", limit=9)] == [
            "s2"
        ]


async def test_without_a_span_the_end_of_the_newest_other_session_is_read(tmp_path, embedder):
    async with opened(tmp_path, embedder) as archive:
        await archive.add(talk(RETRIES * 12, "s1", days_ago=10))
        await archive.add(talk(IDLE, "s2", days_ago=5))

        [hit] = await archive.said(HERE, None, session="s2", limit=1)

        assert hit.session == "s1"
        assert hit.passages[-1].text == RETRIES[-1][1]
        assert len(hit.passages) < 48
