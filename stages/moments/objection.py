"""Whether a prompt objects to what a memory says: "no, that is outdated, we do not use Redis"."""

from __future__ import annotations

from ...config.patterns import regex
from ..language.words import fold, words_of
from .names import ReadText, names_of

READ_CHARS = 600
"""An objection comes first. What comes after so much is about something else."""

_LEAST_SHARED = 2
_MEMORY_CHARS = 2_000
_OBJECTS = regex(
    r"\b(?:(?:that|this|it)(?:'s| is| was|'re| are)? (?:just |simply |completely |totally )?"
    r"(?:not (?:right|true|correct|how|the case|so|what we)|wrong|incorrect|outdated|obsolete|stale"
    r"|old|false|out of date|no longer)"
    r"|(?:outdated|obsolete|out of date|no longer (?:true|holds?|valid|the case|correct|applies))"
    r"|not any ?more|isn't true|isn't right"
    r"|we (?:don't|do not|no longer|never|stopped|quit|dropped|abandoned|replaced|got rid of"
    r"|moved (?:away|off|from)|switched|changed|migrated)"
    r"|(?:stop|don't|do not) (?:using|use|trust(?:ing)?|rely(?:ing)?)"
    r"|(?:forget|ignore) (?:that|this|the) (?:memory|note))\b"
    r"|\A(?:no|nope|wrong|incorrect|not true)\b[,.:!; –—-]+(?!(?:problem|idea|worries|rush|need)\b)"
    r".{0,80}\b(?:not|n't|never|no longer|instead|anymore|wrong|outdated)\b"
)
_OF_MEMORY = regex(r"\b(?:memory|memories|note|notes|subcog)\b")
_SENTENCES = regex(r"(?<=[.!?\n])\s+|\n")
_MOST_SENTENCES = 3


def objection_of(prompt: str) -> str:
    """The sentences of ``prompt`` that object to something, folded; "" where none does."""
    begin = fold(prompt[:READ_CHARS]).strip()
    if "```" in begin or _OBJECTS.search(begin) is None:
        return ""
    first = _SENTENCES.split(begin)[:_MOST_SENTENCES]
    text = " ".join(first)
    return text if _OBJECTS.search(text) else ""


def speaks_of(objection: str, content: str) -> int:
    """How much of the memory ``content`` an objection names: 0 where it is about something else.

    Its names count twice; a single ordinary word is not enough.
    """
    read = ReadText(objection)
    named = sum(read.knows(name) for name in names_of(content[:_MEMORY_CHARS]))
    shared = len(set(words_of(objection)) & set(words_of(content[:_MEMORY_CHARS])))
    return 2 * named + shared if named or shared >= _LEAST_SHARED else 0


def is_about_memory(objection: str) -> bool:
    """Whether it says itself that a note of the memory is meant."""
    return _OF_MEMORY.search(objection) is not None
