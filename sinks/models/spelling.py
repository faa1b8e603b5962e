"""Misspelt words of a question, and what they were meant as: one edit away, or nothing.

An edit is a letter too much, too few or of another kind, or two neighbours that changed places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple

from .embedder import bundled_tokenizer

# In shorter words another letter, or one that is gone, mostly makes another word ("tls", "its").
_FEWEST_LETTERS_OF_A_LONG_WORD = 5
_FEWEST_LETTERS = 3
_FEWEST_LETTERS_OF_A_RARE_WORD = 7
# What is longer is no misspelt word, and its edits would be many.
_MOST_LETTERS = 20
_MOST_WORDS = 6
_UNCLEAR = "aei"
# Each row of the keyboard is shifted by half a key.
_PLACES = {
    letter: (row, at + row / 2)
    for row, letters in enumerate(("qwertyuiop", "asdfghjkl", "zxcvbnm"))
    for at, letter in enumerate(letters)
}
_ENDINGS = ("s", "es", "d", "ed", "r", "er", "rs", "ers", "ing", "ly")

Having = Callable[[Collection[str]], Collection[str]]
"""Those of some stems that memories have."""


class _Lists(NamedTuple):
    """The paragraphs of the file: each word of the first three with its place, best first."""

    function_words: Mapping[str, int]
    after_how: Mapping[str, int]
    frequent: Mapping[str, int]
    well_written: frozenset[str]
    names: frozenset[str]


def load() -> None:
    """Read the words that are known, which takes a moment, before they are needed."""
    _vocabulary()
    _lists()


def corrected(words: Sequence[str], stem: Callable[[str], str], having: Having) -> dict[str, str]:
    """What each misspelt one of the lower-case ``words`` of a question was meant as.

    No English word is, nor one that memories have. What it may be is looked for among the words
    that make a sentence, then among those of memories, where it has to be one alone, and then among
    frequent ones. Memories are asked only about what is no English word, and of that the first few.
    """
    strange = list(islice(filter(_is_strange, dict.fromkeys(words)), _MOST_WORDS))
    if not strange:
        return {}
    known = having({stem(word) for word in strange})
    meant: dict[str, str] = {}
    for word in strange:
        if stem(word) in known:
            continue
        before = words[at - 1] if (at := words.index(word)) else ""
        other = _of_sentence(word, meant.get(before, before))
        if not other and len(word) >= _FEWEST_LETTERS_OF_A_LONG_WORD:
            other = _of_memories(word, stem, having) or _frequent(word)
        if other:
            meant[word] = other
    return meant


def _is_strange(word: str) -> bool:
    """Whether ``word`` is neither English, nor a form of such a word, nor used by developers."""
    if not _FEWEST_LETTERS <= len(word) <= _MOST_LETTERS or word in _lists().well_written:
        return False
    return not _is_english(word) or word in _lists().names


def _is_english(word: str) -> bool:
    if word in _vocabulary():
        return True
    bare = [word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)]
    return any(
        one in _vocabulary() or (one[-2:-1] == one[-1:] and one[:-1] in _vocabulary())
        for one in bare
    )


def _of_sentence(word: str, before: str) -> str:
    """The word that makes a sentence and is meant by ``word`` after ``before``; "" for none."""
    after_how = _likeliest(word, _lists().after_how) if before == "how" else ""
    return after_how or _likeliest(word, _lists().function_words)


def _frequent(word: str) -> str:
    """The likeliest frequent word that ``word`` may be; "" for none."""
    places = _lists().frequent
    return min(places.keys() & set(_inner_edits(word)), key=places.__getitem__, default="")


def _likeliest(word: str, others: Mapping[str, int]) -> str:
    """The likeliest of ``others`` that is one edit from ``word``; "" for none.

    Of the edits that only long words have, none is of the first letter.
    """
    for kind, edited in enumerate(_edits(word)):
        found = others.keys() & edited
        if kind > 1:
            found = {one for one in found if one[0] == word[0]}
        if found:
            return min(found, key=others.__getitem__)
    return ""


def _of_memories(word: str, stem: Callable[[str], str], having: Having) -> str:
    """The one word of memories that ``word`` may be; "" where there is none, or several.

    Few of all that are one edit away are stemmed, which takes long: the English ones. Of the others
    the stem is edited.
    """
    meant = {stem(one): one for one in _slips(word) if one in _vocabulary()}
    if word.startswith(own := stem(word)):
        for one in _slips(own):
            meant.setdefault(one, one + word[len(own) :])
    found = [meant[one] for one in having(meant) if stem(meant[one]) == one]
    return found[0] if len(found) == 1 else ""


def _inner_edits(word: str) -> Iterator[str]:
    """Each that is one edit from ``word`` and begins and ends alike, or has letters swapped.

    What begins or ends otherwise is mostly another word, or another form of it.
    """
    swapped, *others = _edits(word)
    yield from swapped
    for edited in others:
        yield from (one for one in edited if one[:1] == word[0] and one[-1:] == word[-1])


def _slips(word: str) -> Iterator[str]:
    """The inner edits of ``word`` that are slips, not other words: "marino" is none of "merino".

    A letter that is another is beside it on the keyboard, or, in words that few others are like,
    a vowel that sounds alike ("seperate").
    """
    unclear = _UNCLEAR if len(word) >= _FEWEST_LETTERS_OF_A_RARE_WORD else ""
    for one in _inner_edits(word):
        if len(one) != len(word):
            yield one
            continue
        (a, b), *more = ((a, b) for a, b in zip(word, one, strict=True) if a != b)
        if more or _are_beside(a, b) or (a in unclear and b in unclear):
            yield one


def _are_beside(one: str, other: str) -> bool:
    """Whether two letters are neighbours on the keyboard."""
    (row, place), (other_row, other_place) = _PLACES[one], _PLACES[other]
    return abs(row - other_row) <= 1 and abs(place - other_place) <= 1


def _edits(word: str) -> Iterator[set[str]]:
    """Each that is one edit from ``word``, the likeliest kind of edit first.

    Neighbours that changed places, a letter that is missing, and of a long word one that is too
    much or another.
    """
    parts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield {head + tail[1] + tail[0] + tail[2:] for head, tail in parts[:-2]} - {word}
    yield {head + letter + tail for head, tail in parts for letter in ascii_lowercase}
    if len(word) >= _FEWEST_LETTERS_OF_A_LONG_WORD:
        yield {head + tail[1:] for head, tail in parts[:-1]}
        others = {head + one + tail[1:] for head, tail in parts[:-1] for one in ascii_lowercase}
        yield others - {word}


@cache
def _vocabulary() -> frozenset[str]:
    """The whole words that the models know."""
    tokens = bundled_tokenizer().get_vocab()
    return frozenset(token for token in tokens if len(token) >= _FEWEST_LETTERS and token.isalpha())


@cache
def _lists() -> _Lists:
    text = Path(__file__).with_name("spelling.txt").read_text("utf-8")
    paragraphs = [part.split("\n", 1)[1].split() for part in text.split("\n\n")[1:]]
    first, after_how, frequent = (
        {word: at for at, word in enumerate(one)} for one in paragraphs[:3]
    )
    well_written, names = map(frozenset, paragraphs[3:])
    return _Lists(first, after_how, frequent, well_written, names)
