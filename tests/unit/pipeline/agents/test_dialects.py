import json

import pytest
from msgspec import Raw

from subcog.pipeline.agents.agent import Payload
from subcog.pipeline.agents.dialects import as_failure, hides_outcome, translate, translate_answer

CONTEXT = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "x"}}


def test_claude_code_is_left_as_it_is():
    payload = Payload(hook_event_name="PreCompact", session_id="s")
    heard = translate("claude", "PreCompact", payload)

    assert (heard.client, heard.event, heard.payload) == ("claude", "PreCompact", payload)
    assert translate_answer(heard, b"plain text") == b"plain text"


def test_answer_goes_out_under_the_name_that_the_agent_used():
    heard = translate("gemini", "PostToolUse", Payload(hook_event_name="AfterTool"))

    said = json.loads(translate_answer(heard, json.dumps(CONTEXT).encode()))

    assert said["hookSpecificOutput"] == {"hookEventName": "AfterTool", "additionalContext": "x"}


@pytest.mark.parametrize("client", ["codex", "gemini"])
@pytest.mark.parametrize("body", [b"plain text", b"[1]", b""])
def test_agent_that_takes_json_alone_gets_nothing_else(client, body):
    heard = translate(client, "PreCompact", Payload(hook_event_name="PreCompact"))
    assert translate_answer(heard, body) == b"{}"


def test_codex_is_recognised_where_a_plugin_cannot_name_it():
    assert translate("other", "Stop", Payload(turn_id="t")).client == "codex"
    assert translate("other", "Stop", Payload()).client == "other"


def test_a_command_of_codex_that_failed_is_answered_under_the_name_of_its_hook():
    printed = {"tool_name": "Bash", "tool_use_id": "c", "tool_response": Raw(b'"no"')}
    payload = Payload(hook_event_name="PostToolUse", **printed)
    assert not hides_outcome(translate("claude", "PostToolUse", payload))
    heard = translate("codex", "PostToolUse", payload)
    assert hides_outcome(heard)

    failed = as_failure(heard)

    assert (failed.event, failed.payload.error) == ("PostToolUseFailure", "no")
    said = json.loads(translate_answer(failed, json.dumps(CONTEXT).encode()))
    assert said["hookSpecificOutput"]["hookEventName"] == "PostToolUse"


def test_hook_that_does_not_name_its_event_has_the_name_of_its_command():
    heard = translate("gemini", "SessionStart", Payload())
    assert translate_answer(heard, b'{"systemMessage": "x"}') == b'{"systemMessage": "x"}'
