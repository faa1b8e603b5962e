"""Says what of a memory may leave this machine, by the rules for secrets of today."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ...bus.values import Memory, Provenance
from .redact import PRIVATE, Redactor

# What is ours and no text: redacting it would only do harm.
_OURS = frozenset({"gate", "author"})
_WORTH_SENDING = re.compile(r"\w")
_MARK = re.compile(r"\[redacted:[^\]]*\]")


def release(memory: Memory, *, redactor: Redactor) -> Memory | None:
    """``memory`` as it may leave; itself where nothing is to be taken out.

    None where it stays here: nothing would be left of it, or it holds what ``block`` keeps from
    being stored. Private spans and secrets were taken out when it was stored; this is for what
    came before there was a rule, or another way. The hash of the content is the caller's to make
    anew. Takes up to a millisecond: not for the event loop.
    """
    content = redactor.redact(memory.content)
    found = set(content.redactions) - {PRIVATE}
    if found and redactor.mode == "block":
        return None
    if _WORTH_SENDING.search(_MARK.sub("", content.text)) is None:
        return None
    return replace(
        memory,
        content=content.text,
        summary=redactor.redact(memory.summary).text,
        tags=tuple(tag for tag in memory.tags if not redactor.redact(tag).redactions),
        provenance=_clean(memory.provenance, redactor),
        sources=tuple(_clean(source, redactor) for source in memory.sources),
    )


def _clean(origin: Provenance, redactor: Redactor) -> Provenance:
    texts = {name: getattr(origin, name) for name in origin.__struct_fields__ if name not in _OURS}
    return replace(origin, **{name: redactor.redact(text).text for name, text in texts.items()})
