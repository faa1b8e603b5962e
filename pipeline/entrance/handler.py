"""The hook handler: an agent's payload becomes an event, the reply becomes the hook's output.

Whatever comes in, the output is valid for the agent; the worst case is ``{}``, which changes
nothing for it. Hooks beyond what can be answered in time get that at once (``LoadShedding``).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, time

import anyio
import msgspec

from ...bus.bus import BusClosed, StageFailed
from ...bus.events import (
    ActionProposed,
    Event,
    PromptSubmitted,
    ResponseReady,
    ToolFailed,
    ToolUsed,
)
from ...bus.ids import ulid_of_hex
from ...bus.signals import answered, degraded, emit
from ...bus.values import Place, Scope
from ...sinks.sessions import SessionState
from ...sinks.telemetry.hook_activity import HookActivity
from ...sinks.transcripts.reader import Outcomes
from ...stages.inject import MAX_TOKENS
from ...stages.moments.preserve import GIVE_PLAIN_TEXT
from ...stages.text.envelope import MAX_UNITS, hook_answer
from ...stages.text.markup import split_markers
from ...stages.text.unicode import count_tokens, count_units, well_formed
from ..agents.agent import Payload, read_payload
from ..app.app import App
from .events import (
    HOOK_EVENTS,
    NOTHING,
    HookCall,
    as_failure,
    hides_outcome,
    translate,
    translate_answer,
)

PIPE_MS = 20
"""What the hook's client process needs before and after the daemon's part, in milliseconds."""
DEFAULT_TOTAL_MS = 200
"""How long the hook's client process waits unless it is told to wait longer, in milliseconds."""
EMPTIED = ("startup", "clear", "compact")
"""Sources of a SessionStart after which the model's context no longer holds what was shown."""
TAKES_LATE = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit")
"""Hooks whose answer may carry the language model's late answer; the first of them does."""
LATE_S = 0.03
"""The time limit for looking up a late answer, in seconds: it must not cost the hook its own."""
GREETED_WITH_PROMPT = frozenset({"gemini"})
"""Agents that are greeted with the first prompt.

Gemini CLI puts the answer of SessionStart in front of the first prompt, as one message, and drops
that message when the session is resumed: the user's words would be lost with the greeting. What is
added to a prompt comes behind it.
"""
MOST_AT_ONCE = 12
"""A prompt takes 5–7 ms of one processor, and reranking is skipped while others wait: with so many
at once, each is still answered in time."""
LEAST_S = 0.02
"""The deadline of a hook that must not be shed although its time is over, in seconds."""

_LONGEST_WAIT_S = 10.0
_TIME_DIGITS = 12
_log = logging.getLogger(__name__)


