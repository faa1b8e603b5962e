"""Splits Markdown that people write for agents (CLAUDE.md, AGENTS.md), and reads a model's answer.

A piece is a list item with what is nested below it, a numbered list, a table or a paragraph; a
block of code belongs to what introduces it. Front matter, comments, lines that only import or link
to something, and tables of contents are no pieces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ...config.patterns import regex

_HEADING = regex(r"(?P<level>#{1,6})\s+(?P<title>\S.*)$")
_FENCE = regex(r"\s*(`{3,}|~{3,})")
_BULLET = regex(r"(?P<indent>\s*)[-*+•]\s+(?P<rest>\S.*)$")
_STEP = regex(r"(?P<indent>\s*)\d{1,3}[.)]\s+\S")
_IMPORT = regex(r"@[^\s@]+$")
_RULE = regex(r"([-*_=]\s*){3,}$")
_LINK = regex(
    r"!?\[\[[^\]\n]{1,300}\]\]|!?\[[^\]\n]{0,300}\]\([^)\n]{0,500}\)|\[[^\]\n]{1,300}\]:\s*\S+"
    r"|<https?://[^>\s]{1,500}>|https?://\S{1,500}"
)
_POINTS = regex(r"\b(?:see(?: also)?|and|or|more|at|in|the)\b", re.IGNORECASE)
_WORD = regex(r"\w")
_FRONT_LINES = 50
_TAB = "    "
_DECODER = json.JSONDecoder()
# So many opening braces of an answer are tried; models put a sentence before it, or an example.
_MOST_OBJECTS = 4


class Piece(NamedTuple):
    """One thing that is said: ``title`` is the headings above it, and the line that leads to it."""

    title: str
    text: str


def only_links(text: str) -> bool:
    """Whether every line of ``text`` is a link or an address and says nothing beside that."""
    return all(map(is_link, filter(None, map(str.strip, text.split("\n")))))


def is_link(line: str) -> bool:
    """Whether ``line`` names nothing but links."""
    bare, links = _LINK.subn(" ", line)
    return links > 0 and not _WORD.search(_POINTS.sub(" ", bare))


def heading_of(line: str) -> tuple[int, str] | None:
    """The level from 1 to 6 and the title, without the signs that may close it."""
    found = _HEADING.match(line)
    if found is None:
        return None
    title = found["title"].rstrip()
    return len(found["level"]), title.rstrip("#").rstrip() or title


def pieces(text: str) -> Iterator[Piece]:
    """What ``text`` says, in order."""
    splitter = _Splitter()
    for line in _without_front(text.expandtabs(len(_TAB)).splitlines()):
        splitter.take(line.rstrip())
    splitter.end()
    for piece in splitter.found:
        said = "\n".join(piece.lines).strip("\n")
        if said.strip() and not only_links(said):
            yield Piece(piece.title, said)


def _without_front(lines: Sequence[str]) -> Sequence[str]:
    """``lines`` without the properties between two lines of dashes at their beginning."""
    if lines and lines[0].rstrip("\ufeff ") == "---":
        for number, line in enumerate(lines[1:_FRONT_LINES], 1):
            if line.rstrip() == "---":
                return lines[number + 1 :]
    return lines


class _Growing:
    """A piece that may still get lines. ``indent`` is that of its list, None for a paragraph."""

    def __init__(self, title: str, line: str, indent: int | None = None) -> None:
        self.title = title
        self.lines = [line]
        self.indent = indent
        self.is_steps = False

    @property
    def leads(self) -> bool:
        """Whether it only introduces what follows."""
        return self.indent is None and len(self.lines) == 1 and self.lines[0].endswith(":")


class _Splitter:
    """Takes line after line; ``found`` is what they say."""

    def __init__(self) -> None:
        self.found: list[_Growing] = []
        self._headings: dict[int, str] = {}
        self._current: _Growing | None = None
        self._lead = ""
        self._fence = ""
        self._in_comment = False
        self._after_blank = True

    def take(self, line: str) -> None:
        if self._fence or _FENCE.match(line):
            self._take_code(line)
        elif self._in_comment or line.lstrip().startswith("<!--"):
            self._in_comment = "-->" not in line
        elif heading := heading_of(line):
            self._take_heading(*heading)
        elif not line.strip():
            self._after_blank = True
        elif not (_RULE.fullmatch(line.strip()) or _IMPORT.fullmatch(line.strip())):
            self._take_text(line)
            self._after_blank = False

    def end(self) -> None:
        """Nothing follows."""
        self._current = None

    def _take_heading(self, level: int, title: str) -> None:
        self._headings = {at: one for at, one in self._headings.items() if at < level}
        self._headings[level] = title
        self._current, self._lead, self._after_blank = None, "", True

    def _take_code(self, line: str) -> None:
        """A line of a block of code: a part of what stands before it below the same heading."""
        if self._current is None:
            self._begin(line)
        else:
            self._current.lines.append(line)
        fence = _FENCE.match(line)
        if not self._fence and fence:
            self._fence = fence[1]
        elif fence and fence[1].startswith(self._fence) and not line.strip(" `~"):
            self._fence = ""
        self._after_blank = False

    def _take_text(self, line: str) -> None:
        current = self._current
        indent = len(line) - len(line.lstrip())
        bullet, step = _BULLET.match(line), _STEP.match(line)
        is_item = bullet is not None or step is not None
        if current and current.indent is not None and indent > current.indent:
            current.lines.append(line[current.indent :])
        elif current and step and current.is_steps:
            current.lines.append(line.strip())
        elif is_item:
            self._begin_item(line, bullet, indent)
        elif current and not self._after_blank:
            current.lines.append(line.strip())
        else:
            self._lead = ""
            self._begin(line.strip())

    def _begin_item(self, line: str, bullet: re.Match[str] | None, indent: int) -> None:
        current = self._current
        if current is not None and current.leads:
            self.found.pop()
            self._lead = current.lines[0].strip("*_ :")
        self._begin(bullet["rest"] if bullet else line.strip(), indent)
        if bullet is None and self._current is not None:
            self._current.is_steps = True

    def _begin(self, line: str, indent: int | None = None) -> None:
        self._current = _Growing(self._title(with_lead=indent is not None), line, indent)
        self.found.append(self._current)

    def _title(self, *, with_lead: bool) -> str:
        """The headings, without the title of the document where there are others."""
        levels = sorted(self._headings)
        named = [self._headings[at] for at in (levels[1:] if levels[:1] == [1] else levels)]
        named = named or [self._headings[at] for at in levels]
        return " / ".join([*named, self._lead] if with_lead and self._lead else named)


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """The first JSON objects in ``text``, whatever stands around them."""
    starts = (match.start() for match in re.finditer(r"\{", text))
    for start in islice(starts, _MOST_OBJECTS):
        try:
            yield _DECODER.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
