import json

import pytest

from subcog.pipeline.agents.install import FIELDS
from subcog.sinks.mcp.tools import call_hook


class FakePort:
    """Notes what it is asked."""

    def __init__(self, said: bytes = b"{}") -> None:
        self.said = said
        self.asked: list[tuple[str, str, dict]] = []

    async def hook(self, event: str, client: str, payload: bytes) -> bytes:
        self.asked.append((event, client, json.loads(payload)))
        return self.said


async def test_a_field_nested_without_end_stays_a_text():
    port = FakePort()
    deep = "[" * 100_000 + "]" * 100_000

    await call_hook(port, {"event": "PostToolUse", "payload": {"tool_input": deep}})

    assert port.asked == [("PostToolUse", "", {"tool_input": deep})]


async def test_fields_become_the_payload_again():
    port = FakePort(b'{"systemMessage": "x"}')
    payload = {
        "prompt": "what is ${this}?",
        "cwd": "${cwd}",
        "tool_input": '{"file_path": "a"}',
        "tool_response": "no JSON",
    }

    got = await call_hook(port, {"event": "Stop", "client": "claude", "payload": payload})

    assert [part.text for part in got.content] == ['{"systemMessage": "x"}']
    assert port.asked == [
        (
            "Stop",
            "claude",
            {
                "prompt": "what is ${this}?",
                "tool_input": {"file_path": "a"},
                "tool_response": "no JSON",
            },
        )
    ]


def test_each_event_hands_over_what_its_answer_is_made_from():
    tools = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit")
    assert all("agent_id" in FIELDS[event] for event in tools)
    assert all("last_assistant_message" in FIELDS[event] for event in ("Stop", "SubagentStop"))


async def test_an_interrupted_tool_is_told_as_one():
    port = FakePort()
    payload = {"is_interrupt": "true", "agent_id": "${agent_id}"}
    await call_hook(port, {"event": "PostToolUseFailure", "payload": payload})
    assert port.asked == [("PostToolUseFailure", "", {"is_interrupt": True})]


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        {},
        {"event": 7},
        {"event": "Stop", "payload": [1]},
        {"event": "my password is x"},
        {"event": "Stop", "client": "a text\\n"},
        {"event": "S" * 65},
    ],
)
async def test_what_is_no_hook_changes_nothing(arguments):
    port = FakePort()
    got = await call_hook(port, arguments)
    assert ([part.text for part in got.content], port.asked) == (["{}"], [])


async def test_plain_text_is_not_said_to_a_tool_call():
    got = await call_hook(FakePort(b"plain"), {"event": "PreCompact"})
    assert [part.text for part in got.content] == ["{}"]
