"""Fakes of the APIs that Codex and Gemini CLI talk to: each keeps its requests and answers `done`.

Where a test put tool uses into ``commands``, ``{"name": …, "input": …}`` each or a function that
makes one of the request, the next answers use those tools first.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


class OtherApi:
    """Listens on loopback. What a subclass says of a request, it says as server-sent events."""

    path = ""

    def __init__(self) -> None:
        self.prompts: list[Body] = []
        self.commands: list[Body | Callable[[Body], Body]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def events(self, used: Body | None) -> Iterable[Body]:
        raise NotImplementedError

    def next_for(self, body: Body) -> Body | None:
        """What to answer ``body`` with; None for `done`."""
        used = self.commands.pop(0) if self.commands else None
        return used(body) if callable(used) else used

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                self.answer("application/json", b'{"object": "list", "data": [], "models": []}')

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                if api.path not in self.path:
                    self.answer("application/json", b'{"totalTokens": 1}')
                    return
                api.prompts.append(json.loads(data))
                events = api.events(api.next_for(api.prompts[-1]))
                self.answer("text/event-stream", "".join(map(_line, events)).encode())

            def answer(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler


class ResponsesApi(OtherApi):
    """What Codex talks to.

    A tool use may claim how many ``tokens`` the session has by now; where the ``input`` is a text,
    the tool is a freeform one. A sub-agent that is given a text of ``findings`` answers with what
    stands there.
    """

    path = "/responses"

    def __init__(self) -> None:
        self.findings: dict[str, str] = {}
        super().__init__()

    def next_for(self, body: Body) -> Body | None:
        asked = said_in([item for item in body["input"][-2:] if item.get("role") == "user"])
        for text, finding in self.findings.items():
            if text in asked:
                return {"text": finding}
        return super().next_for(body)

    def events(self, used: Body | None) -> Iterable[Body]:
        used = used or {"text": "done"}
        if "text" in used:
            item: Body = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": used["text"], "annotations": []}],
            }
        else:
            item = {"name": used["name"], "call_id": f"call_{len(self.prompts)}"}
            if isinstance(used["input"], str):
                item |= {"type": "custom_tool_call", "input": used["input"]}
            else:
                item |= {"type": "function_call", "arguments": json.dumps(used["input"])}
            item |= {"namespace": used["namespace"]} if "namespace" in used else {}
        item |= {"id": f"item_{len(self.prompts)}", "status": "completed"}
        tokens = used.get("tokens", 10)
        usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
        whole = {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}
        yield {"type": "response.created", "response": {**whole, "output": []}}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": {**whole, "usage": usage}}


class GenerateContentApi(OtherApi):
    """What Gemini CLI talks to."""

    path = "GenerateContent"

    def events(self, used: Body | None) -> Iterable[Body]:
        part: Body = {"text": "done"}
        if used is not None:
            part = {"functionCall": {"name": used["name"], "args": used["input"]}}
        content = {"role": "model", "parts": [part]}
        yield {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 11},
        }


def _line(event: Body) -> str:
    named = f"event: {event['type']}\n" if "type" in event else ""
    return f"{named}data: {json.dumps(event)}\n\n"


def said_in(body: Body | list[Body]) -> str:
    """Everything in a request, as one text with its line breaks."""
    return "\n".join(_strings(body))


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
