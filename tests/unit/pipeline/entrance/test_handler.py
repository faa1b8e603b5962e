import msgspec
import pytest

from subcog.pipeline.entrance.handler import room_beside, trace_of, with_greeting
from subcog.sinks.sessions import SessionState
from subcog.stages.inject import MAX_TOKENS
from subcog.stages.text.envelope import MAX_UNITS
from subcog.stages.text.unicode import count_tokens, count_units


def test_an_identity_gives_a_trace_and_anything_else_none():
    assert len(trace_of("0" * 32)) == 26
    assert trace_of("") == trace_of("x" * 32) == trace_of("f" * 33) == ""


@pytest.mark.parametrize("own", ["", "a short note " * 30, "word " * 1500, "漢" * 3000])
def test_two_contexts_in_one_answer_stay_inside_its_limits(own):
    room = room_beside(own)
    assert 0 <= room <= MAX_TOKENS - count_tokens(own) or room == 0
    assert count_units(own) > MAX_UNITS or count_units(own) + 1 + 4 * room <= MAX_UNITS


def says(event, context):
    output = {"hookEventName": event, "additionalContext": context}
    return msgspec.json.encode({"hookSpecificOutput": output} if context else {})


def context_of(body):
    return msgspec.json.decode(body).get("hookSpecificOutput", {}).get("additionalContext", "")


def test_a_greeting_comes_once_with_the_first_prompt_before_what_that_brings():
    session = SessionState()
    start = with_greeting(session, "SessionStart", says("SessionStart", "hello"))
    assert start == b"{}"
    tool = says("PostToolUse", "a reminder")
    assert with_greeting(session, "PostToolUse", tool) == tool
    first, second = (
        context_of(with_greeting(session, "UserPromptSubmit", says("UserPromptSubmit", "found")))
        for _ in range(2)
    )
    assert first == "hello\nfound"
    assert second == "found"


def test_a_session_that_starts_again_is_greeted_anew_and_silence_keeps_the_greeting():
    session = SessionState()
    for greeting in ("before", "after", ""):
        with_greeting(session, "SessionStart", says("SessionStart", greeting))
    prompt = says("UserPromptSubmit", "")
    assert context_of(with_greeting(session, "UserPromptSubmit", prompt)) == "after"


def test_a_greeting_that_does_not_fit_waits_for_the_next_prompt():
    session = SessionState()
    with_greeting(session, "SessionStart", says("SessionStart", "hello to everybody " * 20))
    full = says("UserPromptSubmit", "word " * 2200)
    assert with_greeting(session, "UserPromptSubmit", full) == full
    assert context_of(with_greeting(session, "UserPromptSubmit", b"{}"))
