from datetime import timedelta

from subcog.sinks.sessions import Sessions
from tests.fakes import NOW


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


def test_an_emptied_context_may_be_shown_everything_again():
    sessions = Sessions()
    sessions.show("s1", pairs(1))
    sessions.forget_shown("s1")
    sessions.forget_shown("unknown")
    assert sessions.shown("s1") == frozenset()


def test_status_lists_the_latest_session_first():
    sessions = Sessions()
    sessions.touch("s1", client="claude-code", event="SessionStart", now=NOW)
    sessions.touch("s2", client="codex", event="SessionStart", now=NOW)
    later = NOW + timedelta(minutes=1)
    sessions.touch("s1", client="", event="UserPromptSubmit", now=later)
    sessions.show("s1", pairs(1, 2))
    first, second = sessions.list()
    assert (first.session, first.client, first.last_event) == (
        "s1",
        "claude-code",
        "UserPromptSubmit",
    )
    assert (first.events, first.shown, first.started_at, first.seen_at) == (2, 2, NOW, later)
    assert second.session == "s2"


def test_a_session_that_is_over_is_gone():
    sessions = Sessions()
    sessions.touch("s1", client="codex", event="SessionEnd", now=NOW)
    sessions.end("s1")
    sessions.end("s1")
    assert sessions.list() == ()


def test_a_session_that_is_over_and_resumed_still_has_what_it_saw():
    sessions = Sessions()
    sessions.touch("s1", client="claude", event="SessionEnd", now=NOW)
    sessions.show("s1", pairs(1))
    sessions.greet("s1")
    sessions.end("s1")
    assert (sessions.shown("s1"), sessions.is_greeted("s1")) == (pairs(1), True)


def test_an_emptied_context_has_lost_what_it_was_shown_and_what_it_captured():
    sessions = Sessions()
    for number in (1, 2):
        sessions.show("s1", pairs(number))
    sessions.keep("s1", "mem_3")
    sessions.keep("s1", "mem_2")
    sessions.keep("", "mem_4")
    assert sessions.lost("s1") == ()
    sessions.greet("s1")
    sessions.forget_shown("s1")
    assert sessions.lost("s1") == ("mem_2", "mem_1", "mem_3")
    assert not sessions.is_greeted("s1")
    assert sessions.lost("unknown") == ()


def test_of_what_one_session_captured_the_oldest_is_forgotten_first():
    sessions = Sessions(max_shown=2)
    for number in (1, 2, 3):
        sessions.keep("s1", f"mem_{number}")
    sessions.forget_shown("s1")
    assert sessions.lost("s1") == ("mem_3", "mem_2")
