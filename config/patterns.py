"""Regular expressions that are compiled when they are first used.

The product has some five hundred, a prompt uses a part of them, and compiling all of them was half
of what a daemon did before it listened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast
from weakref import WeakSet

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _Late:
    """Stands for a compiled pattern.

    With the first method that is asked for it has all of them as attributes of its own, so every
    further call goes straight to the compiled pattern.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        _PENDING.add(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by copy, pickle and the like
            raise AttributeError(name)
        compiled = self.make_ready()
        return getattr(compiled, name)

    def make_ready(self) -> re.Pattern[str]:
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        _PENDING.discard(self)
        return compiled


_PENDING: WeakSet[_Late] = WeakSet()


def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """``re.compile(pattern, flags)``, which happens at the first use.

    For constants of a module. A wrong pattern raises ``re.error`` when it is used; a test compiles
    all there are. Functions of ``re`` do not take it: call its own methods.
    """
    return cast(re.Pattern[str], _Late(pattern, flags))


def compile_pending() -> Iterator[None]:
    """Compile what nothing has used yet, one pattern with each step."""
    for late in tuple(_PENDING):
        late.make_ready()
        yield
