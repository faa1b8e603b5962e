"""Takes out what the user marked ``<private>``."""

from __future__ import annotations

import re

_TAG = re.compile(r"<\s{0,4}(/?)\s{0,4}private(?![\w-])[^<>\n]{0,200}>?", re.IGNORECASE)


def strip_private(text: str) -> str:
    """``text`` without its private spans: any case, attributes, nested, or never closed.

    A span that is never closed reaches to the end of the text, and a closing tag alone is
    dropped. What is left holds no such tag, not even one that the removal put together.
    """
    while _TAG.search(text):
        text = _strip_once(text)
    return text


def _strip_once(text: str) -> str:
    kept: list[str] = []
    depth = 0
    end = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            kept.append(text[end : tag.start()])
        depth = max(0, depth - 1) if tag[1] else depth + 1
        end = tag.end()
    if depth == 0:
        kept.append(text[end:])
    return "".join(kept)
