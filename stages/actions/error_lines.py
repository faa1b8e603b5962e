"""The lines of a command's output that tell what went wrong, and the words that name it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...config.patterns import regex
from ..language.words import word_list
from ..text.unicode import one_line, visible

MAX_LINES = 2
MAX_LINE_CHARS = 240

_HEAD_CHARS = 2000
_TAIL_CHARS = 6000
# What says only that something failed, or that the agent misused its own tool, or was stopped.
_EMPTY = regex(
    r"\s*(?:(?:process |command )?(?:exited|failed|exit|exit code|exit status|code)(?: with)?"
    r"(?: exit)?(?: code| status)?:? ?-?\d{1,4}\.?|error|failed|command failed)?\s*",
    re.IGNORECASE,
)
_MISUSE = regex(
    r"\s*(?:<tool_use_error>|\[Request interrupted|The user doesn't want|The tool use was rejected"
    r"|InputValidationError|Permission to use|User rejected|File has not been read yet"
    r"|String to replace not found)",
    re.IGNORECASE,
)
_STRONG = regex(
    r"\b[A-Z]\w*(?:Error|Exception|Failure|Panic)\b\W|\berror\[\w+\]|\b(?:error|fatal|panic(?:ked)?"
    r"|FATAL)\b\W|\bE[A-Z]{4,14}\b|\b[A-Z]{1,5}\d{3,5}\b|\*\* \("
)
_WEAK = regex(
    r"\b(?:error|failed|failing|failure|cannot|can't|could not|couldn't|unable|denied|refused|reset"
    r"|not found|undefined|unexpected|timed? ?out|missing|invalid|no such|conflict|killed|out of"
    r"|segmentation|does not|doesn't|did not|already|unresolved|unknown|mismatch|expired|locked"
    r"|unreachable|abort(?:ed)?|crash(?:ed)?|overflow|deadlock|not supported|unsupported)\b",
    re.IGNORECASE,
)
_ACCIDENTAL = regex(
    r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{12,64}\b"
    r"|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?)?\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|:\d{1,6}:\d{1,6}\b|\b\d{6,}\b|#PID<[\d.]+>"
)
_LINE_NUMBER = regex(r"(\.[A-Za-z]{1,4}):\d{1,6}\b")
_FOLDERS = regex(r"(?<![\w:/])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@+-]+)*[/\\](?=[\w.@+-]+)")
_WORD = regex(r"[A-Za-z_][\w.-]*\w|\d{3,5}")
_GENERIC = word_list("error_words")


def salient_lines(output: str, *, failed: bool = True) -> tuple[str, ...]:
    """At most two lines of ``output`` that tell what went wrong; () where nothing does.

    Each is one line of at most 240 characters, without directories, addresses, times and the like.
    Where it is not known that something ``failed``, one of them has to say so.
    """
    if _MISUSE.match(output[:_HEAD_CHARS]):
        return ()
    if len(output) > _HEAD_CHARS + _TAIL_CHARS:
        output = f"{output[:_HEAD_CHARS]}\n{output[-_TAIL_CHARS:]}"
    lines = [line for line in visible(output).split("\n") if not _EMPTY.fullmatch(line[:200])]
    if not lines:
        return ()
    ranks = [_rank(line[:MAX_LINE_CHARS]) for line in lines]
    best = max(ranks)
    if not (best or failed):
        return ()
    at = [i for i, rank in enumerate(ranks) if rank == best] if best else [len(lines) - 1]
    chosen = dict.fromkeys(_without_accidents(lines[i]) for i in (at[0], at[-1]))
    return tuple(line for line in chosen if line)[:MAX_LINES]


def salient_terms(lines: Sequence[str]) -> tuple[str, ...]:
    """The words of ``lines`` that not every error has: names, codes, ports."""
    return tuple(dict.fromkeys(word for line in lines for word in _terms(line)))


def _terms(line: str) -> Iterator[str]:
    for word in _WORD.findall(line):
        for part in (word, *word.split(".")):
            if (len(part) > 3 or part.isdigit()) and part.casefold() not in _GENERIC:
                yield part.casefold()


def _rank(line: str) -> int:
    if _STRONG.search(line):
        return 2
    return 1 if _WEAK.search(line) else 0


def _without_accidents(line: str) -> str:
    short = _FOLDERS.sub("", line[: 2 * MAX_LINE_CHARS])
    return one_line(_LINE_NUMBER.sub(r"\1", _ACCIDENTAL.sub(" ", short)))[:MAX_LINE_CHARS]
