from operator import itemgetter

import pytest

from subcog.bus.events import IntentRefined
from subcog.bus.signals import asked
from subcog.bus.values import DetectionSource, Vote
from subcog.sinks.llm.late_answers import LateAnswers, tell_late
from tests.emissions import emitted
from tests.fakes import make_classified, make_intent, make_parsed, make_prompt


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
    waiting = LateAnswers(now=lambda: 0.0)
    waiting.put(event := refined("one"))
    assert waiting.take("two") is None
    assert waiting.take("one") is event
    assert waiting.take("one") is None
    assert told == []


def test_the_newer_one_replaces_the_older_which_was_of_no_use(told):
    waiting = LateAnswers(now=lambda: 0.0)
    waiting.put(refined("one"))
    waiting.put(newer := refined("one"))
    assert told == [("late_unused", 0.6)]
    assert waiting.take("one") is newer


def test_what_waited_too_long_is_given_up(told):
    moments = iter([0.0, 11.0])
    waiting = LateAnswers(now=lambda: next(moments), max_age_s=10)
    waiting.put(refined("one"))
    assert waiting.take("one") is None
    assert told == [("late_unused", 0.6)]


def test_of_too_many_sessions_the_first_gives_up(told):
    waiting = LateAnswers(now=lambda: 0.0, max_sessions=2)
    for session in ("one", "two", "three"):
        waiting.put(refined(session))
    assert len(waiting) == 2
    assert waiting.take("one") is None
    assert told == [("late_unused", 0.6)]


def test_a_session_that_ends_drops_what_waits_for_it(told):
    waiting = LateAnswers(now=lambda: 0.0)
    waiting.put(refined("one"))
    waiting.drop("one")
    waiting.drop("one")
    assert told == [("late_unused", 0.6)]


def test_use_is_told_as_such(told):
    tell_late(refined("one"), used=True)
    assert told == [("late_used", 0.6)]
