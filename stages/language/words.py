"""Words: the one tokenizer of the stages, the stop words and the negations of English.

What is fitted on tokens of its own keeps them: the features of ``stages/capture``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WORD = r"\w+(?:(?:['.@/\\-]|::|:/+)\w+)*[+#]*"
"""A word or a name of several parts ("next.js", "don't", "C++"), in a text that is folded."""

FILLERS = frozenset(
    """
    hm hmm hmmm ok okay cool great thanks thank yeah yes yep no hey hi hello oh ah well
    right sure please pls now so and but also just then actually basically perfect nice
    quick question really again still first next finally instead maybe perhaps
   """.split()
)
"""What people begin a sentence with, or put in between, without saying anything."""

STOP_WORDS = FILLERS | frozenset(
    """
    a about above after again against all almost already am an any anybody anyone anything
    apart are aren't around as at away back be been before being below best better between
    both by came can can't cannot come comes could couldn't did didn't different do does
    doesn't doing don't done down during each either else etc ever every everything few for
    from further get gets getting give given go goes going gone gonna got had has hasn't
    have haven't having he her here here's him his how how's however i i'd i'll i'm i've if
    im in inside into is isn't it it'd it'll it's its itself lately let lets like look lot
    made make makes many may me might more most much must my need needs neither nor not of
    off on once one ones only onto or other others ought our ours out over own per put
    rather said same say says see seem seems seen shall she should shouldn't since some
    somebody somehow someone something sometimes somewhere soon such take tell than that
    that's the their theirs them there there's these they they're thing things think this
    those though through to together too tried try trying under until up upon us used uses
    using very via want wanted wants was wasn't way ways we we'd we'll we're we've were
    weren't what what's whatever whats when whenever where where's wherever which while who
    who's whom whose why will with within without won't would wouldn't yet you you'd you'll
    you're you've your yours
    """.split()
)

_WORD = re.compile(WORD)
_CONTRACTED = re.compile(r"(\w+)n't")
_WITHOUT_APOSTROPHE = frozenset(
    "dont doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt wouldnt hasnt havent "
    "hadnt mustnt neednt aint".split()
)
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
