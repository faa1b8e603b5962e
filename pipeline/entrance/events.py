"""The moments of an agent that it runs a hook for, and the event that each becomes.

One function a moment; ``MOMENTS`` names them as Claude Code does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

from ...bus.events import (
    AgentEvent,
    CompactionStarted,
    Event,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolFailed,
    ToolUsed,
    TurnEnded,
)
from ...bus.values import Place
from ...config.settings import HookSettings
from ..agents.payload import Payload
from .tool_use import failure_of, use_of

E = TypeVar("E", bound=AgentEvent)


class HookCall(Struct, frozen=True, kw_only=True):
    """One hook: who asks, from where, and what it brought."""

    trace: str
    session: str
    client: str
    place: Place
    payload: Payload
    hook: HookSettings
    detailed: bool = False

    def event(self, kind: type[E], **told: Any) -> E:
        """An event of ``kind`` from whoever asks; ``told`` are the fields that it has besides."""
        return kind(
            trace=self.trace, session=self.session, client=self.client, place=self.place, **told
        )


class HookEvent(Struct, frozen=True, kw_only=True):
    """``make`` gives the event, or None where there is nothing to do.

    Where ``answers``, the hook waits for a ``ResponseReady``; else it goes on at once. Where
    ``plain``, the client takes what is printed as it stands, so that nothing is really nothing.
    """

    make: Callable[[HookCall], Event | None]
    answers: bool = True
    plain: bool = False


def prompt_submitted(asked: HookCall) -> Event | None:
    """A prompt, whoever typed it; a sub-agent's is the model's own words, which ask for nothing."""
    if asked.payload.agent_id:
        return None
    return asked.event(
        PromptSubmitted,
        text=asked.payload.prompt,
        detailed=asked.detailed,
    )


def session_started(asked: HookCall) -> Event | None:
    """The start of a session, where it is to be greeted."""
    if not asked.hook.session_start.enabled:
        return None
    return asked.event(
        SessionStarted,
        source=asked.payload.source,
    )


def tool_used(asked: HookCall) -> Event | None:
    """A tool was used. A failure that a client reports as an answer is one here as well."""
    payload, settings = asked.payload, asked.hook.post_tool_use
    if asked.hook.post_tool_use_failure.enabled and (error := failure_of(payload.tool_response)):
        return _tool_failed(asked, error, hook="PostToolUse")
    if not settings.enabled or payload.tool_name not in settings.tools:
        return None
    use = use_of(payload.tool_input)
    return asked.event(
        ToolUsed,
        tool=payload.tool_name,
        paths=use.paths,
        text=use.text,
        agent=payload.agent_id,
        detailed=asked.detailed,
    )


def tool_failed(asked: HookCall) -> Event | None:
    """A tool failed."""
    payload = asked.payload
    if not asked.hook.post_tool_use_failure.enabled:
        return None
    return _tool_failed(asked, payload.error or failure_of(payload.tool_response))


def _tool_failed(asked: HookCall, error: str, hook: str = "PostToolUseFailure") -> Event:
    use = use_of(asked.payload.tool_input)
    return asked.event(
        ToolFailed,
        tool=asked.payload.tool_name,
        error=error,
        hook=hook,
        paths=use.paths,
        text=use.text,
        agent=asked.payload.agent_id,
        detailed=asked.detailed,
    )


def compaction_started(asked: HookCall) -> Event | None:
    """The session's context is about to be summarised."""
    if not asked.hook.pre_compact.enabled:
        return None
    return asked.event(
        CompactionStarted,
        transcript=asked.payload.transcript_path or "",
        trigger=asked.payload.trigger,
    )


def turn_ended(asked: HookCall) -> Event | None:
    """The agent is done with a turn."""
    if not asked.hook.stop.enabled:
        return None
    return asked.event(
        TurnEnded,
        transcript=asked.payload.transcript_path or "",
        said=asked.payload.last_assistant_message or "",
    )


def agent_ended(asked: HookCall) -> Event | None:
    """A sub-agent is done. One without a type wrote the summary of a compaction: no work."""
    payload = asked.payload
    if not asked.hook.stop.enabled or not payload.agent_type:
        return None
    return asked.event(
        TurnEnded,
        transcript=payload.agent_transcript_path or "",
        agent=payload.agent_type,
        said=payload.last_assistant_message or "",
    )


def session_ended(asked: HookCall) -> Event | None:
    """A session is over."""
    if not asked.hook.stop.enabled:
        return None
    return asked.event(
        SessionEnded,
        transcript=asked.payload.transcript_path or "",
        reason=asked.payload.reason,
    )


HOOK_EVENTS: dict[str, HookEvent] = {
    "SessionStart": HookEvent(make=session_started),
    "UserPromptSubmit": HookEvent(make=prompt_submitted),
    "PostToolUse": HookEvent(make=tool_used),
    "PostToolUseFailure": HookEvent(make=tool_failed),
    "PreCompact": HookEvent(make=compaction_started, plain=True),
    "Stop": HookEvent(make=turn_ended, answers=False),
    "SubagentStop": HookEvent(make=agent_ended, answers=False),
    "SessionEnd": HookEvent(make=session_ended, answers=False),
}
