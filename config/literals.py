"""What a text must contain for a regular expression to match in it.

Looking for a few words in a text takes a hundredth of the time that an expression of alternatives
does, which is tried anew at each character; so where none of them is there, it need not be tried.
The method is that of RE2's ``FilteredRE2`` (R. Cox, "Regular Expression Matching with a Trigram
Index", 2012): from the syntax tree, the texts that a part is made of as long as they are few, and
else what each of its alternatives requires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

try:  # there is no other reader of the syntax
    _ops: Any = import_module("re._constants")
    _parser: Any = import_module("re._parser")
except ImportError:  # another Python: every expression is tried
    _ops = _parser = None

Literals = frozenset[str]
"""Folded texts, one of which is in every text that is matched."""

_MOST_EXACT = 64  # texts that a part may be made of, before only what it requires is kept
_MOST_LITERALS = 48
_MOST_READ = 400  # of which those that contain others go
_LEAST_CHARS = 2
_MOST_CHARS = 40  # longer ones rule out no more
_MOST_SETS = 2
# How much rarer a text is for each character: about what it is in English.
_RARER = 6.0


class _Need(NamedTuple):
    """Of a part: all the texts that it matches, None if they are many, and what it requires."""

    exact: Literals | None
    required: tuple[Literals, ...]


_NOTHING = _Need(frozenset({""}), ())
_ANYTHING = _Need(None, ())


def fold(text: str) -> str:
    """``text`` as it is compared: what an expression takes for the same letter is the same."""
    if text.isascii():
        return text.casefold()
    # Character by character: what stands together in a text may stand apart in an expression.
    return text.replace("\u0130", "i").casefold().replace("\u0131", "i")


def required_literals(pattern: str, flags: int) -> tuple[Literals, ...]:
    """Of each set one is in every text, folded, that has a match of ``pattern``; at most two sets.

    None where it can't be told, or would rule out next to nothing. Raises ``re.error``.
    """
    if _parser is None:
        return ()
    try:
        need = _of_sequence(_parser.parse(pattern, flags))
    except RecursionError:  # it is nested too deeply
        return ()
    few = (one for one in (*need.required, *_as_required(need.exact)) if len(one) <= _MOST_READ)
    useful = {one for one in map(_least, few) if len(one) <= _MOST_LITERALS and _frequency(one) < 1}
    return tuple(sorted(useful, key=lambda one: (_frequency(one), sorted(one)))[:_MOST_SETS])


def _frequency(literals: Literals) -> float:
    """How often one of them is in a text that has nothing to do with them: relative, not exact."""
    return sum((_RARER ** (_LEAST_CHARS - len(one)) for one in literals), 0.0) / 4


def _least(literals: Literals) -> Literals:
    """``literals`` without those that contain another one."""
    return frozenset(
        one for one in literals if not any(other != one and other in one for other in literals)
    )


def _as_required(exact: Literals | None) -> tuple[Literals, ...]:
    return (exact,) if exact and min(map(len, exact)) >= _LEAST_CHARS else ()


def _of_sequence(items: Iterable[tuple[Any, Any]]) -> _Need:
    """Parts that follow each other: exact as long as the texts of all of them are few."""
    run: Literals = frozenset({""})
    is_whole = True
    required: list[Literals] = []
    for op, argument in items:
        exact, more = _of_part(op, argument)
        required += more
        may_grow = max(map(len, run)) < _MOST_CHARS
        if exact is not None and may_grow and len(run) * len(exact) <= _MOST_EXACT:
            run = frozenset(before + after for before in run for after in exact)
            continue
        required += _as_required(run)
        run, is_whole = (frozenset({""}) if exact is None else exact), False
    return _Need(run, tuple(required)) if is_whole else _Need(None, (*required, *_as_required(run)))


def _of_part(op: Any, argument: Any) -> _Need:
    read = _READERS.get(str(op))
    return read(argument) if read else _ANYTHING


def _of_literal(code: int) -> _Need:
    return _Need(frozenset({fold(chr(code))}), ())


def _of_set(members: list[tuple[Any, Any]]) -> _Need:
    """One of some characters; a range or a class has too many."""
    if not all(op is _ops.LITERAL for op, _ in members):
        return _ANYTHING
    return _Need(frozenset(fold(chr(code)) for _, code in members), ())


def _of_branches(argument: tuple[None, list[Any]]) -> _Need:
    needs = [_of_sequence(branch) for branch in argument[1]]
    exact = [need.exact for need in needs if need.exact is not None]
    if len(exact) == len(needs):
        union = frozenset(chain.from_iterable(exact))
        if len(union) <= _MOST_EXACT:
            return _Need(union, ())
    best = list(_best_of_each(needs))
    return _Need(None, (frozenset(chain.from_iterable(best)),) if len(best) == len(needs) else ())


def _best_of_each(needs: list[_Need]) -> Iterator[Literals]:
    for need in needs:
        if sets := (*need.required, *_as_required(need.exact)):
            yield min(sets, key=_frequency)


def _of_repeat(argument: tuple[int, int, Any]) -> _Need:
    least, most, repeated = argument
    need = _of_sequence(repeated)
    if least == 0:
        is_optional = most == 1 and need.exact is not None
        return _Need(need.exact | {""}, ()) if is_optional and need.exact else _ANYTHING
    if least == most == 1:
        return need
    return _Need(None, (*need.required, *_as_required(need.exact)))


def _of_assertion(argument: tuple[int, Any]) -> _Need:
    """What is looked for ahead or behind is in the text, but no part of what is matched."""
    need = _of_sequence(argument[1])
    return _Need(_NOTHING.exact, (*need.required, *_as_required(need.exact)))


_READERS: dict[str, Callable[[Any], _Need]] = {
    "LITERAL": _of_literal,
    "IN": _of_set,
    "SUBPATTERN": lambda argument: _of_sequence(argument[3]),
    "ATOMIC_GROUP": _of_sequence,
    "BRANCH": _of_branches,
    "MAX_REPEAT": _of_repeat,
    "MIN_REPEAT": _of_repeat,
    "POSSESSIVE_REPEAT": _of_repeat,
    "ASSERT": _of_assertion,
    "ASSERT_NOT": lambda _: _NOTHING,
    "AT": lambda _: _NOTHING,
}
"""By the operation of a part; each other one matches anything."""
