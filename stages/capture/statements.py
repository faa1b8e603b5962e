"""Splits a message into its author's statements, leaving out quoted and pasted text.

Code, quotations, tables, logs, diffs, markup and pasted or drafted texts are no statements of the
speaker. All of it is linear and reads a bounded part of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...config.patterns import regex
from ..text.authorship import ITEM, READ_CHARS, quotes, read_lines
from ..text.envelope import strip_envelopes
from ..text.markup import split_markers, strip_private
from ..text.unicode import visible

MAX_STATEMENTS = 400
MAX_STATEMENT_CHARS = 1_000

_WRAPPED_AT = 60
UNSPACED = regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A letter of a script that puts no blanks between words."""

_ENDS = regex(r"`[^`\n]{1,200}`|(?<![.!?…])[.!?…]+[\"'”»)\]*_]{0,3}(?=\s)|[。！？]+|\n")
_ABBREVIATION = regex(
    r"\b(?:e\.g|i\.e|z\.B|d\.h|u\.a|bzw|vs|etc|cf|Dr|Mr|Mrs|Ms|No|Nr|St|approx|ca|resp|incl|max"
    r"|min|p\.ex|[A-Z])\.$"
)
_ABBREVIATION_CHARS = 8
_MARKUP = " \t*_~#"
_OPENS_QUOTE = ('"', "“", "„", "«", "'")
_CLOSES_QUOTE = ('"', "”", "“", "»", "'")


class Statement(NamedTuple):
    """One sentence: the characters ``start`` to ``end`` of the text, and where it stands in it.

    ``lead`` is the heading or the line with a colon that it stands under; ``paragraph`` counts the
    paragraphs and list items of the text; ``number`` counts the sentences of its paragraph.
    """

    text: str
    start: int
    end: int
    paragraph: int
    number: int
    is_item: bool
    lead: str


class _Paragraph(NamedTuple):
    start: int
    end: int
    is_item: bool
    lead: str


def own_text(text: str) -> str:
    """``text`` without what is private, marked or hidden, and without notes of ours."""
    return split_markers(strip_envelopes(strip_private(visible(text))))[0]


def statements(text: str, *, role: str = "user") -> list[Statement]:
    """The sentences of ``text`` that its speaker said, in order; at most 400.

    Only the first 20,000 characters are read. A sentence longer than 1,000 characters is left out.
    """
    text = text[:READ_CHARS]
    found: list[Statement] = []
    for number, paragraph in enumerate(_paragraphs(text, role)):
        for at, (start, end) in enumerate(_sentences(text, paragraph.start, paragraph.end)):
            said = text[start:end]
            if quotes(said):
                break
            if end - start <= MAX_STATEMENT_CHARS:
                found.append(
                    Statement(said, start, end, number, at, paragraph.is_item, paragraph.lead)
                )
        if len(found) >= MAX_STATEMENTS:
            break
    return found[:MAX_STATEMENTS]


class _Reader:
    """Collects the lines of paragraphs, and knows what they stand under."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.done: list[_Paragraph] = []
        self.heading = ""
        self.lead = ""
        self.open: list[tuple[int, int]] = []
        self.is_item = False

    def take(self, start: int, end: int, *, is_item: bool = False) -> None:
        """Add a line."""
        if not self.open:
            self.is_item = is_item
        self.open.append((start, end))

    def close(self) -> None:
        """End the paragraph that is open."""
        if not self.open:
            return
        start, end = self.open[0][0], self.open[-1][1]
        self.open = []
        self.done.append(_Paragraph(start, end, self.is_item, self.lead or self.heading))
        said = self.text[start:end].rstrip(_MARKUP)
        if said.endswith((":", "：")):
            self.lead = said[said.rfind("\n") + 1 :]
        elif not self.is_item:
            self.lead = ""

    def under(self, heading: str) -> None:
        """A heading begins."""
        self.heading, self.lead = heading.strip(_MARKUP + ":"), ""


def _paragraphs(text: str, role: str) -> Iterator[_Paragraph]:
    """The paragraphs and list items that the speaker wrote."""
    reader = _Reader(text)
    for start, line, kind, whose, _ in read_lines(text, role):
        mark = ITEM.match(line) if kind == "item" else None
        if whose:
            reader.close()
        elif kind == "prose":
            reader.take(start, start + len(line))
        elif mark is not None:
            reader.close()
            reader.take(start + mark.end(), start + len(line), is_item=True)
        else:
            reader.close()
            if kind == "heading":
                reader.under(line)
    reader.close()
    return (one for one in reader.done if not _is_quotation(text[one.start : one.end]))


def _is_quotation(paragraph: str) -> bool:
    """Whether all of a ``paragraph`` stands in quotation marks, or it is empty."""
    said = paragraph.strip(_MARKUP)
    return not said or (said.startswith(_OPENS_QUOTE) and said.endswith(_CLOSES_QUOTE))


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each sentence of a paragraph begins and ends, without the white space around it."""
    at = start
    for stop in _ENDS.finditer(text, start, end):
        if _goes_on(text, at, stop):
            continue
        yield from _trimmed(text, at, stop.end())
        at = stop.end()
    yield from _trimmed(text, at, end)


def _goes_on(text: str, at: int, stop: re.Match[str]) -> bool:
    """Whether the sentence from ``at`` does not end at ``stop``: inline code, "e.g.", a wrap."""
    if stop[0] == "\n":
        return _is_wrapped(text, at, stop.start())
    if stop[0] == ".":
        return _is_abbreviated(text, at, stop.end())
    return stop[0][0] == "`"


def _is_abbreviated(text: str, at: int, end: int) -> bool:
    return _ABBREVIATION.search(text[max(at, end - _ABBREVIATION_CHARS) : end]) is not None


def _is_wrapped(text: str, at: int, newline: int) -> bool:
    """Whether the line that ends at ``newline`` goes on in the next one."""
    line = max(at, text.rfind("\n", at, newline) + 1)
    return newline - line >= _WRAPPED_AT and text[newline - 1] not in ".!?:;"


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and (text[start].isspace() or text[start] in "*_~#>"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_~"):
        end -= 1
    if end > start:
        yield start, end
