"""In which language a text is written, as far as search has to know: English, or which other.

The models that are shipped know English alone; of a text in another language only its words say
something. The words that tell the languages apart are in ``languages.toml``.
"""

from __future__ import annotations

import tomllib
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct, convert

from .patterns import regex

ENGLISH = ""
"""What a text is taken for in which no other language is found."""

OTHER = "other"
"""A language that is written in another alphabet, and of which no words are known."""

LANGUAGES_FILE = Path(__file__).with_name("languages.toml")

# What of a text is looked at: its beginning tells.
_READ_CHARS = 600
_WORD = regex(r"[a-z]+")
_LETTERS = regex(r"[^\W\d_]+")
_KANA = regex(r"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d]")
_HAN = regex(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_CYRILLIC = regex(r"[\u0400-\u04ff]")
# Letters that are not Latin; not the marks and signs of any text.
_OTHER_SCRIPT = regex(
    r"[\u0370-\u1dff\u2c00-\u2dff\u3040-\ud7ff\uf900-\ufaff\ufb1d-\ufeff\uff66-\uffdc]"
)
_LATIN = regex(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
# How much a word counts: one that is a word of that language alone, and one that may be another.
_STRONG, _WEAK = 2, 1
# In a text of no more words than these one strong word is enough.
_FEW_WORDS = 8


class Lexicon(Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one language, separated by white space."""

    strong: str
    weak: str
    dull: str
    numbers: str = ""


def language_of(text: str) -> str:
    """The code of the language of ``text``, such as ``de``, or ``ENGLISH``, or ``OTHER``."""
    return _language_of(text[:_READ_CHARS])


@lru_cache(maxsize=8)
def _language_of(head: str) -> str:
    """The same of the beginning of a text. Each part of the pipeline asks for that of a prompt."""
    if not head.isascii() and _OTHER_SCRIPT.search(head) and (found := _by_script(head)):
        return found
    words = frozenset(_WORD.findall(fold(head)))
    strong, weak = _latin_words()
    if words.isdisjoint(strong) and len(words & weak) < 2:
        return ENGLISH
    return _by_words(words)


def fold(text: str) -> str:
    """``text`` in lower case and without accents; kana keep their marks, which make other words."""
    text = text.lower()
    if text.isascii():
        return text
    return text.translate(_FOLDED)


@cache
def words_of(language: str) -> frozenset[str]:
    """The folded words of ``language`` that say nothing about the subject of a question."""
    lexicon = _lexicons().get(language)
    if lexicon is None:
        return frozenset()
    return frozenset(fold(f"{lexicon.strong} {lexicon.weak} {lexicon.dull}").split())


@cache
def number_words() -> frozenset[str]:
    """The folded numbers that are spelt out, of every language that has any."""
    return frozenset(fold(" ".join(one.numbers for one in _lexicons().values())).split())


class _Folding(dict[int, str]):
    """What each character is folded to, for ``str.translate``; worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        parts = unicodedata.normalize("NFKD", char)
        bare = _LATIN.match(parts[0]) or char == "\u0451"  # in Russian the one mark left away
        self[code] = parts[0] if bare else unicodedata.normalize("NFKC", char)
        return self[code]


_FOLDED = _Folding({ord("\u00df"): "ss", ord("\u2019"): "'"})


def _by_script(text: str) -> str:
    """The language of a text in another script than Latin, where most of its words are in that.

    A name or a command is Latin in every language, and a character of Chinese half a word.
    """
    latin = others = 0
    for word in _LETTERS.findall(text):
        if _LATIN.match(word):
            latin += 1
        elif not _HAN.match(word) and not _KANA.match(word):
            others += 1
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if han + kana > max(1, latin):
        return "ja" if 8 * kana > han else "zh"
    if 2 * others > latin:
        return "ru" if _CYRILLIC.search(text) else OTHER
    return ENGLISH


def _by_words(words: frozenset[str]) -> str:
    scores = {
        language: _STRONG * len(words & strong) + _WEAK * len(words & weak)
        for language, (strong, weak) in _latin().items()
    }
    best = max(scores, key=lambda language: scores[language])
    english = _STRONG * len(words & _sets("en")[0])
    enough = _STRONG if len(words) <= _FEW_WORDS else _STRONG + _WEAK
    return best if scores[best] >= enough and scores[best] > english else ENGLISH


@cache
def _lexicons() -> dict[str, Lexicon]:
    return convert(tomllib.loads(LANGUAGES_FILE.read_text("utf-8")), dict[str, Lexicon])


@cache
def _latin() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """The strong and the weak words of each language that is written in Latin letters."""
    english = frozenset().union(*_sets("en"))
    found = {name: _sets(name) for name in _lexicons() if name != "en"}
    return {
        name: (strong - english, weak - english)
        for name, (strong, weak) in found.items()
        if any(map(str.isascii, strong))
    }


@cache
def _sets(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The strong and the weak words; not the shortest, which stand in all code."""
    lexicon = _lexicons()[language]
    strong, weak = (
        frozenset(word for word in fold(part).split() if len(word) > 1)
        for part in (lexicon.strong, lexicon.weak)
    )
    return strong - weak, weak


@cache
def _latin_words() -> tuple[frozenset[str], frozenset[str]]:
    """The same of all of them together."""
    strong = frozenset().union(*(strong for strong, _ in _latin().values()))
    return strong, strong.union(*(weak for _, weak in _latin().values()))
