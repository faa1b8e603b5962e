"""Whether what was done after a command had failed has mended it.

Almost no pair of a failed and a passed command is a mend: a red test before its fix, a network that
was down and a search that found nothing say nothing about the next session.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ...bus.values import Action, Value
from ..text.unicode import cut
from .commands import Command, ShellLine, Unit, is_path, read_line
from .error_lines import salient_lines, salient_terms
from .failures import FailureRecord, differences, same_program
from .reading import SHELL_FORMS, read_action

_FORMS, _WORDS = SHELL_FORMS["mends"]

MAX_COMMAND_CHARS = 200
_MAX_ERROR_CHARS = 140
_MAX_DIFFERENCES = 4
_MAX_MENDING_FILES = 3
_HEAD_CHARS, _TAIL_CHARS = 2_000, 6_000

_TESTS = frozenset(("pytest", "py.test"))
_PROGRAM_IN_TEXT = frozenset(("-c", "-e", "--eval", "-p", "--print"))
MAX_FAILED = 16
MAX_EDITS = 8
MAX_USES = 60
"""After so many uses of tools a failure is forgotten."""

_SAID_CHARS = 8_000
_CHANGED_CHARS = 4_000


class Edit(Value, frozen=True, kw_only=True):
    """A file that was changed, and the lines that the change added or took away, folded.

    ``whole`` is whether all of the file was written: its lines then say little about the change.
    """

    path: str
    changed: str = ""
    whole: bool = False


# --- which failures count -------------------------------------------------------------------------


def is_worth_watching(command: Command) -> bool:
    """Whether a failure of ``command`` may say something about the next time."""
    passes = command.looks_only or command.program in _WORDS["passing"]
    if passes or len(command.text) > MAX_COMMAND_CHARS:
        return False
    in_text = any(unit.name in _PROGRAM_IN_TEXT for unit in command.units if unit.kind == "flag")
    holds_text = any("\n" in str(unit) or "`" in str(unit) for unit in command.units)
    return not (holds_text or (in_text and any(" " in word for word in command.words)))


def telling_lines(error: str, clean: Callable[[str], str] = str) -> tuple[str, ...]:
    """The lines of a failure that tell what went wrong; () for one that says nothing that lasts.

    ``clean`` redacts what is read, before anything is cut off.
    """
    if len(error) > _HEAD_CHARS + _TAIL_CHARS:
        # Whole lines: half a secret is not known for one.
        head, tail = (
            error[:_HEAD_CHARS].rpartition("\n")[0],
            error[-_TAIL_CHARS:].partition("\n")[2],
        )
        error = f"{head}\n{tail}"
    if _FORMS["stopped"].search(error):
        return ()
    lines = salient_lines(clean(error))
    return tuple(cut(line.replace("`", "'"), _MAX_ERROR_CHARS) for line in lines)


# --- what mended it -------------------------------------------------------------------------------


def is_same(failed: Command, passed: Command) -> bool:
    """Whether both are one command, but for what is printed."""
    return failed.directory == passed.directory and Counter(failed.units) == Counter(passed.units)


def command_mends(failed: Command, errors: Sequence[str], passed: Command) -> FailureRecord | None:
    """The record of a command that passed in another form, directly after; None for no mend."""
    removed, added = differences(failed, passed)
    differ = (*removed, *added)
    if not 0 < len(differ) <= _MAX_DIFFERENCES or any(map(_FORMS["transient"].search, errors)):
        return None
    if not _is_same_work(failed, passed) or not all(_is_mend(u, failed, errors) for u in differ):
        return None
    if _looks_elsewhere(removed, added) or not _words_fit(failed, errors, removed, added):
        return None
    return FailureRecord(
        failed=failed.text,
        errors=tuple(errors),
        works=passed.text,
        differs=_described(removed, added),
    )


def _is_same_work(failed: Command, passed: Command) -> bool:
    return (
        failed.directory == passed.directory
        and is_worth_watching(passed)
        and same_program(failed, passed)
    )


def _looks_elsewhere(removed: Sequence[Unit], added: Sequence[Unit]) -> bool:
    return _is_misplaced(removed, added) or _swaps_files(removed, added)


def edit_mends(
    failed: Command, errors: Sequence[str], said: str, edits: Sequence[Edit]
) -> FailureRecord | None:
    """The record of a command that passed unchanged after ``edits``; None for no mend.

    Only files that configure count, and those that the failure ``said`` (folded) names or that it
    is about. Where sources or tests were changed as well, it may have been those.
    """
    counted = [edit for edit in edits if _configures(edit.path) or not _is_document(edit.path)]
    if not counted or not all(_configures(edit.path) for edit in counted):
        return None
    terms = [term for term in salient_terms(errors) if term != failed.program]
    about = dict.fromkeys(edit.path for edit in counted if _is_about(edit, said, terms))
    if not about or len(about) > _MAX_MENDING_FILES:
        return None
    return FailureRecord(failed=failed.text, errors=tuple(errors), files=tuple(about))


def _is_misplaced(removed: Sequence[Unit], added: Sequence[Unit]) -> bool:
    """Whether a script was looked for in another folder: a typing error."""
    gone, new = ([u.name for u in units if u.kind == "program"] for units in (removed, added))
    if not gone or not new or any(unit.kind == "runner" for unit in (*removed, *added)):
        return False
    is_script = "." in gone[0].rpartition("/")[2]
    return is_script or all("/" in name for name in (*gone, *new))


def _is_mend(unit: Unit, failed: Command, errors: Sequence[str]) -> bool:
    if unit.kind not in {"flag", "env"}:
        return True
    if _FORMS["unguards"].match(f"{unit.name}={unit.value}") or _evades(unit, failed):
        return False
    return _says_the_same(unit, errors) or not _does_other_work(unit, failed, errors)


def _evades(unit: Unit, failed: Command) -> bool:
    """Whether with this option less is done, or the same only once more."""
    if unit.kind == "env":
        return False
    if unit.name in _WORDS["evades_shortly"] or (unit.name, unit.value) == ("-n", ""):
        return True
    if failed.program in _TESTS and unit.name == "-m":
        return True
    return _FORMS["evades"].match(unit.name) is not None


def _does_other_work(unit: Unit, failed: Command, errors: Sequence[str]) -> bool:
    """Whether with this the command checks other things, or works for another place."""
    if _FORMS["chooses"].match(unit.name):
        return True
    if unit.kind == "env":
        return False
    task = failed.words[:1]
    checks = failed.program in _WORDS["linters"] or any(w in _WORDS["checking"] for w in task)
    return checks or any(map(_FORMS["verdict"].search, errors))


def _says_the_same(unit: Unit, errors: Sequence[str]) -> bool:
    """Whether the error names the option or variable: "no dialect was specified"."""
    bare = unit.name.lstrip("-")
    name = re.escape(bare).replace(r"\-", "[-_ ]?") if len(bare) > 1 else re.escape(unit.name)
    named = re.compile(rf"(?<![A-Za-z]){name}(?![A-Za-z])", re.IGNORECASE)
    return any(map(named.search, errors))


def _swaps_files(removed: Sequence[Unit], added: Sequence[Unit]) -> bool:
    """Whether an option has another file: the first may be mended later."""
    gone, new = (
        {unit.name for unit in units if unit.kind == "flag" and is_path(unit.value)}
        for units in (removed, added)
    )
    return bool(gone & new)


def _words_fit(
    failed: Command, errors: Sequence[str], removed: Sequence[Unit], added: Sequence[Unit]
) -> bool:
    """Whether both are about the same: other words are another task, or a typing error.

    A runner of tasks may not know the one that the error names.
    """
    gone = [unit.name for unit in removed if unit.kind == "word"]
    new = [unit.name for unit in added if unit.kind == "word"]
    if not gone and not new:
        return True
    if len(gone) != 1 or len(new) != 1 or failed.program not in _WORDS["task_runners"]:
        return False
    name = re.compile(rf"(?<![\w-]){re.escape(gone[0])}(?![\w-])", re.IGNORECASE)
    named = any(name.search(error) and _FORMS["unknown_task"].search(error) for error in errors)
    return named and not is_path(gone[0]) and not is_path(new[0])


def _described(removed: Sequence[Unit], added: Sequence[Unit]) -> str:
    gone = ", ".join(f"`{unit}`" for unit in removed)
    new = ", ".join(f"`{unit}`" for unit in added)
    if gone and new:
        return f"{new} instead of {gone}"
    return f"{new} is added" if new else f"{gone} is left out"


def _configures(path: str) -> bool:
    name = path.rpartition("/")[2]
    return bool(_FORMS["configures"].fullmatch(name)) and not _FORMS["is_test"].search(path)


def _is_document(path: str) -> bool:
    return _FORMS["document"].search(path) is not None


def _is_about(edit: Edit, said: str, terms: Sequence[str]) -> bool:
    name = edit.path.rpartition("/")[2].casefold()
    if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", said):
        return True
    return not edit.whole and any(term in edit.changed for term in terms)


class _Failed(Struct):
    """A command that failed. ``edits`` are what was changed since, None for too much of it.

    ``disturbed`` is whether something was run since that may have made the difference. It is the
    failure number ``at``.
    """

    command: Command
    errors: tuple[str, ...]
    said: str
    edits: list[Edit] | None
    at: int = 0
    disturbed: bool = False
    uses: int = 0


class Attempts:
    """The commands of a session's context, or of a sub-agent's: failed, and what was done since.

    Bounded: the latest failures, each for ``MAX_USES`` uses of tools, and the latest changed files.
    """

    def __init__(self) -> None:
        self._failed: list[_Failed] = []
        self._count_failed = 0
        self._begun: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._failed)

    def begun(self, line: str) -> None:
        """The shell ``line`` is about to be run."""
        self._begun.pop(line, None)
        self._begun[line] = self._count_failed
        if len(self._begun) > MAX_FAILED:
            del self._begun[next(iter(self._begun))]

    def ended(self, line: str) -> int:
        """The shell ``line`` has ended, however; how many had failed when it began.

        Where nobody said that it began, it is taken to have been run at once.
        """
        return self._begun.pop(line, self._count_failed)

    def failed(self, line: str, errors: Sequence[str], said: str) -> None:
        """The shell ``line`` failed with ``errors``, the telling lines of what it ``said``."""
        self._count_failed += 1
        read = self._read(line)
        if not _only_looks(read):  # it may have done a part of its work
            self.disturb(but=read.commands[0] if read.decisive else None)
        if not read.decisive:
            return
        command = read.commands[0]
        # What was changed before it failed once more has not mended it.
        self._failed = [one for one in self._failed if not is_same(one.command, command)]
        if errors and is_worth_watching(command):
            cut = said[-_SAID_CHARS:].casefold()
            self._failed.append(_Failed(command, tuple(errors), cut, [], self._count_failed))
        del self._failed[:-MAX_FAILED]

    def edited(self, action: Action, *, tops: tuple[str, ...] = ()) -> None:
        """Files were changed; ``tops`` are as ``read_action`` takes them."""
        self._count()
        edits = [edit for one in action.by_file() for edit in _edits(one, tops)]
        for one in self._failed:
            if one.edits is not None:
                both = [*one.edits, *edits]
                one.edits = both if len(both) <= MAX_EDITS else None

    def passed(self, line: str, after: int | None = None) -> tuple[FailureRecord, ...]:
        """The shell ``line`` passed: what of the failures before it has mended.

        It began ``after`` so many failures: those that came later are not mended by it.
        """
        read = self._read(line)
        records: tuple[FailureRecord, ...] = ()
        if read.decisive:
            passed = read.commands[0]
            known = self._count_failed if after is None else after
            found = [_mended(one, passed) if one.at <= known else None for one in self._failed]
            records = tuple(record for record in found if record is not None)
            self._settle(passed, found)
        if not _only_looks(read):
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

    def disturb(self, *, but: Command | None = None) -> None:
        """Something may have changed what the failed commands find, ``but`` other forms of one."""
        for one in self._failed:
            one.disturbed = one.disturbed or but is None or not _is_form(one.command, but)

    def _count(self) -> None:
        for one in self._failed:
            one.uses += 1
        self._failed = [one for one in self._failed if one.uses <= MAX_USES]


def _is_form(one: Command, other: Command) -> bool:
    """Whether both do the same, perhaps with other options."""
    return (one.program, one.words) == (other.program, other.words)


def _edits(action: Action, tops: tuple[str, ...]) -> Iterator[Edit]:
    """The edits of the files that ``action`` names; ``tops`` are as ``read_action`` takes them."""
    read = read_action(action, tops=tops)
    changed = "\n".join((*read.added, *read.removed))[:_CHANGED_CHARS].casefold()
    for path in filter(None, (read.path, *read.other_paths)):
        yield Edit(path=path, changed=changed, whole=not action.replaced)


def _only_looks(line: ShellLine) -> bool:
    """Whether ``line`` changes nothing that a later command may find."""
    return not line.prepares and all(
        command.looks_only or command.program in _WORDS["checks"] for command in line.commands
    )


def _mended(one: _Failed, passed: Command) -> FailureRecord | None:
    if one.disturbed or one.edits is None:
        return None
    if is_same(one.command, passed):
        return edit_mends(one.command, one.errors, one.said, one.edits)
    return None if one.edits else command_mends(one.command, one.errors, passed)
