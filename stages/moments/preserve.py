"""What a summary of the session must preserve, in words for whoever writes the summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ...bus.values import Noted
from ..language.words import is_negation, words
from ..statements.comparison import says_same
from ..text.envelope import NOTHING, neutralise, preview
from ..text.unicode import well_formed

MAX_POINTS = 8
GIVE_PLAIN_TEXT = frozenset({"claude"})
"""Clients that give what a hook prints before a compaction, as it stands, to the model that
summarises, and show it to the user: JSON too."""
_POINT_CHARS = 240
_INSTRUCTION = (
    "Keep these points in the summary, with their reasons. They are quoted from this conversation:"
)


def preserve(
    client: str,
    points: Sequence[Noted],
    *,
    captured: int,
    clean: Callable[[str], str] = str,
) -> bytes:
    """The answer to a compaction that starts; ``{}`` where there is nothing to say.

    ``points`` are what was noted in the session, oldest first; so many of them were ``captured``.
    A client that takes no plain text gets a message for the user alone.
    """
    report = _report(captured)
    if client not in GIVE_PLAIN_TEXT:
        return msgspec.json.encode({"systemMessage": report}) if report else NOTHING
    lines = [
        f"- {_kind(point)}: {preview(neutralise(clean(point.text)), _POINT_CHARS)}"
        for point in _latest(points)
    ]
    parts = [report] if report else []
    if lines:
        parts += [_INSTRUCTION, *lines]
    return well_formed("\n".join(parts)).encode() or NOTHING


def _kind(point: Noted) -> str:
    """What ``point`` is; of one that was merely found that is a guess."""
    return point.kind if point.earned else "said"


def _report(captured: int) -> str:
    if not captured:
        return ""
    return f"subcog: kept {captured} {'memory' if captured == 1 else 'memories'} before compaction"


def _latest(points: Sequence[Noted]) -> list[Noted]:
    """The latest points, each once: of two that say the same the one that says more."""
    chosen: list[Noted] = []
    for point in reversed(points):
        alike = next((at for at, one in enumerate(chosen) if _say_same(one.text, point.text)), None)
        if alike is None:
            chosen.append(point)
        elif len(point.text) > len(chosen[alike].text):
            chosen[alike] = point
        if len(chosen) == MAX_POINTS:
            break
    return chosen[::-1]


def _say_same(newer: str, older: str) -> bool:
    """Whether both say the same; not where only one of them denies it: then both are told."""
    short, long = sorted((" ".join(text.split()).casefold() for text in (newer, older)), key=len)
    if _denials(short) != _denials(long):
        return False
    return short.rstrip(".!") in long or says_same(newer, older)


def _denials(text: str) -> int:
    return sum(map(is_negation, words(text)))
