"""The local classifier: a linear model on what a stage noticed of a prompt, and nothing else.

Its weights are in ``intents.json``, written by ``perf/train_intents.py``, and are read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ...bus.prompts import IntentType
from ...config.linear_model import LinearModel

WEIGHTS = Path(__file__).with_name("intents.json")
ORDER, CHAT = "order", "chat"
NAMES = (*map(str, IntentType), ORDER, CHAT)
"""The outputs of the model: the kinds of search, and the two kinds of prompt that search nothing.

What is only stated or pasted counts as an order: it gives the agent something to work with.
"""


class LocalClassifier:
    """Guesses the kind of a prompt from its features. Never changes after it was made."""

    def __init__(self, model: LinearModel) -> None:
        self._model = model

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> LocalClassifier:
        """Read the weights of ``path``.

        Raises ``OSError`` if there is no such file and ``ValueError`` if it holds no such weights.
        """
        return cls(LinearModel.load(path, outputs=NAMES))

    def weigh(self, features: Iterable[tuple[str, float]]) -> Mapping[str, float]:
        """The probability of each of ``NAMES``; together 1.0."""
        return dict(zip(NAMES, self._model.probabilities(features), strict=True))
