"""The local classifier: a linear model on word n-grams and cues, and nothing else.

Its weights are in ``intents.json``, written by ``perf/train_intents.py``, and are read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from ...bus.values import IntentType
from ...config.linear_model import LinearModel

WEIGHTS = Path(__file__).with_name("intents.json")
CLASSES: tuple[IntentType | None, ...] = (*IntentType, None)
NAMES = tuple(str(kind) if kind else "none" for kind in CLASSES)
"""The outputs of the model, in the order of ``CLASSES``."""

HEAD_CHARS = 900
TAIL_CHARS = 300
MAX_WORDS = 160
CUE = "="

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+|\?")
_LENGTHS = (1, 2, 3, 5, 8, 12, 18, 30, 60)


class LocalClassifier:
    """Guesses the kind of a prompt from its words. Never changes after it was made."""

    def __init__(self, model: LinearModel) -> None:
        self._model = model

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> LocalClassifier:
        """Read the weights of ``path``.

        Raises ``OSError`` if there is no such file and ``ValueError`` if it holds no such weights.
        """
        return cls(LinearModel.load(path, outputs=NAMES))

    def weigh(self, text: str, cues: Sequence[str]) -> Mapping[IntentType | None, float]:
        """The probability of each kind of search and of None (no search); together 1.0."""
        return dict(zip(CLASSES, self._model.probabilities(features(text, cues)), strict=True))


def features(text: str, cues: Iterable[str]) -> list[tuple[str, float]]:
    """What the model sees of a prompt: distinct words and pairs of words, its shape, its cues.

    Words together weigh the same in a short and in a long prompt: each counts 3 / √(their number).
    """
    read = text if len(text) <= HEAD_CHARS + TAIL_CHARS else _ends(text)
    words = _WORD.findall(read.lower().replace("\u2019", "'"))[:MAX_WORDS]
    words = ["0" if word.isdigit() else word for word in words]
    grams = set(words)
    grams.update(f"{first} {second}" for first, second in pairwise(words))
    grams.update((f"^ {' '.join(words[:1])}", f"^ {' '.join(words[:2])}"))
    scale = 3.0 / max(1.0, len(grams)) ** 0.5
    named = [(gram, scale) for gram in sorted(grams)]
    named.extend((CUE + cue, 1.0) for cue in sorted({*cues, *_shape(read, words)}))
    return named


def _ends(text: str) -> str:
    return f"{text[:HEAD_CHARS]} {text[-TAIL_CHARS:]}"


def _shape(text: str, words: Sequence[str]) -> Iterable[str]:
    stripped = text.strip()
    yield f"words:{sum(len(words) > bound for bound in _LENGTHS)}"
    if "?" in words:
        yield "?"
    if stripped.endswith("?"):
        yield "ends ?"
    elif stripped.endswith((".", "!")):
        yield "ends ."
    elif stripped.endswith(":"):
        yield "ends :"
    if "\n" in stripped:
        yield "lines"
    if "`" in stripped:
        yield "code"
    if stripped[:1].isupper():
        yield "capital"
