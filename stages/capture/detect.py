"""Determines namespace, tags and content of a capture, before it is redacted."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...bus.events import CaptureDetected, CaptureRequested, CaptureSettled
from ...bus.values import Kept
from ..text.envelope import neutralise, strip_envelopes
from ..text.markup import namespace_of, strip_private
from .statement_classifier import detect_namespace

MAX_TAGS = 10
MAX_TAG_CHARS = 40


def detect(event: CaptureRequested, *, max_chars: int) -> CaptureDetected | CaptureSettled:
    """Settle namespace, tags and content of a capture.

    Declined if nothing is left to keep, or more than ``max_chars`` characters. A namespace that
    does not exist is detected instead, and stays as a tag.
    """
    content = _normalised(event.text)
    named = namespace_of(event.namespace) if event.namespace else None
    namespace = named or detect_namespace(content)
    if not content:
        return _declined(event, namespace, "the text is empty")
    if len(content) > max_chars:
        return _declined(event, namespace, f"the text is longer than {max_chars} characters")
    extra = (event.namespace,) if event.namespace and named is None else ()
    tags = clean_tags((*event.tags, *extra))
    return CaptureDetected(
        trace=event.trace, request=event, namespace=namespace, tags=tags, content=content
    )


def _declined(event: CaptureRequested, namespace: str, reason: str) -> CaptureSettled:
    kept = Kept(outcome="declined", namespace=namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)


def _normalised(text: str) -> str:
    """``text`` without our own envelopes and private spans, harmless, with plain white space."""
    own = neutralise(strip_private(strip_envelopes(text)))
    lines = "\n".join(line.rstrip() for line in own.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n").rstrip()


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """At most 10 ``tags`` of at most 40 characters, lower case, dashes for spaces, each once."""
    cleaned = (_clean_tag(tag) for tag in tags)
    return tuple(dict.fromkeys(tag for tag in cleaned if tag))[:MAX_TAGS]


def _clean_tag(tag: str) -> str:
    return re.sub(r"[^\w./]+", "-", tag[:1000].lower()).strip("-./_")[:MAX_TAG_CHARS].rstrip("-./_")
