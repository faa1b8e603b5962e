"""Finds the records in which an agent notes what matters: ``**Decision**: …`` and further lines.

A record begins with one of the headings below and goes on as long as the lines have a heading of
their own; only its beginning says what it is about. A form that nobody filled in is no record.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .statements import own_lines

KINDS = {
    "decision": "decision",
    "learning": "learning",
    "lesson": "learning",
    "til": "learning",
    "gotcha": "gotcha",
    "blocker": "blocker",
    "resolution": "resolution",
    "preference": "preference",
    "completed": "progress",
    "milestone": "progress",
    "progress": "progress",
    "pattern": "pattern",
    "convention": "pattern",
}
MAX_RECORD_CHARS = 2_000
_LABELLED = re.compile(
    r"[ \t]*(?:[-*+] )?(?:\*\*|__)(?P<label>[^*_:\n]{2,40}?):?(?:\*\*|__)[ \t]*:?[ \t]*(?P<said>.*)"
)
_UNFILLED = re.compile(r"[\[<{].*[\]>}]|\.{3}|…|-|n/a|none", re.IGNORECASE)
_LEAST_CHARS = 8


class Record(NamedTuple):
    """The characters ``start`` to ``end`` of a text; ``headline`` is what its first line says."""

    kind: str
    headline: str
    start: int
    end: int


def find_records(text: str, *, role: str) -> list[Record]:
    """The records of ``text`` that its speaker wrote, in order.

    ``kind`` is that of its first heading, or "resolution" for a blocker that has one.
    """
    found: list[Record] = []
    is_open = False
    for start, line, kind in own_lines(text, role):
        match = _LABELLED.match(line) if kind in ("prose", "item") else None
        if match is None or not match["said"].strip():
            is_open = False
            continue
        label, said = match["label"].strip().lower(), match["said"].strip()
        if label in KINDS and not (is_open and label == "resolution"):
            is_open = _is_filled(said)
            if is_open:
                end = start + len(line)
                found.append(Record(KINDS[label], said, start + match.start("label"), end))
        elif is_open and start + len(line) - found[-1].start <= MAX_RECORD_CHARS:
            found[-1] = _continued(found[-1], label, said, start + len(line))
    return found


def _is_filled(said: str) -> bool:
    return len(said) >= _LEAST_CHARS and _UNFILLED.fullmatch(said) is None


def _continued(record: Record, label: str, said: str, end: int) -> Record:
    resolves = record.kind == "blocker" and label == "resolution" and _is_filled(said)
    return record._replace(kind="resolution" if resolves else record.kind, end=end)
