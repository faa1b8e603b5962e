"""A command that failed, and what works instead: the memory that says both, and what repeats it.

Of the tool's output it has the beginning of the lines that tell why, by which the failure is known
again, as a quotation.

Such a memory reads like this, so that people and programs find each part:

    `pytest -n 8 tests/api` fails: "OperationalError: database is locked". What works: \
`pytest -n0 tests/api`.
    What differs: `-n 0` instead of `-n 8`.

Where a file had to be changed, and the command stayed as it was:

    `make serve` fails: "KeyError: 'REDIS_URL'". What works: the same after a change of `.env`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from ...bus.values import Memory, Value
from ...config.patterns import regex
from ..text.unicode import cut
from .commands import Command, Unit, is_path, read_line
from .reading import SHELL_FORMS

NAMESPACE = "gotchas"
CERTAIN = 0.97
"""The relevance of a record for a command that repeats the failure."""

_FORMS = SHELL_FORMS["mends"].forms
_MAX_ERROR_CHARS = 120
_SENTENCE_END = regex(r"(?<=[.!?])\s")
_TRAILING_VERSION = regex(r"[\d.]+\Z")


class FailureRecord(Value, frozen=True, kw_only=True):
    """A command that fails, the lines that tell why, and what works.

    That is the command ``works``, or the same one after a change of ``files``.
    """

    failed: str
    errors: tuple[str, ...]
    works: str = ""
    differs: str = ""
    files: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The memory's text."""
        error = _quotation(self.errors)
        works = f"`{self.works}`" if self.works else f"{_AFTER}{_listed(self.files)}"
        first = f'`{self.failed}` fails: "{error}". What works: {works}.'
        return f"{first}\nWhat differs: {self.differs}." if self.differs else first


class Repetition(StrEnum):
    """What a proposed command is to the record of a failure."""

    REPEATS = "repeats"
    MENDED = "mended"
    OTHER = "other"


_AFTER = "the same after a change of "
_RECORD = regex(
    r"`(?P<failed>[^`\n]{1,400})` fails: (?P<error>[^\n]*)\. What works: "  # earlier without quotes
    rf"(?:`(?P<works>[^`\n]{{1,400}})`|{_AFTER}(?P<files>`[^\n]*`))\.(?:\n|\Z)"
)


def _quotation(errors: Sequence[str]) -> str:
    """The first sentence of each of ``errors``, in at most 120 characters together."""
    first = (_SENTENCE_END.split(error, 1)[0].rstrip(" .") for error in errors)
    return cut(" / ".join(first).replace('"', "'"), _MAX_ERROR_CHARS)


def _listed(files: Sequence[str]) -> str:
    return ", ".join(f"`{file}`" for file in files)


# --- what a memory says ---------------------------------------------------------------------------


def read_record(memory: Memory) -> FailureRecord | None:
    """The record that ``memory`` is; None for any other memory."""
    match = _RECORD.match(memory.content) if memory.namespace == NAMESPACE else None
    if match is None:
        return None
    files = tuple(re.findall(r"`([^`\n]+)`", match["files"] or ""))
    errors = tuple(match["error"].strip('"').split(" / "))
    return FailureRecord(
        failed=match["failed"], errors=errors, works=match["works"] or "", files=files
    )


def failing_shapes(memory: Memory) -> tuple[str, ...]:
    """The shapes of the command that fails, according to ``memory``, with its runner and without.

    One that a changed file mended fails no longer.
    """
    record = read_record(memory)
    failed = read_line(record.failed).commands if record is not None and record.works else ()
    shapes = (failed[0].shape, failed[0].bare_shape) if len(failed) == 1 else ()
    return tuple(dict.fromkeys(shapes))


def repetition(record: FailureRecord, proposed: Sequence[Command]) -> Repetition:
    """Whether one of the ``proposed`` commands repeats the failure, or is what works."""
    failed, works = (read_line(text).commands for text in (record.failed, record.works))
    if not failed:
        return Repetition.OTHER
    found = [_compared(failed[0], works[0] if works else None, one) for one in proposed]
    for kind in (Repetition.REPEATS, Repetition.MENDED):
        if kind in found:
            return kind
    return Repetition.OTHER


