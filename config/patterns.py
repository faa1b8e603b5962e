"""Regular expressions that are compiled when they are first used, and tried where they can match.

The product has some five hundred, a prompt uses a part of them, and compiling all of them was half
of what a daemon did before it listened. What they require of a text is then found out as well.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast
from weakref import WeakSet

from .literals import Literals, fold, required_literals

T = TypeVar("T")

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _Late:
    """Stands for a compiled pattern.

    With the first method that is asked for it has all of them as attributes of its own, so every
    further call goes straight to the compiled pattern.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        with _LOCK:
            _PENDING.add(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by copy, pickle and the like
            raise AttributeError(name)
        compiled = self.make_ready()
        return getattr(compiled, name)

    def make_ready(self) -> re.Pattern[str]:
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            vars(self).setdefault(method, getattr(compiled, method))
        return compiled

    def make_quick(self) -> None:
        """Have whole texts searched only for what they may contain."""
        compiled = self.make_ready()
        with _LOCK:
            _PENDING.discard(self)
        if required := required_literals(self.pattern, self._flags):
            self.search = _where_possible(compiled.search, required, lambda: None)
            self.findall = _where_possible(compiled.findall, required, list)
            self.finditer = _where_possible(compiled.finditer, required, lambda: iter(()))


_LOCK = threading.Lock()
_PENDING: WeakSet[_Late] = WeakSet()

# A longer text is looked through as it is, rather than folded and held.
_MOST_CHARS = 20_000
# The text that was folded last, and how it reads then: many expressions look at one text. A pair,
# so that a thread sees one text's or another's.
_last_folded = [("", "")]


def _where_possible(
    look: Callable[..., T], required: tuple[Literals, ...], nothing: Callable[[], T]
) -> Callable[..., T]:
    """``look``, which finds ``nothing`` in a whole text that lacks what is ``required``."""
    sets = tuple(map(tuple, required))

    def look_where_possible(string: str, *within: int, **named: int) -> T:
        if within or named or len(string) > _MOST_CHARS:
            return look(string, *within, **named)
        known, folded = _last_folded[0]
        if known is not string:
            folded = fold(string)
            _last_folded[0] = string, folded
        for literals in sets:
            for literal in literals:
                if literal in folded:
                    break
            else:
                return nothing()
        return look(string)

    return look_where_possible


def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """``re.compile(pattern, flags)``, which happens at the first use.

    For constants of a module. A wrong pattern raises ``re.error`` when it is used; a test compiles
    all there are. Functions of ``re`` do not take it: call its own methods.
    """
    return cast(re.Pattern[str], _Late(pattern, flags))


def compile_pending() -> Iterator[None]:
    """Compile what there is, and find out what it requires, one pattern with each step."""
    with _LOCK:
        pending = tuple(_PENDING)
    for late in pending:
        late.make_quick()
        yield
