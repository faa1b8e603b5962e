"""From an agent's payload to an event: its dialect, its moments, what its tools did.

An agent has a *dialect* where its payloads differ from Claude Code's. Events are named as Claude
Code names them from here on; the answer goes out under the name that the agent itself used.
``HOOK_EVENTS`` has one function a moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

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
from ..agents import codex, gemini
from ..agents.agent import Payload

E = TypeVar("E", bound=AgentEvent)
NOTHING = b"{}"
Translate = Callable[[str, Payload], tuple[str, Payload]]

DIALECTS: dict[str, Translate] = {"codex": codex.translate, "gemini": gemini.translate}
MAX_TEXT_CHARS = 20_000
MAX_PATHS = 10
MAX_PATH_CHARS = 1000
_MAX_EDITS = 50
# Of more than that, what is written is not looked at.
_MAX_EDITS_BYTES = 256 * 1024
# The bytes of one character, and of an escaped one: two halves of six bytes each.
_MOST_BYTES = 4
_LONGEST_ESCAPE = 13
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: ([^\n]+)$", re.MULTILINE)
_EXIT_CODE = re.compile(
    r"\s*(?:Exit code|Process exited with code|exit status|Command failed with exit code)"
    r":? (\d{1,3})\b",
    re.IGNORECASE,
)
_NOTHING = Raw(b"null")


class TranslatedHook(Struct, frozen=True, kw_only=True):
    """A hook as it was understood. ``own_event`` is the agent's own name for ``event``."""

    client: str
    event: str
    own_event: str
    payload: Payload


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
    return asked.event(PromptSubmitted, text=asked.payload.prompt, detailed=asked.detailed)


def session_started(asked: HookCall) -> Event | None:
    """The start of a session, where it is to be greeted."""
    if not asked.hook.session_start.enabled:
        return None
    return asked.event(SessionStarted, source=asked.payload.source)


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
        SessionEnded, transcript=asked.payload.transcript_path or "", reason=asked.payload.reason
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


class _Edit(Struct):
    """One of several edits of a file."""

    new_string: Raw = _NOTHING
    file_path: Raw = _NOTHING


class _Input(Struct):
    """The fields in which tools name files, and those in which they hold what is written."""

    file_path: Raw = _NOTHING
    notebook_path: Raw = _NOTHING
    absolute_path: Raw = _NOTHING
    path: Raw = _NOTHING
    content: Raw = _NOTHING
    new_string: Raw = _NOTHING
    new_source: Raw = _NOTHING
    edits: Raw = _NOTHING
    command: Raw = _NOTHING
    input: Raw = _NOTHING
    patch: Raw = _NOTHING


class _Failed(Struct):
    """A tool's answer where it says in a field that it failed."""

    error: Raw = _NOTHING
    exit_code: Raw = _NOTHING
    output: Raw = _NOTHING
    stderr: Raw = _NOTHING


class Use(Struct, frozen=True):
    """The files that a tool was to change, as it names them, and what it was to write or run."""

    paths: tuple[str, ...] = ()
    text: str = ""


def use_of(tool_input: Raw) -> Use:
    """What a tool was asked to do; an empty one where that cannot be told."""
    try:
        fields = msgspec.json.decode(tool_input, type=_Input)
        edits = _edits(fields.edits)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _use((), _text(tool_input))
    named = (fields.file_path, fields.notebook_path, fields.absolute_path, fields.path)
    written = (fields.content, fields.new_string, fields.new_source, *(e.new_string for e in edits))
    text = _joined((*written, fields.command, fields.input, fields.patch))
    paths = [_text(raw, MAX_PATH_CHARS) for raw in (*named, *(e.file_path for e in edits))]
    return _use(paths, text)


def _use(paths: Sequence[str], text: str) -> Use:
    """With the files that a patch in ``text`` names."""
    named = (*paths, *(path.strip() for path in _PATCHED.findall(text)))
    given = dict.fromkeys(path for path in named if path and "\0" not in path)
    return Use(tuple(given)[:MAX_PATHS], text)


def failure_of(tool_response: Raw) -> str:
    """What went wrong, where a client reports a failure as an answer; empty for nothing."""
    said = _text(tool_response)
    if said:
        code = _EXIT_CODE.match(said)
        return said if code and int(code[1]) else ""
    try:
        answer = msgspec.json.decode(tool_response, type=_Failed)
        if error := _error(answer.error):
            return error
        code_given = msgspec.json.decode(answer.exit_code)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    failed = isinstance(code_given, int) and code_given != 0
    return _joined((answer.stderr, answer.output)) if failed else ""


def _error(raw: Raw) -> str:
    """An error as text, or in an object's ``message``."""
    if text := _text(raw):
        return text
    if _first(raw) != b"{":
        return ""
    message: dict[str, Any] = msgspec.json.decode(raw)
    said = message.get("message")
    return said[:MAX_TEXT_CHARS] if isinstance(said, str) else ""


def _edits(raw: Raw) -> list[_Edit]:
    if _first(raw) != b"[" or len(memoryview(raw)) > _MAX_EDITS_BYTES:
        return []
    items = msgspec.json.decode(raw, type=list[Raw])[:_MAX_EDITS]
    return [msgspec.json.decode(item, type=_Edit) for item in items if _first(item) == b"{"]


def _joined(raws: tuple[Raw, ...]) -> str:
    return "\n".join(_parts(raws))


def _parts(raws: tuple[Raw, ...]) -> Iterator[str]:
    left = MAX_TEXT_CHARS
    for raw in raws:
        if left > 0 and (text := _text(raw, left)):
            left -= len(text)
            yield text


def _text(raw: Raw, limit: int = MAX_TEXT_CHARS) -> str:
    """The first ``limit`` characters of a JSON string; empty for what is none."""
    if _first(raw) != b'"':
        return ""
    view = memoryview(raw)
    if len(view) <= limit * _MOST_BYTES + 2:
        return _decoded(view.tobytes())[:limit]
    start = view[: limit * _MOST_BYTES].tobytes()
    # The cut may fall into an escape or a character: whole ones are at most this long.
    cuts = (_decoded(start[: len(start) - less] + b'"') for less in range(_LONGEST_ESCAPE))
    return next(filter(None, cuts), "")[:limit]


def _decoded(string: bytes) -> str:
    try:
        return msgspec.json.decode(string, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _first(raw: Raw) -> bytes:
    return memoryview(raw)[:1].tobytes()
