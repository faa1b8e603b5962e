"""Payloads as Codex 0.169 and some older versions write them."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from subcog.bus.sessions import ToolResult
from subcog.sinks.transcripts.lines import read_codex

OUTPUT = "Chunk ID: 96cf29\nProcess exited with code {code}\nOutput:\n1 failed\n"


def read(**payload):
    return read_codex(Raw(json.dumps(payload).encode()), 1000)


@pytest.mark.parametrize(
    ("payload", "role"),
    [
        ({"type": "user_message", "message": "hello"}, "user"),
        ({"type": "agent_message", "message": "hello"}, "assistant"),
        (
            {"type": "item_completed", "item": {"type": "UserMessage", "content": "hello"}},
            "user",
        ),
        (
            {
                "type": "item_completed",
                "item": {"type": "AgentMessage", "content": [{"type": "Text", "text": "hello"}]},
            },
            "assistant",
        ),
    ],
)
def test_what_is_for_the_eye_is_what_was_said(payload, role):
    said = read(**payload)

    assert (said.role, said.text, said.said_at_ms) == (role, "hello", 1000)


def test_what_the_client_puts_before_the_model_was_not_said():
    injected = [{"type": "input_text", "text": "<environment_context> we decided"}]

    assert read(type="message", role="user", content=injected) is None
    assert read(type="message", role="developer", content=injected) is None
    assert read(type="item_completed", item={"type": "CommandExecution"}) is None
    assert read(type="item_completed", item=7) is None


def test_what_an_editor_put_before_a_prompt_was_not_said():
    selected = "# Context from my IDE setup:\n\n## Active selection of the file:\nwe decided"
    sent = f"{selected}\n\n## My request for Codex:\nexplain this"

    assert read(type="user_message", message=sent).text == "explain this"
    assert read(type="user_message", message=f"{selected}\n## My request for Codex:\n") is None
    assert read(type="agent_message", message=sent).text == sent


@pytest.mark.parametrize("given", [{"cmd": "pytest -q"}, {"command": ["pytest", "-q"]}])
def test_a_command_is_run(given):
    said = read(
        type="function_call", name="exec_command", arguments=json.dumps(given), call_id="c1"
    )

    assert [(call.id, call.command) for call in said.calls] == [("c1", "pytest -q")]


def test_a_patch_changes_files():
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n*** Add File: src/b.py\n*** End Patch"
    said = read(type="custom_tool_call", name="apply_patch", input=patch, call_id="c")

    assert said.calls[0].paths == ("src/a.py", "src/b.py")


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        (OUTPUT.format(code=3), True),
        (OUTPUT.format(code=0), False),
        (json.dumps({"output": "1 failed", "metadata": {"exit_code": 1}}), True),
        (json.dumps({"output": "ok", "metadata": {"exit_code": 0}}), False),
        ({"output": "ok"}, False),
        ("{ no json", False),
        (None, False),
    ],
)
def test_the_exit_code_says_how_a_command_ended(output, failed):
    (result,) = read(type="function_call_output", call_id="c1", output=output).results

    assert isinstance(result, ToolResult)
    assert (result.id, result.failed) == ("c1", failed)
