"""The figures of what was shown, against what should have been: shares, tokens and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """What one prompt, order or act should have got, might have got, and did get: ids."""

    relevant: frozenset[str]
    acceptable: frozenset[str]
    shown: frozenset[str]


def shares(outcomes: Iterable[Outcome]) -> dict[str, float | None]:
    """Precision, recall and silence over all ``outcomes`` together; a share of nothing is None."""
    shown = right = wanted = found = hopeless = silent = 0
    for one in outcomes:
        shown += len(one.shown)
        right += len(one.shown & (one.relevant | one.acceptable))
        wanted += len(one.relevant)
        found += len(one.shown & one.relevant)
        hopeless += not one.relevant
        silent += not one.relevant and not one.shown
    return {
        "precision": _share(right, shown),
        "recall": _share(found, wanted),
        "silent_rate": _share(silent, hopeless),
    }


def costs(tokens: Sequence[int], took_ms: Sequence[float]) -> dict[str, Any]:
    """The median of ``tokens``, of what was shown at all, and percentiles of ``took_ms``."""
    return {
        "median_tokens": float(np.median(tokens)) if tokens else 0.0,
        "latency_ms": {f"p{p}": round(float(np.percentile(took_ms, p)), 3) for p in (50, 95, 99)},
    }


def columns(made: Mapping[str, Any]) -> str:
    """The three shares as columns of 11, 9 and 9 characters."""
    shared = (made["precision"], made["recall"], made["silent_rate"])
    precision, recall, silent = ("–" if one is None else f"{one:.3f}" for one in shared)
    return f"{precision:>11}{recall:>9}{silent:>9}"


def cost_lines(report: Mapping[str, Any], verb: str) -> tuple[str, str]:
    """What ``costs`` found, for a reader; ``verb`` says how something gets to the model."""
    latency = ", ".join(f"{name} {value:.2f}" for name, value in report["latency_ms"].items())
    return (
        f"median of {report['median_tokens']:.0f} tokens where anything is {verb}",
        f"latency in ms: {latency}",
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
