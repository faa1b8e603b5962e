"""Finds where the user takes back what they stated in their message before.

"From now on we format with black" is followed by "no wait, scrap that". Only the next message can
do that, and only where it is clear what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...config.patterns import regex
from ..language.words import STOP_WORDS, words
from ..statements.comparison import Relation, compare
from ..statements.statement import Statement as Read
from .statements import statements

_LEAD = (
    r"\W*(?:(?:oh|ah|argh|hm+|no|nope|nah|wait|hold on|hang on|sorry|ok|okay|well|actually|oops"
    r"|ups)\b[ ,.!:;\u2026\u2013\u2014-]*)"
)
_BACK = regex(
    rf"{_LEAD}*(?P<back>(?:scrap|scratch|strike|forget) (?:that|this|it)"
    r"|(?:scrap|scratch|forget|ignore|disregard) what i(?: just)? said|never ?mind|nvm"
    r"|i take (?:that|it|this) back|(?:i|we)(?:['\u2019]ve| have)? changed (?:my|our) minds?"
    r"|let['\u2019]?s not(?: do (?:that|this|it))?|just kidding"
    r"|(?:that|this|it)(?: was|['\u2019]s| is) (?:a (?:\w+ )?(?:bad|stupid|silly|terrible|dumb)"
    r" (?:idea|call|plan)|(?:a |my )mistake|not a good idea|nonsense))"
    r"(?=\W*$|\W*[,.!;:\u2026\u2013\u2014]|\s+(?:-|we|i|and|let|after all)\b)",
    re.IGNORECASE,
)
_IDLE = regex(r"never ?mind|nvm|forget it", re.IGNORECASE)
# "Never mind, found it" is said of a question, or of a fault.
_FOUND = regex(
    r"\b(?:found|works?|worked|got it|see it|i see|fixed|solved|figured|my (?:bad|fault))\b",
    re.IGNORECASE,
)
_TURNS = regex(rf"{_LEAD}+|.*\b(?:after all|instead)\b", re.IGNORECASE)
_CHOOSES = regex(
    r"\b(?:after all|it is|stay|stick|keep|back to|go with|use|instead)\b", re.IGNORECASE
)
_LEADS = regex(rf"\A{_LEAD}+", re.IGNORECASE)
_ONLY_LEADS = regex(rf"{_LEAD}+\Z", re.IGNORECASE)
KINDS = frozenset(("decision", "pattern", "preference"))
"""What can be taken back: what somebody wants, and nothing that was found."""

_DECLINES = regex(
    r"\W*(?:we|i) (?:do not|don['\u2019]?t|won['\u2019]?t|will not|wouldn['\u2019]?t)"
    r" (?:use|want|take|need|do|go with)\b",
    re.IGNORECASE,
)
_READ_SENTENCES = 3
_SHARED = 0.5


def taken_back(text: str, stated: Sequence[str], *, asked: bool) -> tuple[str, ...]:
    """Those of ``stated`` that the user's next message, ``text``, takes back.

    ``asked`` tells whether they came with a question, which may be meant as well.
    """
    said = [part.text for part in statements(text, role="user")[:_READ_SENTENCES]]
    if not said or not stated:
        return ()
    if _is_withdrawn(said, asked=asked):
        return tuple(stated) if all(_is_said_again(one, stated[0]) for one in stated) else ()
    return tuple(one for one in stated if any(_denies(new, one) for new in said))


def _is_withdrawn(said: Sequence[str], *, asked: bool) -> bool:
    """Whether a message begins with that; "no wait" and "sorry" may stand alone before it."""
    for sentence in said:
        if back := _BACK.match(sentence):
            is_idle = _IDLE.fullmatch(back["back"]) is not None
            return not (is_idle and (asked or any(map(_FOUND.search, said))))
        if _ONLY_LEADS.match(sentence) is None:
            return False
    return False


def _is_said_again(one: str, other: str) -> bool:
    """Whether two say the same in the main, such as the agent's line and what it is about."""
    ours, theirs = _content(words(one)), _content(words(other))
    return len(ours & theirs) >= _SHARED * min(len(ours), len(theirs))


def _content(said: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in said if word not in STOP_WORDS)


def _denies(new: str, old: str) -> bool:
    """Whether ``new`` denies ``old``, or goes back to what ``old`` turned down."""
    if new.endswith("?") or not _TURNS.match(new):
        return False
    new = _LEADS.sub("", new, count=1)
    if compare(new, old) is Relation.NEGATED:
        return True
    read, known = Read(new), Read(old)
    if _DECLINES.match(new):
        return bool(read.heavy) and read.heavy <= known.heavy
    chosen = read.heavy - read.turned_down - read.denied
    return bool(_CHOOSES.search(new) and not read.denies and known.turned_down & chosen)
