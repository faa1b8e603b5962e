"""How well what is found worth keeping fits what people labelled.

A line is {id, role, text, captures: [{type, namespace, span}], high_confidence?}. Found in a
message is what becomes a memory by itself: what the markers of a prompt keep (type "explicit") and
what ``stages/capture/statement_classifier.py`` finds. It is right when it overlaps a labelled span
by at least half of either.

``precision`` is the share of what was found that is right, ``recall`` the share of the labelled
spans that something right was found for. ``namespace_accuracy`` is taken over what is right;
learnings and gotchas count as the same, and so do decisions and patterns: a rule is
the outcome of a choice. ``junk_rate`` is the share of what was found that was found
in messages that have nothing. ``high_confidence_recall`` is the share of the spans of messages with
``high_confidence`` (true where it is not given) that were found with at least 85 %, which is what a
hook keeps by itself. ``by_type`` takes ``recall`` by the labelled type and ``precision`` by the
found one. A share of nothing is 0.0, in ``by_type`` null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import astuple, fields

from ...stages.capture.statement_classifier import detect_namespace, find_earned, said_by
from ...stages.text.markup import split_markers
from .common import Interval, intervals, ratio, read_rows, share, share_text

HIGH_CONFIDENCE_PERCENT = 85
_SURE_PERCENT = 100
_RESAMPLES = 2000
NEAR = (frozenset(("learnings", "gotchas")), frozenset(("decisions", "patterns")))


class JudgedCapture(Struct, frozen=True):
    """A span of a message that is worth keeping."""

    type: str
    namespace: str
    span: str


class JudgedMessage(Struct, frozen=True):
    """A line of the file."""

    id: str
    role: Literal["user", "assistant"]
    text: str
    captures: tuple[JudgedCapture, ...] = ()
    high_confidence: bool = True


class Found(NamedTuple):
    """What was found in a message: ``start`` to ``end`` in its text."""

    type: str
    namespace: str
    percent: int
    start: int
    end: int


class Compared(NamedTuple):
    """A message beside what was found: the label of each find, and the finds of each label."""

    message: JudgedMessage
    found: tuple[Found, ...]
    labels: tuple[JudgedCapture | None, ...]
    finds: tuple[tuple[Found, ...], ...]


class Shares(Struct, frozen=True):
    """Of all the messages together."""

    precision: float
    recall: float
    namespace_accuracy: float
    junk_rate: float
    high_confidence_recall: float


class OfType(Struct, frozen=True, kw_only=True):
    """Of one type, labelled or found."""

    labelled: int
    recall: float | None
    found: int
    precision: float | None


class Report(Shares, frozen=True, kw_only=True):
    """What was found comes to; ``interval`` by share."""

    messages: int
    by_type: dict[str, OfType]
    interval: dict[str, Interval]

    def lines(self) -> Iterator[str]:
        yield f"{self.messages} messages"
        yield ""
        for name, (low, high) in self.interval.items():
            yield f"{name:24}{getattr(self, name):>7.3f}   {low:.3f}–{high:.3f}"
        yield ""
        yield f"{'type':14}{'labelled':>9}{'recall':>8}{'found':>7}{'precision':>11}"
        for kind, one in self.by_type.items():
            recall, precision = share_text(one.recall), share_text(one.precision)
            yield f"{kind:14}{one.labelled:>9}{recall:>8}{one.found:>7}{precision:>11}"


def read_messages(path: Path) -> list[JudgedMessage]:
    """The messages of a JSONL file; other fields are ignored, blank lines skipped.

    Raises ``OSError``, and ``ValueError`` with file and line for a line that is no message, and
    where a span does not occur in its text.
    """
    messages = read_rows(path, JudgedMessage)
    for message in messages:
        for capture in message.captures:
            if not capture.span or capture.span not in message.text:
                raise ValueError(f"{path}, message {message.id}: a span is not in the text")
    return messages


def evaluate(messages: Sequence[JudgedMessage]) -> Report:
    """The figures, with a 95 % bootstrap ``interval`` over the messages.

    Raises ``ValueError`` for no messages.
    """
    if not messages:
        raise ValueError("there are no messages")
    compared = [compare(message, found_in(message)) for message in messages]
    counts = np.array([_counts(one) for one in compared], np.float64)
    drawn = intervals(counts, lambda rows: astuple(_shares(rows)), resamples=_RESAMPLES)
    names = [field.name for field in fields(Shares)]
    return Report(
        *astuple(_shares(counts)),
        messages=len(messages),
        by_type=_by_type(compared),
        interval={
            name: (round(low, 4), round(high, 4))
            for name, (low, high) in zip(names, drawn, strict=True)
        },
    )


def found_in(message: JudgedMessage) -> tuple[Found, ...]:
    """What the product would keep of ``message``, in order of confidence."""
    marked = split_markers(message.text)[1] if message.role == "user" else ()
    explicit = (
        ("explicit", one.namespace or detect_namespace(one.content), _SURE_PERCENT, one.content)
        for one in marked
    )
    own = said_by(message.text, message.role)
    noted = (
        (one.kind, one.namespace, one.confidence_percent, own[one.start : one.end])
        for one in find_earned(message.text, role=message.role)
    )
    located = []
    for kind, namespace, percent, text in (*explicit, *noted):
        start = message.text.find(text)
        if start >= 0:
            located.append(Found(kind, namespace, percent, start, start + len(text)))
    return tuple(located)


def compare(message: JudgedMessage, found: Sequence[Found]) -> Compared:
    """Find for each thing found the labelled span it fits best, and the other way round."""
    spans = [(message.text.find(one.span), one) for one in message.captures]
    labels: list[JudgedCapture | None] = []
    finds: list[list[Found]] = [[] for _ in spans]
    for one in found:
        shared = [_shared(one, at, len(label.span)) for at, label in spans]
        fits = [
            at
            for at, (_, label) in enumerate(spans)
            if 2 * shared[at] >= min(one.end - one.start, len(label.span))
        ]
        for at in fits:
            finds[at].append(one)
        best = max(fits, key=lambda at: (_same(one, spans[at][1]), shared[at]), default=None)
        labels.append(None if best is None else spans[best][1])
    return Compared(message, tuple(found), tuple(labels), tuple(map(tuple, finds)))


def _shared(found: Found, at: int, length: int) -> int:
    return max(0, min(found.end, at + length) - max(found.start, at))


def _same(found: Found, label: JudgedCapture) -> bool:
    named = {found.namespace, label.namespace}
    return len(named) == 1 or named in NEAR


def _counts(one: Compared) -> tuple[int, ...]:
    """What adds up over messages, in the order in which ``_shares`` takes it."""
    right = [(found, label) for found, label in zip(one.found, one.labels, strict=True) if label]
    sure = one.message.high_confidence
    return (
        len(one.found),
        len(right),
        sum(_same(found, label) for found, label in right),
        len(one.found) if not one.message.captures else 0,
        len(one.finds),
        sum(bool(finds) for finds in one.finds),
        len(one.finds) if sure else 0,
        sum(map(_has_sure, one.finds)) if sure else 0,
    )


def _has_sure(finds: Sequence[Found]) -> bool:
    return any(one.percent >= HIGH_CONFIDENCE_PERCENT for one in finds)


def _shares(counts: npt.NDArray[np.float64]) -> Shares:
    """The shares over all rows of ``_counts``."""
    found, right, same, junk, labelled, hit, sure, kept = counts.sum(axis=0).tolist()
    pairs = ((right, found), (hit, labelled), (same, right), (junk, found), (kept, sure))
    return Shares(*(ratio(part, whole) for part, whole in pairs))


def _by_type(compared: Sequence[Compared]) -> dict[str, OfType]:
    labelled: dict[str, list[bool]] = {}
    found: dict[str, list[bool]] = {}
    for one in compared:
        for label, finds in zip(one.message.captures, one.finds, strict=True):
            labelled.setdefault(label.type, []).append(bool(finds))
        for got, fitting in zip(one.found, one.labels, strict=True):
            found.setdefault(got.type, []).append(fitting is not None)
    return {
        kind: _of_type(labelled.get(kind, []), found.get(kind, []))
        for kind in sorted({*labelled, *found})
    }


def _of_type(hits: Sequence[bool], fits: Sequence[bool]) -> OfType:
    return OfType(
        labelled=len(hits),
        recall=share(sum(hits), len(hits)),
        found=len(fits),
        precision=share(sum(fits), len(fits)),
    )
