"""Finds where the user takes back what they stated in their message before.

"From now on we format with black" is followed by "no wait, scrap that". Only the next message can
do that, and only where it is clear what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...config.patterns import regex
from ..language.sentences import is_order, opening, sentences
from ..language.words import HESITATES, STOP_WORDS, TAKES_BACK, words
from ..statements.canonical import canonical
from ..statements.comparison import Relation, compare
from ..statements.statement import Statement as Read
from .statement_classifier import is_supposed
from .statements import statements
from .told_changes import named_out

_AFTER = r"\b[ ,.!:;\u2026\u2013\u2014-]*+"
_TURN = rf"\W*{HESITATES}{_AFTER}"
_LEAD = rf"(?:{_TURN}|\W*(?:ok|okay|well|right){_AFTER})"
_BACK = regex(
    rf"{_LEAD}*(?P<back>{TAKES_BACK}|let['\u2019]?s not(?: do (?:that|this|it))?"
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
_TURNS = regex(rf"{_LEAD}*{_TURN}|.*\b(?:after all|instead)\b", re.IGNORECASE)
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
# What "scrap that" or "that's a mistake" is followed by where it is said of a choice.
_PREFERS = regex(
    r"\b(?:we|i|let['\u2019]?s)(?:['\u2019]ll| will| would)?(?: rather)?"
    r" (?:use|keep|stay|stick|go (?:with|back)|prefer)\b"
    r"|\b(?!(?:it|that|this|all|everything)\b)\w+ is (?:fine|enough|good enough)\b",
    re.IGNORECASE,
)
_FOR_ONCE = regex(
    r"\A\W*(?:just |only )?now\b|\b(?:(?:this|that|just|only) (?:time|once)|once|for (?:now|this"
    r"|that|today)|(?:right|just) now)\b(?! (?:project|repo\w*|team|codebase))"
    r"|\bthis (?!(?:is|was|project|repo\w*|team|codebase|way|anymore|any)\b)[a-z]+",
    re.IGNORECASE,
)
_TO_AGENT = regex(r"\byou(?:['\u2019]ve|r)?\b", re.IGNORECASE)
_FAULT = regex(
    r"\b(?:red|fail\w*|brok\w+|breaks?|error\w*|crash\w*|bugs?|wrong|flaky|stuck|hangs?|down"
    r"|(?:doesn|don|didn|isn|won)['\u2019]?t (?:work|build|start|compile|run|pass))\b",
    re.IGNORECASE,
)
_MARKS = " ,.!:;-\u2026\u2013\u2014"
_READ_SENTENCES = 3
_SHARED = 0.5


def taken_back(
    text: str, stated: Sequence[str], *, asked: bool, more: bool = False
) -> tuple[str, ...]:
    """Those of ``stated`` that the user's next message, ``text``, takes back.

    ``asked`` tells whether they came with a question, which may be meant as well; ``more`` whether
    they came with what ``says_more`` finds.
    """
    said = [part.text for part in statements(text, role="user")]
    if not said or not stated:
        return ()
    if not more and _is_withdrawn(said, stated, asked=asked):
        return tuple(stated) if all(_is_said_again(one, stated[0]) for one in stated) else ()
    said = said[:_READ_SENTENCES]
    return tuple(one for one in stated if any(_denies(new, one) for new in said))


def says_more(text: str, stated: Iterable[str]) -> bool:
    """Whether ``text`` orders something, or tells of a fault, beside what is ``stated`` in it.

    "Scrap that" may be said of the one as well as of the other.
    """
    for one in stated:
        text = text.replace(one, " ")
    return _FAULT.search(text) is not None or any(
        is_order(said) for said in sentences(text) if opening(said) < len(said.words)
    )


def _is_withdrawn(said: Sequence[str], stated: Sequence[str], *, asked: bool) -> bool:
    """Whether a message begins with that; "no wait" and "sorry" may stand alone before it.

    What follows, if anything does, is about what was stated, or tells what is preferred to it: else
    it is a complaint about the work ("that's a mistake, the status must be 201").
    """
    for at, sentence in enumerate(said[:_READ_SENTENCES]):
        if back := _BACK.match(sentence):
            is_idle = _IDLE.fullmatch(back["back"]) is not None
            if is_idle and (asked or any(map(_FOUND.search, said))):
                return False
            rest = [_rest(sentence[back.end() :]), *map(_rest, said[at + 1 :])]
            if any(map(_TO_AGENT.search, rest)):
                return False
            return not any(rest) or any(_bears_on(one, stated[0]) for one in rest)
        if _ONLY_LEADS.match(sentence) is None:
            return False
    return False


def _rest(said: str) -> str:
    """``said`` without the words that take something back, which may be repeated."""
    while back := _BACK.match(said := said.strip(_MARKS)):
        said = said[back.end() :]
    return _LEADS.sub("", said).strip(_MARKS)


def _bears_on(said: str, stated: str) -> bool:
    shared = _content(words(said)) & _content(words(stated))
    return bool(shared) or _PREFERS.search(said) is not None


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
    if _FOR_ONCE.search(new) or is_supposed(new):
        return False
    if compare(new, old) is Relation.NEGATED:
        return True
    read, known = Read(new), Read(old)
    if _DECLINES.match(new):
        return bool(read.heavy) and read.heavy <= known.heavy
    chosen = read.heavy - read.turned_down - read.denied
    out = frozenset(canonical(word) for name in named_out(old) for word in words(name))
    refused = known.turned_down | (out & known.heavy)
    return bool(_CHOOSES.search(new) and not read.denies and refused & chosen)
