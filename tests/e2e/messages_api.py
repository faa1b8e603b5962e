"""A fake of the messages API that the agent talks to: it keeps each request and answers `done`.

Where a test put commands into ``commands``, the next answers to the main loop run them first.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


class MessagesApi:
    """Listens on loopback."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.commands: list[str | Body] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def prompts(self) -> list[Body]:
        """The bodies of the agent's main loop, which are those that offer tools."""
        return [body for body in self.bodies if body.get("tools")]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_HEAD(self) -> None:
                self.answer(200, "application/json", b"{}")

            def do_GET(self) -> None:
                self.answer(200, "application/json", b"{}")

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.path.split("?")[0] != "/v1/messages":
                    self.answer(200, "application/json", b'{"input_tokens": 1}')
                    return
                body = json.loads(data)
                api.bodies.append(body)
                said = message(body["model"])
                if body.get("tools") and api.commands:
                    said |= run(api.commands.pop(0))
                if body.get("stream"):
                    self.answer(200, "text/event-stream", b"".join(events(said)))
                else:
                    self.answer(200, "application/json", json.dumps(said).encode())

            def answer(self, status: int, kind: str, data: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

        return Handler


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
