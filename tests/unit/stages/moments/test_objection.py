import pytest

from subcog.stages.moments.objection import is_about_memory, objection_of, speaks_of

CACHE = "We keep sessions in Redis, with a time to live of 30 minutes"


@pytest.mark.parametrize(
    "prompt",
    [
        "no, that's outdated: sessions live in Postgres now",
        "That's wrong. We don't keep sessions in Redis any more",
        "we no longer use redis for sessions",
        "No — we moved off Redis for the sessions last month",
        "stop using redis for that",
        "Nope, sessions are not in Redis",
    ],
)
def test_an_objection_that_names_the_subject_is_seen(prompt):
    assert speaks_of(objection_of(prompt), CACHE)


@pytest.mark.parametrize(
    "prompt",
    [
        "no problem, now add sessions for redis",
        "no idea why, but redis keeps the sessions too long",
        "How long do we keep sessions in redis?",
        "now add a test for the redis sessions",
        "yes, that's right, redis keeps the sessions",
        "actually, show me the session code of redis first",
        "```\nthat's wrong: sessions in redis\n```",
        "go on. " * 200 + "that's outdated: sessions in redis",
    ],
)
def test_what_objects_to_nothing_is_no_objection(prompt):
    assert objection_of(prompt) == ""


@pytest.mark.parametrize("prompt", ["no, that's wrong", "we don't want tabs here, use spaces"])
def test_an_objection_to_something_else_does_not_speak_of_it(prompt):
    assert objection_of(prompt)
    assert not speaks_of(objection_of(prompt), CACHE)


def test_an_objection_may_say_that_a_note_is_meant():
    assert is_about_memory(objection_of("that memory is outdated"))
    assert not is_about_memory(objection_of("that approach is outdated"))
