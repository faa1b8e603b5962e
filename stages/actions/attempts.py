"""Follows the commands of one context: which failed, what was changed since, and what passed.

Bounded: the latest failures, for so many uses of tools each, and the latest changed files.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...bus.values import Action
from .commands import Command, ShellLine, read_line
from .failures import FailureRecord
from .mends import Edit, command_mends, edit_mends, is_same, is_worth_watching
from .reading import read_action

MAX_FAILED = 16
MAX_EDITS = 8
MAX_USES = 60
"""After so many uses of tools a failure is forgotten."""

_SAID_CHARS = 8_000
_CHANGED_CHARS = 4_000
# What checks, and changes nothing that another command could need.
_CHECKS = frozenset(
    "pytest py.test ruff mypy pyright flake8 pylint eslint tsc jest vitest shellcheck".split()
)


class _Failed(Struct):
    """A command that failed. ``edits`` are what was changed since, None for too much of it.

    ``disturbed`` is whether something was run since that may have made the difference.
    """

    command: Command
    errors: tuple[str, ...]
    said: str
    edits: list[Edit] | None
    disturbed: bool = False
    uses: int = 0


class Attempts:
    """The commands of a session's context, or of a sub-agent's."""

    def __init__(self) -> None:
        self._failed: list[_Failed] = []

    def __len__(self) -> int:
        return len(self._failed)

    def failed(self, line: str, errors: Sequence[str], said: str) -> None:
        """The shell ``line`` failed with ``errors``, the telling lines of what it ``said``."""
        read = self._read(line)
        if not read.decisive:
            return
        command = read.commands[0]
        # What was changed before it failed once more has not mended it.
        self._failed = [one for one in self._failed if not is_same(one.command, command)]
        if errors and is_worth_watching(command):
            cut = said[-_SAID_CHARS:].casefold()
            self._failed.append(_Failed(command, tuple(errors), cut, []))
        del self._failed[:-MAX_FAILED]

    def edited(self, action: Action, *, root: str = "") -> None:
        """Files of the project at ``root`` were changed."""
        self._count()
        read = read_action(action, root=root)
        changed = "\n".join((*read.added, *read.removed))[:_CHANGED_CHARS].casefold()
        paths = (read.path, *action.paths[1:])
        edits = [
            Edit(path=path, changed=changed, whole=not action.replaced) for path in paths if path
        ]
        for one in self._failed:
            if one.edits is not None:
                both = [*one.edits, *edits]
                one.edits = both if len(both) <= MAX_EDITS else None

    def passed(self, line: str) -> tuple[FailureRecord, ...]:
        """The shell ``line`` passed: what of the failures before it has mended."""
        read = self._read(line)
        records: tuple[FailureRecord, ...] = ()
        if read.decisive:
            passed = read.commands[0]
            found = [_mended(one, passed) for one in self._failed]
            records = tuple(record for record in found if record is not None)
            self._settle(passed, found)
        if read.prepares or not all(map(_only_checks, read.commands)):
            self.disturb()
        return records

    def _read(self, line: str) -> ShellLine:
        """The shell ``line``; where it goes elsewhere, later commands may find other things."""
        self._count()
        read = read_line(line)
        for one in self._failed:
            if read.directory and read.directory != one.command.directory:
                one.disturbed = True
        return read

    def _settle(self, passed: Command, found: Sequence[FailureRecord | None]) -> None:
        """Forget the failures that are over."""
        self._failed = [
            one
            for one, record in zip(self._failed, found, strict=True)
            if record is None and not is_same(one.command, passed)
        ]

    def disturb(self) -> None:
        """Something may have changed what the failed commands find."""
        for one in self._failed:
            one.disturbed = True

    def _count(self) -> None:
        for one in self._failed:
            one.uses += 1
        self._failed = [one for one in self._failed if one.uses <= MAX_USES]


def _only_checks(command: Command) -> bool:
    return command.looks_only or command.program in _CHECKS


def _mended(one: _Failed, passed: Command) -> FailureRecord | None:
    if one.disturbed or one.edits is None:
        return None
    if is_same(one.command, passed):
        return edit_mends(one.command, one.errors, one.said, one.edits)
    return None if one.edits else command_mends(one.command, one.errors, passed)
