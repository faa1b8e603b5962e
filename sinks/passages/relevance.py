"""The probability that an episode of a session holds what a prompt needs.

A logistic model on what the words say, fitted by ``perf/fit_sessions.py`` on invented projects
whose conversations settle rules, amend them, or only talk. An episode is measured against the third
best, since a rule that was amended later has two good ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from ...config.linear_model import LinearModel
from ..search.calibration import Features

WEIGHTS: Final = Path(__file__).with_name("relevance.json")
FEATURES = (
    "coverage p2", "coverage p4", "vector", "share", "rare term coverage", "reverse coverage",
    "covered weight", "text", "coverage lead", "vector lead", "share lead", "length",
)  # fmt: skip


class Candidate(Struct, frozen=True):
    """One candidate: where it stands among those measured, its order and its features."""

    at: int
    order: float
    share: float
    coverage: float
    features: tuple[float, ...]


def load_relevance() -> LinearModel:
    """The fitted model. Raises ``OSError`` and ``ValueError`` where its file is not usable."""
    return LinearModel.load(WEIGHTS, features=FEATURES)


def candidates_of(
    measured: Features, usable: Sequence[int], *, words: int, best: int
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
        for name in ("coverage_p2", "vector", "share")
    }
    return [
        Candidate(
            at=at,
            order=float(order[at]),
            share=float(measured.share[at]),
            coverage=float(measured.coverage_p2[at]),
            features=(
                float(measured.coverage_p2[at]),
                float(measured.coverage_p4[at]),
                float(measured.vector[at]),
                float(measured.share[at]),
                float(measured.rare_term_coverage[at]),
                float(measured.reverse_coverage[at]),
                float(np.log1p(measured.weight * measured.coverage_p2[at])),
                float(np.log1p(measured.text[at])),
                leads["coverage_p2"][place],
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
