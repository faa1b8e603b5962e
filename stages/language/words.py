"""Words: the one tokenizer of the stages, the stop words and the negations of English.

What is fitted on tokens of its own keeps them: the features of ``stages/capture``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..text.lexicon import load_lexicon

WORD = r"\w+(?:(?:['.@/\\-]|::|:/+)\w+)*[+#]*"
"""A word or a name of several parts ("next.js", "don't", "C++"), in a text that is folded."""

_LISTS = load_lexicon(Path(__file__).with_name("words.toml"), dict[str, str])


def word_list(name: str) -> frozenset[str]:
    """The list called ``name`` in ``words.toml``. Raises ``KeyError`` where there is none."""
    return frozenset(_LISTS[name].split())


FILLERS = word_list("fillers")
"""What people begin a sentence with, or put in between, without saying anything."""

STOP_WORDS = FILLERS | word_list("stop_words")

_WORD = re.compile(WORD)
_CONTRACTED = re.compile(r"(\w+)n't")
_WITHOUT_APOSTROPHE = frozenset(
    "dont doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt wouldnt hasnt havent "
    "hadnt mustnt neednt aint".split()
)
_CONTRACTION = re.compile(rf"n't\b|\b(?:cannot|{'|'.join(sorted(_WITHOUT_APOSTROPHE))})\b")
_BASES = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
NEGATIONS = frozenset(
    "not no never none nothing nobody nowhere neither nor without cannot instead".split()
)
"""Words that turn a statement into its opposite, beside contractions ("don't", "wasn't")."""


def fold(text: str) -> str:
    """Lower case, straight apostrophes; the same length, so that positions stay true.

    The dotted capital I is the one character whose lower case is longer than itself.
    """
    return text.replace("\u0130", "i").lower().replace("\u2019", "'")


def is_negation(word: str) -> bool:
    """Whether the folded ``word`` denies: "not", "never", "cannot", "don't", "wasn't", "dont"."""
    return word in NEGATIONS or word in _WITHOUT_APOSTROPHE or word.endswith("n't")


def words(text: str) -> Iterator[str]:
    """The words of ``text``, folded, in order."""
    return (match[0] for match in _WORD.finditer(fold(text)))


def spelled_words(text: str) -> list[str]:
    """The words of ``text``, folded, in order, contractions spelled out."""
    folded = fold(text)
    found: list[str] = _WORD.findall(folded)
    if _CONTRACTION.search(folded) is None:
        return found
    return [part for word in found for part in spelled_out(word)]


def spelled_out(word: str) -> tuple[str, ...]:
    """A folded ``word`` without contraction: "can't", "cant" and "cannot" are "can", "not"."""
    if word in _WITHOUT_APOSTROPHE:
        word = f"{word[:-2]}n't"
    if word == "cannot":
        return ("can", "not")
    contracted = _CONTRACTED.fullmatch(word)
    if contracted is None:
        return (word,)
    return (_BASES.get(contracted[1], contracted[1]), "not")
