"""Fakes of the APIs that Codex and Gemini CLI talk to: each keeps its requests and answers `done`.

Where a test put tool uses into ``commands``, ``{"name": …, "input": …}`` each or a function that
makes one of the request, the next answers use those tools first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from .loopback import EVENTS, JSON, Answer, LoopbackApi

Body = dict[str, Any]


class OtherApi(LoopbackApi):
    """What a subclass says of a request, it says as server-sent events."""

    path = ""
    found = b'{"object": "list", "data": [], "models": []}'

    def __init__(self) -> None:
        self.prompts: list[Body] = []
        self.commands: list[Body | Callable[[Body], Body]] = []
        super().__init__()

    def forget(self) -> None:
        self.prompts.clear()
        self.commands.clear()

    def post(self, path: str, data: bytes) -> Answer:
        if self.path not in path:
            return JSON, b'{"totalTokens": 1}'
        self.prompts.append(json.loads(data))
        events = self.events(self.next_for(self.prompts[-1]))
        return EVENTS, "".join(map(_line, events)).encode()

    def events(self, used: Body | None) -> Iterable[Body]:
        raise NotImplementedError

    def next_for(self, body: Body) -> Body | None:
        """What to answer ``body`` with; None for `done`."""
        used = self.commands.pop(0) if self.commands else None
        return used(body) if callable(used) else used


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
