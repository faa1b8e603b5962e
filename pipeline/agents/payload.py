"""What is read of a hook's payload: only what somebody needs, and nothing that could be refused."""

from __future__ import annotations

import json

import msgspec
from msgspec import Raw, Struct

MAX_NAME_CHARS = 256
MAX_PATH_CHARS = 4096
"""No agent has longer names, and no file system longer paths; what is longer is not there."""

_BOUNDED = {
    "session_id": MAX_NAME_CHARS,
    "agent_id": MAX_NAME_CHARS,
    "tool_use_id": MAX_NAME_CHARS,
    "cwd": MAX_PATH_CHARS,
    "transcript_path": MAX_PATH_CHARS,
    "agent_transcript_path": MAX_PATH_CHARS,
}


class Payload(Struct):
    """What we read of a hook's payload; the rest is the agent's business.

    ``tool_input`` and ``tool_response`` are JSON of whatever shape the tool has, not yet decoded.
    """

    session_id: str = ""
    hook_event_name: str = ""
    turn_id: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = ""
    agent_id: str = ""
    agent_type: str = ""
    transcript_path: str | None = ""
    agent_transcript_path: str | None = ""
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: Raw = Raw(b"null")
    tool_response: Raw = Raw(b"null")
    error: str = ""
    trigger: str = ""
    last_assistant_message: str | None = ""
    prompt_response: str | None = ""
    reason: str = ""


def read_payload(body: bytes) -> Payload:
    """Decode a payload. Raises ``ValueError``.

    A lone surrogate (half of a character that a client cut in two) becomes a question mark; what
    else is not JSON, or not of this shape, is refused; so is what is nested a thousand deep.
    """
    payload = _decode(body)
    for name, limit in _BOUNDED.items():
        if len(getattr(payload, name) or "") > limit:
            setattr(payload, name, "")
    return payload


def _decode(body: bytes) -> Payload:
    try:
        return msgspec.json.decode(body, type=Payload)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        mended = json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(mended, type=Payload)
    except (ValueError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None
