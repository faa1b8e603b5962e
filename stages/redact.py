"""Takes secrets and personal data out of a text, for good, before it is kept.

The rules are data (``secrets.toml``); this is the only place that makes ``CleanText``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from ..bus.events import CaptureDetected, CaptureRequested, CaptureSettled, StoreRequested
from ..bus.values import CleanText, Kept, Provenance
from .plausible import CHECKS
from .private import strip_private
from .summary import summarise
from .text import visible

RULES_FILE = Path(__file__).with_name("secrets.toml")

_REDACTED = re.compile(r"(\[redacted:[a-z0-9-]{1,40}\])")
_WRAPPED = re.compile(r"(?<=[\w./+=$:~-])\\?[ \t]{0,80}\n[ \t>|]{0,80}(?=[\w./+=$:~-])")
_RUN = re.compile(r"[\w./+=$:~-]{1,4000}")
_HEX = re.compile(r"[0-9a-f]+")
_WINDOW_CHARS = 200
_REST_CHARS = 16
_WORTH_KEEPING = re.compile(r"\w")


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One shape of a secret; ``secrets.toml`` tells what the fields mean."""

    name: str
    pattern: str
    group: str | int = 0
    hints: tuple[str, ...] = ()
    check: str = ""


class BadRule(ValueError):
    """A rule cannot be used; without all of them nothing may start."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"the redaction rule {name!r} cannot be used: {why}")


class _Span(NamedTuple):
    start: int
    end: int
    name: str


class _Matcher:
    """A rule made ready."""

    def __init__(self, rule: Rule) -> None:
        try:
            self._pattern = re.compile(rule.pattern)
        except re.error as error:
            raise BadRule(rule.name, f"its pattern is wrong: {error}") from None
        if isinstance(rule.group, str) and rule.group not in self._pattern.groupindex:
            raise BadRule(rule.name, f"its pattern has no group {rule.group!r}")
        if isinstance(rule.group, int) and rule.group > self._pattern.groups:
            raise BadRule(rule.name, f"its pattern has no group {rule.group}")
        if rule.check and rule.check not in CHECKS:
            raise BadRule(rule.name, f"there is no check {rule.check!r}")
        if _REDACTED.fullmatch(f"[redacted:{rule.name}]") is None:
            raise BadRule(rule.name, "a name is at most 40 of a-z, 0-9 and -")
        self._name = rule.name
        self._group = rule.group
        self.hints = frozenset(rule.hints)
        self._check = CHECKS.get(rule.check)
        self.wraps = bool(rule.hints) and not rule.check and not rule.group
        """Known by a prefix alone, so that it can be recognised across a line break too."""

    def spans(self, text: str) -> Iterator[_Span]:
        """Where ``text`` is to be redacted."""
        for match in self._pattern.finditer(text):
            start, end = match.span(self._group)
            if start < end and (self._check is None or self._check(text[start:end], match)):
                yield _Span(start, end, self._name)


class Redactor:
    """The secret filter. It has no switch."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Make all of ``rules`` ready. Raises ``BadRule`` if there are none, or one is unusable."""
        self._matchers = tuple(map(_Matcher, rules))
        self._wrapping = tuple(matcher for matcher in self._matchers if matcher.wraps)
        self._hints = _by_mark(hint for matcher in self._matchers for hint in matcher.hints)
        if not self._matchers:
            raise BadRule("", "there are no rules at all")

    @classmethod
    def load(cls, file: Path = RULES_FILE) -> Redactor:
        """The filter with the rules of ``file``. Raises ``BadRule``, or ``OSError``."""
        try:
            rules = convert(tomllib.loads(file.read_text("utf-8"))["rule"], tuple[Rule, ...])
        except (KeyError, tomllib.TOMLDecodeError, ValidationError, UnicodeDecodeError) as error:
            raise BadRule(file.name, f"{type(error).__name__}: {error}") from None
        return cls(rules)

    def redact(self, text: str) -> CleanText:
        """``text`` without private spans, and with each secret replaced by ``[redacted:name]``.

        What a reader cannot see goes first, since it could divide a secret. The names of what was
        replaced come with it, each once, in order. Redacting twice changes nothing.
        """
        seen = visible(text)
        public = strip_private(seen)
        names = ["private"] if public != seen else []
        parts: list[str] = []
        left = _REDACTED.split(public)[::-1]
        while left:
            part = left.pop()
            spans = [] if _REDACTED.fullmatch(part) else self._spans(part)
            names.extend(span.name for span in spans)
            if spans:  # taking a secret away can bare another one beside it, so look again
                left.extend(_pieces(part, spans)[::-1])
            else:
                parts.append(part)
        return CleanText("".join(parts), tuple(dict.fromkeys(names)))

    def _spans(self, text: str) -> list[_Span]:
        found = self._matches(text, self._matchers)
        ends = {span.end: span for span in found}
        for wrap in _WRAPPED.finditer(text):
            for span in self._across(text, wrap, ends.get(wrap.start())):
                found.append(span)
                ends[span.end] = span
        return _merged(found)

    def _across(self, text: str, wrap: re.Match[str], whole: _Span | None) -> list[_Span]:
        """What goes over one line break: a token cut in two, or the rest of one found already."""
        run = _RUN.match(text, wrap.end())
        assert run is not None  # noqa: S101 - the lookahead of _WRAPPED saw it
        if whole is not None:
            goes_on = _goes_on(text[whole.start : whole.end], run[0])
            return [_Span(whole.start, run.end(), whole.name)] if goes_on else []
        line = max(text.rfind("\n", 0, wrap.start()) + 1, wrap.start() - _WINDOW_CHARS)
        left = text[line : wrap.start()]
        joined = left + run[0][:_WINDOW_CHARS]
        return [
            _Span(line + span.start, wrap.end() + span.end - len(left), span.name)
            for span in self._matches(joined, self._wrapping)
            if span.start < len(left) < span.end
        ]

    def _matches(self, text: str, matchers: Iterable[_Matcher]) -> list[_Span]:
        lowered = text.lower()
        present = {
            hint
            for mark, hints in self._hints.items()
            if mark in lowered
            for hint in hints
            if hint in lowered
        }
        return [
            span
            for matcher in matchers
            if not matcher.hints or not matcher.hints.isdisjoint(present)
            for span in matcher.spans(text)
        ]


