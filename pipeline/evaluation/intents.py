"""Measures the classifiers on labelled prompts: each racer alone, and merged as the product does.

``ece``, the expected calibration error, is taken over the prompts in which an intent was found: in
ten equal bins of confidence, how far the mean confidence is from the share of right types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from ...bus.prompts import IntentType, SearchIntent
from ...stages.classify import is_settled, keyword_vote, local_vote, merge
from ...stages.language.work_kind import work_signals
from ...stages.ports import Local
from .common import ratio

NONE = "none"
LABELS: tuple[str, ...] = (*(str(kind) for kind in IntentType), NONE)
RACERS = ("keyword", "local", "merged")
_BINS = 10


class Labelled(Struct, frozen=True):
    """A prompt with what it searches for: one of the six types, or ``none``."""

    text: str
    intent: str

    def __post_init__(self) -> None:
        if self.intent not in LABELS:
            raise ValueError(f"intent must be one of {', '.join(LABELS)}")


class Guess(NamedTuple):
    """A racer's answer as a label, with its confidence as a fraction (0.0 for ``none``)."""

    label: str
    confidence: float


class Label(Struct, frozen=True, kw_only=True):
    """How well one label is told; ``n`` prompts have it."""

    precision: float
    recall: float
    f1: float
    n: int


class Racer(Struct, frozen=True, kw_only=True):
    """How well one racer tells the labels that occur."""

    accuracy: float
    macro_f1: float
    none_false_positive_rate: float
    per_class: dict[str, Label]
    ece: float


class Report(Struct, frozen=True, kw_only=True):
    """What the racers come to on ``n`` prompts."""

    n: int
    racers: dict[str, Racer]

    def lines(self) -> Iterator[str]:
        yield f"{self.n} prompts"
        yield f"{'racer':<9}{'accuracy':>10}{'macro-F1':>10}{'false on none':>15}{'ece':>8}"
        for name, racer in self.racers.items():
            yield (
                f"{name:<9}{racer.accuracy:>10.3f}{racer.macro_f1:>10.3f}"
                f"{racer.none_false_positive_rate:>15.3f}{racer.ece:>8.3f}"
            )
        for name, racer in self.racers.items():
            yield ""
            yield f"{name:<14}{'precision':>10}{'recall':>8}{'F1':>7}{'n':>6}"
            for label, one in racer.per_class.items():
                yield (
                    f"  {label:<12}{one.precision:>10.3f}{one.recall:>8.3f}{one.f1:>7.3f}{one.n:>6}"
                )


def evaluate(rows: Sequence[Labelled], *, local: Local | None) -> Report:
    """The figures of every racer; without ``local`` those of ``local`` are left out."""
    guesses: dict[str, list[Guess]] = {racer: [] for racer in RACERS}
    for row in rows:
        keyword = keyword_vote(row.text, work=work_signals(row.text))
        votes = [keyword]
        guesses["keyword"].append(_guess(keyword.intent))
        if local is not None:
            answer = local_vote(row.text, keyword.intent, local)
            guesses["local"].append(_guess(answer.intent))
            votes += [] if is_settled(keyword.intent) else [answer]
        guesses["merged"].append(_guess(merge(votes)))
    gold = [row.intent for row in rows]
    racers = {racer: figures(gold, made) for racer, made in guesses.items() if made or not rows}
    return Report(n=len(rows), racers=racers)


def figures(gold: Sequence[str], guesses: Sequence[Guess]) -> Racer:
    """Accuracy, macro-F1 over the labels that occur, false positives on ``none``, and so on."""
    per_class = {label: _of_class(label, gold, guesses) for label in LABELS if label in gold}
    right = sum(want == got.label for want, got in zip(gold, guesses, strict=True))
    none = per_class.get(NONE)
    return Racer(
        accuracy=ratio(right, len(gold)),
        macro_f1=ratio(sum(one.f1 for one in per_class.values()), len(per_class)),
        none_false_positive_rate=round(1.0 - none.recall, 4) if none else 0.0,
        per_class=per_class,
        ece=_calibration_error(gold, guesses),
    )


def _guess(intent: SearchIntent | None) -> Guess:
    if intent is None:
        return Guess(NONE, 0.0)
    return Guess(str(intent.intent_type), intent.confidence_percent / 100)


def _of_class(label: str, gold: Sequence[str], guesses: Sequence[Guess]) -> Label:
    pairs = list(zip(gold, guesses, strict=True))
    hits = sum(want == label == got.label for want, got in pairs)
    named = sum(got.label == label for _, got in pairs)
    there = sum(want == label for want in gold)
    return Label(
        precision=ratio(hits, named),
        recall=ratio(hits, there),
        f1=ratio(2 * hits, named + there),
        n=there,
    )


def _calibration_error(gold: Sequence[str], guesses: Sequence[Guess]) -> float:
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for want, got in zip(gold, guesses, strict=True):
        if got.label != NONE:
            at = min(int(got.confidence * _BINS), _BINS - 1)
            bins[at].append((got.confidence, got.label == want))
    off = sum(abs(sum(sure - right for sure, right in one)) for one in bins)
    return ratio(off, sum(len(one) for one in bins))
