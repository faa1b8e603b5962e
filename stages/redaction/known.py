"""What was recognised as a secret by the words around it, to be recognised without them.

"The password is …" gives a value away by its label; "use … for it" in the answer does not. In
memory only, for as long as the session is remembered.
"""

from __future__ import annotations

import re
from collections import Counter

from .values import NUMBERED, TRAILING, is_password

MOST = 32
"""So many values are known at once; the oldest goes first."""

_CHARS = range(8, 201)
_ALNUM = "[A-Za-z0-9_]"


class KnownSecrets:
    """The values given away in one session, by the names of their rules. Safe with threads."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def note(self, value: str, name: str) -> None:
        """Remember ``value`` if it is long and mixed: a word or a name stands for other things."""
        new = {one: name for one in (value, value.rstrip(TRAILING)) if _is_telling(one)}
        if new.keys() - self._names.keys():
            self._names = dict([*self._names.items(), *new.items()][-MOST:])

    def hide(self, text: str) -> tuple[str, Counter[str]]:
        """``text`` with ``[redacted:name]`` for each of them, and how often each name was put."""
        found: Counter[str] = Counter()
        present = {value: name for value, name in self._names.items() if value in text}
        for value in sorted(present, key=len, reverse=True):
            text, count = _whole(value).subn(f"[redacted:{present[value]}]", text)
            found[present[value]] += count
        return text, +found


def _whole(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!{_ALNUM}){re.escape(value)}(?!{_ALNUM})")


def _is_telling(value: str) -> bool:
    return len(value) in _CHARS and is_password(value) and not NUMBERED.fullmatch(value)