def _by_mark(hints: Iterable[str]) -> dict[str, set[str]]:
    """``hints`` by the first character in each that is rare in prose; "" where there is none."""
    marked: dict[str, set[str]] = {}
    for hint in hints:
        mark = next((character for character in hint if not character.isalpha()), "")
        marked.setdefault(mark, set()).add(hint)
    return marked


def _goes_on(secret: str, run: str) -> bool:
    """Whether ``run``, at the start of the next line, reads as the rest of ``secret``."""
    if len(run) < _REST_CHARS or {"/", "."} <= set(run):
        return False
    if _HEX.fullmatch(secret[-_REST_CHARS:]) and _HEX.fullmatch(run):
        return True
    return all(any(map(kind, run)) for kind in (str.islower, str.isupper, str.isdigit))


def _pieces(text: str, spans: list[_Span]) -> list[str]:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += (text[end : span.start], f"[redacted:{span.name}]")
        end = span.end
    return [*pieces, text[end:]]


def _merged(spans: list[_Span]) -> list[_Span]:
    """``spans`` in order, overlapping ones made one under the name of the first and longest."""
    merged: list[_Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = last._replace(end=max(last.end, span.end))
        else:
            merged.append(span)
    return merged


def redact(event: CaptureDetected, *, redactor: Redactor) -> StoreRequested | CaptureSettled:
    """Redact what is to be kept, and everything that goes with it.

    Declined where nothing is left but what was redacted.
    """
    content = redactor.redact(event.content)
    if _WORTH_KEEPING.search(_REDACTED.sub("", content.text)) is None:
        return _declined(event, content)
    return StoreRequested(
        trace=event.trace,
        request=_clean_request(event.request, content, redactor),
        namespace=event.namespace,
        tags=_clean_tags(event.tags, redactor),
        content=content,
        summary=redactor.redact(summarise(content.text)),
    )


def _declined(event: CaptureDetected, content: CleanText) -> CaptureSettled:
    kept = Kept(
        outcome="declined",
        namespace=event.namespace,
        reason="nothing was left after secrets and private text were taken out",
        redactions=content.redactions,
    )
    return CaptureSettled(trace=event.trace, kept=kept)


def _clean_request(
    request: CaptureRequested, content: CleanText, redactor: Redactor
) -> CaptureRequested:
    """The request for the stages to come, which must not see the raw text again."""
    origin = request.provenance
    provenance = Provenance(
        **{name: redactor.redact(getattr(origin, name)).text for name in origin.__struct_fields__}
    )
    tags = _clean_tags(request.tags, redactor)
    return replace(request, text=content.text, tags=tags, provenance=provenance)


def _clean_tags(tags: Iterable[str], redactor: Redactor) -> tuple[str, ...]:
    return tuple(tag for tag in tags if not redactor.redact(tag).redactions)
