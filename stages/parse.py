"""Parses a prompt: the person's own text, its markers, and what it is about."""

from __future__ import annotations

from ..bus.events import PromptParsed, PromptSubmitted
from ..bus.prompts import Parsed, Signal
from ..bus.values import Noted
from .actions.error_lines import salient_lines
from .capture.statement_classifier import find_noteworthy
from .capture.statements import READ_CHARS
from .enrichment.references import find_references
from .language.paste import Paste, find_paste
from .language.sentences import follows_up, names_subject, prompt_sentences, without_lead_in
from .language.time_question import read_time_question
from .language.topics import find_entities, retrieval_words
from .language.work_kind import work_signals
from .text.markup import is_machine, own_text, split_markers

_MAX_QUERY_CHARS = 2000


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
    asked = without_lead_in(text).strip()
    words = retrieval_words(asked)
    pasted = find_paste(text)
    question = _question(pasted) if pasted else asked
    retrospect = None if pasted else read_time_question(text)
    before, subject = "", tuple[str, ...]()
    if event.before and follows_up(read := prompt_sentences(asked)):
        said = split_markers(own_text(event.before))[0]
        if names_subject(read):
            before, subject = said, words
        words = tuple(dict.fromkeys((*words, *retrieval_words(said))))
        question = f"{said}\n{asked}"
    parsed = Parsed(
        text=text,
        query=" ".join(words) or text[:_MAX_QUERY_CHARS] if question else "",
        question=question,
        before=before,
        subject=subject,
        pasted=pasted is not None,
        words=words,
        marked=marked,
        signals=tuple(map(_signal, find_noteworthy(text[:READ_CHARS]))),
        entities=find_entities(text),
        references=find_references(text),
        work=work_signals(text),
        retrospect=retrospect,
    )
    return PromptParsed(trace=event.trace, prompt=event, parsed=parsed)


def _question(paste: Paste) -> str:
    """What a paste asks: the words beside it, and the lines that tell a failure; maybe nothing."""
    lines = salient_lines(paste.pasted, failed=False)
    return "\n".join(filter(None, (paste.own[:_MAX_QUERY_CHARS], *lines)))


def _signal(noted: Noted) -> Signal:
    return Signal(
        kind=noted.kind,
        phrase=noted.text,
        start=noted.start,
        end=noted.end,
        namespace=noted.namespace,
        confidence_percent=noted.confidence_percent,
    )
