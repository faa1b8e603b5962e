"""Secrets that a line break, or the joint of two literals, cuts in two."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...config.patterns import regex
from .rules import Rules, Span, has_drawn

_WRAPPED = regex(  # within a word, from one literal to the next, from comment to comment
    r"(?<=[\w./+=$:~-])[\"']?(?:[ \t]{0,80}[+.&\\])?[ \t]{0,80}\n"
    r"[ \t>|#]{0,80}[\"']?(?=[\w./+=$:~-])"
)
_JOINT = regex(  # of two literals: added, beside each other, in a call or a list; or escaped
    r"(?<=[\w./+=$:~-])(?:[\"'`][ \t]{0,20}(?:[+.,&]|\|\||\.\.|<>)?[ \t]{0,20}[\"'`]|(?:\\r)?\\n)"
    r"(?=[\w./+=$:~-])"
)
_RUN = regex(r"[\w./+=$:~-]{1,4000}")
_BETWEEN_WORDS = regex(r"[\W_]+")
_SMALL_NUMBER = regex(r"\d{0,4}")
_HEX = regex(r"[0-9a-f]+")
_WINDOW_CHARS = 200
_REST_CHARS = 16


def spans_over_breaks(text: str, found: Iterable[Span], rules: Rules) -> list[Span]:
    """What goes over a break: a token cut in two, or the rest of one of ``found``."""
    wrapped = _wrapped(text, found, rules) if "\n" in text else []
    return [
        *wrapped,
        *(span for joint in _JOINT.finditer(text) for span in _across(text, joint, rules)),
    ]


def _wrapped(text: str, found: Iterable[Span], rules: Rules) -> list[Span]:
    """What goes over a line break."""
    ends = {span.end: span for span in found}
    wrapped: list[Span] = []
    for wrap in _WRAPPED.finditer(text):
        whole = ends.get(wrap.start())
        spans = _rest(text, wrap, whole) if whole else []
        if not spans and not (whole and _is_prose(_run(text, wrap.end()))):
            spans = _across(text, wrap, rules)
        wrapped += spans
        ends |= {span.end: span for span in spans}
    return wrapped


def _run(text: str, start: int) -> str:
    run = _RUN.match(text, start)
    return run[0] if run else ""


def _rest(text: str, wrap: re.Match[str], whole: Span) -> list[Span]:
    """The rest of ``whole``, if the next line begins with it."""
    run = _run(text, wrap.end())
    goes_on = _goes_on(text[whole.start : whole.end], run)
    return [Span(whole.start, wrap.end() + len(run), whole.name)] if goes_on else []


def _is_prose(run: str) -> bool:
    """Whether ``run``, after a line that ends with a whole secret, begins a sentence or a list."""
    words = _BETWEEN_WORDS.split(run)
    return all(
        (len(word) < _REST_CHARS and (word.islower() or word.isupper() or word.istitle()))
        if word.isalpha()
        else _SMALL_NUMBER.fullmatch(word)
        for word in words
    )


def _across(text: str, wrap: re.Match[str], rules: Rules) -> list[Span]:
    """The tokens that one break cuts in two."""
    line, joined = _joined(text, wrap)
    cut = wrap.start() - line
    if not has_drawn(joined[:cut].split()[-1] + joined[cut:]):
        return []
    return [
        Span(line + span.start, wrap.end() + span.end - cut, span.name)
        for span in rules.spans_of_tokens(joined)
        if span.start < cut < span.end
    ]


def _joined(text: str, wrap: re.Match[str]) -> tuple[int, str]:
    """Where the line before a break begins, and that line joined with the run after it."""
    line = max(text.rfind("\n", 0, wrap.start()) + 1, wrap.start() - _WINDOW_CHARS)
    left = text[line : wrap.start()]
    return line, left + _run(text, wrap.end())[:_WINDOW_CHARS]


def _goes_on(secret: str, run: str) -> bool:
    """Whether ``run``, at the start of the next line, reads as the rest of ``secret``."""
    if len(run) < _REST_CHARS or {"/", "."} <= set(run):
        return False
    if _HEX.fullmatch(secret[-_REST_CHARS:]) and _HEX.fullmatch(run):
        return True
    return all(any(map(kind, run)) for kind in (str.islower, str.isupper, str.isdigit))