class HookHandler:
    """Answers hooks."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.activity = HookActivity(app.paths.hook_activity)
        self._load = LoadShedding()
        self._outcomes = Outcomes()

    def _left_s(self, fields: dict[str, str]) -> float:
        """How long this hook may still take: longer while the memories are being loaded."""
        hook, archive = self._app.settings.hook, self._app.archive
        total_ms = hook.total_ms if archive.settled else hook.start_ms
        budget_ms = fields.get("budget_ms", "")
        if not archive.settled and budget_ms.isdecimal():
            total_ms = min(total_ms, int(budget_ms))
        waited = waited_s(fields.get("id", ""), now=time(), since=archive.settled_at)
        return (total_ms - PIPE_MS) / 1000 - waited

    def more_time_ms(self) -> int:
        """What a hook's client is told to wait beyond its default: 0 where that suffices."""
        hook = self._app.settings.hook
        if not self._app.archive.settled:
            return hook.start_ms
        return hook.total_ms if hook.total_ms > DEFAULT_TOTAL_MS else 0

    async def answer(self, event: str, fields: dict[str, str], body: bytes) -> bytes:
        """The hook output for one payload; never raises for what a client sent."""
        started = perf_counter()
        out, outcome = await self._answer(event, fields, body)
        hook = HOOK_EVENTS.get(event)
        if out == NOTHING and hook and hook.plain and fields.get("client") in GIVE_PLAIN_TEXT:
            out = b""
        emit(answered, event, outcome=outcome, took_s=perf_counter() - started)
        return out

    async def _answer(self, event: str, fields: dict[str, str], body: bytes) -> tuple[bytes, str]:
        try:
            payload = read_payload(body)
        except ValueError:
            _log.warning("a hook sent a malformed payload", extra={"event": event})
            return NOTHING, "malformed"
        try:
            heard = translate(fields.get("client", ""), event, payload)
            if hides_outcome(heard):  # the agent writes it to its transcript alone
                transcript = heard.payload.transcript_path or ""
                if await self._outcomes.has_failed(transcript, heard.payload.tool_use_id):
                    heard = as_failure(heard)
            out, outcome = await self._answer_call(heard.event, fields, heard.client, heard.payload)
            if heard.client in GREETED_WITH_PROMPT:
                session = self._app.sessions.state(heard.payload.session_id)
                out = with_greeting(session, heard.event, out)
            return translate_answer(heard, out), outcome
        except TimeoutError:
            emit(degraded, "entrance", reason="hook.timeout")
            return NOTHING, "timeout"
        except (StageFailed, BusClosed, ValueError, RecursionError) as error:
            facts = {"error": type(error).__name__}
            _log.warning("a hook was answered without context after an error", extra=facts)
            return NOTHING, "failed"

    async def _answer_call(
        self, event: str, fields: dict[str, str], client: str, payload: Payload
    ) -> tuple[bytes, str]:
        """The answer in Claude Code's form, and its outcome. Raises ``TimeoutError``."""
        self._note(event, client, payload)
        call = self._call(event, fields, client, payload)
        hook = HOOK_EVENTS.get(event)
        published = hook.make(call) if hook else None
        body = NOTHING
        if hook and published is not None:
            left_s = self._left_s(fields)
            if self._load.sheds(published, left_s=left_s):
                emit(degraded, "entrance", reason="hook.crowded")
                return NOTHING, "crowded"
            with self._load.inside():
                if hook.answers:
                    within_s = max(LEAST_S, left_s)
                    reply = await self._app.bus.request(published, ResponseReady, within_s=within_s)
                    body = reply.body
                else:
                    await self._app.bus.publish(published)
        if self._app.llm is not None and event in TAKES_LATE and not payload.agent_id:
            body = await self._with_late_answer(event, body, call)
        if body != NOTHING:
            return body, "answered"
        return body, "passed" if published is None else "nothing"

    async def _with_late_answer(self, event: str, body: bytes, call: HookCall) -> bytes:
        """``body`` with what the language model answered too late for the prompt before.

        A prompt that has a context of its own leaves it to the next hook; a tool's takes both.
        """
        own = context_of(body)
        if own and event == "UserPromptSubmit":
            return body
        late = ""
        with anyio.move_on_after(LATE_S), contextlib.suppress(ConnectionError):
            late = await self._app.late_context(
                call.payload.session_id, project=call.place.project, max_tokens=room_beside(own)
            )
        return with_context(event, body, well_formed(late)) if late else body

    def _note(self, event: str, client: str, payload: Payload) -> None:
        """Note the hook; what the session was shown is forgotten when its context is emptied."""
        sessions, session = self._app.sessions, payload.session_id
        sessions.touch(session, client=client, event=event, now=self._app.clock())
        if session:
            self.activity.note(client, event, self._app.clock())
        if event == "SessionStart" and payload.source in EMPTIED:
            sessions.forget_shown(session)
        elif event == "SessionEnd":
            sessions.end(session)
        if event == "SessionStart" and self._app.llm is not None:
            self._app.llm.warm()

    def _call(self, event: str, fields: dict[str, str], client: str, payload: Payload) -> HookCall:
        directory = self._app.sessions.project_dir(
            payload.session_id,
            given=fields.get("project", ""),
            start=payload.cwd if event == "SessionStart" else "",
        )
        return HookCall(
            trace=trace_of(fields.get("id", "")) or self._app.new_id(),
            session=payload.session_id or fields.get("session", ""),
            client=client,
            place=self.place(fields | {"project": directory}, payload.cwd),
            payload=payload,
            hook=self._app.settings.hook,
            detailed=fields.get("detailed") == "1",
        )

    def place(self, fields: dict[str, str], cwd: str = "") -> Place:
        """The project that a request comes from; the user alone where it says that it has none."""
        if fields.get("scope") == "user":
            user = Scope("user", self._app.user)
            return Place(project=user, root="", user=user, organisation=user)
        return self._app.projects.place(
            project_dir=fields.get("project", ""),
            cwd=cwd or fields.get("cwd", ""),
            user=self._app.user,
        )


