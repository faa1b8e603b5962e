"""The hook handler: an agent's payload becomes an event, the reply becomes the hook's output.

Whatever comes in, the output is valid for the agent; the worst case is ``{}``, which changes
nothing for it. Hooks beyond what can be answered in time get that at once (``LoadShedding``).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, time

import anyio
from msgspec import Struct
from msgspec.structs import replace

from ...bus.bus import BusClosed, StageFailed
from ...bus.events import (
    ActionProposed,
    Event,
    PromptSubmitted,
    ResponseReady,
    SessionStarted,
    ToolFailed,
    ToolUsed,
)
from ...bus.signals import answered, degraded, emit
from ...config.ids import ulid_of_hex
from ...hooks import spool
from ...sinks.telemetry.hook_activity import HookActivity
from ...sinks.transcripts.reader import Outcomes
from ...stages.moments.preserve import GIVE_PLAIN_TEXT
from ...stages.text.markup import is_marked
from ...stages.text.unicode import well_formed
from ..agents.agent import Payload, identifier
from ..app.app import App
from .events import (
    HOOK_EVENTS,
    NOTHING,
    HookCall,
    HookEvent,
    TranslatedHook,
    as_failure,
    hides_outcome,
    session_started,
    translate,
    translate_answer,
)
from .greeting import (
    BEFORE_STARTS,
    Greetings,
    MissedStart,
    context_of,
    nothing,
    room_beside,
    with_context,
)
from .long_prompt import read_shortened
from .notices import Afterwards, DamageNotice
from .places import Places

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
MOST_AT_ONCE = 12
"""A prompt takes 5–7 ms of one processor, and reranking is skipped while others wait: with so many
at once, each is still answered in time."""
LEAST_S = 0.02
"""The deadline of a hook that must not be shed although its time is over, in seconds."""

_LONGEST_WAIT_S = 10.0
_TIME_DIGITS = 12
_MAX_DIGITS = 9
_log = logging.getLogger(__name__)


class HookAnswer(Struct, frozen=True):
    """What a hook prints. ``outcome`` is a constant for the metrics.

    ``is_settled`` is False where the prompt asks to keep something that is not committed: whoever
    prints ``body`` has to set the prompt aside first. ``take_back`` is to be called where it did
    not reach the agent: what it shows may be shown again then.
    """

    body: bytes
    outcome: str
    is_settled: bool = True
    take_back: Callable[[], None] = nothing


class HookHandler:
    """Answers hooks."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.data = app.paths.data
        self.activity = HookActivity(app.paths.hook_activity)
        self._load = LoadShedding()
        self._outcomes = Outcomes()
        self._greetings = Greetings(app)
        self.places = Places(app.projects, app.user)
        self.damage = DamageNotice(app.paths, app.archive)
        self.afterwards = Afterwards()
        self.late_prompts = 0

    def _left_s(self, fields: dict[str, str], *, keeps: bool) -> float:
        """How long this hook may still take: longer while the memories are being loaded.

        And longer if it ``keeps`` something, as its user is to be told that it is stored.
        """
        hook, archive = self._app.settings.hook, self._app.archive
        longest_ms, budget_ms = hook.start_ms, fields.get("budget_ms", "")
        if budget_ms.isdecimal() and len(budget_ms) <= _MAX_DIGITS:
            longest_ms = min(longest_ms, int(budget_ms))
        total_ms = hook.total_ms if archive.settled else longest_ms
        if keeps:
            total_ms = max(total_ms, longest_ms)
        waited = waited_s(fields.get("id", ""), now=time(), since=archive.settled_at)
        return (total_ms - PIPE_MS) / 1000 - waited

    def more_time_ms(self) -> int:
        """What a hook's client is told to wait beyond its default: 0 where that suffices."""
        hook = self._app.settings.hook
        if not self._app.archive.settled:
            return hook.start_ms
        return hook.total_ms if hook.total_ms > DEFAULT_TOTAL_MS else 0

    async def answer(self, event: str, fields: dict[str, str], body: bytes) -> HookAnswer:
        """The hook output for one payload; never raises for what a client sent."""
        started = perf_counter()
        out = await self._answer(event, fields, body)
        hook = HOOK_EVENTS.get(event)
        if out.body == NOTHING and hook and hook.plain and fields.get("client") in GIVE_PLAIN_TEXT:
            out = replace(out, body=b"")
        emit(answered, event, outcome=out.outcome, took_s=perf_counter() - started)
        return out

    async def _answer(self, event: str, fields: dict[str, str], body: bytes) -> HookAnswer:
        try:
            payload = await read_shortened(body)
        except ValueError:
            _log.warning("a hook sent a malformed payload", extra={"event": event})
            lost = event == "UserPromptSubmit" and spool.hints(body)
            return HookAnswer(NOTHING, "malformed", is_settled=not lost)
        try:
            heard = translate(fields.get("client", ""), event, payload)
            if hides_outcome(heard):  # the agent writes it to its transcript alone
                transcript = heard.payload.transcript_path or ""
                failed = await self._outcomes.has_failed(transcript, heard.payload.tool_use_id)
                heard = as_failure(heard) if failed else replace(heard, unknown=failed is None)
            trace = trace_of(fields.get("id", "")) or self._app.new_id()
            with self._app.sessions.kept_on_failure(trace) as take_back:
                out = await self._answer_call(heard, fields, trace)
            body = translate_answer(heard, out.body)
            return replace(out, body=body, take_back=_both(take_back, out.take_back))
        except TimeoutError:
            emit(degraded, "entrance", reason="hook.timeout")
            self._note_late(event)
            return self._with_notices_alone(heard, _unanswered("timeout", payload))
        except (StageFailed, BusClosed, ValueError, RecursionError) as error:
            facts = {"error": type(error).__name__}
            _log.warning("a hook was answered without context after an error", extra=facts)
            return _unanswered("failed", payload)

    def _note_late(self, event: str) -> None:
        """Count a prompt that memories were not searched for in time, for ``subcog doctor``."""
        self.late_prompts += event == "UserPromptSubmit"

    def _with_notices_alone(self, heard: TranslatedHook, out: HookAnswer) -> HookAnswer:
        """``out``, which holds nothing, with the session's greeting where that was made in time.

        And with what keeps the memories from being loaded, which may be why it is late.
        """
        if not _is_main_prompt(heard.event, heard.payload):
            return out
        body, take_back = self._greetings.with_prompt(heard.payload.session_id, out.body)
        body, tell_again = self.damage.beside(body)
        body, take_back = translate_answer(heard, body), _both(take_back, tell_again)
        return replace(out, body=body, take_back=take_back)

    async def _answer_call(
        self, heard: TranslatedHook, fields: dict[str, str], trace: str
    ) -> HookAnswer:
        """The answer in Claude Code's form. Raises ``TimeoutError``."""
        event, client, payload = heard.event, heard.client, heard.payload
        is_prompt = _is_main_prompt(event, payload)
        missed = await self._greetings.find_missed(payload.session_id) if is_prompt else None
        if event in BEFORE_STARTS:
            self._greetings.expect_start(payload.session_id)
        if missed is not None:
            self._note_missed(missed, fields, client)
        self._note(event, client, payload)
        call = await self._call(heard, fields, trace)
        if missed is not None and (start := session_started(call)):
            self._greetings.owe(replace(start, source=missed.source))
        hook = HOOK_EVENTS.get(event)
        published = await self.places.resolve(hook.make(call), payload.cwd) if hook else None
        left_s = self._left_s(fields, keeps=is_prompt and is_marked(payload.prompt))
        deadline = anyio.current_time() + left_s
        body, is_settled = NOTHING, True
        if hook and published is not None:
            if self._load.sheds(published, left_s=left_s):
                emit(degraded, "entrance", reason="hook.crowded")
                self._note_late(event)
                return HookAnswer(NOTHING, "crowded")
            with self._load.inside():
                async with self._greetings.made_meanwhile(call.session, deadline, wanted=is_prompt):
                    body, is_settled = await self._ask(
                        published, hook, fields, max(LEAST_S, left_s)
                    )
        if self._app.llm is not None and event in TAKES_LATE and not payload.agent_id:
            body = await self._with_late_answer(event, body, call)
        take_back = nothing
        if is_prompt:
            body, take_back = self._greetings.with_prompt(call.session, body)
            body, note_again = self.afterwards.beside(call.session, body)
            take_back = _both(take_back, note_again)
        if is_prompt or event == "SessionStart":
            body, tell_again = self.damage.beside(body)
            take_back = _both(take_back, tell_again)
        if body != NOTHING:
            return HookAnswer(body, "answered", is_settled, take_back)
        return HookAnswer(body, "passed" if published is None else "nothing", is_settled)

    async def _ask(
        self, published: Event, hook: HookEvent, fields: dict[str, str], within_s: float
    ) -> tuple[bytes, bool]:
        """What the stages answer to ``published``, and whether it is settled."""
        if isinstance(published, SessionStarted):
            request = fields.get("id", "")
            return await self._greetings.at_start(published, request, within_s=within_s), True
        if not hook.answers:
            await self._app.bus.publish(published)
            return NOTHING, True
        reply = await self._app.bus.request(published, ResponseReady, within_s=within_s)
        return reply.body, _is_settled(reply)

    async def _with_late_answer(self, event: str, body: bytes, call: HookCall) -> bytes:
        """``body`` with what the language model answered too late for the prompt before.

        A prompt that has a context of its own leaves it to the next hook; a tool's takes both.
        """
        own = context_of(body)
        if own and event == "UserPromptSubmit":
            return body
        late = ""
        with anyio.move_on_after(LATE_S), contextlib.suppress(ConnectionError):
            late = await self._app.handlers.late_context(
                call.payload.session_id,
                project=call.place.project,
                max_tokens=room_beside(own),
                hook=event,
                by=call.trace,
            )
        return with_context(event, body, well_formed(late)) if late else body

    def _note_missed(self, missed: MissedStart, fields: dict[str, str], client: str) -> None:
        """Note a session's start that no daemon has answered, as if it had come in its time."""
        payload = Payload(session_id=missed.session_id, source=missed.source, cwd=missed.cwd)
        self._note("SessionStart", client, payload)
        self.project_dir(missed.session_id, fields, missed.cwd, missed.source)

    def _note(self, event: str, client: str, payload: Payload) -> None:
        """Note the hook; what the session was shown is forgotten when its context is emptied."""
        sessions, session = self._app.sessions, payload.session_id
        sessions.touch(session, client=client, event=event, now=self._app.clock())
        if session:
            self.activity.note(client, event, self._app.clock())
        if event == "SessionStart":
            sessions.note_start(session, payload.source)
        if event == "SessionStart" and payload.source in EMPTIED:
            sessions.forget_shown(session)
        elif event == "SessionEnd":
            sessions.end(session)
        if event == "SessionStart" and self._app.llm is not None:
            self._app.llm.warm()

    def project_dir(
        self, session: str, fields: dict[str, str], start: str = "", source: str = ""
    ) -> str:
        """The project's directory, as the request names it or the start of its session did."""
        given = fields.get("project", "")
        return self._app.sessions.project_dir(session, given=given, start=start, source=source)

    async def _call(self, heard: TranslatedHook, fields: dict[str, str], trace: str) -> HookCall:
        """The call. Raises ``TimeoutError`` where the project's directory does not answer."""
        event, payload = heard.event, heard.payload
        start = payload.cwd if event == "SessionStart" else ""
        directory = self.project_dir(payload.session_id, fields, start, payload.source)
        begins = event == "UserPromptSubmit" and self._app.sessions.begins(payload.session_id)
        before = self._before(event, payload)  # now: hooks may overtake each other while they wait
        return HookCall(
            trace=trace,
            session=payload.session_id or identifier(fields.get("session", "")),
            client=heard.client,
            place=await self.places.find(fields | {"project": directory}, payload.cwd),
            payload=payload,
            hook=self._app.settings.hook,
            before=before,
            begins=begins,
            detailed=fields.get("detailed") == "1",
            unknown=heard.unknown,
        )

    def _before(self, event: str, payload: Payload) -> str:
        """The prompt that the user typed before this one."""
        if event != "UserPromptSubmit" or payload.agent_id:
            return ""
        return self._app.sessions.follow(payload.session_id, payload.prompt)


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        first()
        second()

    return call


def _is_main_prompt(event: str, payload: Payload) -> bool:
    """Whether it is a prompt to the session's own agent, not one of a sub-agent."""
    return event == "UserPromptSubmit" and not payload.agent_id


def _is_settled(reply: ResponseReady) -> bool:
    """Whether nothing that the prompt asks to keep is left to be committed."""
    kept = reply.built.classified.enriched.kept if reply.built else ()
    return all(one.is_settled for one in kept)


def _unanswered(outcome: str, payload: Payload) -> HookAnswer:
    """The answer where there is none in time: what the prompt marks may not have been kept."""
    asks = not payload.agent_id and is_marked(payload.prompt)
    return HookAnswer(NOTHING, outcome, is_settled=not asks)


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
        return not is_marked(asked.text)
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
