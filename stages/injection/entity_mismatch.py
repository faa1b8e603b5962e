"""Entity mismatch: a memory speaks of another thing than the one that is asked about.

"Who leads team Falcon?" has most of its words in "Grace Obi leads team Heron", and no answer there.
A question that asks something of one thing says which: a name, an identifier, or a word beside the
kind of thing ("the emissions pipeline"). A memory that has the same head with another of those, and
nowhere the one that was asked for, is about a sibling. So is one that has of "who owns the icon
set?" the deed alone, or the weekly report where the yearly one was asked for. What it may be called
otherwise, by a stem, an abbreviation or a kind, counts as said. English alone; pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain, dropwhile
from typing import NamedTuple

from ...bus.prompts import Parsed
from ...config.patterns import regex
from ..language.topics import as_choice
from ..language.words import FILLERS, fold, word_rows
from ..statements.canonical import canonical
from .things import ALL, AUXILIARIES, SAYS_NOT_WHICH, Text, Word, head_of, phrases, row_of

_MOST_WORDS, _MOST_CHARS = 14, 160
_BARE_WORDS = 6
_READ_CHARS = 2000
_SURELY = 0.95
"""So relevant is what tells who does it, and calls it otherwise ("billing" for "payments")."""

_ASKS = regex(
    r"^\W*(?:(?:and|so|ok|hey|hi|btw|but|again|remind me)\W+)*"
    r"(?:who|whom|whose|what|what's|whats|which|where|where's|when|is it ok|may i|can (?:i|we)"
    r"|do we|is there|how (?:often|long|much|many|expensive|big|large|fast|old|high|far)"
    r"|how (?:do|does|is|are|can|should))\b",
    re.IGNORECASE,
)
# What is asked for more than one thing, or is told of another with reason.
_ASKS_MORE = regex(r"\b(?:why|about|know|like|as|than)\b", re.IGNORECASE)
_BEFORE_A_DEED = AUXILIARIES | frozenset(("else", "currently", "usually"))
_CLAUSES = frozenset(("if", "when", "where", "that", "which", "and", "or"))
_WHOEVER = ALL | frozenset(("everybody", "everyone", "everything", "anybody", "anyone", "anything"))
_ALTERNATIVES = [
    [frozenset(one.split("/")) for one in row.split()] for row in word_rows("alternatives")
]
_GOES_WITHOUT_SAYING = frozenset(("production", "prod"))
# Of these the word before is what is asked about: "the demo environment", "the Windows version".
_SAYS_NO_MORE = frozenset(map(canonical, ("environment", "env", "version", "system", "platform")))


def entity_mismatch(
    parsed: Parsed, text: str, *, relevance: float = 0.0, reworded: bool = False
) -> str:
    """Why a memory with this ``text`` is about another thing than each question of a prompt.

    "" where it is not, or nothing tells. What was found ``reworded`` may call the thing otherwise,
    unless that is a name; so may the object of a deed where its ``relevance`` is high.
    """
    if parsed.pasted or parsed.retrospect is not None:
        return ""
    questions = parsed.parts or (parsed.question,)
    restated = frozenset(map(as_choice, parsed.parts))
    may_differ = reworded or relevance >= _SURELY
    found = ""
    for question in (one for one in questions if one not in restated):
        asked = _asked(question)
        found = _mismatch(asked, text[:_READ_CHARS], reworded, may_differ) if asked else ""
        if not found:
            return ""
    return found


class _Asked(NamedTuple):
    """A question that asks for something of a thing.

    ``deed``: what somebody does, of which ``done_to`` is the object ("leads", "team Falcon").
    """

    text: Text
    deed: Word | None
    done_to: tuple[Word, ...]
    alternatives: tuple[_Alternative, ...]


class _Alternative(NamedTuple):
    """The words for which one is ``meant`` ("weekly"), those for others, and the kind of thing.

    ``head`` is canonical: the word behind. Where it says no more of the thing ("the demo
    environment"), ``beside`` has what else the question says, some of which has to be beside
    another's.
    """

    meant: frozenset[str]
    foreign: frozenset[str]
    head: str
    beside: frozenset[str]

    def other_in(self, told: Text) -> str:
        """Which other one of the kind is ``told`` of, and nowhere the one meant; "" for none."""
        if self.foreign.isdisjoint(told.said) or not self.meant.isdisjoint(told.said):
            return ""
        for words, at in _standing(self.foreign, told):
            behind = [head_of(word) for word in words[at + 1 :]]
            if self.head in behind or not self.beside.isdisjoint(map(head_of, words)):
                return words[at].folded
        return ""


@lru_cache(maxsize=8)
def _asked(question: str) -> _Asked | None:
    """A short ``question`` that asks for something of a thing; None for any other prompt."""
    count = len(question.split())
    if len(question) > _MOST_CHARS or count > _MOST_WORDS or _ASKS_MORE.search(question):
        return None
    is_bare = count <= _BARE_WORDS and question.rstrip().endswith("?")
    if not is_bare and not _ASKS.match(question):
        return None
    text = Text(question)
    return _Asked(text, *_deed(text), tuple(_alternatives(text)))


@lru_cache(maxsize=128)
def _text(text: str) -> Text:
    return Text(text)


def _deed(asked: Text) -> tuple[Word | None, tuple[Word, ...]]:
    """The verb and the object of "who leads team Falcon?"; None and nothing for any other."""
    rest = list(dropwhile(lambda word: word.folded in FILLERS, asked.words))
    if not rest or rest[0].folded != "who":
        return None, ()
    if any(word.opens or word.folded in _CLAUSES for word in rest[1:]):
        return None, ()
    deed = next((word for word in rest[1:] if word.folded not in _BEFORE_A_DEED), None)
    if deed is None or deed.form != "word" or not deed.says:
        return None, ()
    last = [asked.words[at] for at in list(phrases(asked.words))[-1]]
    done_to = tuple(word for word in last if word is not deed)
    if all(word.folded in SAYS_NOT_WHICH for word in done_to):
        return None, ()
    return deed, done_to


def _alternatives(asked: Text) -> Iterator[_Alternative]:
    """What tells which one of a kind is meant ("the weekly report").

    Whether something is so is answered by that of which it is.
    """
    if not asked.words or asked.words[0].folded in AUXILIARIES:
        return
    for row in _ALTERNATIVES:
        meant = [one for one in row if not one.isdisjoint(asked.said)]
        if len(meant) != 1 or not meant[0].isdisjoint(_GOES_WITHOUT_SAYING):
            continue
        foreign = frozenset(chain.from_iterable(row)) - meant[0]
        for words, at in _standing(meant[0], asked):
            if words[at + 1 :]:
                head = head_of(words[at + 1])
                says = (head_of(word) for word in asked.words if word.says)
                beside = frozenset(says if head in _SAYS_NO_MORE else ())
                yield _Alternative(meant[0], foreign, head, beside)


def _standing(which: Collection[str], text: Text) -> Iterator[tuple[list[Word], int]]:
    """The phrases of ``text`` that have one of the folded words ``which``, and where."""
    for phrase in phrases(text.words):
        words = [text.words[at] for at in phrase]
        yield from ((words, at) for at, word in enumerate(words) if word.folded in which)


def _mismatch(asked: _Asked, text: str, reworded: bool, may_differ: bool) -> str:
    folded = fold(text)
    unsaid = [thing for thing in asked.text.things if thing.word.folded not in folded]
    if not (unsaid or asked.deed or asked.alternatives):
        return ""
    told = _text(text)
    for thing in unsaid:
        if reworded and not thing.is_named:
            continue
        if row_of(thing.word) in told.rows:
            continue  # as it may name the first and the last
        siblings = (one for one in told.things if thing.is_sibling_of(one))
        others = [one.word for one in siblings if not asked.text.names(one.word)]
        heads = {one.head for one in asked.text.things if one.word == thing.word}
        if others and told.of_all.isdisjoint(heads) and not told.names(thing.word):
            return f"it speaks of {others[0].written}, and not of {thing.word.written}"
    if asked.deed and not may_differ and _is_done_to_another(asked.deed, asked.done_to, told):
        return f"it does not speak of {' '.join(word.written for word in asked.done_to)}"
    for one in asked.alternatives:
        if other := one.other_in(told):
            return f"it speaks of {other}, and not of {min(one.meant & asked.text.said)}"
    return ""


def _is_done_to_another(deed: Word, done_to: Sequence[Word], told: Text) -> bool:
    """Whether a text has the deed, nothing of its object, and does not speak of all there is."""
    if not told.names(deed) or any(map(told.names, done_to)):
        return False
    return not any(word.folded in _WHOEVER for word in told.words)
