"""Secrets that a line break, or the joint of two literals, cuts in two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...config.patterns import regex
from .rules import Rules, Span, has_drawn

_WRAPPED = regex(  # within a word, from one literal to the next, from comment to comment
    r"(?<=[\w./+=$:~-])[\"']?(?:[ \t]{0,80}[+.&\\])?[ \t]{0,80}\n"
    r"[ \t>|#]{0,80}[\"']?(?=[\w./+=$:~-])"
)
_JOINT = regex(  # of two literals: added, beside each other, in a call or a list; or escaped
    r"(?:[\"'`](?<=[\w./+=$:~-].)[ \t]{0,20}(?:[+.,&]|\|\||\.\.|<>)?[ \t]{0,20}[\"'`]"
    r"|\\(?<=[\w./+=$:~-].)(?:r\\)?n)(?=[\w./+=$:~-])"
)
_CHAIN = regex(  # of three literals or more
    rf"(?<![\w./+=$:~-])[\w./+=$:~-]{{1,200}}(?:{_JOINT.pattern}[\w./+=$:~-]{{1,200}}){{2,16}}"
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
    joints = list(_JOINT.finditer(text))
    return [
        *wrapped,
        *(span for joint in joints for span in _across(text, joint, rules)),
        *(_chained(text, rules) if len(joints) > 1 else ()),
    ]


def _chained(text: str, rules: Rules) -> Iterator[Span]:
    """The tokens that several joints in a row cut in pieces."""
    for chain in _CHAIN.finditer(text):
        joined = _JOINT.sub("", chain[0])
        if not has_drawn(joined):
            continue
        places = list(range(chain.start(), chain.end()))
        for joint in reversed([*_JOINT.finditer(chain[0])]):
            del places[joint.start() : joint.end()]
        for span in rules.spans_of_tokens(joined):
            yield Span(places[span.start], places[span.end - 1] + 1, span.name)


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


def _run(text: str, start: int, limit: int = 4000) -> str:
    run = _RUN.match(text, start, start + limit)
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
    least = max(0, wrap.start() - _WINDOW_CHARS)
    line = max(text.rfind("\n", least, wrap.start()) + 1, least)
    left = text[line : wrap.start()]
    right = _run(text, wrap.end(), _WINDOW_CHARS)
    if not has_drawn(left.rsplit(None, 1)[-1] + right):
        return []
    cut = len(left)
    return [
        Span(line + span.start, wrap.end() + span.end - cut, span.name)
        for span in rules.spans_of_tokens(left + right)
        if span.start < cut < span.end
    ]


def _goes_on(secret: str, run: str) -> bool:
    """Whether ``run``, at the start of the next line, reads as the rest of ``secret``."""
    if len(run) < _REST_CHARS or {"/", "."} <= set(run):
        return False
    if _HEX.fullmatch(secret[-_REST_CHARS:]) and _HEX.fullmatch(run):
        return True
    return all(any(map(kind, run)) for kind in (str.islower, str.isupper, str.isdigit))
