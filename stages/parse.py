"""Takes a prompt apart: what the person said, what is to be kept, and what it is about."""

from __future__ import annotations

import re

from ..bus.events import PromptParsed, PromptSubmitted
from ..bus.values import Parsed
from .detect import signals
from .entities import find_entities, find_references
from .envelope import strip_envelopes
from .markers import split_markers
from .private import strip_private
from .text import visible
from .topics import retrieval_words

_MAX_QUERY_CHARS = 2000
_REMINDER_OPEN = "<system-reminder>"
_REMINDER_CLOSE = "</system-reminder>"
_MACHINE = re.compile(
    r"<(?:task-notification|command-(?:name|message|args)|local-command-\w{1,20}|bash-(?:input|stdout|stderr)"
    r"|user-prompt-submit-hook|teammate-message)\b|Caveat: The messages below were generated"
    r"|\[Request interrupted by user|This session is being continued from a previous conversation"
)
_SLASH_COMMAND = re.compile(r"/[a-zA-Z][\w:.-]*(?:\s|$)")


def parse(event: PromptSubmitted) -> PromptParsed:
    """The prompt of ``event``, taken apart.

    ``text`` is what the person wrote, without what is private, what is marked, and what was
    injected before. A turn that no person wrote, a slash command and an empty prompt are
    ``machine``: nothing of them is kept or searched for.
    """
    own = _own(event.text)
    if _is_machine(own):
        return PromptParsed(
            trace=event.trace, prompt=event, parsed=Parsed(text=own, query="", machine=True)
        )
    text, marked = split_markers(own)
    words = retrieval_words(text)
    parsed = Parsed(
        text=text,
        query=" ".join(words) or text[:_MAX_QUERY_CHARS],
        words=words,
        marked=marked,
        signals=signals(text),
        entities=find_entities(text),
        references=find_references(text),
    )
    return PromptParsed(trace=event.trace, prompt=event, parsed=parsed)


def _own(text: str) -> str:
    """What the person wrote: visible, public, and neither our notes nor the agent's reminders."""
    return _strip_reminders(strip_envelopes(strip_private(visible(text)))).strip()


def _is_machine(text: str) -> bool:
    return not text or _MACHINE.match(text) is not None or _SLASH_COMMAND.match(text) is not None


def _strip_reminders(text: str) -> str:
    """``text`` without the blocks that the agent put in; an opening tag alone is just dropped."""
    kept: list[str] = []
    at = 0
    while (start := text.find(_REMINDER_OPEN, at)) >= 0:
        kept.append(text[at:start])
        body = start + len(_REMINDER_OPEN)
        close = text.find(_REMINDER_CLOSE, body)
        if close < 0:
            at = body
            break
        at = close + len(_REMINDER_CLOSE)
    return "".join((*kept, text[at:])).replace(_REMINDER_OPEN, "").replace(_REMINDER_CLOSE, "")
