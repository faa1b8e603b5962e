"""The entrance: an agent's payload becomes an event, and the reply becomes what the hook prints.

Whatever comes in, what goes out is valid hook output; the worst case is ``{}``, which changes
nothing for the agent.
"""

from __future__ import annotations

import contextlib
import logging
from time import perf_counter, time

import anyio
import msgspec

from ...bus.bus import BusClosed
from ...bus.events import Event, ResponseReady
from ...bus.ids import ulid_of_hex
from ...bus.inbox import StageFailed
from ...bus.signals import answered, degraded, emit
from ...bus.values import Place, Scope
from ...sinks.telemetry.hook_activity import Heard
from ...sinks.transcripts.outcomes import Outcomes
from ...stages.inject import MAX_TOKENS
from ...stages.moments.preserve import GIVE_PLAIN_TEXT
from ...stages.respond import MAX_UNITS
from ...stages.respond import answer as hook_answer
from ...stages.text.tokens import count_tokens, count_units
from ...stages.text.unicode import well_formed
from ..agents import dialects as speech
from ..agents.payload import Payload, read_payload
from ..app.app import App
from .events import MOMENTS, Asked, HookEvent
from .load_shedding import LEAST_S, LoadShedding, waited_s
from .session_memory import Greetings
from .whereabouts import Whereabouts

NOTHING = b"{}"
# What the pipe needs before it notes the time, and after the daemon's part, in milliseconds.
PIPE_MS = 20
# What the pipe waits by itself, in milliseconds.
DEFAULT_TOTAL_MS = 200
# Sources of a SessionStart after which the model has lost what it was shown.
EMPTIED = ("startup", "clear", "compact")
# Hooks whose answer may bring the model what came too late for its prompt; the first one does.
# It must not cost the hook what else it says, so looking it up has a time of its own, in seconds.
LATE_S = 0.03
TAKES_LATE = ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit")
_log = logging.getLogger(__name__)


