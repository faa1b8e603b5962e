"""What the wording of a prompt tells of the sessions that it may need. English alone; pure.

"What did Jonas say about Java?" looks back: the words that say so are in no session, and its
subject, Jonas and Java, is what a session has to hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from ...config.patterns import regex
from ..models.analyzer import DULL_WORDS, Analyzer

_MOST_WORDS: Final = 24
"""A longer prompt says itself what it is about."""

_FEWEST_OWN_WORDS: Final = 2

_MOST_CHARS_WITHOUT_SUBJECT: Final = 100
"""A longer text is not read for that: it has words that are no frame."""

_ASKS = regex(
    r"^\W*(?:(?:hey|hi|ok|so|and|but|btw|thanks|great)\b\W*)*"
    r"(?:remind me|how|what|why|where|when|which|who|until|since|is|are|was|were|do|does|did)\b",
    re.IGNORECASE,
)
_LOOKS_BACK = regex(
    r"\b(?:did|didn't|was|wasn't|were|weren't|had|still|yet|any ?more|sa(?:id|ys?)|t(?:old|ells?)"
    r"|wanted|asked|asks|called|agreed|promised|complained|decided?|settled?|remind"
    r"|(?:until|since) when|end(?:ed)? up|go(?:ne)? with|went with|story|who(?:'s| is| are)"
    r"|why not|why (?:are|is|do|does|have|can)(?:n't| not))\b",
    re.IGNORECASE,
)
_AFTER_A_QUESTION: Final = " \n.!)\"'"
# Of what the agent has just done, or was just spoken of: the session itself has that.
_JUST_NOW = regex(r"\byou\b|\b(?:was|were|did|had) (?:that|it|this|those|these)\b", re.IGNORECASE)
_WHAT_HOLDS = regex(r"\b(?:still|now|currently|nowadays|today|any ?more|yet)\b", re.IGNORECASE)
_WORD = regex(r"\w(?:[\w'.-]*\w)?")
# What frames a question about the past, besides what is dull anyway: nobody spoke about that.
_FRAME: Final = DULL_WORDS | frozenset(
    "actually agree agreed anymore asks bound broke broken brought btw bug bugs build care deal"
    " decision drop dropped earlier ended error errors exactly explain forget forgot hear heard"
    " lately learn learned lol mention mentioned ok okay opinion pick picked please promise"
    " promised quickly reasons recently remember remind saying settle settled sorry stays story"
    " suggest suggested supposed talked tells test tested tests thanks thinks throw thrown tomorrow"
    " yesterday".split()
)


def subject_looked_back_at(text: str) -> str:
    """The words of ``text`` that say what it looks back at.

    None where it does not ask, or is long, or asks about what was just done or said.
    """
    straight = _straight(text)
    if not straight or _JUST_NOW.search(straight) or not _LOOKS_BACK.search(straight):
        return ""
    if not (straight.rstrip(_AFTER_A_QUESTION).endswith("?") or _ASKS.search(straight)):
        return ""
    return " ".join(word for word in _WORD.findall(straight) if not _frames(word.lower()))


def says_something(text: str) -> bool:
    """Whether ``text`` has words that could be a topic; "ok ciao" and "yes, do it" have none."""
    return len(set(_own_words(text))) >= _FEWEST_OWN_WORDS or not text.isascii()


def has_subject(text: str) -> bool:
    """Whether ``text`` has a single word that could be a topic; "look at it again" has none."""
    if len(text) > _MOST_CHARS_WITHOUT_SUBJECT or not text.isascii():
        return True
    stem, framing = _stemmed_frame()
    return any(stem(word) not in framing for word in _own_words(text))


def _own_words(text: str) -> Iterator[str]:
    return (word for word in _WORD.findall(text.lower()) if not _frames(word))


@cache
def _stemmed_frame() -> tuple[Callable[[str], str], frozenset[str]]:
    stem = Analyzer().stem
    return stem, frozenset(map(stem, _FRAME))


def _straight(text: str) -> str:
    """``text`` with plain apostrophes; nothing where it is long."""
    return text.replace("’", "'") if len(text.split()) <= _MOST_WORDS else ""


def _frames(word: str) -> bool:
    short = word.endswith(("n't", "'re", "'ve", "'ll", "'d"))
    return short or word.removesuffix("'s") in _FRAME


def asks_what_holds(text: str) -> bool:
    """Whether ``text`` is a short one that asks in so many words what holds by now."""
    return _WHAT_HOLDS.search(_straight(text)) is not None
