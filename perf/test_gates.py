"""Nothing became dearer than ``perf/baseline.json`` says; these are counts, no clock is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from perf.gates import BASELINE, measured

# How much more is let pass: a tenth, and a few lines for what depends on the order of events.
SHARE, LINES, RATIO = 0.10, 60, 0.5
REMEDY = "if that is meant: make perf-baseline, and say why in the change"


def dearer(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """A line for each figure that grew by more than is let pass."""
    for kind, figures in now["requests"].items():
        known = before["requests"].get(kind, {})
        yield from _grown(f"{kind}: statements", known.get("statements"), figures["statements"], 0)
        if now["python"] == before["python"]:  # versions differ in what they count as a line
            more = max(SHARE * known.get("lines", 0), LINES)
            yield from _grown(f"{kind}: lines", known.get("lines"), figures["lines"], more)
    for kind, ratio in now["growth"].items():
        known = before["growth"].get(kind)
        more = max(SHARE * (known or 0), RATIO)
        yield from _grown(f"ten times the input, {kind}: times the lines", known, ratio, more)
    if now["python"] == before["python"]:
        for kind, names in now["modules"].items():
            if new := sorted(set(names) - set(before["modules"].get(kind, names))):
                yield f"{kind} loads {', '.join(new)} as well"


def _grown(what: str, before: float | None, now: float, more: float) -> Iterator[str]:
    if before is None:
        yield f"{what}: {now:g}, and nothing to compare with"
    elif now > before + more:
        share = f", {(now - before) / before:+.0%}" if before else ""
        yield f"{what}: {before:,g} → {now:,g}{share}"


def test_nothing_became_dearer() -> None:
    found = list(dearer(json.loads(BASELINE.read_text()), measured()))
    assert not found, "\n".join([*found, REMEDY])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"requests": {"recall": {"statements": 2, "lines": 100}}}, "recall: statements: 1 → 2"),
        ({"requests": {"recall": {"statements": 1, "lines": 200}}}, "recall: lines: 100 → 200"),
        ({"growth": {"redaction": 60.0}}, "times the lines: 9 → 60"),
        ({"modules": {"hook pipe": ["_socket", "json"]}}, "hook pipe loads json as well"),
    ],
)
def test_what_became_dearer_is_told_with_both_figures(change: dict[str, Any], told: str) -> None:
    before = {
        "python": "3.11",
        "modules": {"hook pipe": ["_socket"]},
        "requests": {"recall": {"statements": 1, "lines": 100}},
        "growth": {"redaction": 9.0},
    }
    assert list(dearer(before, before)) == []
    [line] = dearer(before, before | change)
    assert told in line
