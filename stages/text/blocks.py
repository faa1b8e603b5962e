"""Takes out of a prompt the blocks that no person wrote: agents put them there, or we did."""

from __future__ import annotations

import re

NAMES = (
    "system-reminder",
    "system-note",
    "hook_context",
    "response_guidance",
    "ide_selection",
    "ide_opened_file",
)
"""What agents call what they add; ``hook_context`` and ``response_guidance`` hold our own words."""

_OPEN = re.compile(rf"<({'|'.join(NAMES)})(?:\s[^<>\n]{{0,200}})?>")
_TAG = re.compile(rf"</?(?:{'|'.join(NAMES)})(?:\s[^<>\n]{{0,200}})?>")


def strip_blocks(text: str) -> str:
    """``text`` without such blocks; of one that is not closed, only the tag is dropped."""
    if "<" not in text:
        return text
    last = {name: text.rfind(f"</{name}>") for name in NAMES}
    kept: list[str] = []
    at = 0
    opened = _OPEN.search(text)
    while opened is not None:
        kept.append(text[at : opened.start()])
        at = opened.end()
        if at <= last[opened[1]]:
            close = f"</{opened[1]}>"
            at = text.find(close, at) + len(close)
        opened = _OPEN.search(text, at)
    return _TAG.sub("", "".join((*kept, text[at:])))