class Entrance:
    """Answers hooks."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._whereabouts = Whereabouts()
        self.heard = Heard(app.paths.heard)
        self._crowd = LoadShedding()
        self._outcomes = Outcomes()
        self._greetings = Greetings()

    def _left_s(self, fields: dict[str, str]) -> float:
        """How long this hook may still take: longer while the memories are being loaded."""
        hook = self._app.settings.hook
        total_ms = hook.total_ms if self._app.archive.settled else hook.start_ms
        asked = fields.get("budget_ms", "")
        if not self._app.archive.settled and asked.isdecimal():
            total_ms = min(total_ms, int(asked))
        return (total_ms - PIPE_MS) / 1000 - self._waited_s(fields.get("id", ""))

    def _waited_s(self, identity: str) -> float:
        """How long this hook waits already, from when it began or the memories were there."""
        return waited_s(identity, now=time(), since=self._app.archive.settled_at)

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
        moment = MOMENTS.get(event)
        if out == NOTHING and moment and moment.plain and fields.get("client") in GIVE_PLAIN_TEXT:
            out = b""
        emit(answered, event, outcome=outcome, took_s=perf_counter() - started)
        return out

    async def _answer(self, event: str, fields: dict[str, str], body: bytes) -> tuple[bytes, str]:
        try:
            payload = read_payload(body)
        except ValueError:
            _log.warning("a hook sent what is no payload", extra={"event": event})
            return NOTHING, "malformed"
        try:
            heard = speech.translate(fields.get("client", ""), event, payload)
            heard = await self._with_outcome(heard)
            self._note(heard.event, heard.client, heard.payload)
            known = fields | {"client": heard.client, "project": self._project(heard, fields)}
            out, outcome = await self._answer_in_time(heard.event, known, heard.payload)
            return speech.translate_answer(heard, self._with_greeting(heard, out)), outcome
        except TimeoutError:
            emit(degraded, "entrance", reason="hook.timeout")
            return NOTHING, "timeout"
        except (StageFailed, BusClosed, ValueError, RecursionError) as error:
            _log.warning("a hook was passed through", extra={"error": type(error).__name__})
            return NOTHING, "failed"

    async def _with_outcome(self, heard: speech.TranslatedHook) -> speech.TranslatedHook:
        """``heard`` as a failed tool, where the agent tells that to its transcript alone."""
        payload = heard.payload
        if not speech.hides_outcome(heard):
            return heard
        transcript = payload.transcript_path or ""
        failed = await self._outcomes.has_failed(transcript, payload.tool_use_id)
        return speech.as_failure(heard) if failed else heard

    def _with_greeting(self, heard: speech.TranslatedHook, body: bytes) -> bytes:
        """``body``, where a greeting waits for its session's first prompt."""
        if not self._greetings.concern(heard.client, heard.event):
            return body
        said, session = msgspec.json.decode(body), heard.payload.session_id
        own = said.get("hookSpecificOutput", {}).get("additionalContext", "")
        if heard.event == "SessionStart":
            self._greetings.hold(session, own)
            said.pop("hookSpecificOutput", None)
            return msgspec.json.encode(said)
        greeting = self._greetings.take(session, max_tokens=room_beside(own))
        both = "\n".join(part for part in (greeting, own) if part)
        told = hook_answer(heard.event, both, said.get("systemMessage", ""))
        return msgspec.json.encode(said | told) if greeting else body

    async def _answer_in_time(
        self, event: str, fields: dict[str, str], payload: Payload
    ) -> tuple[bytes, str]:
        moment = MOMENTS.get(event)
        known = self._asked(fields, payload)
        asked = moment.make(known) if moment else None
        body = NOTHING
        if moment and asked is not None:
            if self._crowd.turns_away(asked, left_s=self._left_s(fields)):
                emit(degraded, "entrance", reason="hook.crowded")
                return NOTHING, "crowded"
            with self._crowd.inside():
                body = await self._said(moment, asked, fields)
        if event in TAKES_LATE and not payload.agent_id:
            body = await self._with_late(event, body, payload.session_id, known.place.project)
        if body != NOTHING:
            return body, "answered"
        return body, "passed" if asked is None else "nothing"

    async def _said(self, moment: HookEvent, asked: Event, fields: dict[str, str]) -> bytes:
        if not moment.answers:
            await self._app.bus.publish(asked)
            return NOTHING
        within_s = max(LEAST_S, self._left_s(fields))
        return (await self._app.bus.request(asked, ResponseReady, within_s=within_s)).body

    async def _with_late(self, event: str, body: bytes, session: str, project: Scope) -> bytes:
        """``body`` with what the model said too late for the prompt before.

        A prompt that brings a context of its own leaves it to the next hook; a tool's has both.
        """
        said = msgspec.json.decode(body)
        own = said.get("hookSpecificOutput", {}).get("additionalContext", "")
        if own and event == "UserPromptSubmit":
            return body
        text = ""
        with anyio.move_on_after(LATE_S), contextlib.suppress(ConnectionError):
            room = room_beside(own)
            text = await self._app.late_context(session, project=project, max_tokens=room)
        both = "\n".join(part for part in (well_formed(text), own) if part)
        late = hook_answer(event, both, said.get("systemMessage", ""))
        return msgspec.json.encode(said | late) if text else body

    def _note(self, event: str, client: str, payload: Payload) -> None:
        """Remember that the session lives; what it was shown is gone when its context is."""
        sessions, session = self._app.sessions, payload.session_id
        sessions.touch(session, client=client, event=event, now=self._app.clock())
        if session:
            self.heard.note(client, event, self._app.clock())
        if event == "SessionStart" and payload.source in EMPTIED:
            sessions.forget_shown(session)
        elif event == "SessionEnd":
            sessions.end(session)
        if (asking := self._app.asking) is not None:
            if event == "SessionStart":
                asking.warm()
            elif event == "SessionEnd":
                asking.forget(session)

    def _asked(self, fields: dict[str, str], payload: Payload) -> Asked:
        return Asked(
            trace=trace_of(fields.get("id", "")) or self._app.new_id(),
            session=payload.session_id or fields.get("session", ""),
            client=fields.get("client", ""),
            place=self.place(fields, payload.cwd),
            payload=payload,
            hook=self._app.settings.hook,
            detailed=fields.get("detailed") == "1",
        )

    def _project(self, heard: speech.TranslatedHook, fields: dict[str, str]) -> str:
        begins = heard.event == "SessionStart"
        return self._whereabouts.project(
            heard.payload.session_id,
            told=fields.get("project", ""),
            start=heard.payload.cwd if begins else "",
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
