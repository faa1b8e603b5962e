"""The same in other words: a question about deploying, read as one about rolling out.

Who asks how something is done often has another word for it than who wrote it down. The words for
what developers do and have are in ``wordings.toml``. The vectors of such words are seldom near
enough for a memory to be found by them, and of a phrase ("carries the pager") they know nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path

from msgspec import Struct, convert

from ..models.analyzer import Analyzer

WORDINGS_FILE = Path(__file__).with_name("wordings.toml")

# So many other words may be between those of a wording: "roll the release out".
_MOST_BETWEEN = 2
# So much of a question and of a memory is looked at.
_QUESTION_CHARS, _MEMORY_CHARS = 1000, 4000

_WORD = re.compile(r"[a-z0-9]+", re.ASCII | re.IGNORECASE)


class Wording(Struct, frozen=True):
    """Words for an activity: ``text`` as in the file, ``stems`` one for each of its words.

    ``forms`` are the forms of each word that may not share its stem, itself among them.
    """

    text: str
    stems: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...]


class Reworded(Struct, frozen=True):
    """A question in other words: ``question`` is to be read, ``text`` to be searched for.

    ``own`` are the wordings of the same activity that the question had.
    """

    question: str
    text: str
    wording: Wording
    own: tuple[Wording, ...]

    def is_said_in(self, text: str) -> bool:
        """Whether ``text`` has the wording, and none that the question had."""
        stems = _stems_of(text[:_MEMORY_CHARS])
        return _is_in(self.wording, stems) and not any(_is_in(own, stems) for own in self.own)


def reworded(asked: str, text: str) -> Iterator[Reworded]:
    """The question ``asked`` with each other wording of each activity that it names.

    ``text`` is what is searched for it, as words in any order; so is that of what is returned.
    """
    words = _stems(asked[:_QUESTION_CHARS])
    for activity, named in _named([stem for _, _, stem in words]).items():
        longest, first, last = max(named, key=_length)
        own = tuple(wording for wording, _, _ in named)
        start, end = words[first][0], words[last][1]
        rest = _WORD.sub(partial(_unless, longest.stems), text)
        for other in _activities()[activity]:
            if other not in own:
                question = f"{asked[:start]}{other.text}{asked[end:]}"
                yield Reworded(question, f"{rest} {other.text}", other, own)


_Named = tuple[Wording, int, int]


def _named(stems: Sequence[str]) -> dict[str, list[_Named]]:
    """By activity its wordings in ``stems``, and where the first and last word of each are."""
    named: dict[str, list[_Named]] = {}
    for first, stem in enumerate(stems):
        for activity, wording in _beginning_with().get(stem, ()):
            last = _last_word(wording, stems, first)
            if last is not None:
                named.setdefault(activity, []).append((wording, first, last))
    return named


def _length(named: _Named) -> int:
    return named[2] - named[1]


def _is_in(wording: Wording, stems: Sequence[str]) -> bool:
    first, *others = wording.stems
    if first not in stems or not others:
        return first in stems
    return any(
        stem == first and _last_word(wording, stems, at) is not None
        for at, stem in enumerate(stems)
    )


def _last_word(wording: Wording, stems: Sequence[str], first: int) -> int | None:
    """Where the last word of ``wording`` is, if it begins at ``first`` and goes on near by."""
    last = first
    for word in wording.stems[1:]:
        near = stems[last + 1 : last + 2 + _MOST_BETWEEN]
        if word not in near:
            return None
        last += 1 + near.index(word)
    return last


class _Lexicon(Struct, frozen=True, forbid_unknown_fields=True):
    """The file: the wordings of each activity, and irregular forms by the word they are of."""

    activities: dict[str, tuple[str, ...]]
    forms: dict[str, tuple[str, ...]]


@cache
def _lexicon() -> _Lexicon:
    return convert(tomllib.loads(WORDINGS_FILE.read_text("utf-8")), _Lexicon)


@cache
def _activities() -> dict[str, tuple[Wording, ...]]:
    return {name: tuple(map(_wording, texts)) for name, texts in _lexicon().activities.items()}


@cache
def _beginning_with() -> dict[str, list[tuple[str, Wording]]]:
    """By the stem of its first word each wording, with its activity."""
    begin: dict[str, list[tuple[str, Wording]]] = {}
    for activity, wordings in _activities().items():
        for wording in wordings:
            begin.setdefault(wording.stems[0], []).append((activity, wording))
    return begin


def _wording(text: str) -> Wording:
    words = _WORD.findall(text)
    forms = tuple((word, *_lexicon().forms.get(word, ())) for word in words)
    return Wording(text, tuple(map(_stem, words)), forms)


def _stems(text: str) -> list[tuple[int, int, str]]:
    """Where each word of ``text`` begins and ends, and its stem."""
    return [(*found.span(), _stem(found[0].lower())) for found in _WORD.finditer(text)]


@lru_cache(maxsize=64)
def _stems_of(text: str) -> tuple[str, ...]:
    """A memory is asked for several wordings in turn."""
    return tuple(stem for _, _, stem in _stems(text))


def _unless(stems: Sequence[str], found: re.Match[str]) -> str:
    return "" if _stem(found[0].lower()) in stems else found[0]


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return _analyzer().stem(_regular().get(word, word))


@cache
def _regular() -> dict[str, str]:
    return {form: word for word, forms in _lexicon().forms.items() for form in forms}


@cache
def _analyzer() -> Analyzer:
    return Analyzer()
