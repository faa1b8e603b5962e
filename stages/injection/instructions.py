"""What an agent's own files of instructions (CLAUDE.md, AGENTS.md) say already, or otherwise.

What they say is in the agent's context from the start of a session, so a memory that says the same
brings nothing. One that a sentence of theirs contradicts is shown with that sentence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ..statements.comparison import Claim, Relation, claim_of, compare, says_same
from ..statements.statement import sentences_of
from ..text.notes import pieces
from ..text.unicode import cut
from .usefulness import NOTHING_LEARNED, Learned

MAX_STATEMENTS = 1500
"""Of one file. Each is compared only where it shares words with a memory."""

# A longer passage holds the words of many a short memory without saying the same.
_MAX_CHARS = 400
_LEAST_WORDS = 2
# So many of those with the most words in common are compared.
_MOST_COMPARED = 6
# Of a memory that says several things each must be said by the file.
_MOST_SENTENCES = 8
_MEMORY_CHARS = 1000
# Of the words of what is compared at least this share is common to both.
_SAME_SHARE = 0.7
_OTHERWISE_SHARE = 0.2
_CONTRADICTS = frozenset((Relation.NEGATED, Relation.OTHER_NUMBER, Relation.OTHER_NAME))
# Nobody knows which of the two is the newer: a file also speaks against a memory by denying it or
# by a number. Read that way, two names for one thing would often seem to be another choice.
_EITHER_WAY = frozenset((Relation.NEGATED, Relation.OTHER_NUMBER))


class Otherwise(Struct, frozen=True):
    """A sentence of ``file`` that contradicts a memory; both are empty where there is none."""

    file: str = ""
    sentence: str = ""


NOT_DENIED = Otherwise()


class InstructionFile:
    """What the text of one file says, ready to be compared. ``file`` is a name of our own.

    Making one takes some milliseconds for a long text: not for the event loop.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._said = tuple(_statements(text))
        self._words = [Claim(said).words for said in self._said]
        self._having: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self._words):
            for word in words:
                self._having[word].append(number)

    def says(self, content: str) -> bool:
        """Whether it says all that a memory does."""
        if len(content) > _MEMORY_CHARS:
            return False
        if self._says_at_once(content):
            return True
        parts = tuple(sentences_of(content, _MOST_SENTENCES + 1))
        return 1 < len(parts) <= _MOST_SENTENCES and all(map(self._says_at_once, parts))

    def contradiction(self, content: str) -> str:
        """The sentence that contradicts a memory; "" for none."""
        for said in self._near(content, _OTHERWISE_SHARE):
            if compare(content, said) in _CONTRADICTS or compare(said, content) in _EITHER_WAY:
                return said
        return ""

    def _says_at_once(self, content: str) -> bool:
        return any(says_same(content, said) for said in self._near(content, _SAME_SHARE))

    def _near(self, content: str, share: float) -> Iterator[str]:
        """The statements with at least ``share`` of the words of ``content``, the nearest first."""
        words = claim_of(content).words
        common = Counter(number for word in words for number in self._having.get(word, ()))
        least = max(_LEAST_WORDS, share * len(words)) if len(words) > 1 else 1
        nearest = sorted(
            (number for number, count in common.items() if count >= least),
            key=lambda number: (-common[number], len(self._words[number])),
        )
        return (self._said[number] for number in nearest[:_MOST_COMPARED])


def _statements(text: str) -> Iterable[str]:
    """Each thing that ``text`` says: whole where it is short, and sentence by sentence."""
    found: dict[str, None] = {}
    for piece in pieces(text):
        if len(found) >= MAX_STATEMENTS:
            break
        whole = f"{piece.title}\n{piece.text}" if piece.title else piece.text
        found |= {one: None for one in (piece.text, whole) if len(one) <= _MAX_CHARS}
        sentences = (one.strip(" -*+•") for one in sentences_of(piece.text, MAX_STATEMENTS))
        found |= {cut(one, _MAX_CHARS): None for one in sentences if one}
    return tuple(found)[:MAX_STATEMENTS]


class Instructed(Struct, frozen=True):
    """What all files of one agent in one project say."""

    files: Sequence[InstructionFile] = ()

    def refusal(self, content: str) -> str | None:
        """Why a memory brings nothing to the agent; None where it does."""
        found = next((one.file for one in self.files if one.says(content)), None)
        return f"already in {found}" if found else None

    def otherwise(self, content: str) -> Otherwise:
        """What says otherwise than a memory; empty for nothing."""
        found = (
            Otherwise(one.file, said) for one in self.files if (said := one.contradiction(content))
        )
        return next(found, NOT_DENIED)


NOTHING_INSTRUCTED = Instructed()


class Known(Struct, frozen=True):
    """What is known of memories beside what they say: by their use, and by the agent's files."""

    learned: Learned = NOTHING_LEARNED
    instructed: Instructed = NOTHING_INSTRUCTED


NOTHING_KNOWN = Known()
