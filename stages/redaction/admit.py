"""What comes in, before it is stored: a capture as it is to be redacted, and an import whole.

A capture gets its namespace, tags and content here. What is imported passes the same, and is
redacted at once.
"""

from __future__ import annotations

import re
from collections import Counter

from msgspec.structs import replace

from ...bus.anchors import Anchor
from ...bus.events import (
    Admitted,
    CaptureDetected,
    CaptureRequested,
    CaptureSettled,
    Draft,
    ImportAdmitted,
    ImportRequested,
    StoreRequested,
)
from ...bus.values import MAX_QUESTION_CHARS, MOST_QUESTIONS, CleanText, Kept, Memory
from ...config.patterns import regex
from ..capture.statement_classifier import detect_namespace
from ..text.envelope import neutralise, strip_envelopes
from ..text.markup import clean_tags, namespace_of, strip_private
from ..text.summary import MAX_CHARS
from ..text.unicode import cut, one_line
from .redact import Redactor, clean_provenance, redact
from .values import KnownSecrets

# What is longer is no question.
_MOST_QUESTION_CHARS = 4 * MAX_QUESTION_CHARS


def detect(event: CaptureRequested, *, max_chars: int) -> CaptureDetected | CaptureSettled:
    """Settle namespace, tags and content of a capture.

    Declined if nothing is left to keep, or more than ``max_chars`` characters. A namespace that
    does not exist is detected instead, and stays as a tag.
    """
    content = _normalised(event.text)
    named = namespace_of(event.namespace) if event.namespace else None
    namespace = named or detect_namespace(content)
    if not content:
        why = "nothing is left of the text to keep" if event.text.strip() else "the text is empty"
        return _declined(event, namespace, why)
    if len(content) > max_chars:
        return _declined(event, namespace, f"the text is longer than {max_chars} characters")
    extra = (event.namespace,) if event.namespace and named is None else ()
    tags = clean_tags((*event.tags, *extra))
    return CaptureDetected(
        trace=event.trace,
        request=event,
        namespace=namespace,
        tags=tags,
        content=content,
        questions=_questions(event),
        triggers=event.triggers,
    )


def _questions(event: CaptureRequested) -> tuple[str, ...] | None:
    """Those that the capture came with, each once and in one line.

    They are cut when their secrets were looked for, for which all of each is needed.
    """
    if event.questions is None:
        return None
    whole = (one for one in event.questions if len(one) <= _MOST_QUESTION_CHARS)
    lines = (one_line(_normalised(one)) for one in whole)
    return tuple(dict.fromkeys(filter(_WORD.search, lines)))[:MOST_QUESTIONS]


def _declined(event: CaptureRequested, namespace: str, reason: str) -> CaptureSettled:
    kept = Kept(outcome="declined", namespace=namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)


def _normalised(text: str) -> str:
    """``text`` without our own envelopes and private spans, harmless, with plain white space."""
    own = neutralise(strip_private(strip_envelopes(text)))
    lines = "\n".join(line.rstrip() for line in own.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n").rstrip()


_SHORT_CHARS = 60
_WORD = regex(r"\w+")


def admit(event: ImportRequested, *, redactor: Redactor, max_chars: int) -> ImportAdmitted:
    """Detect and redact each draft. Takes about 0.2 ms a draft: not for the event loop."""
    detected = [(draft, _detected(event.trace, draft, max_chars)) for draft in event.drafts]
    kept = [(draft, one) for draft, one in detected if isinstance(one, CaptureDetected)]
    remembering = _Remembering(redactor)
    found = [_admit(draft, one, remembering) for draft, one in kept]
    admitted = tuple(one for one in found if one is not None)
    return ImportAdmitted(
        trace=event.trace,
        admitted=admitted,
        declined=len(event.drafts) - len(admitted),
        rehearsal=event.rehearsal,
    )


class _Remembering(Redactor):
    """Reads a short text once, for tags and sources come again and again in one import."""

    def __init__(self, redactor: Redactor) -> None:
        self.mode = redactor.mode
        self._rules = redactor._rules
        self._personal = redactor._personal
        self._read: dict[str, tuple[CleanText, Counter[str]]] = {}

    def examine(
        self, text: str, known: KnownSecrets | None = None
    ) -> tuple[CleanText, Counter[str]]:
        if len(text) > _SHORT_CHARS or known:
            return super().examine(text, known)
        read = self._read.get(text)
        if read is None:
            read = self._read[text] = super().examine(text, known)
        return read


def _detected(trace: str, draft: Draft, max_chars: int) -> CaptureDetected | CaptureSettled:
    memory = draft.memory
    request = CaptureRequested(
        trace=trace,
        id=memory.id,
        text=memory.content,
        scope=memory.scope,
        namespace=memory.namespace or None,
        tags=memory.tags,
        provenance=memory.provenance,
        questions=memory.questions,
        triggers=memory.triggers,
    )
    return detect(request, max_chars=max_chars)


def _admit(draft: Draft, detected: CaptureDetected, redactor: Redactor) -> Admitted | None:
    """``draft`` as it may be stored; None where nothing of it is to be kept."""
    memory = draft.memory
    ready = redact(detected, redactor=redactor)
    if isinstance(ready, CaptureSettled):
        return None
    return Admitted(
        draft=replace(draft, memory=_without_texts(memory, ready, redactor)),
        content=ready.content,
        summary=_summary(draft, ready, redactor),
    )


def _summary(draft: Draft, ready: StoreRequested, redactor: Redactor) -> CleanText:
    """The draft's own summary in one short line; that of its text where it says something else.

    An index shows summaries alone, so one of another's file has to be in the words of its text.
    """
    whole = redactor.redact(one_line(neutralise(draft.memory.summary))).text
    summary = redactor.redact(cut(whole, MAX_CHARS))
    is_foreign = draft.as_new and _words(summary.text) not in _words(ready.content.text)
    return summary if summary.text and not is_foreign else ready.summary


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _without_texts(memory: Memory, ready: StoreRequested, redactor: Redactor) -> Memory:
    return replace(
        memory,
        namespace=ready.namespace,
        tags=ready.tags,
        questions=ready.questions or (),
        triggers=ready.triggers or (),
        provenance=ready.request.provenance,
        sources=tuple(clean_provenance(source, redactor.redact) for source in memory.sources),
        anchors=tuple(one for one in memory.anchors if _is_spotless(one, redactor)),
        content="",
        summary="",
    )


def _is_spotless(anchor: Anchor, redactor: Redactor) -> bool:
    place = f"{anchor.path} {anchor.symbol}"
    return redactor.redact(place).text == place
