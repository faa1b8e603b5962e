"""What the comparison knows of single words: one form for what is spelled in several ways.

``contradiction.toml`` has the lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ...config.patterns import regex
from ..language.words import NEGATIONS, TECHNOLOGIES, technology
from ..text.lexicons import load_lexicon

_LISTS = load_lexicon(Path(__file__).with_name("contradiction.toml"), dict[str, str])
NOTHING: frozenset[str] = frozenset()

_STEP_WORDS = frozenset(
    "the a an is are was were be been has have had to of in on at and then first before after it "
    "its we you your our do not , ; . go goes out run runs place takes take comes come must "
    "should when".split()
)
_ORDER = {"before": 1, "then": 1, "after": -1, "once": -1}
_TRAILING = frozenset("afterwards follows follow last later next".split())


def _list(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


def _lines(name: str) -> list[list[str]]:
    return [line.split() for line in _LISTS[name].strip().splitlines()]


def _poles(lines: list[list[str]]) -> dict[str, dict[str, int]]:
    """For each word the axes that it is on, and which pole of them it names."""
    poles: dict[str, dict[str, int]] = {}
    for name, *words in lines:
        middle = words.index("/")
        for at, word in enumerate(words):
            if word != "/":
                poles.setdefault(word, {})[name] = 1 if at < middle else -1
    return poles


SAME = {word: line[0] for line in _lines("same") for word in line}
UNITS = {word: number for number, line in enumerate(_lines("units")) for word in line}
"""The kind of measure that each unit belongs to."""
_POWERS = {"kilo": 1, "mega": 2, "giga": 3, "tera": 4}
_SCALES = dict(pair.split("=") for pair in _LISTS["scales"].split())
SLOTS = {word: line[0] for line in _lines("slots") for word in line[1:]}
POLES = _poles(_lines("axes"))
ACTS = _poles([[str(at), *line] for at, line in enumerate(_lines("acts"))])
TIMES = _list("times")
SURROUNDINGS = _list("surroundings")
TELLINGS = {word: line[0] for line in _lines("tellings") for word in line}
LIGHT = _list("light")
ORDINARY = _list("ordinary")
ROLES = _list("roles")
DENIALS = (NEGATIONS - {"instead"}) | {"avoid"}
_NUMBERS = dict(pair.split("=") for pair in _LISTS["numbers"].split())
_NO_VALUES = frozenset(("half", "once", "twice", "single"))

_MEASURE = regex(r"v?(\d+(?:[.,:]\d+)*)([a-z%]{0,4})")
_FRACTION = regex(r"\d{1,12}(?:\.\d{1,6})?")
_SUFFIX = regex(
    r"(?<=\w{3})(?:izations?|isations?|ations?|ating|ated|ates?|ities|ity|ments?|ings?|ions?|ied"
    r"|ies|ed|es|ers?|ors?|ables?|ibles?|als?|ly|s|e|y)$"
)
_PLACE = regex(r"/|\w\.[a-z]")
_DOUBLED = regex(r"([bdfgklmnprt])\1$")
# A stem of at most so many characters keeps what else looks like an ending.
_SHORT_STEM = 4


class Measure(NamedTuple):
    """A number: as it is written, the kind of its unit (-1: none), and the unit written to it.

    ``values`` is what it is compared by: the same for "2 weeks" and "14 days", and of bytes two,
    since a kilobyte has 1000 or 1024.
    """

    value: str
    kind: int
    unit: str
    values: frozenset[str]

    @property
    def is_scaled(self) -> bool:
        """Whether its unit is in ``values``."""
        return self.value not in self.values


@lru_cache(maxsize=8192)
def canonical(word: str) -> str:
    """What a folded ``word`` is compared by."""
    if known := SAME.get(word):
        return known
    if is_technology(word):
        return technology(word)
    return _NUMBERS.get(word) or stem(word)


def is_technology(word: str) -> bool:
    """Whether a folded ``word`` names a technology, and is no ordinary word."""
    return word in TECHNOLOGIES and word not in ORDINARY


def kinds_of(names: Iterable[str]) -> frozenset[str]:
    """What canonical ``names`` are names of, as far as that is known: "role", "tool", "place"."""
    return frozenset(kind for name in names if (kind := _kind_of(name)))


def _kind_of(name: str) -> str:
    if name.rpartition(" ")[2] in ROLES:
        return "role"
    if name in TECHNOLOGIES:
        return "tool"
    return "place" if _PLACE.search(name) else ""


def stem(word: str) -> str:
    """``word`` without its endings, so that "validation" and "validates" are one."""
    short = _SUFFIX.sub("", word)
    if len(short) > _SHORT_STEM and short != word:
        short = _SUFFIX.sub("", short)
    return _DOUBLED.sub(r"\1", short)


def measure(word: str, following: str) -> Measure | None:
    """The number that ``word`` is, with the unit that may be ``following``."""
    if word in _NO_VALUES or (word == "one" and following not in UNITS):
        return None
    if value := _NUMBERS.get(word):
        return Measure(value, UNITS.get(following, -1), "", _scaled(value, following))
    found = _MEASURE.fullmatch(word)
    if found is None or (found[2] and found[2] not in UNITS and found[2] != "%"):
        return None
    unit = found[2] or following
    return Measure(found[1], UNITS.get(unit, -1), found[2], _scaled(found[1], unit))


def _scaled(value: str, unit: str) -> frozenset[str]:
    """``value`` as a multiple of the smallest unit of its kind; as it is where that is unknown."""
    scale = _SCALES.get(unit)
    if scale is None or _FRACTION.fullmatch(value) is None:
        return frozenset((value,))
    power = _POWERS.get(scale)
    bases = (1000**power, 1024**power) if power else (int(scale),)
    return frozenset(f"={float(value) * base:.6g}" for base in bases)


TELLING = frozenset(map(canonical, TELLINGS))
"""The canonical words that say what of a subject a sentence tells."""

ADDS_NO_SUBJECT = frozenset(map(canonical, (*LIGHT, *UNITS, *TIMES)))
"""Canonical words that say nothing of what a sentence is about."""


def steps_of(words: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """What comes first and what comes then, as canonical words; empty where no order is told.

    For sentences such as "A before B" and "first A, then B".
    """
    found = next((at for at, word in enumerate(words) if word in _ORDER), None)
    parts = _around(words, found) if found is not None else _in_turn(words)
    if parts is None:
        return NOTHING, NOTHING
    first, then = (
        frozenset(canonical(word) for word in part if word not in _STEP_WORDS) for part in parts
    )
    return first - then, then - first


def _around(words: Sequence[str], found: int) -> tuple[Sequence[str], Sequence[str]] | None:
    """What comes before and after the word of order at ``found``, in time."""
    left, right = words[:found], words[found + 1 :]
    if _STEP_WORDS.issuperset(left):  # "Before a deploy, …"
        cut = next((at for at, word in enumerate(right) if word in ",;"), None)
        if cut is None:
            return None
        left, right = right[cut:], right[:cut]
    return (left, right) if _ORDER[words[found]] > 0 else (right, left)


def _in_turn(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """The two parts of "first …, …" or "…, … afterwards"."""
    cuts = [at for at, word in enumerate(words) if word in (",", ";", "and")]
    if not cuts or ("first" not in words and _TRAILING.isdisjoint(words)):
        return None
    return words[: cuts[-1]], words[cuts[-1] + 1 :]
