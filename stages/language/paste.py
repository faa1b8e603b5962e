"""Tells what a person typed from what they pasted: logs, traces, diffs, data, a line at a time."""

from __future__ import annotations

import re
from itertools import islice

from msgspec import Struct

from ...config.languages import ENGLISH, language_of
from ...config.patterns import regex
from .sentences import is_pasted_line
from .words import STOP_WORDS, words

_MAX_LINES = 400
# From this share of the characters on a prompt is a paste with a few words beside it.
_MOSTLY = 0.6
_MOST_OWN_WORDS = 14

_LEVELS = "error|warning|warn|fatal|panic|failed|fail|info|debug|note|exception"
_MACHINE = regex(
    rf"\s*(?:(?:\w+: )?(?:{_LEVELS})\b\s*[:\[]"  # a message of a compiler, a level of a log
    r"|(?:[\w.]+/)+[\w.]+:\d|\w+=\S|level=|\d[\d:./-]{5,}|\[?\d\d:\d\d"  # a place, a field, a time
    r"|[{\[<|%*+=@]|-{3}|\+\+\+|diff |[-+] {2,}\S|CONFLICT\b|Auto-merging\b"  # data, a diff
    r"|at \w|goroutine |thread '|Traceback\b|Caused by\b|[A-Z]{1,2}: |[EWIDF] {2,}"  # a trace
    r"|(?:FAIL|OK|PASS(?:ED)?)\b|\S+ (?:FAILED|PASSED)\b)",  # tests
    re.IGNORECASE,
)
# A line by itself is pasted only where nobody types such a thing.
_ALONE = regex(
    r"\s*(?:(?:\w+ ?)?(?:error|fatal|panic|exception)\b\s*[:\[]|[{\[]\s*[\"{\[]"
    r"|[\w.]+(?:Error|Exception):)",
    re.IGNORECASE,
)
_ALONE_CHARS = 60
_TESTS_ALONE = regex(r"\s*(?:(?:FAILED|PASSED|ERROR) \S+::\S|=+ .*\b\d+ (?:passed|failed)\b)")
# What people punctuate with is not odd, in whatever language.
_USUAL = r"\w\s.,;:'\"?!()\u00a1\u00ab\u00bb\u00bf\u2010-\u201f\u2026\u3000-\u303f\uff01-\uff1f-"
_ODD = regex(rf"[^{_USUAL}]|\d{{4,}}|\w[._/:\\-]\w|[A-Z]{{4,}}")


class Paste(Struct, frozen=True):
    """A prompt that is pasted for the most part.

    ``own`` is what the person typed beside it, perhaps nothing, and ``pasted`` all the rest.
    """

    own: str
    pasted: str


def find_paste(text: str) -> Paste | None:
    """What was pasted in ``text``, where that is most of it and little is typed; else None."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return None
    if len(lines) == 1:
        alone = _TESTS_ALONE.match(text) or (len(text) >= _ALONE_CHARS and _ALONE.match(text))
        return Paste("", text) if alone else None
    kinds = [(_is_machine(line), line) for line in islice(lines, _MAX_LINES)]
    pasted = [line for machine, line in kinds if machine]
    own = [line for machine, line in kinds if not machine]
    length = sum(map(len, pasted))
    if length < _MOSTLY * (length + sum(map(len, own))):
        return None
    typed = "\n".join(own)
    if sum(1 for _ in words(typed)) > _MOST_OWN_WORDS:
        return None
    return Paste(typed, "\n".join(pasted))


def _is_machine(line: str) -> bool:
    """Whether a program wrote the line: its form, its characters, or that no word joins others."""
    if is_pasted_line(line) or _MACHINE.match(line):
        return True
    said = list(words(line[:400]))
    odd = len(_ODD.findall(line[:400])) + sum(word[0].isdigit() for word in said) // 2
    if odd > max(1, len(said) // 5):
        return True
    return len(said) > 3 and STOP_WORDS.isdisjoint(said) and language_of(line) == ENGLISH
