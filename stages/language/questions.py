"""Whether a prompt in another language than English asks something, and for what.

The keyword racer and the local classifier know English alone. Here the patterns of
``questions.toml`` decide, and the marks with which a question ends. Pure and linear.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from msgspec import Struct

from ...bus.prompts import IntentType, SearchIntent
from ...config.languages import ENGLISH, fold, language_of, number_words, words_of
from ...config.patterns import regex
from ..text.lexicons import load_lexicon
from ..text.unicode import fenced, is_quoted
from .topics import MAX_TOPICS

QUESTIONS_FILE = Path(__file__).with_name("questions.toml")

_READ_CHARS = 1000
# Longer texts, and longer ones of one line, are pasted but for their beginning or end; a character
# of Chinese says as much as three.
_LONG_CHARS, _LONG_LINE_CHARS = 300, 600
_CHARS_OF_UNSPACED = 3
_SENTENCE_END = regex(r"(?<=[.!?])\s+|(?<=[。！？])")
_ASKED_PERCENT = 85
_CLAUSE = regex(r"[.!;:,\n。！、，；：]+|\s[-–—]\s|\b(?:und|aber|y|et|mais|ma|mas|но)\b")
_MARK = regex(r"[?？¿؟]")
_WORD = regex(r"[^\W\d_]\w*(?:[-']\w+)*")
_UNSPACED = frozenset(("zh", "ja"))
_INTENT_OF = {
    "reason": IntentType.EXPLANATION,
    "place": IntentType.LOCATION,
    "trouble": IntentType.TROUBLESHOOT,
    "way": IntentType.HOWTO,
}


class Patterns(Struct, frozen=True, forbid_unknown_fields=True):
    """One language of the file, each a regular expression, or empty."""

    asks: str
    opens: str
    polite: str
    tell: str
    types: dict[str, str]


def read_question(text: str) -> SearchIntent | None:
    """What ``text`` searches for; None where it is English, or orders, tells or chats.

    ``keywords`` are the types of answer that it asks for.
    """
    text = asking_part(text)
    language = language_of(text)
    types = asked_types(text, language)
    if types is None:
        return None
    kind = next((_INTENT_OF[one] for one in types if one in _INTENT_OF), IntentType.GENERAL)
    return SearchIntent(
        intent_type=kind,
        confidence_percent=_ASKED_PERCENT,
        keywords=types,
        topics=_topics(text, language),
        arithmetic=(f"a question in {language} {_ASKED_PERCENT}",),
    )


def asked_types(text: str, language: str) -> tuple[str, ...] | None:
    """The types of answer that ``text`` asks for, none in particular or several; None: no question.

    So too where it is English.
    """
    if language == ENGLISH:
        return None
    rules, folded = _rules(language), fold(text[:_READ_CHARS])
    if not any(map(rules.asks_in, _clauses(folded))):
        return None
    return rules.types_of(folded)


def asking_part(text: str) -> str:
    """What asks in a ``text``: all of a short one, and of an English one.

    Of a long one in another language, which is pasted for the most part, its last line, or its last
    or its first sentence, outside of fences and quotations; nothing where none of them asks.
    """
    language = language_of(text)
    long = _LONG_CHARS if "\n" in text.strip() else _LONG_LINE_CHARS
    if language == ENGLISH or _length(text, language) <= long:
        return text
    lines = text.split("\n")
    told = zip(lines, fenced(lines), strict=True)
    own = [line for line, inside in told if line.strip() and not inside and not is_quoted(line)]
    last = [own[-1]] if own and _length(own[-1], language) <= _LONG_CHARS else []
    ends = [*last, *(_sentences(own[at])[at] for at in (-1, 0) if own)]
    asking = (one for one in ends if asked_types(one, language_of(one) or language) is not None)
    return next(asking, "")


def _sentences(line: str) -> list[str]:
    return [one for one in _SENTENCE_END.split(line) if one.strip()]


def _length(text: str, language: str) -> int:
    return len(text) * (_CHARS_OF_UNSPACED if language in _UNSPACED else 1)


def _topics(text: str, language: str) -> tuple[str, ...]:
    dull = words_of(language) | number_words()
    found = (word for word in _WORD.findall(text[:_READ_CHARS].lower()) if len(word) > 2)
    return tuple(dict.fromkeys(word for word in found if fold(word) not in dull))[:MAX_TOPICS]


def _clauses(folded: str) -> list[str]:
    """The clauses, each with the question mark it ends with."""
    marked = _MARK.sub("?\n", folded)
    return [clause.strip() for clause in _CLAUSE.split(marked) if clause.strip()]


class _Rules:
    def __init__(self, patterns: Patterns, *, spaced: bool) -> None:
        whole = r"(?<!\w)(?:{})(?!\w)" if spaced else "(?:{})"

        def compiled(pattern: str, form: str = whole) -> re.Pattern[str] | None:
            return re.compile(form.format(pattern)) if pattern else None

        self._asks = compiled(patterns.asks)
        self._opens = compiled(patterns.opens, r"\W*(?:{})(?!\w)")
        self._polite = compiled(patterns.polite)
        self._tell = compiled(patterns.tell)
        self._types = {name: compiled(pattern) for name, pattern in patterns.types.items()}

    def asks_in(self, clause: str) -> bool:
        if self._polite is not None and self._polite.search(clause):
            return self._tell is not None and self._tell.search(clause) is not None
        if "?" in clause:
            return True
        if self._asks is not None and self._asks.search(clause):
            return True
        return self._opens is not None and self._opens.match(clause) is not None

    def types_of(self, folded: str) -> tuple[str, ...]:
        return tuple(
            name for name, pattern in self._types.items() if pattern and pattern.search(folded)
        )


@cache
def _rules(language: str) -> _Rules:
    return _Rules(_patterns()[language], spaced=language not in _UNSPACED)


@cache
def _patterns() -> dict[str, Patterns]:
    return load_lexicon(QUESTIONS_FILE, dict[str, Patterns])
