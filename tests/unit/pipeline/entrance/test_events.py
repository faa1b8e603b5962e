import json

import pytest
from msgspec import Raw
from msgspec.structs import replace

from subcog.bus.events import (
    ActionProposed,
    CompactionStarted,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolFailed,
    ToolUsed,
    TurnEnded,
)
from subcog.bus.values import Action
from subcog.config.load import load_settings
from subcog.pipeline.agents.agent import Payload, read_payload
from subcog.pipeline.entrance.events import (
    HOOK_EVENTS,
    HookCall,
    as_failure,
    hides_outcome,
    translate,
    translate_answer,
)
from tests.fakes import PLACE


@pytest.fixture
def hook(tmp_path):
    return load_settings(tmp_path / "none.toml", {}).settings.hook


def made(name, hook, payload, **changes):
    body = json.dumps(payload).encode()
    fields = {"trace": "t1", "session": "s1", "client": "claude", "place": PLACE, "hook": hook}
    return HOOK_EVENTS[name].make(HookCall(payload=read_payload(body), **(fields | changes)))


EDIT = {
    "tool_name": "Edit",
    "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"},
    "tool_response": {"filePath": "a.py", "originalFile": "a", "structuredPatch": []},
    "agent_id": "a1",
}


def test_a_tool_that_changes_a_file_is_told_with_the_file_and_the_change(hook):
    event = made("PostToolUse", hook, EDIT, detailed=True)
    assert isinstance(event, ToolUsed)
    assert event.action == Action(tool="Edit", paths=("a.py",), written="b", replaced="a")
    assert event.agent == "a1"
    assert event.detailed


def test_a_tool_that_is_about_to_be_used_is_told_with_what_it_is_for(hook):
    run = {"command": "make deploy", "description": "Ship it"}
    event = made("PreToolUse", hook, {"tool_name": "Bash", "tool_input": run, "agent_id": "a1"})
    assert isinstance(event, ActionProposed)
    assert event.action == Action(tool="Bash", command="make deploy", purpose="Ship it")
    assert event.agent == "a1"
    assert made("PreToolUse", hook, {"tool_name": "Read", "tool_input": {"file_path": "a"}}) is None


@pytest.mark.parametrize("tool", ["Glob", "Read", "mcp__x__write", ""])
def test_other_tools_are_left_alone_unless_they_are_named(hook, tool):
    payload = EDIT | {"tool_name": tool}
    assert made("PostToolUse", hook, payload) is None
    named = replace(hook, post_tool_use=replace(hook.post_tool_use, tools=(tool,)))
    assert isinstance(made("PostToolUse", named, payload), ToolUsed)


def test_the_prompt_of_a_sub_agent_is_not_one_of_the_users(hook):
    prompt = {"prompt": "[remember] The sky is green"}
    assert isinstance(made("UserPromptSubmit", hook, prompt), PromptSubmitted)
    assert made("UserPromptSubmit", hook, prompt | {"agent_id": "a1"}) is None


def test_a_failed_tool_is_told_with_its_error(hook):
    payload = {"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "Exit code 1\nno"}
    event = made("PostToolUseFailure", hook, payload)
    assert isinstance(event, ToolFailed)
    assert (event.error, event.action.command, event.hook) == (
        "Exit code 1\nno",
        "make",
        "PostToolUseFailure",
    )


def test_a_failure_that_comes_as_an_answer_is_one_all_the_same(hook):
    payload = {"tool_name": "Bash", "tool_response": "Exit code 1\nno"}
    event = made("PostToolUse", hook, payload)
    assert isinstance(event, ToolFailed)
    assert (event.error, event.hook) == ("Exit code 1\nno", "PostToolUse")


def test_each_moment_can_be_switched_off(hook):
    off = replace(
        hook,
        session_start=replace(hook.session_start, enabled=False),
        pre_tool_use=replace(hook.pre_tool_use, enabled=False),
        post_tool_use=replace(hook.post_tool_use, enabled=False),
        post_tool_use_failure=replace(hook.post_tool_use_failure, enabled=False),
    )
    assert made("SessionStart", off, {"source": "startup"}) is None
    assert made("PreToolUse", off, EDIT) is None
    assert made("PostToolUse", off, EDIT) is None
    assert made("PostToolUse", off, {"tool_response": "Exit code 1\nno"}) is None
    assert made("PostToolUseFailure", off, {"error": "no"}) is None


def test_the_start_of_a_session_is_told_with_its_source(hook):
    event = made("SessionStart", hook, {"source": "compact"})
    assert isinstance(event, SessionStarted)
    assert event.source == "compact"


ENDED = {
    "transcript_path": "/t/s.jsonl",
    "agent_transcript_path": "/t/agent.jsonl",
    "last_assistant_message": "done",
}


def test_a_compaction_a_turn_and_a_session_are_told_with_their_transcript(hook):
    compaction = made("PreCompact", hook, ENDED | {"trigger": "auto"})
    assert isinstance(compaction, CompactionStarted)
    assert (compaction.transcript, compaction.trigger) == ("/t/s.jsonl", "auto")

    turn = made("Stop", hook, ENDED)
    assert isinstance(turn, TurnEnded)
    assert (turn.transcript, turn.agent, turn.said) == ("/t/s.jsonl", "", "done")

    end = made("SessionEnd", hook, ENDED | {"reason": "clear"})
    assert isinstance(end, SessionEnded)
    assert (end.transcript, end.reason) == ("/t/s.jsonl", "clear")


def test_a_sub_agent_is_told_with_its_own_transcript_and_a_summariser_is_none(hook):
    turn = made("SubagentStop", hook, ENDED | {"agent_type": "Explore"})
    assert isinstance(turn, TurnEnded)
    assert (turn.transcript, turn.agent) == ("/t/agent.jsonl", "Explore")

    assert made("SubagentStop", hook, ENDED | {"agent_type": ""}) is None


@pytest.mark.parametrize("event", ["PreCompact", "Stop", "SubagentStop", "SessionEnd"])
def test_moments_without_a_transcript_or_switched_off(hook, event):
    payload = {"transcript_path": None, "agent_transcript_path": None, "agent_type": "x"}
    assert made(event, hook, payload).transcript == ""

    off = replace(hook.stop, enabled=False)
    assert made(event, replace(hook, stop=off, pre_compact=off), payload) is None


def test_no_hook_waits_for_what_only_looks_back():
    assert [name for name, moment in HOOK_EVENTS.items() if not moment.answers] == [
        "Stop",
        "SubagentStop",
        "SessionEnd",
    ]


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
