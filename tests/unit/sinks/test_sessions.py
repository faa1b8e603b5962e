from datetime import timedelta
from operator import itemgetter

import pytest

from subcog.bus.events import IntentRefined, MemoriesShown
from subcog.bus.prompts import DetectionSource, Verdict, Vote
from subcog.bus.signals import asked
from subcog.bus.values import Ended, Shown
from subcog.sinks.sessions import MAX_LATE_AGE_S, MAX_REASONS, Reason, Sessions, emit_late
from tests.emissions import emitted
from tests.fakes import NOW, make_built, make_classified, make_intent, make_parsed, make_prompt

ENDED = Ended(memory_id="mem_1", version=3, summary="No runner", how="closed as done")


def pairs(*numbers):
    return frozenset((f"mem_{number}", 1) for number in numbers)


def test_a_session_has_seen_what_it_was_shown():
    sessions = Sessions()
    sessions.show("s1", pairs(1))
    sessions.show("s1", pairs(2))
    assert sessions.shown("s1") == pairs(1, 2)
    assert sessions.shown("s2") == frozenset()


def test_of_one_session_the_oldest_is_forgotten_first():
    sessions = Sessions(max_shown=2)
    for number in (1, 2, 1, 3):
        sessions.show("s1", pairs(number))
    assert sessions.shown("s1") == pairs(1, 3)


def test_the_session_that_was_quiet_longest_is_forgotten_first():
    sessions = Sessions(max_sessions=2)
    for name in ("s1", "s2", "s1", "s3"):
        sessions.show(name, pairs(1))
    assert len(sessions) == 2
    assert sessions.shown("s2") == frozenset()
    assert sessions.shown("s1") == pairs(1)


def test_without_a_name_nothing_is_remembered():
    sessions = Sessions()
    sessions.show("", pairs(1))
    sessions.touch("", client="cli", event="Stop", now=NOW)
    assert sessions.shown("") == frozenset()
    assert len(sessions) == 0


def test_what_did_not_arrive_was_not_shown():
    sessions = Sessions()
    sessions.show("s1", pairs(1))
    sessions.warn("s1", pairs(1))
    with sessions.kept_on_failure("t1") as take_back:
        sessions.show("s1", pairs(1, 2), by="t1")
        sessions.warn("s1", pairs(2), by="t1")
        sessions.greet("s1", by="t1")
    assert sessions.warned("s1") == pairs(1, 2)
    take_back()
    assert sessions.shown("s1") == sessions.warned("s1") == pairs(1)
    assert not sessions.is_greeted("s1")


def test_a_late_answer_that_did_not_arrive_waits_again():
    sessions = Sessions(now=lambda: 0.0)
    first, second = (refined("s1") for _ in "12")
    sessions.put_late_answer(first)
    with sessions.kept_on_failure("t1") as take_back:
        assert sessions.take_late_answer("s1", by="t1") is first
    take_back()
    with sessions.kept_on_failure("t2") as take_back:
        assert sessions.take_late_answer("s1", by="t2") is first
    sessions.put_late_answer(second)
    take_back()  # a newer one waits already
    assert sessions.take_late_answer("s1") is second


def test_what_another_hook_of_the_session_did_meanwhile_stays():
    sessions = Sessions()
    sessions.put_late_answer(refined("s1"))
    sessions.note_closed("s1", ENDED)
    with sessions.kept_on_failure("t1") as take_back:
        sessions.show("s1", pairs(1), by="t1")
        with sessions.kept_on_failure("t2"):
            sessions.show("s1", pairs(1, 2), by="t2")
            sessions.warn("s1", pairs(2), by="t2")
            sessions.greet("s1", by="t2")
            assert sessions.take_late_answer("s1", by="t2")
            assert sessions.take_closed("s1", by="t2")
    take_back()
    assert (sessions.shown("s1"), sessions.warned("s1")) == (pairs(2), pairs(2))
    assert sessions.is_greeted("s1")
    assert sessions.take_late_answer("s1") is None
    assert sessions.take_closed("s1") == ()


