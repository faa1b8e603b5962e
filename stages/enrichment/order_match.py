"""Which memories are needed for an order, by the orders for which they say that they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from ...bus.triggers import orders_in
from ...bus.values import Memory
from ...config.linear_model import LinearModel

FEATURES = ("cosine", "text_cosine", "shared", "cosine_lead", "shared_lead")
WEIGHTS = Path(__file__).with_name("order_match.json")
"""``perf/fit_orders.py`` fits them and prints how well they do."""

FLOOR = 0.55
"""What is less likely is not shown: from here on about eight of ten are right."""

Cosines = Callable[[str, Sequence[str]], Sequence[float | None]]
"""How near each of some texts is to a text, −1 to 1; None where nothing can tell."""

MOST_OTHERS = 7
"""So many at most are found beside each (``Warnings.sharing``)."""

_READ_CHARS = 300


def needed_for(
    order: str, found: Sequence[tuple[Memory, float]], cosines: Cosines
) -> list[tuple[Memory, float]]:
    """Those of ``found`` that are needed for ``order``, each with its probability, best first.

    ``found`` share words with it, each so much as the number says. Empty where there are no
    vectors.
    """
    rows = features(order, found, cosines)
    model = _model()
    rated = [
        (memory, model.probability(row)) for (memory, _), row in zip(found, rows, strict=False)
    ]
    return sorted((one for one in rated if one[1] >= FLOOR), key=lambda one: -one[1])


def features(
    order: str, found: Sequence[tuple[Memory, float]], cosines: Cosines
) -> list[tuple[float, ...]]:
    """``FEATURES`` of each memory; empty where there are no vectors.

    The cosines are those of the order with the nearest of the memory's own orders and with its
    text. A lead is what the memory has before the mean of the others, of which missing ones have
    nothing: what fits all of them alike means none, and two may be needed for the same.
    """
    texts = [[memory.content[:_READ_CHARS], *orders_in(memory.triggers)] for memory, _ in found]
    near = iter(cosines(order[:_READ_CHARS], list(chain.from_iterable(texts))))
    rows = []
    for (_, shared), own in zip(found, texts, strict=True):
        text, *orders = (next(near) for _ in own)
        if text is None:
            return []
        rows.append((max((one for one in orders if one is not None), default=0.0), text, shared))
    nearest = [cosine for cosine, _, _ in rows]
    most = [shared for _, _, shared in rows]
    return [
        (*row, row[0] - _mean_of_others(nearest, at), row[2] - _mean_of_others(most, at))
        for at, row in enumerate(rows)
    ]


def _mean_of_others(values: Sequence[float], at: int) -> float:
    return (sum(values) - values[at]) / MOST_OTHERS


@cache
def _model() -> LinearModel:
    return LinearModel.load(WEIGHTS, features=FEATURES)
