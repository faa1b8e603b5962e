"""The rules of the secret filter, made ready: what each of them finds in a text.

``Rules.spans`` finds what every pattern run over the whole text would find. Hints, reach and needs
of a rule spare work only; a property test holds the two ways equal.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import add
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct, ValidationError, convert

from ...config.patterns import regex
from .validators import CHECKS

# Beside the hooks, since the plugin is that folder alone.
RULES_FILE = Path(__file__).parents[2] / "hooks/secrets.toml"

_NAME = regex(r"[a-z0-9-]{1,40}")
_DIGIT = regex(r"\d")
# One character over and over behind a prefix, as examples have it: ghp_xxxxxxxxxxxxxxxxxxxx.
_FILLED = regex(r"(?:[A-Za-z]{2,8}[_-]){0,3}(?:api\d\d-)?[A-Z]{0,4}([A-Za-z*])\1{15,}")
_DRAWN_CHARS = 15
# What a pattern that ignores case takes for one letter, and str.lower() does not.
_LOOKALIKES = {0x130: "i", 0x131: "i", 0x17F: "s"}
# Letters from the commonest to the rarest; what is not among them is rarer than any.
_RANKS = {char: rank for rank, char in enumerate("etaoinshrdlcumwfgypbvkjxqz")}
_RAREST = 98

Kind = Literal["token", "password", "block", "personal"]


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One shape of a secret; ``secrets.toml`` tells what the fields mean."""

    name: str
    pattern: str
    group: str | int = 0
    kind: Kind = "token"
    check: str = ""
    hints: tuple[str, ...] = ()
    reach: int | None = None
    needs: str = ""
    run: int = 0
    drawn: bool = False


class BadRule(RuntimeError):
    """A rule cannot be used; without all of them nothing may be kept."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"the redaction rule {name!r} cannot be used: {why}")


class Span(NamedTuple):
    """Characters to redact, under which name, and whether a mask may show their ends."""

    start: int
    end: int
    name: str
    shows: bool = False


def read_rules(file: Path) -> tuple[Rule, ...]:
    """The rules of ``file``. Raises ``BadRule``, or ``OSError``."""
    try:
        return convert(tomllib.loads(file.read_text("utf-8"))["rule"], tuple[Rule, ...])
    except (KeyError, tomllib.TOMLDecodeError, ValidationError, UnicodeDecodeError) as error:
        raise BadRule(file.name, f"{type(error).__name__}: {error}") from None


class Rules:
    """All of them. ``spares`` says which values are let through."""

    def __init__(self, rules: Iterable[Rule], *, spares: Callable[[str], bool]) -> None:
        """Make all of ``rules`` ready. Raises ``BadRule`` if there are none, or one is unusable.

        A pattern is compiled for the first text in which it might find something. A wrong one
        raises ``BadRule`` for each such text: what cannot be redacted is not let through.
        """
        self._matchers = tuple(_Matcher(rule, spares) for rule in rules)
        if not self._matchers:
            raise BadRule("", "there are no rules at all")
        self._always = {n for n, matcher in enumerate(self._matchers) if not matcher.hints}
        self._by_hint: dict[str, set[int]] = {}
        for number, matcher in enumerate(self._matchers):
            for hint in matcher.hints:
                self._by_hint.setdefault(hint, set()).add(number)
        self._hints = self._hints_of(lambda matcher: not matcher.drawn)

    def compile_pending(self) -> Iterator[None]:
        """Compile what no text has needed yet, a rule with each step. Raises ``BadRule``."""
        for matcher in self._matchers:
            matcher.make_ready()
            yield

    @cached_property
    def _drawn(self) -> _Hints:
        return self._hints_of(lambda matcher: matcher.drawn)

    @cached_property
    def _wrapping(self) -> _Hints:
        return self._hints_of(lambda matcher: matcher.wraps)

    def _hints_of(self, chosen: Callable[[_Matcher], bool]) -> _Hints:
        return _Hints({hint for one in self._matchers if chosen(one) for hint in one.hints})

    def spans(self, text: str) -> list[Span]:
        """Everything that is to be redacted in ``text``, rule by rule."""
        hinted = self._hints.look(text)
        if hinted.has_drawn:
            self._drawn.look_again(hinted)
        return self._found(self._always | self._numbers(hinted), text, hinted)

    def spans_of_tokens(self, text: str) -> list[Span]:
        """The same, of rules alone that know a token by its prefix."""
        hinted = self._wrapping.look(text)
        numbers = (n for n in self._numbers(hinted) if self._matchers[n].wraps)
        return self._found(numbers, text, hinted)

    def _numbers(self, hinted: _Hinted) -> set[int]:
        return set[int]().union(*(self._by_hint[hint] for hint in hinted.present))

    def _found(self, numbers: Iterable[int], text: str, hinted: _Hinted) -> list[Span]:
        return [span for n in sorted(numbers) for span in self._matchers[n].spans(text, hinted)]


class _Hints:
    """Looks for many hints at once."""

    def __init__(self, hints: Iterable[str]) -> None:
        self._by_pair: dict[str, list[str]] = {}
        for hint in set(hints):
            self._by_pair.setdefault(_rarest_pair(hint.lower()), []).append(hint)

    def look(self, text: str) -> _Hinted:
        hinted = _Hinted(text)
        self.look_again(hinted)
        return hinted

    def look_again(self, hinted: _Hinted) -> None:
        """Add these hints to what was looked for in the same text."""
        for pair in self._by_pair.keys() & hinted.pairs:
            for hint in self._by_pair[pair]:
                if hint in (hinted.folded if hint.islower() else hinted.text):
                    hinted.present.add(hint)


class _Hinted:
    """A text with the hints that are in it; where they stand is looked up when it is asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        # One case, character for character.
        self.folded = (text if text.isascii() else text.translate(_LOOKALIKES)).lower()
        self.pairs = {"", *self.folded, *map(add, self.folded, self.folded[1:])}
        self.present: set[str] = set()
        self._places: dict[str, list[int]] = {}
        self._starts: dict[tuple[frozenset[str], int], list[int] | None] = {}

    @cached_property
    def longest_run(self) -> int:
        """How many characters stand together at most without white space between them."""
        return max(map(len, self.text.split()), default=0)

    @cached_property
    def has_drawn(self) -> bool:
        """Whether there is a word that may have been drawn by lot: long, and a digit in it."""
        return has_drawn(self.text)

    def starts(self, hints: frozenset[str], reach: int) -> list[int] | None:
        """Where a match may begin; None for so many places that one search is cheaper."""
        key = (hints, reach)
        if key not in self._starts:
            self._starts[key] = self._made_starts(hints, reach)
        return self._starts[key]

    def _made_starts(self, hints: frozenset[str], reach: int) -> list[int] | None:
        places = [place for hint in hints & self.present for place in self.places(hint)]
        if len(places) * (reach + 1) * 2 > len(self.text):
            return None
        if not reach:
            return sorted(set(places))
        return sorted({at for place in places for at in range(max(0, place - reach), place + 1)})

    def places(self, hint: str) -> list[int]:
        if hint not in self.present:
            return []
        if (places := self._places.get(hint)) is None:
            text = self.folded if hint.islower() else self.text
            places = self._places[hint] = list(_occurrences(hint, text))
        return places


