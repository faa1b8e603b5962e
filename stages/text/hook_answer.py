"""The JSON that every agent's hook understands: a context for the model, a message for the user."""

from __future__ import annotations

from typing import Any

from .tokens import count_units

MAX_UNITS = 9000
"""UTF-16 units that the context and the message to the user have together.

Beyond 10,000 Claude Code hands the model a preview and a file name instead.
"""

NOTHING = b"{}"


def hook_answer(hook_event: str, context: str, message: str = "") -> dict[str, Any]:
    """A hook's answer: ``context`` for the model, ``message`` for the user, either may be empty.

    A context that is too long together with the message is left out whole: half an envelope would
    be worse than none.
    """
    body: dict[str, Any] = {}
    if context and count_units(context) + count_units(message) <= MAX_UNITS:
        body["hookSpecificOutput"] = {"hookEventName": hook_event, "additionalContext": context}
    if message:
        body["systemMessage"] = message
    return body