def with_greeting(session: SessionState, event: str, body: bytes) -> bytes:
    """``body`` without the greeting at a session's start, and with it at the first prompt.

    A greeting that does not fit beside a prompt's own context goes on waiting.
    """
    if event == "SessionStart":
        session.greeting = context_of(body) or session.greeting
        answer = msgspec.json.decode(body)
        answer.pop("hookSpecificOutput", None)
        return msgspec.json.encode(answer)
    greeting = session.greeting if event == "UserPromptSubmit" else ""
    if not greeting or count_tokens(greeting) > room_beside(context_of(body)):
        return body
    session.greeting = ""
    return with_context(event, body, greeting)


def context_of(body: bytes) -> str:
    """The context that a hook's answer adds, or ""."""
    context: str = (
        msgspec.json.decode(body).get("hookSpecificOutput", {}).get("additionalContext", "")
    )
    return context


def with_context(event: str, body: bytes, context: str) -> bytes:
    """``body`` with ``context`` in front of its own."""
    answer, own = msgspec.json.decode(body), context_of(body)
    both = f"{context}\n{own}" if own else context
    return msgspec.json.encode(answer | hook_answer(event, both, answer.get("systemMessage", "")))


def room_beside(context: str) -> int:
    """How many tokens of another context one answer can take beside ``context``."""
    tokens, units = count_tokens(context), count_units(context)
    # A token is at most four units.
    return max(0, min(MAX_TOKENS - tokens, (MAX_UNITS - units) // 4 - 1))


def trace_of(identity: str) -> str:
    """The trace of a request that brought an identity of its own, or nothing."""
    try:
        return ulid_of_hex(identity)
    except ValueError:
        return ""


class LoadShedding:
    """Counts the hooks that are being answered; at most ``most`` at once."""

    def __init__(self, *, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._inside = 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Count one more hook within the block."""
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    def sheds(self, asked: Event, *, left_s: float) -> bool:
        """Whether to answer ``asked`` with nothing: overload or too late, and only context is lost.

        ``left_s`` is how long its hook will still wait.
        """
        return (self._inside >= self._most or left_s < LEAST_S) and _is_optional(asked)


def _is_optional(asked: Event) -> bool:
    if isinstance(asked, PromptSubmitted):
        return not split_markers(asked.text)[1]
    return isinstance(asked, (ActionProposed, ToolUsed, ToolFailed))


def waited_s(identity: str, *, now: float, since: float) -> float:
    """How long a hook has waited that began at the time in its ``identity``, or from ``since`` on.

    Times are seconds since 1970. 0 where the identity holds no time, or not one of this clock.
    """
    try:
        began = int(identity[:_TIME_DIGITS], 16) / 1000
    except ValueError:
        return 0.0
    waited = now - max(began, since)
    return waited if 0 <= waited <= _LONGEST_WAIT_S else 0.0