def test_what_the_user_was_to_be_told_and_did_not_hear_is_told_again():
    sessions = Sessions()
    sessions.note_unasked("s1", "mem_1", "decisions")
    sessions.note_closed("s1", ENDED)
    sessions.note_replaced("s1", "mem_3")
    sessions.note_denied("s1", "mem_5", by="mem_6")
    with sessions.kept_on_failure("t1") as take_back:
        assert sessions.take_unasked("s1", by="t1") == ("decisions",)
        assert sessions.take_closed("s1", by="t1") == (ENDED,)
        assert sessions.take_replaced("s1", by="t1") == ("mem_3",)
        assert sessions.take_denied("s1", by="t1") == (("mem_5", "mem_6"),)
    sessions.note_unasked("s1", "mem_4", "gotchas")
    take_back()
    take_back()
    assert sessions.take_unasked("s1") == ("decisions", "gotchas")
    assert sessions.take_closed("s1") == (ENDED,)
    assert sessions.take_replaced("s1") == ("mem_3",)
    assert sessions.take_replaced("s1") == ()
    assert sessions.take_denied("s1") == (("mem_5", "mem_6"),)


@pytest.mark.parametrize("session", ["s1", "s1/a1", ""])
def test_what_fails_has_shown_nothing_to_a_session_that_began_with_it(session):
    sessions = Sessions()

    def warn_too_late():
        with sessions.kept_on_failure("t1"):
            sessions.warn(session, pairs(1), by="t1")
            raise TimeoutError

    with pytest.raises(TimeoutError):
        warn_too_late()
    assert sessions.warned(session) == frozenset()


def test_an_emptied_context_may_be_shown_everything_again():
    sessions = Sessions()
    sessions.show("s1", pairs(1))
    sessions.warn("s1", pairs(1))
    sessions.forget_shown("s1")
    sessions.forget_shown("unknown")
    assert sessions.shown("s1") == sessions.warned("s1") == frozenset()


def test_what_its_hooks_said_is_known_of_a_session():
    sessions = Sessions()
    sessions.touch("s1", client="claude-code", event="SessionStart", now=NOW)
    sessions.touch("s2", client="codex", event="SessionStart", now=NOW)
    later = NOW + timedelta(minutes=1)
    sessions.touch("s1", client="", event="UserPromptSubmit", now=later)
    sessions.show("s1", pairs(1, 2))
    info = sessions.info("s1")
    assert (info.session, info.client, info.last_event) == (
        "s1",
        "claude-code",
        "UserPromptSubmit",
    )
    assert (info.events, info.shown, info.started_at, info.seen_at) == (2, 2, NOW, later)
    assert sessions.info("s2").client == "codex"
    assert sessions.info("s3") is None


def test_a_session_that_is_over_is_gone():
    sessions = Sessions()
    sessions.touch("s1", client="codex", event="SessionEnd", now=NOW)
    sessions.end("s1")
    sessions.end("s1")
    assert sessions.info("s1") is None


def test_a_session_that_is_over_and_resumed_still_has_what_it_saw():
    sessions = Sessions()
    sessions.touch("s1", client="claude", event="SessionEnd", now=NOW)
    sessions.show("s1", pairs(1))
    sessions.greet("s1")
    sessions.end("s1")
    assert (sessions.shown("s1"), sessions.is_greeted("s1")) == (pairs(1), True)


def test_what_was_kept_unasked_is_taken_once():
    sessions = Sessions()
    sessions.note_unasked("s1", "mem_1", "decisions")
    sessions.note_unasked("s1", "mem_2", "gotchas")
    sessions.note_unasked("s1", "mem_1", "decisions")
    assert sessions.take_unasked("s1") == ("gotchas", "decisions")
    assert sessions.take_unasked("s1") == sessions.take_unasked("s2") == ()


