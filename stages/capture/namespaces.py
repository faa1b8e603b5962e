"""Which namespace suits a text that somebody wants to keep, by its words and pairs of words.

People who keep something seldom name a namespace, and much depends on it: what a greeting tells,
what an overview of all decisions lists, and how well a memory fits a question. A multinomial model
of English words tells it. ``perf/train_namespaces.py`` fits ``namespaces.json`` on notes of
invented projects, and scores each author by a fit on the others.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from ...bus.values import NAMESPACES, TO_DO
from ...config.linear_model import LinearModel
from ...config.patterns import regex
from ..statements.statement import Statement, sentences_of
from ..statements.waits import is_held_up
from .features import look

WEIGHTS: Final = Path(__file__).with_name("namespaces.json")
READ_CHARS: Final = 1000
"""A text says at its beginning what it is."""

DEFAULT: Final = "learnings"
"""Of a text of which too little is known,"""

LEAST: Final = 0.3
"""which is where nothing is likelier than this."""

LEAST_TO_DO: Final = 0.5
"""What is to be dealt with is greeted with until somebody closes it, so it has to be this sure."""

SURELY = 0.8
"""From here on a text is a blocker although ``[remember]`` files elsewhere."""

_CUE = "~ "
_IS_OVER = regex(
    r"\b(?:(?:is|are|was|were)|(?<=\w)['\u2019](?:s|re))(?: \w+)? gone\b|\bworks? again\b",
    re.IGNORECASE,
)
_IN_THE_WAY = regex(
    r"\b(?:can ?not|can['\u2019]t|could(?:n['\u2019]t| not)|unable|nobody|no one|nothing"
    r"|block\w*|stuck|wait\w*|until|till|need\w*|miss\w*|lost"
    r"|fail\w*|break\w*|broken?|down)\b",
    re.IGNORECASE,
)
_MOST_SENTENCES = 4


def features(text: str) -> frozenset[str]:
    """The words of ``text``, each two that stand beside each other, and the cues among them."""
    seen = look(text[:READ_CHARS])
    return frozenset((*seen.grams, *(_CUE + cue for cue in seen.cues)))


def namespace_of(text: str, model: LinearModel | None = None) -> str:
    """The likeliest namespace of an English ``text``, by the fitted ``model``."""
    model = model or _model()
    chances = model.probabilities((name, 1.0) for name in features(text))
    for chance, name in sorted(zip(chances, model.outputs, strict=True), reverse=True):
        if chance < LEAST:
            break
        if name not in TO_DO or (chance >= LEAST_TO_DO and not _gives_up(text)):
            return name
    return DEFAULT


def remembered_as(text: str) -> str:
    """The namespace of what is marked with ``[remember]`` and no name: ``DEFAULT``.

    Where ``text`` surely says that something is in the way it is a blocker: a greeting tells those.
    The form says so ("we cannot … until …"), or the model does.
    """
    if is_held_up(text[:READ_CHARS]) and not _gives_up(text):
        return "blockers"
    chances = _model().probabilities((name, 1.0) for name in features(text))
    blocks = dict(zip(_model().outputs, chances, strict=True))["blockers"] >= SURELY
    return "blockers" if blocks and not _gives_up(text) else DEFAULT


def _gives_up(text: str) -> bool:
    """Whether ``text`` says that something is no more, which blocks nobody.

    "Deploys go via Flux now, ArgoCD is gone" and "the pin is gone" have the words of a problem that
    is solved. "The signing key is gone, we cannot release" says what it is in the way of.
    """
    if _IS_OVER.search(text[:READ_CHARS]) and not _IN_THE_WAY.search(text[:READ_CHARS]):
        return True
    sentences = sentences_of(text[:READ_CHARS], _MOST_SENTENCES)
    return any(Statement(sentence).given_up for sentence in sentences)


@cache
def _model() -> LinearModel:
    return LinearModel.load(WEIGHTS, outputs=NAMESPACES)
