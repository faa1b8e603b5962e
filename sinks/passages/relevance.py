"""The probability that an episode of a session holds what a prompt needs.

A logistic model on what the words say, fitted by ``perf/fit_sessions.py`` on invented projects
whose conversations settle rules, amend them, or only talk. An episode is measured against the third
best, since a rule that was amended later has two good ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from ..search.calibration import Parts

WEIGHTS: Final = Path(__file__).with_name("relevance.json")
FEATURES = (
    "soft", "sharp", "vector", "share", "rarest", "back", "covered weight", "text",
    "soft lead", "vector lead", "share lead", "length",
)  # fmt: skip


class Candidate(Struct, frozen=True):
    """One candidate: where it stands among those measured, its order and its features."""

    at: int
    order: float
    share: float
    soft: float
    features: tuple[float, ...]


class Relevance:
    """The fitted model. Raises ``OSError`` and ``ValueError`` where its file is not usable."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        told = json.loads(path.read_text())
        if tuple(told["features"]) != FEATURES:
            raise ValueError(f"{path.name} was fitted on other features")
        self._weights: list[float] = told["weights"]
        self._bias: float = told["bias"]

    def __call__(self, candidate: Candidate) -> float:
        """The probability, 0–1, that ``candidate`` holds what was asked for."""
        pairs = zip(self._weights, candidate.features, strict=True)
        odds = self._bias + sum(weight * value for weight, value in pairs)
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, odds))))


def candidates_of(
    measured: Parts, usable: Sequence[int], *, words: int, best: int
) -> list[Candidate]:
    """The ``best`` of the ``usable`` candidates, best first; ``words`` is the question's length."""
    if not usable:
        return []
    top_text = max(float(measured.text.max()), 1e-9)
    top_late = max(float(measured.late.max()), 1e-9)
    order = (
        0.35 * measured.text / top_text + 0.25 * measured.late / top_late + 0.4 * measured.vector
    )
    ranked = sorted(usable, key=lambda at: -float(order[at]))[:best]
    leads = {
        name: _leads([float(getattr(measured, name)[at]) for at in ranked])
        for name in ("soft", "vector", "share")
    }
    return [
        Candidate(
            at=at,
            order=float(order[at]),
            share=float(measured.share[at]),
            soft=float(measured.soft[at]),
            features=(
                float(measured.soft[at]),
                float(measured.sharp[at]),
                float(measured.vector[at]),
                float(measured.share[at]),
                float(measured.rarest[at]),
                float(measured.back[at]),
                float(np.log1p(measured.weight * measured.soft[at])),
                float(np.log1p(measured.text[at])),
                leads["soft"][place],
                leads["vector"][place],
                leads["share"][place],
                math.log1p(words),
            ),
        )
        for place, at in enumerate(ranked)
    ]


def _leads(values: Sequence[float]) -> list[float]:
    """How far each value is ahead of the second best of the others."""
    leads = []
    for at, value in enumerate(values):
        others = sorted((*values[:at], *values[at + 1 :]), reverse=True)
        leads.append(value - (others[1] if len(others) > 1 else 0.0))
    return leads
