"""What the reports of ``subcog eval`` have in common: shares, intervals, tokens and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Progress = Callable[[int, int], None]
"""Hears (done, in all)."""

Interval = tuple[float, float]


class Judged(Struct, frozen=True, kw_only=True):
    """What a line says of the memories: ids of ``memories.jsonl``."""

    id: str
    relevant: tuple[str, ...]
    acceptable: tuple[str, ...] = ()


class Shown(Struct, frozen=True):
    """What was shown for a line: ids of ``memories.jsonl``."""

    judged: Judged
    ids: frozenset[str]
    tokens: int
    took_ms: float


class Shares(Struct, frozen=True, kw_only=True):
    """Over all lines together; a share of nothing is None."""

    precision: float | None
    recall: float | None
    silent_rate: float | None

    def columns(self) -> str:
        """The three shares as columns of 11, 9 and 9 characters."""
        shared = (self.precision, self.recall, self.silent_rate)
        precision, recall, silent = map(share_text, shared)
        return f"{precision:>11}{recall:>9}{silent:>9}"


def shares(every: Sequence[Shown]) -> dict[str, float | None]:
    """The fields of ``Shares`` for ``every`` line together."""
    right = found = 0
    for one in every:
        right += len(one.ids & {*one.judged.relevant, *one.judged.acceptable})
        found += len(one.ids & {*one.judged.relevant})
    hopeless = [one for one in every if not one.judged.relevant]
    return {
        "precision": share(right, sum(len(one.ids) for one in every)),
        "recall": share(found, sum(len({*one.judged.relevant}) for one in every)),
        "silent_rate": share(sum(not one.ids for one in hopeless), len(hopeless)),
    }


def median_tokens(every: Sequence[Shown]) -> float:
    """The median where anything was shown; 0.0 where nothing was."""
    tokens = [one.tokens for one in every if one.ids]
    return float(np.median(tokens)) if tokens else 0.0


def percentiles(took_ms: Sequence[float]) -> dict[str, float]:
    """The 50th, 95th and 99th, as ``p50`` and so on."""
    return {f"p{p}": round(float(np.percentile(took_ms, p)), 3) for p in (50, 95, 99)}


def cost_lines(tokens: float, latency_ms: dict[str, float], verb: str) -> tuple[str, str]:
    """What was shown cost, for a reader; ``verb`` says how something gets to the model."""
    return f"median of {tokens:.0f} tokens where anything is {verb}", latency_text(latency_ms)


def latency_text(latency_ms: dict[str, float]) -> str:
    """``percentiles`` for a reader."""
    return "latency in ms: " + ", ".join(f"{name} {ms:.2f}" for name, ms in latency_ms.items())


def intervals(
    table: npt.NDArray[np.float64],
    figures: Callable[[npt.NDArray[np.float64]], Sequence[float]],
    *,
    resamples: int,
) -> list[Interval]:
    """The 95 % bootstrap interval of each of the ``figures`` of the rows of ``table``; seed 0."""
    draws = np.random.default_rng(0).integers(0, len(table), size=(resamples, len(table)))
    drawn = [figures(table[draw]) for draw in draws]
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def share(part: float, whole: float) -> float | None:
    """A share, 0-1, with four digits; None of nothing."""
    return round(float(part) / float(whole), 4) if whole else None


def share_text(shared: float | None) -> str:
    """A share for a reader."""
    return "–" if shared is None else f"{shared:.3f}"
