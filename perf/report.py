"""How a measurement is reported: one line beside its target. Times are reported, never gated."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def say(what: str, values: Sequence[float], *, target: str, unit: str = "ms") -> None:
    """Print p50, p95 and p99 of ``values`` beside the target."""
    p50, p95, p99 = (percentile(values, percent) for percent in (50, 95, 99))
    line = f"p50 {p50:.2f}  p95 {p95:.2f}  p99 {p99:.2f} {unit}"
    print(f"\n{what} (n={len(values)}): {line}; target {target}")
