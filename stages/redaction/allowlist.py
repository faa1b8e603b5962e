"""Reads the allowlist: which values and which kinds of personal data are let through.

No entry switches off a rule for secrets; at most it names one value that is none.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from .rules import Rule

_TRAILING = ".,;:!?)]}>\"'`"
_CLOSE = 0.8


class BadAllowance(ValueError):
    """An entry of the allowlist cannot be used; the message says which and why, not the entry.

    What stands in it may be a secret that somebody took for harmless.
    """

    def __init__(self, number: int, why: str, personal: Iterable[str]) -> None:
        super().__init__(
            f"entry {number} {why}; allowed: a literal value that is no secret,"
            f" or one of {', '.join(personal)}"
        )


class Allowance:
    """What is let through. ``names`` are rules for personal data."""

    def __init__(self, entries: Sequence[str], rules: Iterable[Rule]) -> None:
        """Raises ``BadAllowance``."""
        kinds = {rule.name: rule.kind for rule in rules}
        self.names = frozenset(entry for entry in entries if kinds.get(entry) == "personal")
        self._literals = frozenset(entries) - self.names
        personal = sorted(name for name, kind in kinds.items() if kind == "personal")
        for number, entry in enumerate(entries, 1):
            if entry not in self.names and (why := _refuse(entry, kinds, personal)):
                raise BadAllowance(number, why, personal)

    def spares(self, value: str) -> bool:
        """Whether ``value``, with or without the punctuation after it, is let through."""
        return bool(self._literals) and (
            value in self._literals or value.rstrip(_TRAILING) in self._literals
        )


def _refuse(entry: str, names: Iterable[str], personal: Iterable[str]) -> str:
    """Why ``entry`` is no literal value, or nothing."""
    if entry in names:
        return f"is the rule {entry}, and no setting switches off a rule for secrets"
    if not entry.strip() or entry != entry.strip() or not entry.isprintable():
        return "is empty, or has white space around it or control characters in it"
    if "*" in entry:
        return "has a * in it, and patterns are not understood"
    if close := difflib.get_close_matches(entry, personal, n=1, cutoff=_CLOSE):
        return f"is no literal value: {close[0]} may be meant"
    return ""
