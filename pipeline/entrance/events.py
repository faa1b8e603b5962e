"""From an agent's payload to an event: its dialect, its moments, what its tools did.

An agent has a *dialect* where its payloads differ from Claude Code's. Events are named as Claude
Code names them from here on; the answer goes out under the name that the agent itself used.
``HOOK_EVENTS`` has one function a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ...bus.events import (
    ActionProposed,
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
from ...config.settings import ActionSettings, HookSettings, ToolSettings
from ..agents import codex, gemini
from ..agents.agent import Payload
from .tool_input import action_of, failure_of, is_unfinished

E = TypeVar("E", bound=AgentEvent)
NOTHING = b"{}"
Translate = Callable[[str, Payload], tuple[str, Payload]]

DIALECTS: dict[str, Translate] = {"codex": codex.translate, "gemini": gemini.translate}


class TranslatedHook(Struct, frozen=True, kw_only=True):
    """A hook as it was understood. ``own_event`` is the agent's own name for ``event``.

    ``unknown``: a tool was used, and nobody knows whether that went well.
    """

    client: str
    event: str
    own_event: str
    payload: Payload
    unknown: bool = False


def translate(client: str, event: str, payload: Payload) -> TranslatedHook:
    """Translate a hook of ``client``; an agent without a dialect is taken to be Claude Code.

    ``event`` is the name that the hook's command gave. A plugin's command cannot tell Codex from
    others, so its payload does.
    """
    if client not in DIALECTS and codex.is_payload(payload):
        client = "codex"
    own_event = payload.hook_event_name or event
    if (dialect := DIALECTS.get(client)) is not None:
        event, payload = dialect(event, payload)
    return TranslatedHook(client=client, event=event, own_event=own_event, payload=payload)


def hides_outcome(hook: TranslatedHook) -> bool:
    """Whether a tool may have failed without its payload saying so."""
    return hook.client == "codex" and codex.hides_outcome(hook.event, hook.payload)


def as_failure(hook: TranslatedHook) -> TranslatedHook:
    """``heard`` where the tool is known to have failed."""
    failed = codex.as_failure(hook.payload)
    return msgspec.structs.replace(hook, event="PostToolUseFailure", payload=failed)


def translate_answer(hook: TranslatedHook, body: bytes) -> bytes:
    """``body`` as the agent takes it.

    Only Claude Code takes plain text. All drop an answer whose ``hookEventName`` is not their own.
    """
    if hook.own_event == hook.event and (hook.client not in DIALECTS or body[:1] == b"{"):
        return body
    try:
        answer = msgspec.json.decode(body, type=dict)
    except msgspec.DecodeError:
        return NOTHING if hook.client in DIALECTS else body
    if isinstance(specific := answer.get("hookSpecificOutput"), dict):
        specific["hookEventName"] = hook.own_event
    return msgspec.json.encode(answer)


class HookCall(Struct, frozen=True, kw_only=True):
    """One hook: who asks, from where, and what it brought. ``before`` is the prompt before.

    ``begins``: it is the first prompt of a session that starts anew.
    """

    trace: str
    session: str
    client: str
    place: Place
    payload: Payload
    hook: HookSettings
    before: str = ""
    begins: bool = False
    detailed: bool = False
    unknown: bool = False

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
        before=asked.before,
        begins=asked.begins,
        detailed=asked.detailed,
    )


def session_started(asked: HookCall) -> SessionStarted | None:
    """The start of a session, where it is to be greeted."""
    if not asked.hook.session_start.enabled:
        return None
    return asked.event(SessionStarted, source=asked.payload.source)


def action_proposed(asked: HookCall) -> Event | None:
    """A tool is about to be used."""
    if not _wants(asked, asked.hook.pre_tool_use):
        return None
    return _of_tool(asked, ActionProposed)


def tool_used(asked: HookCall) -> Event | None:
    """A tool was used. A failure that a client reports as an answer is one here as well."""
    if asked.hook.post_tool_use_failure.enabled and (
        error := failure_of(asked.payload.tool_response)
    ):
        return _of_tool(asked, ToolFailed, error=error, hook="PostToolUse")
    if not _wants(asked, asked.hook.post_tool_use):
        return None
    payload = asked.payload
    unfinished = asked.unknown or is_unfinished(payload.tool_input, payload.tool_response)
    return _of_tool(asked, ToolUsed, unfinished=unfinished)


def tool_failed(asked: HookCall) -> Event | None:
    """A tool failed."""
    payload = asked.payload
    if not asked.hook.post_tool_use_failure.enabled:
        return None
    return _of_tool(
        asked,
        ToolFailed,
        error=payload.error or failure_of(payload.tool_response),
        interrupted=bytes(payload.is_interrupt) == b"true",
    )


def _wants(asked: HookCall, settings: ToolSettings | ActionSettings) -> bool:
    return settings.enabled and asked.payload.tool_name in settings.tools


def _of_tool(asked: HookCall, kind: type[E], **told: Any) -> E:
    payload = asked.payload
    action = action_of(payload.tool_name, payload.tool_input)
    return asked.event(kind, action=action, agent=payload.agent_id, detailed=asked.detailed, **told)


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
        SessionEnded, transcript=asked.payload.transcript_path or "", reason=asked.payload.reason
    )


HOOK_EVENTS: dict[str, HookEvent] = {
    "SessionStart": HookEvent(make=session_started),
    "UserPromptSubmit": HookEvent(make=prompt_submitted),
    "PreToolUse": HookEvent(make=action_proposed),
    "PostToolUse": HookEvent(make=tool_used),
    "PostToolUseFailure": HookEvent(make=tool_failed),
    "PreCompact": HookEvent(make=compaction_started, plain=True),
    "Stop": HookEvent(make=turn_ended, answers=False),
    "SubagentStop": HookEvent(make=agent_ended, answers=False),
    "SessionEnd": HookEvent(make=session_ended, answers=False),
}