def test_an_emptied_context_has_lost_what_it_was_shown_and_what_it_captured():
    sessions = Sessions()
    for number in (1, 2):
        sessions.show("s1", pairs(number))
    sessions.note_capture("s1", "mem_3")
    sessions.note_capture("s1", "mem_2")
    sessions.note_capture("", "mem_4")
    assert sessions.lost("s1") == ()
    sessions.greet("s1")
    sessions.forget_shown("s1")
    assert sessions.lost("s1") == ("mem_2", "mem_1", "mem_3")
    assert not sessions.is_greeted("s1")
    assert sessions.lost("unknown") == ()


def test_of_what_one_session_captured_the_oldest_is_forgotten_first():
    sessions = Sessions(max_shown=2)
    for number in (1, 2, 3):
        sessions.note_capture("s1", f"mem_{number}")
    sessions.forget_shown("s1")
    assert sessions.lost("s1") == ("mem_3", "mem_2")


def verdict(memory_id, injected=True, why="the best"):
    return Verdict(
        memory_id=memory_id,
        namespace="decisions",
        summary="x",
        text=0.0,
        late=0.0,
        vector=0.0,
        relevance=0.5,
        weight=1.0,
        score=0.5,
        injected=injected,
        why=why,
    )


def built(*verdicts, session="s1", **changes):
    prompt = make_prompt(session=session, **changes)
    classified = make_classified(parsed=make_parsed(prompt))
    return make_built(classified, verdicts=verdicts)


def test_why_a_memory_was_shown_is_known_in_its_session_alone():
    sessions = Sessions()
    sessions.note_reasons(built(verdict("mem_1"), verdict("mem_2", injected=False)))

    assert sessions.reason("s1", "mem_1") == Reason(0.5, "the best")
    assert sessions.reason("s1", "mem_2") is None
    assert sessions.reason("s2", "mem_1") is None


@pytest.mark.parametrize("changes", [{"rehearsal": True}, {"session": ""}])
def test_what_nobody_was_shown_is_not_remembered(changes):
    sessions = Sessions()
    sessions.note_reasons(built(verdict("mem_1"), **changes))
    assert sessions.reason(changes.get("session", "s1"), "mem_1") is None


def test_of_the_reasons_of_one_session_the_oldest_is_forgotten_first():
    sessions = Sessions()
    verdicts = [verdict(f"mem_{number}") for number in range(MAX_REASONS)]
    sessions.note_reasons(built(*verdicts))
    sessions.note_reasons(built(verdict("mem_0"), verdict("mem_new")))
    assert sessions.reason("s1", "mem_0")
    assert sessions.reason("s1", "mem_1") is None
    assert sessions.reason("s1", "mem_new")


def test_why_a_memory_was_shown_at_another_moment_is_known_too():
    sessions = Sessions()
    one = Shown(memory_id="mem_1", score=0.9, why="names the file")
    sessions.note_shown_reasons(
        MemoriesShown(trace="t1", session="s1", hook="PostToolUse", shown=(one,))
    )
    assert sessions.reason("s1", "mem_1") == Reason(0.9, "PostToolUse: names the file")


@pytest.fixture
def told():
    with emitted(asked, itemgetter("outcome", "took_s")) as outcomes:
        yield outcomes


def refined(session):
    intent = make_intent(90)
    vote = Vote(racer=DetectionSource.LLM, intent=intent, took_ms=600)
    classified = make_classified(parsed=make_parsed(make_prompt(session=session)))
    return IntentRefined(trace="t1", classified=classified, vote=vote, intent=intent)


def test_what_waits_is_given_once_to_its_session_alone(told):
    sessions = Sessions(now=lambda: 0.0)
    sessions.put_late_answer(event := refined("one"))
    assert sessions.take_late_answer("two") is None
    assert sessions.take_late_answer("one") is event
    assert sessions.take_late_answer("one") is None
    assert told == []


def test_the_newer_one_replaces_the_older_which_was_of_no_use(told):
    sessions = Sessions(now=lambda: 0.0)
    sessions.put_late_answer(refined("one"))
    sessions.put_late_answer(newer := refined("one"))
    assert told == [("late_unused", 0.6)]
    assert sessions.take_late_answer("one") is newer


