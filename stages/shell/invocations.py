"""A plain command as it is run: its words, its options, and the script that it runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from ...config.patterns import regex
from ..text.lexicons import load_wordings
from .wrappers import raw_words

INTERPRETERS = regex(r"python[\d.]*|node|bash|sh|zsh|ruby|perl|php|bun|tsx|ts-node|deno")
"""Programs that run the script that is named behind them."""

_WORDS = load_wordings(Path(__file__).with_name("wrappers.toml"))["invocations"].words
_QUOTES = regex(r"(['\"])(.*)\1", re.DOTALL)
_MOST_BETWEEN = 3
_ONE_LETTER = {"--signoff": "-s", "--force": "-f", "--verbose": "-v", "--all": "-a"}


class Invocation(Struct, frozen=True, dict=True):
    """A command as it is run: its words in order, and its options.

    ``values`` are the places of those words that may be the value of an option before them.
    """

    words: tuple[str, ...]
    options: frozenset[str]
    values: frozenset[int] = frozenset()

    def has(self, option: str, value: str = "") -> bool:
        """Whether ``option`` is there, also as one letter of several, and its ``value`` if any."""
        if value and not any(value in one for one in (*self.words, *self.options)):
            return False
        if option in self.options or (option[:2] in self.options and option[2:] in self.words):
            return True
        short = _ONE_LETTER.get(option, option)
        return len(short) == 2 and any(
            one[:1] == "-" != one[1:2] and short[1] in one[1:] for one in self.options
        )

    @property
    def script(self) -> str:
        """The path of the script that it runs, also by an interpreter; ""."""
        program, *rest = self.words or ("",)
        script = rest[0] if rest and INTERPRETERS.fullmatch(program) else program
        return script if "/" in script else ""


def invocation_of(command: str) -> Invocation:
    """The plain ``command``, read; an option has its value where that is joined by ``=``.

    What is quoted is one word.
    """
    tokens = [_QUOTES.sub(r"\2", token) for token in raw_words(command)]
    words: list[str] = []
    values: list[int] = []
    options: list[str] = []
    for before, token in pairwise(("", *tokens)):
        if token.startswith("-"):
            options += token, _unset(token)
            continue
        is_value = before.startswith("-") and "=" not in before
        if is_value or not _WORDS["like_options"].isdisjoint((before, token)):
            values.append(len(words))
        words.append(token)
    return Invocation(tuple(words), frozenset(options), frozenset(values))


def _unset(option: str) -> str:
    return option.partition("=")[0]


def _task(word: str) -> str:
    """``word`` without where a task or target of that name is: ":app:bundle" is "bundle"."""
    return word.rpartition(":")[2] if word[:1] == ":" else word


def follows(denied: Sequence[str], run: Invocation) -> bool:
    """Whether ``run`` begins with the words ``denied``, but for values of options between them.

    Behind what takes several targets or packages, a few of these may come first.
    """
    at = 0
    for place, wanted in enumerate(denied):
        between = 0
        while at < len(run.words) and not _is_word(wanted, run.words[at]):
            between += at not in run.values
            if not place or between > _most_before(denied, place):
                return False
            at += 1
        if at == len(run.words):
            return False
        at += 1
    return bool(denied)


def _is_word(wanted: str, word: str) -> bool:
    return wanted == (word if wanted[0] == ":" else _task(word))


def _most_before(denied: Sequence[str], place: int) -> int:
    """How many other words may stand where the word ``denied[place]`` is looked for."""
    is_argument = not denied[place].isalpha() or denied[place - 1] in _WORDS["takes_many"]
    return _MOST_BETWEEN if is_argument and (place > 1 or len(denied) == 2) else 0
