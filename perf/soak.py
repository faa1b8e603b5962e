"""Simulated agent sessions on one real daemon: what they send, what they are told, what is stored.

An agent is a lane of sessions, one after the other. Its sessions start, prompt, propose actions,
edit, fail, ask to keep something, compact, stop with a transcript that grows, and end; it opens an
MCP session now and then and closes it. The payloads are those of Claude Code, and they go to the
daemon's socket as the pipe sends them. What is compressed is the waiting of a user, not the work.
"""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from subcog.bus.frames import read_reply_head, request_frame
from subcog.hooks import client, spool
from tests.integration.house import House
from tests.integration.mcp_client import INITIALIZE
from tests.promises import fact, outcome

from .corpus import question, sentence

# What a busy agent does in a session of half an hour: so many turns, each with so many actions.
TURNS, ACTIONS = 12, 6
SESSIONS_AN_HOUR = 2
COMPACTED_AFTER = 7  # turns
KEPT_EACH = 4  # turns: then the prompt asks to keep something
FAILS_EACH = 9  # actions
MCP_EACH = 3  # sessions
_CALLS = (
    ("recall", {"query": "how do we deploy?"}),
    ("status", {}),
    ("topics", {}),
    ("search_sessions", {"query": "the billing router"}),
)


class Agent:
    """One lane. ``told`` counts what its marked prompts were told; ``sent`` has their numbers."""

    def __init__(self, house: House, number: int) -> None:
        self._house = house
        self._number = number
        self._rng = random.Random(number)
        self._project = house.root / f"project-{number % 5}"
        self._project.mkdir(exist_ok=True)
        self.sent: list[int] = []
        self.told: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self._session = ""

    def session(self, number: int, *, done: Callable[[], None]) -> None:
        """One whole session; ``done`` is called after each turn."""
        self._session = str(uuid.UUID(int=self._rng.getrandbits(128)))
        self._transcript = self._house.root / f"{self._session}.jsonl"
        self._transcript.touch()
        self._hook("SessionStart", source="startup")
        for turn in range(TURNS):
            self._turn(turn)
            done()
        if number % MCP_EACH == 0:
            self._mcp()
        self._hook("SessionEnd", reason="prompt_input_exit")
        self._transcript.unlink()

    def _turn(self, turn: int) -> None:
        prompt = question(self._rng)
        if turn % KEPT_EACH == KEPT_EACH - 1:
            number = self._number * 100_000 + len(self.sent)
            self.sent.append(number)
            prompt = f"{prompt}\n[remember:decisions] {fact(number)}"
        answer = self._hook("UserPromptSubmit", prompt=prompt)
        if "[remember" in prompt:
            self.told[outcome(answer.get("systemMessage", ""))] += 1
        self._say("user", prompt)
        for action in range(ACTIONS):
            self._act(failing=(turn * ACTIONS + action) % FAILS_EACH == FAILS_EACH - 1)
        said = f"{sentence(self._rng)} {sentence(self._rng)}"
        self._say("assistant", [{"type": "text", "text": said}])
        self._hook("Stop", stop_hook_active=False, last_assistant_message=said)
        if turn == COMPACTED_AFTER:
            self._hook("PreCompact", trigger="auto", custom_instructions="")
            self._hook("SessionStart", source="compact")

    def _act(self, *, failing: bool) -> None:
        edit = self._rng.random() < 0.5
        path = str(self._project / "src" / f"module_{self._rng.randrange(60)}.py")
        given = (
            {"file_path": path, "old_string": "a = 1", "new_string": sentence(self._rng)}
            if edit
            else {"command": f"pytest -q tests/test_{self._rng.randrange(60)}.py"}
        )
        use = {"tool_name": "Edit" if edit else "Bash", "tool_input": given, "tool_use_id": "t"}
        self._hook("PreToolUse", **use)
        self._say("assistant", [{"type": "tool_use", "id": "t", "name": use["tool_name"]}])
        if failing:
            error = f"Exit code 1\nImportError: {sentence(self._rng)}"
            self._hook("PostToolUseFailure", **use, error=error, is_interrupt=False)
        else:
            answer = {"stdout": sentence(self._rng), "stderr": "", "interrupted": False}
            self._hook("PostToolUse", **use, tool_response=answer)
        result = {"type": "tool_result", "tool_use_id": "t", "content": "", "is_error": failing}
        self._say("user", [result])

    def _say(self, role: str, content: Any) -> None:
        line = {"type": role, "message": {"role": role, "content": content}}
        with self._transcript.open("a") as file:
            file.write(json.dumps(line | {"timestamp": "2026-03-01T12:00:00Z"}) + "\n")

    # --- as the pipe and its client do it --------------------------------------------------------

    def _hook(self, event: str, **more: object) -> dict[str, Any]:
        self.events[event] += 1
        payload = {
            "session_id": self._session,
            "transcript_path": str(self._transcript),
            "cwd": str(self._project),
            "permission_mode": "default",
            "hook_event_name": event,
        }
        body = json.dumps(payload | more).encode()
        env = {b"CLAUDECODE": b"1", b"CLAUDE_PROJECT_DIR": bytes(self._project)}
        fields = client.describe(env) | {b"budget_ms": b"200"}
        status, answer = self._exchange(client.pack(f"hook {event}", fields, body) + body)
        if status == "unsettled" and spool.hints(body):
            note = spool.keep(event, fields, body, bytes(self._house.paths.data))
            return {"systemMessage": note}
        return dict(json.loads(answer or b"{}")) if answer[:1] in {b"", b"{"} else {}

    def _exchange(self, request: bytes) -> tuple[str, bytes]:
        with self._house.connect() as connection, connection.makefile("rb") as stream:
            connection.sendall(request)
            while (head := read_reply_head(stream.readline())).status == "wait":
                pass
            assert head.status in {"ok", "unsettled"}, head
            return head.status, stream.read(head.body)

    def _mcp(self) -> None:
        self.events["MCP session"] += 1
        requests = [("initialize", INITIALIZE), ("tools/list", {})]
        requests += [("tools/call", {"name": n, "arguments": a}) for n, a in _CALLS]
        fields = {"project": str(self._project), "cwd": str(self._project), "client": "claude"}
        with self._house.connect() as connection, connection.makefile("rb") as stream:
            connection.sendall(request_frame("mcp", "stdio", fields, b""))
            for number, (method, params) in enumerate(requests):
                asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                connection.sendall(json.dumps(asked).encode() + b"\n")
                while json.loads(line := stream.readline()).get("id") != number:
                    pass
                assert "result" in json.loads(line), line


def resident_mb(pid: int) -> float:
    """What the process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    [kilobytes] = [int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line]
    return kilobytes / 1024


def slope(points: list[tuple[float, float]]) -> float:
    """By how much the second rises for one of the first: a line through ``points``."""
    n = len(points)
    middle_x, middle_y = (sum(axis) / n for axis in zip(*points, strict=True))
    above = sum((x - middle_x) * (y - middle_y) for x, y in points)
    return above / sum((x - middle_x) ** 2 for x, _ in points)
