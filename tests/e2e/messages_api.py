"""A fake of the messages API that the agent talks to: it keeps each request and answers `done`.

Where a test put commands into ``commands``, the next answers to the main loop run them first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .loopback import EVENTS, JSON, Answer, LoopbackApi

Body = dict[str, Any]


class MessagesApi(LoopbackApi):
    """What Claude Code talks to."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.commands: list[str | Body] = []
        super().__init__()

    @property
    def prompts(self) -> list[Body]:
        """The bodies of the agent's main loop, which are those that offer tools."""
        return [body for body in self.bodies if body.get("tools")]

    def forget(self) -> None:
        self.bodies.clear()
        self.commands.clear()

    def post(self, path: str, data: bytes) -> Answer:
        if path.partition("?")[0] != "/v1/messages":
            return JSON, b'{"input_tokens": 1}'
        body = json.loads(data)
        self.bodies.append(body)
        said = message(body["model"])
        if body.get("tools") and self.commands:
            said |= run(self.commands.pop(0))
        if body.get("stream"):
            return EVENTS, b"".join(events(said))
        return JSON, json.dumps(said).encode()


TEXT = {"type": "text", "text": "done"}
USAGE = {"input_tokens": 10, "output_tokens": 1}


def message(model: str) -> Body:
    """A whole answer."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [TEXT],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def run(command: str | Body) -> Body:
    """What makes of a whole answer one that runs a shell command, uses the tool it names, or says
    a text.
    """
    if isinstance(command, dict) and "text" in command:
        return {"content": [TEXT | command]}
    if isinstance(command, str):
        inputs = {"command": command, "description": "run it"}
        command = {"name": "Bash", "input": inputs}
    tool = {"type": "tool_use", "id": f"toolu_{abs(hash(str(command)))}"}
    return {"content": [tool | command], "stop_reason": "tool_use"}


def events(said: Body) -> Iterator[bytes]:
    """The same answer as server-sent events."""
    start = {**said, "content": [], "stop_reason": None}
    stop = {"stop_reason": said["stop_reason"], "stop_sequence": None}
    (block,) = said["content"]
    if block["type"] == "text":
        empty = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    for event in (
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": USAGE},
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def texts_of(body: Body) -> str:
    """Everything that the model reads of the conversation, as one text."""
    blocks: list[str] = []
    for turn in body["messages"]:
        content = turn["content"]
        blocks += _texts(content)
    return "\n".join(blocks)


def _texts(content: Any) -> Iterator[str]:
    """The texts of a turn's content, and of what its tools returned."""
    if isinstance(content, str):
        yield content
        return
    for part in content:
        if isinstance(part.get("text"), str):
            yield part["text"]
        elif part.get("type") == "tool_result":
            yield from _texts(part.get("content") or "")
