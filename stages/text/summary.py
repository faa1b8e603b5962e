"""Says in one line what a text is about."""

from __future__ import annotations

import re

from ...config.patterns import regex
from .code import CODE_NAME
from .unicode import cut, one_line, visible

MAX_CHARS = 100

_DECORATION = regex(r"^(?:[#>*+\-|•]+\s+|\d{1,3}[.)]\s+|`{3,}\S*|~{3,}\S*|[|=_\-*]{3,}\s*$)")
_HEADING = regex(r"^\*\*([^*\n]{1,40})\*\*\s*:?\s*|^__([^_\n]{1,40})__\s*:?\s*")
_SENTENCE_END = regex(r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(\[`]?[A-Z0-9\u00c0-\uffff])|(?<=[。！？])")
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "Dr.", "Mr.", "Ms.", "Mrs.", "No.", "St.")


def summarise(text: str) -> str:
    """The first sentence of ``text`` in one line of at most 100 characters; "" if there is none.

    Markdown decoration is left out. A longer sentence is cut between words and ends in ``…``.
    """
    return cut(_first_sentence(_first_line(visible(text))), MAX_CHARS)


def shortened(summary: str, text: str) -> str:
    """``summary`` of ``text``, with ``…`` where that says more."""
    says_more = len(one_line(text)) > len(summary) + 1
    return f"{summary} …" if says_more and not summary.endswith("…") else summary


def _first_line(text: str) -> str:
    """The first paragraph that says something, in one line."""
    said: list[str] = []
    for line in text.split("\n"):
        plain = _plain(line)
        if plain:
            said.append(plain)
        elif said:
            break
    return one_line(" ".join(said))


def _plain(line: str) -> str:
    bare = _DECORATION.sub("", line.strip())
    return _HEADING.sub(lambda m: f"{(m[1] or m[2]).rstrip(':')}: ", bare).strip()


def _first_sentence(line: str) -> str:
    for end in _SENTENCE_END.finditer(line):
        head = line[: end.start()].rstrip()
        if len(head) > MAX_CHARS:
            break
        if not head.endswith(_ABBREVIATIONS) and len(head) >= 12:
            return head
    return line


_OPENERS = regex(
    r"(?:(?:ok|okay|fyi|btw|by the way|note|note that|please note|heads up|hi|hm+|so|well|yes|no"
    r"|also|and|but|remember|keep in mind|for the record|just so you know|one thing|decided)"
    r"\b[ ,:.;–—-]+(?:that )?)+(?=\S{2})",
    re.IGNORECASE,
)
_CLAUSE = regex(r"[;:,–—(]|\s(?=(?:because|since|so that|which|while|although|weil|car|porque)\s)")
_LEAST_CLAUSE = 40


def headline(sentence: str) -> str:
    """``sentence`` as one of its own, in one line of at most 100 characters.

    Openers such as "fyi" are left out. What is too long ends after a clause.
    """
    lines = (_plain(line) for line in visible(sentence).split("\n"))
    plain = one_line(" ".join(lines))
    opener = _OPENERS.match(plain)
    if opener is not None:
        plain = plain[opener.end() :]
        plain = capitalised(plain)
    return plain if len(plain) <= MAX_CHARS else _first_clauses(plain)


def capitalised(said: str) -> str:
    """``said`` with a capital in front, unless it begins with a name from the code."""
    is_name = CODE_NAME.search(said.partition(" ")[0]) is not None
    return said if is_name else said[:1].upper() + said[1:]


def _first_clauses(said: str) -> str:
    """The clauses of ``said`` that fit; words, if the first does not."""
    ends = [end.start() for end in _CLAUSE.finditer(said, _LEAST_CLAUSE, MAX_CHARS)]
    return said[: ends[-1]].rstrip(" ,;:") + "." if ends else cut(said, MAX_CHARS)
