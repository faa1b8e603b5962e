"""Texts that a regular expression takes as long over as it can, made from the expression itself.

For each of its repetitions: what leads up to it, then what it repeats, very often, then something
that does not fit. And what is repeated in any expression: single signs, and pairs of them, which
are most of the texts and find little that the others do not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from re import _constants as ops  # there is no other reader of the syntax
from re import _parser as parser

REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}
MANY = 20  # a repetition of fewer can hardly take long
SIGNS = "aA0 _-./\\\"'`<>()[]{}=:;,!?@#$%&*+|~^\n\t\u00e9\u4e00"
ENDINGS = ("\x00", "\n")
PAIRS = (
    "a ",
    "a.",
    "a-",
    "a/",
    "a=",
    "a:",
    "a\n",
    "a_",
    "a,",
    "aA",
    "a0",
    "\\n",
    "<a",
    '"a',
    "\n ",
)


UNITS = (*SIGNS, *PAIRS)


def attacks(pattern: re.Pattern, length: int, units: tuple[str, ...] = UNITS) -> Iterator[str]:
    """Texts of about ``length`` characters; ``units`` are repeated whatever the expression is."""
    rng = random.Random(pattern.pattern if isinstance(pattern.pattern, str) else 0)
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    starts = [("", unit) for unit in units]
    for before, body in _repetitions(list(tree), "", rng):
        starts += [(before, body), ("", before + body)]
    seen = set()
    for before, unit in starts:
        if unit and (before, unit) not in seen:
            seen.add((before, unit))
            text = before + unit * (length // len(unit))
            yield from (text + ending for ending in ENDINGS)


def _repetitions(items: list, before: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """For each repetition in ``items``: what stands before it, and samples of what it repeats."""
    for op, argument in items:
        if op in REPEATS:
            _, most, body = argument
            if most > MANY:
                yield from ((before, _sample(body, rng)) for _ in range(3))
        for part in _parts(op, argument):
            yield from _repetitions(list(part), before, rng)
        before += _sample([(op, argument)], rng)


def _parts(op: int, argument: object) -> list:
    if op in REPEATS:
        return [argument[2]]
    if op is ops.SUBPATTERN:
        return [argument[3]]
    if op is ops.BRANCH:
        return argument[1]
    if op in {ops.ASSERT, ops.ASSERT_NOT}:
        return [argument[1]]
    return [argument] if op is ops.ATOMIC_GROUP else []


def _sample(items: object, rng: random.Random) -> str:
    """A text that ``items`` match, look-arounds and back references aside."""
    return "".join(_sample_of(op, argument, rng) for op, argument in items)


def _sample_of(op: int, argument: object, rng: random.Random) -> str:
    if op is ops.LITERAL:
        return chr(argument)
    if op in {ops.ANY, ops.NOT_LITERAL}:
        return next(sign for sign in SIGNS if ord(sign) != argument)
    if op is ops.IN:
        return _one_of(argument, rng)
    if op in {ops.ASSERT, ops.ASSERT_NOT} or not (parts := _parts(op, argument)):
        return ""
    times = max(argument[0], 1) if op in REPEATS else 1
    return _sample(rng.choice(parts), rng) * times


def _one_of(choices: list, rng: random.Random) -> str:
    signs = [*SIGNS, *(chr(c) for op, c in choices if op is ops.LITERAL)]
    signs += [chr(bounds[0]) for op, bounds in choices if op is ops.RANGE]
    rng.shuffle(signs)
    negated = choices[0][0] is ops.NEGATE
    fitting = [sign for sign in signs if _is_in(choices, sign) is not negated]
    return fitting[0] if fitting else ""


_CATEGORIES = {
    ops.CATEGORY_DIGIT: str.isdigit,
    ops.CATEGORY_NOT_DIGIT: lambda sign: not sign.isdigit(),
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_NOT_SPACE: lambda sign: not sign.isspace(),
    ops.CATEGORY_WORD: lambda sign: sign.isalnum() or sign == "_",
    ops.CATEGORY_NOT_WORD: lambda sign: not (sign.isalnum() or sign == "_"),
}


def _is_in(choices: list, sign: str) -> bool:
    for op, argument in choices:
        if op is ops.LITERAL and ord(sign) == argument:
            return True
        if op is ops.RANGE and argument[0] <= ord(sign) <= argument[1]:
            return True
        if op is ops.CATEGORY and _CATEGORIES[argument](sign):
            return True
    return False
