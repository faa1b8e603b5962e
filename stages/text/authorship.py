"""Tells what a person wrote from what an agent, a program or subcog itself put into a prompt."""

from __future__ import annotations

import re

from .envelope import strip_envelopes
from .markup import strip_blocks, strip_private
from .unicode import visible

_MACHINE = re.compile(
    r"<(?:task-notification|command-(?:name|message|args)|local-command-\w{1,20}"
    r"|bash-(?:input|stdout|stderr)|user-prompt-submit-hook|user-memory-input|teammate-message"
    r"|cross-session-message|webhook-payload|fork-boilerplate)(?![\w-])|<channel source="
    r"|Caveat: The messages below were generated|\[Request interrupted by user|Stop hook feedback:"
    r"|This session is being continued from a previous conversation"
)
_SLASH_COMMAND = re.compile(r"/[a-zA-Z][\w:.-]*(?:\s|$)")


def own_text(text: str) -> str:
    """What the person wrote: visible, public, and neither our notes nor the agent's reminders."""
    return strip_blocks(strip_envelopes(strip_private(visible(text)))).strip()


def is_machine(text: str) -> bool:
    """Whether no person wrote ``text``: a notification, a slash command, or nothing at all."""
    return not text or _MACHINE.match(text) is not None or _SLASH_COMMAND.match(text) is not None
