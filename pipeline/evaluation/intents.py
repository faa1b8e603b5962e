"""Measures the classifiers on labelled prompts: each racer alone, and merged as the product does.

``ece``, the expected calibration error, is taken over the prompts in which an intent was found: in
ten equal bins of confidence, how far the mean confidence is from the share of right types.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...bus.values import IntentType, SearchIntent, Vote
from ...stages.classify import keyword_vote, local_vote, merge
from ...stages.language.work_kind import work_signals
from ...stages.ports import Local
from .dataset import read_rows

NONE = "none"
LABELS: tuple[str, ...] = (*(str(kind) for kind in IntentType), NONE)
RACERS = ("keyword", "local", "merged")
_BINS = 10


class Labelled(msgspec.Struct, frozen=True):
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


def read_labelled(path: Path) -> list[Labelled]:
    """The rows of a JSONL file; other fields are ignored, blank lines skipped.

    Raises ``ValueError`` with the line's number for a line that is no labelled prompt.
    """
    return read_rows(path, Labelled)


def evaluate(
    rows: Sequence[Labelled], *, local: Local | None, min_decisive_percent: int = 80
) -> dict[str, Any]:
    """The figures of every racer; without ``local`` those of ``local`` are left out."""
    guesses: dict[str, list[Guess]] = {racer: [] for racer in RACERS}
    for row in rows:
        keyword = keyword_vote(row.text, work=work_signals(row.text))
        votes = [keyword]
        guesses["keyword"].append(_guess(keyword.intent))
        if local is not None:
            answer = local_vote(row.text, keyword.intent, local)
            guesses["local"].append(_guess(answer.intent))
            votes += [] if _is_decisive(keyword, min_decisive_percent) else [answer]
        guesses["merged"].append(_guess(merge(votes)))
    gold = [row.intent for row in rows]
    return {
        "n": len(rows),
        "racers": {
            racer: figures(gold, made) for racer, made in guesses.items() if made or not rows
        },
    }


def figures(gold: Sequence[str], guesses: Sequence[Guess]) -> dict[str, Any]:
    """Accuracy, macro-F1 over the labels that occur, false positives on ``none``, and so on."""
    per_class = {label: _of_class(label, gold, guesses) for label in LABELS if label in gold}
    right = sum(want == got.label for want, got in zip(gold, guesses, strict=True))
    none = per_class.get(NONE)
    return {
        "accuracy": _share(right, len(gold)),
        "macro_f1": _share(sum(one["f1"] for one in per_class.values()), len(per_class)),
        "none_false_positive_rate": round(1.0 - none["recall"], 4) if none else 0.0,
        "per_class": per_class,
        "ece": _calibration_error(gold, guesses),
    }


def as_json(report: Mapping[str, Any]) -> str:
    """The report as indented JSON."""
    return json.dumps(report, indent=2)


def as_text(report: Mapping[str, Any]) -> str:
    """The report as a table for people."""
    return "\n".join(_lines(report))


def _lines(report: Mapping[str, Any]) -> Iterable[str]:
    yield f"{report['n']} prompts"
    yield f"{'racer':<9}{'accuracy':>10}{'macro-F1':>10}{'false on none':>15}{'ece':>8}"
    for racer, made in report["racers"].items():
        yield (
            f"{racer:<9}{made['accuracy']:>10.3f}{made['macro_f1']:>10.3f}"
            f"{made['none_false_positive_rate']:>15.3f}{made['ece']:>8.3f}"
        )
    for racer, made in report["racers"].items():
        yield ""
        yield f"{racer:<14}{'precision':>10}{'recall':>8}{'F1':>7}{'n':>6}"
        for label, one in made["per_class"].items():
            yield (
                f"  {label:<12}{one['precision']:>10.3f}{one['recall']:>8.3f}"
                f"{one['f1']:>7.3f}{one['n']:>6}"
            )


def _is_decisive(vote: Vote, percent: int) -> bool:
    return vote.intent is not None and vote.intent.confidence_percent >= percent


def _guess(intent: SearchIntent | None) -> Guess:
    if intent is None:
        return Guess(NONE, 0.0)
    return Guess(str(intent.intent_type), intent.confidence_percent / 100)


def _of_class(label: str, gold: Sequence[str], guesses: Sequence[Guess]) -> dict[str, Any]:
    pairs = list(zip(gold, guesses, strict=True))
    hits = sum(want == label == got.label for want, got in pairs)
    named = sum(got.label == label for _, got in pairs)
    there = sum(want == label for want in gold)
    return {
        "precision": _share(hits, named),
        "recall": _share(hits, there),
        "f1": _share(2 * hits, named + there),
        "n": there,
    }


def _calibration_error(gold: Sequence[str], guesses: Sequence[Guess]) -> float:
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for want, got in zip(gold, guesses, strict=True):
        if got.label != NONE:
            at = min(int(got.confidence * _BINS), _BINS - 1)
            bins[at].append((got.confidence, got.label == want))
    off = sum(abs(sum(sure - right for sure, right in one)) for one in bins)
    return _share(off, sum(len(one) for one in bins))


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0
