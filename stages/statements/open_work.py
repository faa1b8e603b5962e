"""Whether a blocker or a task is still to be dealt with, as its tags and its text say.

And what the record of a task claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from ...bus.values import CLOSED_TAGS, FAILED_COMMAND, TO_DO, Memory
from ...config.patterns import regex
from ..language.sentences import ORDER_VERBS
from ..language.words import words_of

RESOLVED = "resolved"
"""The tag of a resolution, and of the blocker that it closed."""

OUTCOME = regex(r"^Outcome: (\w+)", re.MULTILINE)
"""The line of a task's record that tells how it ended."""
_FILES = regex(r"^Files: (.+?)(?: and \d+ more)?$", re.MULTILINE)
_APPROACH = regex(r"^Approach: ", re.MULTILINE)

# Alone, or before what says how, when or what: "fixed IPs" and "completed orders" are things.
_ENDED = (
    r"(?:resolved|closed|done|fixed|solved|completed|finished)(?=\s*(?:$|[:.!?,;()\]\u2013\u2014])"
    r"|\s+-|\s+(?:in|by|on|at|with|since|as|via|after|now|today|yesterday|the|a|an|this|that"
    r"|these|those|it|our|my|all)\b)"
)
_CLOSED_STATUS = regex(
    rf"\A\W*{_ENDED}|^[^\w\n]*status\W{{1,6}}{_ENDED}", re.IGNORECASE | re.MULTILINE
)


def is_open(memory: Memory, now: datetime) -> bool:
    """Tell whether a blocker or task is still to be dealt with, and any other still in force."""
    if memory.superseded_by or memory.is_over(now):
        return False
    if memory.namespace not in TO_DO:
        return True
    outcome = OUTCOME.search(memory.content)
    if outcome is not None and outcome[1] != "unfinished":
        return False
    tagged = not CLOSED_TAGS.isdisjoint(map(str.casefold, memory.tags))
    return not tagged and _CLOSED_STATUS.search(memory.content) is None


def is_finished_later(task: Memory, others: Iterable[Memory]) -> bool:
    """Whether ``task`` is the record of work that one of ``others``, a newer record, finished.

    That is about the same in most words of the shorter order, but for what is done to it, names
    all its files, and tells of a success.
    """
    if not (files := _files_of(task)):
        return False
    asked = _asked(task)
    return any(
        one.updated_at > task.updated_at
        and (outcome := OUTCOME.search(one.content)) is not None
        and outcome[1] == "success"
        and files <= _files_of(one)
        and _is_mostly(asked, _asked(one))
        for one in others
    )


def _asked(record: Memory) -> frozenset[str]:
    """The words of what was asked for, without the order that they begin with."""
    asked = list(words_of(record.content.partition("\n")[0]))
    return frozenset(asked[not ORDER_VERBS.isdisjoint(asked[:1]) :])


def _is_mostly(asked: frozenset[str], other: frozenset[str]) -> bool:
    return 2 * len(asked & other) > min(len(asked), len(other))


def claimed(memory: Memory) -> str:
    """What ``memory`` says; of a task's record what was asked and done, without its labels."""
    content = memory.content
    outcome = OUTCOME.search(content) if memory.namespace == "tasks" else None
    return content if outcome is None else _APPROACH.sub("", content[: outcome.start()])


def tell_of_others(newer: Memory, older: Memory) -> bool:
    """Whether both are records of what was done, and not of the same.

    Tasks by which no file was changed in common, or two commands that failed: what they have in
    common are the words of records.
    """
    if FAILED_COMMAND in newer.tags and FAILED_COMMAND in older.tags:
        return True
    if not (_is_record(newer) and _is_record(older)):
        return False
    return _files_of(newer).isdisjoint(_files_of(older))


def _is_record(memory: Memory) -> bool:
    return memory.namespace == "tasks" and OUTCOME.search(memory.content) is not None


def _files_of(record: Memory) -> frozenset[str]:
    files = _FILES.search(record.content)
    return frozenset(files[1].split(", ") if files else ())


def is_closed_since(memory: Memory) -> bool:
    """Whether it is a blocker that was closed after it was kept: it tells what was."""
    tagged = RESOLVED in memory.tags and memory.namespace == "blockers"
    return tagged and memory.version > 1
