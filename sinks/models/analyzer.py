"""The words of a text as text search counts them: stemmed, without stop words, hashed.

A term is the CRC-32 of a stemmed word. Hashes instead of strings let an index of 100,000 memories
be rebuilt from what is stored without reading a text again; among 60,000 distinct words one pair
shares a hash four times in ten, which costs one odd candidate and nothing else.
"""

from __future__ import annotations

import re
import threading
import unicodedata
import zlib
from array import array
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import snowballstemmer  # type: ignore[import-untyped]

from ...bus.values import Encoding, Memory

# Runs of capitals, capitalised or small words, numbers, and words of other scripts:
# "parseHTTPResponse2" is parse, HTTP, Response, 2.
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
# Words with a hump count as a whole too: "ArgoCD" is also found as "argocd".
_HUMPED = re.compile(r"(?<![A-Za-z])(?=[A-Za-z]*?[a-z][A-Z])[A-Za-z]+")

_HUMP = re.compile(r"[a-z][A-Z]")

# Two paragraphs of words, each below a line that says what they are.
_WORD_LISTS = Path(__file__).with_name("stop_words.txt").read_text("utf-8").split("\n\n")
STOP_WORDS, _MORE_DULL_WORDS = (frozenset(part.split("\n", 1)[1].split()) for part in _WORD_LISTS)
DULL_WORDS = STOP_WORDS | _MORE_DULL_WORDS
"""Words that are no topic, as they have no subject of their own in notes about software."""

BREAK = "\x1e"
"""Between the passages of a text that belong to no common one; no text that is kept has it."""

# Stems are remembered; past this many the memory starts anew, so that hex dumps do not fill it.
_CACHE_LIMIT = 200_000
# Words that questions have and English has not.
_STEMS = 5000
# What a stop word is remembered by; no hash is negative.
_NO_TERM = -1


class Analyzer:
    """Turns text into terms. Safe to share between threads; holds a bounded cache of stems."""

    def __init__(self) -> None:
        self._stemmer = snowballstemmer.stemmer("english")
        self._lock = threading.Lock()
        self.stem = lru_cache(_STEMS)(self._stem)
        """The stem of a lower-case word of letters."""
        # By the piece as it is written, so that its case is folded once.
        self._terms: dict[str, int] = {}

    def terms(self, text: str) -> npt.NDArray[np.uint32]:
        """The sorted terms of ``text``, each as often as it occurs."""
        known = self._terms
        hashes = []
        for piece in tokenize(text):
            term = known.get(piece)
            if term is None:
                term = self._learn(piece)
            if term != _NO_TERM:
                hashes.append(term)
        return np.sort(np.frombuffer(array("I", hashes), dtype=np.uint32))

    def _stem(self, word: str) -> str:
        with self._lock:
            stem: str = self._stemmer.stemWord(word)
        return stem

    def _learn(self, piece: str) -> int:
        """Stem and hash; the stemmer keeps its state in itself, hence the lock."""
        word = piece.lower()
        with self._lock:
            if word in STOP_WORDS:
                term = _NO_TERM
            else:
                stem = self._stemmer.stemWord(word) if word.isalpha() else word
                term = term_of(stem)
            if len(self._terms) >= _CACHE_LIMIT:
                self._terms = {}
            self._terms[piece] = term
        return term


def term_of(stem: str) -> int:
    """The term of what is stemmed."""
    return zlib.crc32(stem.encode())


def tokenize(text: str) -> list[str]:
    """The words of ``text`` as they are written, those with a hump also in parts."""
    if not text.isascii():  # without accents: "Mödling" is typed elsewhere as "Modling"
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in parts if not unicodedata.combining(char))
    found = _PIECE.findall(text)
    if _HUMP.search(text):
        found += _HUMPED.findall(text)
    return found


def searchable(memory: Memory) -> str:
    """What a memory is found by: its content, its summary where that adds words, and its tags.

    And the questions that it answers, each after a ``BREAK``: a passage of its own.
    """
    added = "" if memory.summary.rstrip(".… ") in memory.content else memory.summary
    own = "\n".join(part for part in (memory.content, added, " ".join(memory.tags)) if part)
    return BREAK.join((own, *memory.questions))


def text_encoding(text: str, words: Analyzer) -> Encoding:
    """An encoding for text search alone, for when there is no embedding model."""
    terms = words.terms(text).astype("<u4").tobytes()
    return Encoding(model="", vectors=b"", words=b"", lengths=b"", terms=terms)