def _compared(failed: Command, works: Command | None, proposed: Command) -> Repetition:
    if works is None:
        return Repetition.MENDED if proposed.shape == failed.shape else Repetition.OTHER
    removed, added = differences(failed, works)
    # A value that a word has beside its option is compared as the two that they are.
    gone, new = _only_in(failed, works), _only_in(works, failed)
    names = {(unit.kind, unit.name) for unit in added} - {(u.kind, u.name) for u in removed}
    has = {(unit.kind, unit.name) for unit in proposed.units}
    by_place = any(map(_is_place, (*removed, *added)))
    if set(new) <= set(proposed.units) and _is_shaped(proposed, works, by_place):
        return Repetition.MENDED
    if names & has:
        return Repetition.MENDED if same_program(failed, proposed) else Repetition.OTHER
    elsewhere = by_place and _sourced(proposed) != _sourced(failed)
    if (
        not elsewhere
        and _is_shaped(proposed, failed, by_place)
        and set(gone) <= set(proposed.units)
    ):
        return Repetition.REPEATS
    return Repetition.OTHER


def _is_place(unit: Unit) -> bool:
    """Whether it is what runs the command, or a program elsewhere: another environment."""
    return unit.kind in {"runner", "program"} or unit.is_sourced


def _sourced(command: Command) -> set[Unit]:
    return {unit for unit in command.units if unit.is_sourced}


def _is_shaped(one: Command, other: Command, by_place: bool) -> bool:
    """Whether both do the same; ``by_place`` in one environment, else in any."""
    return one.shape == other.shape or (not by_place and one.bare_shape == other.bare_shape)


# --- how two commands differ ---------------------------------------------------------------------


def differences(failed: Command, passed: Command) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """What only ``failed`` has, and what only ``passed`` has; a word goes with its option."""
    removed, added = _only_in(failed, passed), _only_in(passed, failed)
    gone = [unit for unit in removed if unit.kind == "word"]
    new = [unit for unit in added if unit.kind == "word"]
    if len(gone) == len(new) == 1:
        before, after = _option_of(gone[0], failed), _option_of(new[0], passed)
        if before and before == after and _is_another_value(gone[0].name, new[0].name):
            removed = [_with_value(unit, gone[0], before) for unit in removed]
            added = [_with_value(unit, new[0], before) for unit in added]
    elif len(new) == 1 and not gone:
        bare = Unit("flag", _option_of(new[0], passed))
        if bare in added and _is_value(new[0].name, bare.name, failed):
            added = [_with_value(unit, new[0], bare.name) for unit in added if unit != bare]
    return tuple(removed), tuple(added)


def _is_another_value(before: str, after: str) -> bool:
    """Whether an option has another value than before, rather than another file."""
    return not (is_path(before) or is_path(after)) or after.startswith(f"{before}.")


def _is_value(word: str, option: str, failed: Command) -> bool:
    """Whether ``word``, new behind the new ``option``, is its value.

    A path may be what alone the command is run for, unless the option takes one, it is a file that
    configures, or the command ``failed`` had its paths already.
    """
    if not is_path(word) or _FORMS["takes_path"].fullmatch(option):
        return True
    configures = _FORMS["configures"].fullmatch(word.rpartition("/")[2])
    return configures is not None or (option[:2] == "--" and any(map(is_path, failed.words)))


def _only_in(one: Command, other: Command) -> list[Unit]:
    left = Counter(one.units) - Counter(other.units)
    found = []
    for unit in one.units:
        if left[unit]:
            left[unit] -= 1
            found.append(unit)
    return found


def _option_of(word: Unit, command: Command) -> str:
    """The option directly before ``word`` that may take it as its value, or ""."""
    before = command.units[command.units.index(word) - 1]
    return before.name if before.kind == "flag" and not before.value else ""


def _with_value(unit: Unit, word: Unit, option: str) -> Unit:
    return Unit("flag", option, word.name) if unit == word else unit


def same_program(failed: Command, passed: Command) -> bool:
    """Whether both run one program, in whatever version and from wherever."""
    one, other = (_TRAILING_VERSION.sub("", c.program) for c in (failed, passed))
    return one == other
