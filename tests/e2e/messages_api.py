"""A fake of the messages API that the agent talks to: it keeps each request and answers `done`."""

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
                if body.get("stream"):
                    self.answer(200, "text/event-stream", b"".join(events(body["model"])))
                else:
                    self.answer(
                        200, "application/json", json.dumps(message(body["model"])).encode()
                    )

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


def events(model: str) -> Iterator[bytes]:
    """The same answer as server-sent events."""
    start = {**message(model), "content": [], "stop_reason": None}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    delta = {"type": "text_delta", "text": TEXT["text"]}
    for event in (
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {**TEXT, "text": ""}},
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
        parts = [{"text": content}] if isinstance(content, str) else content
        blocks += [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "\n".join(blocks)
