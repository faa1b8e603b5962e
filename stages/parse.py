"""Takes a prompt apart: what the person said, what is to be kept, and what it is about."""

from __future__ import annotations

import re

from ..bus.events import PromptParsed, PromptSubmitted
from ..bus.values import Noted, Parsed, Signal
from .capture.statement_classifier import find
from .capture.statements import READ_CHARS
from .language.entities import find_entities
from .language.references import find_references
from .language.topics import retrieval_words
from .language.work_kind import work_signals
from .text.blocks import strip_blocks
from .text.envelope import strip_envelopes
from .text.markers import split_markers
from .text.markup import strip_private
from .text.unicode import visible

_MAX_QUERY_CHARS = 2000
_MACHINE = re.compile(
    r"<(?:task-notification|command-(?:name|message|args)|local-command-\w{1,20}"
    r"|bash-(?:input|stdout|stderr)|user-prompt-submit-hook|user-memory-input|teammate-message"
    r"|cross-session-message|webhook-payload|fork-boilerplate)(?![\w-])|<channel source="
    r"|Caveat: The messages below were generated|\[Request interrupted by user|Stop hook feedback:"
    r"|This session is being continued from a previous conversation"
)
_SLASH_COMMAND = re.compile(r"/[a-zA-Z][\w:.-]*(?:\s|$)")


def parse(event: PromptSubmitted) -> PromptParsed:
    """The prompt of ``event``, taken apart.

    ``text`` is what the person wrote, without what is private, what is marked, and what was
    injected before. A turn that no person wrote, a slash command and an empty prompt are
    ``machine``: nothing of them is kept or searched for.
    """
    own = own_text(event.text)
    if is_machine(own):
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
        signals=tuple(map(_signal, find(text[:READ_CHARS]))),
        entities=find_entities(text),
        references=find_references(text),
        work=work_signals(text),
    )
    return PromptParsed(trace=event.trace, prompt=event, parsed=parsed)


def _signal(noted: Noted) -> Signal:
    return Signal(
        kind=noted.kind,
        phrase=noted.text,
        start=noted.start,
        end=noted.end,
        namespace=noted.namespace,
        confidence_percent=noted.confidence_percent,
    )


def own_text(text: str) -> str:
    """What the person wrote: visible, public, and neither our notes nor the agent's reminders."""
    return strip_blocks(strip_envelopes(strip_private(visible(text)))).strip()


def is_machine(text: str) -> bool:
    """Whether no person wrote ``text``: a notification, a slash command, or nothing at all."""
    return not text or _MACHINE.match(text) is not None or _SLASH_COMMAND.match(text) is not None