class _Matcher:
    """A rule made ready."""

    def __init__(self, rule: Rule, spares: Callable[[str], bool]) -> None:
        _check(rule)
        self._rule = rule
        self._name = rule.name
        self._group = rule.group
        self._shows = rule.kind in {"token", "personal"}
        self._reach = rule.reach
        self._run = rule.run
        self._spares = spares
        self._check = CHECKS.get(rule.check)
        self.hints = frozenset(rule.hints)
        self.drawn = rule.drawn
        self.wraps = bool(rule.hints) and rule.check in {"", "drawn"} and not rule.group
        """Known by a prefix alone, so that it can be recognised across a line break too."""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern = _compiled(self._rule, self._rule.pattern)
        _check_group(self._rule, pattern)
        return pattern

    @cached_property
    def _needs(self) -> re.Pattern[str]:
        return _compiled(self._rule, self._rule.needs)

    def make_ready(self) -> None:
        """Compile its patterns now. Raises ``BadRule``."""
        _ = self._pattern, self._needs

    def spans(self, text: str, hinted: _Hinted) -> Iterator[Span]:
        """Where ``text`` is to be redacted."""
        for match in self._matches(text, hinted):
            start, end = match.span(self._group)
            value = text[start:end]
            if not value or (self._check is not None and not self._check(value, match)):
                continue
            if not (self._spares(value) or _FILLED.fullmatch(value)):
                yield Span(start, end, self._name, self._shows)

    def _matches(self, text: str, hinted: _Hinted) -> Iterator[re.Match[str]]:
        if self._run > hinted.longest_run or self._needs.search(text) is None:
            return iter(())
        if self.drawn and not hinted.has_drawn:
            return iter(())
        starts = None if self._reach is None else hinted.starts(self.hints, self._reach)
        return self._pattern.finditer(text) if starts is None else self._from(text, starts)

    def _from(self, text: str, starts: Iterable[int]) -> Iterator[re.Match[str]]:
        """The same as ``finditer``, if no match starts anywhere else."""
        end = 0
        for start in starts:
            if start >= end and (match := self._pattern.match(text, start)):
                yield match
                end = match.end()


def _compiled(rule: Rule, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadRule(rule.name, f"its pattern is wrong: {error}") from None


def _check_group(rule: Rule, pattern: re.Pattern[str]) -> None:
    if isinstance(rule.group, str) and rule.group not in pattern.groupindex:
        raise BadRule(rule.name, f"its pattern has no group {rule.group!r}")
    if isinstance(rule.group, int) and rule.group > pattern.groups:
        raise BadRule(rule.name, f"its pattern has no group {rule.group}")


def _check(rule: Rule) -> None:
    if rule.check and rule.check not in CHECKS:
        raise BadRule(rule.name, f"there is no check {rule.check!r}")
    if _NAME.fullmatch(rule.name) is None:
        raise BadRule(rule.name, "a name is at most 40 of a-z, 0-9 and -")
    if rule.reach is not None and not rule.hints:
        raise BadRule(rule.name, "it has a reach, but no hints to reach back from")


def has_drawn(text: str) -> bool:
    """Whether ``text`` has a word that may have been drawn by lot: long, and a digit in it."""
    return any(len(word) >= _DRAWN_CHARS and _DIGIT.search(word) for word in text.split())


def _occurrences(hint: str, text: str) -> Iterator[int]:
    at = text.find(hint)
    while at >= 0:
        yield at
        at = text.find(hint, at + 1)


def _rarest_pair(hint: str) -> str:
    """The two neighbours in ``hint`` that are rarest in English prose; a short one as it is."""
    ranks = [_RANKS.get(char, _RAREST) for char in hint]
    sums = list(map(add, ranks, ranks[1:]))
    at = sums.index(max(sums)) if sums else 0
    return hint[at : at + 2]


# --- the allowlist --------------------------------------------------------------------------------


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
