"""What an agent says, in the words of Claude Code, which all of our stages know; and back again.

An agent has a *dialect* where its payloads differ from Claude Code's. Events are named as Claude
Code names them from here on; the answer goes out under the name that the agent itself used.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from . import codex, gemini
from .agent import Payload

NOTHING = b"{}"
Translate = Callable[[str, Payload], tuple[str, Payload]]

DIALECTS: dict[str, Translate] = {"codex": codex.translate, "gemini": gemini.translate}


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
