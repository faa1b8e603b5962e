"""The words of a text in another language than English, as text search counts them: in pieces.

A word is found by its runs of four characters, which its inflected forms and the compounds with it
have as well; what is written without blanks by its pairs of characters. So one way serves every
language. A gram is the CRC-32 of such a run behind a mark: no word of an English text is one.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ...config.languages import ENGLISH, OTHER, fold, language_of, words_of
from .analyzer import BREAK, Analyzer

_LENGTH = 4
# Words, and runs of Chinese, Japanese and Korean characters.
_RUN = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]+|[^\W_\u3040-\u9fff\uac00-\ud7af]+")
# Of these the ones that name things: not hiragana, in which Japanese has its grammar.
_SUBJECT = re.compile(r"[\u30a0-\u30ff]+|[\u3400-\u9fff\uac00-\ud7af]+")
_IS_KATAKANA = re.compile(r"[\u30a0-\u30ff]").match
_IS_UNSPACED = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]").match
# What is longer is no word; of a question only so much is looked at, of a text that is kept all.
_LONGEST = 32
_MOST_WORDS = 24
_QUESTION_CHARS = 2000
_PAIR = 0.5
_NO_TERMS = np.zeros(0, dtype=np.uint32)

Terms = npt.NDArray[np.uint32]


class AskedWord(Struct, frozen=True):
    """A word of a question: its grams, and its term as English texts have it, if it has one.

    ``part`` is how much of a word it is: two neighbouring characters of Chinese are half of one.
    """

    grams: Terms
    term: int | None = None
    part: float = 1.0


def grams_of(text: str) -> Terms:
    """The distinct grams of a text that is to be found; none of what is English.

    What follows a ``BREAK`` may be in another language than what is before it.
    """
    foreign = [part for part in text.split(BREAK, 1) if language_of(part) != ENGLISH]
    if not foreign:
        return _NO_TERMS
    runs = set(_RUN.findall(fold("\n".join(foreign))))
    grams = {gram for run in runs for gram in _grams(run)}
    grams.update(_hash(char) for run in runs if _IS_UNSPACED(run) for char in run)
    return np.fromiter(grams, dtype=np.uint32, count=len(grams))


def asked_words(text: str, language: str, analyzer: Analyzer) -> tuple[AskedWord, ...]:
    """The distinct words of a question in ``language`` that say what it is about."""
    found: dict[str, AskedWord] = {}
    for word in _subjects(text, language):
        if len(found) >= _MOST_WORDS:
            break
        if word not in found:
            grams = np.array(_grams(word), dtype=np.uint32)
            if _IS_UNSPACED(word):
                found[word] = AskedWord(grams, part=1.0 if _IS_KATAKANA(word) else _PAIR)
            else:
                terms = analyzer.terms(word)
                found[word] = AskedWord(grams, int(terms[0]) if len(terms) else None)
    return tuple(found.values())


def _subjects(text: str, language: str) -> Iterator[str]:
    dull = words_of(language)
    for run in _RUN.findall(fold(text[:_QUESTION_CHARS])):
        if _IS_UNSPACED(run):
            for part in _dull_runs(language).split(run):
                for word in _SUBJECT.findall(part):
                    yield from [word] if _IS_KATAKANA(word) else _pairs(word)
        elif run not in dull and (len(run) > 1 or run.isdigit()):
            yield run


@lru_cache(maxsize=4)
def _dull_runs(language: str) -> re.Pattern[str]:
    """What parts a run of characters, the longest first; of an unknown language nothing does."""
    dull = sorted(words_of(language if language in {"zh", "ja"} else OTHER), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, dull)) or r"(?!)")


def _grams(run: str) -> tuple[int, ...]:
    return tuple(map(_hash, _pairs(run))) if _IS_UNSPACED(run) else _word_grams(run[:_LONGEST])


@lru_cache(maxsize=10_000)
def _word_grams(word: str) -> tuple[int, ...]:
    marked = f"^{word}"
    return tuple(
        _hash(marked[at : at + _LENGTH]) for at in range(max(1, len(marked) - _LENGTH + 1))
    )


def _pairs(run: str) -> list[str]:
    """Each two neighbours of a run; a single character is one of its own."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run] * bool(run)


def _hash(gram: str) -> int:
    return zlib.crc32(f"\0{gram}".encode())
