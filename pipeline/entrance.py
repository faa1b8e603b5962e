"""The entrance: an agent's payload becomes an event, and the reply becomes what the hook prints.

Whatever comes in, what goes out is valid hook output; the worst case is ``{}``, which changes
nothing for the agent.
"""

from __future__ import annotations

import contextlib
import json
import logging
from time import perf_counter

import anyio
import msgspec
from msgspec import Struct

from ..bus.bus import BusClosed
from ..bus.events import PromptSubmitted, ResponseReady, SessionStarted
from ..bus.ids import ulid_of_hex
from ..bus.inbox import StageFailed
from ..bus.signals import answered, degraded, tell
from ..bus.values import Place
from ..stages.respond import answer as hook_answer
from ..stages.text import well_formed
from .app import App

NOTHING = b"{}"
# What the pipe needs before and after the daemon's part, in milliseconds.
PIPE_MS = 40
# What the pipe waits by itself, in milliseconds.
DEFAULT_TOTAL_MS = 200
# Sources of a SessionStart after which the model has lost what it was shown.
EMPTIED = ("clear", "compact")
# Hooks whose answer may bring the model what came too late for its prompt; the first one does.
# It must not cost the hook what else it says, so looking it up has a time of its own, in seconds.
LATE_S = 0.03
TAKES_LATE = ("PostToolUse", "UserPromptSubmit")
_log = logging.getLogger(__name__)


class Payload(Struct):
    """What we read of a hook's payload; the rest is the agent's business."""

    session_id: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = ""
    agent_id: str = ""


class Entrance:
    """Answers hooks."""

    def __init__(self, app: App) -> None:
        self._app = app

    def budget_s(self, fields: dict[str, str]) -> float:
        """How long this hook may take here: longer while the memories are being loaded."""
        hook = self._app.settings.hook
        total_ms = hook.total_ms if self._app.archive.settled else hook.start_ms
        asked = fields.get("budget_ms", "")
        if not self._app.archive.settled and asked.isdecimal():
            total_ms = min(total_ms, int(asked))
        return max(0.02, (total_ms - PIPE_MS) / 1000)

    def more_time_ms(self) -> int:
        """What a hook is told to wait beyond its own patience: 0 where that suffices."""
        hook = self._app.settings.hook
        if not self._app.archive.settled:
            return hook.start_ms
        return hook.total_ms if hook.total_ms > DEFAULT_TOTAL_MS else 0

    async def answer(self, event: str, fields: dict[str, str], body: bytes) -> bytes:
        """The hook output for one payload; never raises for what a client sent."""
        started = perf_counter()
        out, outcome = await self._answer(event, fields, body)
        tell(answered, event, outcome=outcome, took_s=perf_counter() - started)
        return out

    async def _answer(self, event: str, fields: dict[str, str], body: bytes) -> tuple[bytes, str]:
        try:
            payload = read_payload(body)
        except ValueError:
            _log.warning("a hook sent what is no payload", extra={"event": event})
            return NOTHING, "malformed"
        self._note(event, fields.get("client", ""), payload)
        try:
            return await self._answer_in_time(event, fields, payload)
        except TimeoutError:
            tell(degraded, "entrance", reason="hook.timeout")
            return NOTHING, "timeout"
        except (StageFailed, BusClosed, ValueError) as error:
            _log.warning("a hook was passed through", extra={"error": type(error).__name__})
            return NOTHING, "failed"

    async def _answer_in_time(
        self, event: str, fields: dict[str, str], payload: Payload
    ) -> tuple[bytes, str]:
        asked = self._ask(event, fields, payload)
        body = NOTHING
        if asked is not None:
            ready = await self._app.bus.request(
                asked, ResponseReady, within_s=self.budget_s(fields)
            )
            body = ready.body
        if event in TAKES_LATE and not payload.agent_id:
            body = await self._with_late(event, body, payload.session_id)
        if body != NOTHING:
            return body, "answered"
        return body, "passed" if asked is None else "nothing"

    async def _with_late(self, event: str, body: bytes, session: str) -> bytes:
        """``body`` with what the model said too late, if ``body`` brings no context of its own."""
        said = msgspec.json.decode(body)
        if "hookSpecificOutput" in said:
            return body
        text = ""
        with anyio.move_on_after(LATE_S), contextlib.suppress(ConnectionError):
            text = await self._app.late_context(session)
        late = hook_answer(event, well_formed(text), said.get("systemMessage", ""))
        return msgspec.json.encode(said | late) if text else body

    def _note(self, event: str, client: str, payload: Payload) -> None:
        """Remember that the session lives; what it was shown is gone when its context is."""
        sessions, session = self._app.sessions, payload.session_id
        sessions.touch(session, client=client, event=event, now=self._app.clock())
        if event == "SessionStart" and payload.source in EMPTIED:
            sessions.forget_shown(session)
        elif event == "SessionEnd":
            sessions.end(session)
        if (asking := self._app.asking) is not None:
            if event == "SessionStart":
                asking.warm()
            elif event == "SessionEnd":
                asking.forget(session)

    def _ask(
        self, event: str, fields: dict[str, str], payload: Payload
    ) -> PromptSubmitted | SessionStarted | None:
        trace = trace_of(fields.get("id", "")) or self._app.new_id()
        session = payload.session_id or fields.get("session", "")
        client = fields.get("client", "")
        settings = self._app.settings
        if event == "UserPromptSubmit":
            return PromptSubmitted(
                trace=trace,
                session=session,
                client=client,
                place=self.place(fields, payload.cwd),
                text=payload.prompt,
                detailed=fields.get("detailed") == "1",
            )
        if event == "SessionStart" and settings.hook.session_start.enabled:
            return SessionStarted(
                trace=trace,
                session=session,
                client=client,
                place=self.place(fields, payload.cwd),
                source=payload.source,
            )
        return None

    def place(self, fields: dict[str, str], cwd: str = "") -> Place:
        """The project that a request comes from."""
        return self._app.projects.place(
            project_dir=fields.get("project", ""),
            cwd=cwd or fields.get("cwd", ""),
            user=self._app.user,
        )


def trace_of(identity: str) -> str:
    """The trace of a request that brought an identity of its own, or nothing."""
    try:
        return ulid_of_hex(identity)
    except ValueError:
        return ""


def read_payload(body: bytes) -> Payload:
    """Decode a payload. Raises ``ValueError``.

    A lone surrogate (half of a character that a client cut in two) becomes a question mark; what
    else is not JSON, or not of this shape, is refused.
    """
    try:
        return msgspec.json.decode(body, type=Payload)
    except msgspec.ValidationError as error:
        raise ValueError(type(error).__name__) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        mended = json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(mended, type=Payload)
    except (ValueError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None