def test_what_waited_too_long_is_given_up(told):
    moments = iter([0.0, MAX_LATE_AGE_S + 1])
    sessions = Sessions(now=lambda: next(moments))
    sessions.put_late_answer(refined("one"))
    assert sessions.take_late_answer("one") is None
    assert told == [("late_unused", 0.6)]


def test_of_too_many_sessions_the_first_gives_up(told):
    sessions = Sessions(now=lambda: 0.0, max_sessions=2)
    for session in ("one", "two", "three"):
        sessions.put_late_answer(refined(session))
    assert len(sessions) == 2
    assert sessions.take_late_answer("one") is None
    assert told == [("late_unused", 0.6)]


def test_a_session_that_ends_drops_what_waits_for_it(told):
    sessions = Sessions(now=lambda: 0.0)
    sessions.put_late_answer(refined("one"))
    sessions.end("one")
    sessions.end("one")
    assert told == [("late_unused", 0.6)]


def test_the_use_of_a_late_answer_is_told_as_such(told):
    emit_late(refined("one"), used=True)
    assert told == [("late_used", 0.6)]


def test_what_the_start_said_holds_for_the_session():
    sessions = Sessions()
    assert sessions.project_dir("s", given="/p") == "/p"
    assert sessions.project_dir("s", given="") == "/p"
    assert sessions.project_dir("other", given="") == ""


def test_start_without_a_project_is_where_the_agent_is():
    sessions = Sessions()
    assert sessions.project_dir("s", given="", start="/cwd") == "/cwd"
    assert sessions.project_dir("s", given="") == "/cwd"
    assert sessions.project_dir("s", given="/named", start="/cwd") == "/named"


@pytest.mark.parametrize(
    ("source", "expected"),
    [("compact", "/p"), ("clear", "/p"), ("", "/p"), ("resume", "/p/sub"), ("startup", "/p/sub")],
)
def test_a_session_that_starts_again_in_the_middle_keeps_its_project(source, expected):
    sessions = Sessions()
    assert sessions.project_dir("s", given="", start="/p", source="compact") == "/p"
    assert sessions.project_dir("s", given="", start="/p/sub", source=source) == expected
    assert sessions.project_dir("s", given="") == expected


def test_the_project_of_a_session_without_a_name_is_not_remembered():
    sessions = Sessions()
    assert sessions.project_dir("", given="/p") == "/p"
    assert sessions.project_dir("", given="") == ""


def test_the_project_of_the_session_that_was_quiet_longest_is_forgotten():
    sessions = Sessions(max_sessions=2)
    for session in ("a", "b"):
        sessions.project_dir(session, given=f"/{session}")
    sessions.project_dir("a", given="")
    sessions.project_dir("c", given="/c")

    assert [sessions.project_dir(session, given="") for session in ("a", "b", "c")] == [
        "/a",
        "",
        "/c",
    ]


class Part:
    def __init__(self):
        self.value = 0


def test_what_another_room_keeps_in_a_session_goes_with_it():
    sessions = Sessions(max_sessions=1)
    sessions.state("s1").part(Part).value = 1
    assert sessions.state("s1").part(Part).value == 1
    sessions.state("s2")
    assert sessions.state("s1").part(Part).value == 0


def test_what_a_nameless_session_keeps_is_never_seen_again():
    sessions = Sessions()
    sessions.state("").part(Part).value = 1
    assert sessions.state("").part(Part).value == 0


def test_a_session_begins_until_its_first_prompt_unless_it_goes_on_with_an_earlier_one():
    sessions = Sessions()
    for source, begins in [
        ("startup", True),
        ("clear", True),
        ("resume", False),
        ("compact", False),
    ]:
        sessions.note_start("s", source)
        assert sessions.begins("s") is begins
    sessions.note_start("s", "startup")
    sessions.follow("s", "continue")
    assert not sessions.begins("s")
    assert not sessions.begins("another")
