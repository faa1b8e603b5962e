"""A settings file of an agent: read, backed up beside itself, and replaced in one step.

The file is the user's. What is ours in it is found, added and removed by an ``Editor``, which
leaves every other character as it is.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .agent import Editor, Wiring

Action = Literal["installed", "updated", "removed", "unchanged"]


class SettingsUnreadable(ValueError):
    """The settings file cannot be read or written, or has no known shape; nothing was touched."""


class SettingsMalformed(SettingsUnreadable):
    """The settings file has no known shape. ``names_us``: subcog is somewhere in its text."""

    def __init__(self, problem: str, *, names_us: bool) -> None:
        super().__init__(problem)
        self.names_us = names_us


class SettingsChanged(SettingsUnreadable):
    """Somebody else wrote the file after it was read; it is as they left it."""


class Change(Struct, frozen=True, kw_only=True):
    """What was done, or with ``dry_run`` would be done, to a settings file.

    ``before`` and ``after`` are the whole file's text, None where there is no file. ``backup`` is
    the copy of what was there, None where there was nothing or nothing was written.
    ``is_name_taken`` says that another MCP server of our name stands there, and stays.
    """

    file: Path
    action: Action
    before: str | None
    after: str | None
    backup: Path | None = None
    private: bool = False
    is_name_taken: bool = False


def wire(file: Path, editor: Editor, wanted: Wiring) -> Change:
    """What has to be done so that ``wanted`` is all that is ours in ``file``.

    What somebody else wrote into our server's entry stays there. Raises ``SettingsUnreadable``.
    """
    before = read(file)
    try:
        found = editor.find(before or "").in_order(wanted.events)
        wanted = wanted.beside(found)
        if found.same_as(wanted):
            return Change(file=file, action="unchanged", before=before, after=before)
        without = _without(file, editor, before, found) if before and found else before
        after = editor.add(without or "", wanted)
        taken = wanted.server is not None and editor.find(after).server is None
        if after == before:
            return Change(
                file=file, action="unchanged", before=before, after=before, is_name_taken=taken
            )
    except ValueError as error:
        raise SettingsUnreadable(f"{file} {error}; nothing was changed") from None
    check_writable(file)
    private = wanted.holds_secret
    action: Action = "updated" if found else "installed"
    return Change(
        file=file, action=action, before=before, after=after, private=private, is_name_taken=taken
    )


def unwire(file: Path, editor: Editor, events: Iterable[str]) -> Change:
    """What has to be done to take ours out of ``file``, and what was made around it.

    ``events`` are in the order in which they were wired. Where nothing else was changed since, that
    restores the file byte for byte; one that the installation made is removed. Raises like
    ``wire``.
    """
    before = read(file)
    try:
        found = editor.find(before or "").in_order(events)
        if before is None or not found:
            return Change(file=file, action="unchanged", before=before, after=before)
        after = _without(file, editor, before, found)
    except ValueError as error:
        raise SettingsUnreadable(f"{file} {error}; nothing was changed") from None
    check_writable(file)
    return Change(file=file, action="removed", before=before, after=after)


def _without(file: Path, editor: Editor, text: str, found: Wiring) -> str | None:
    """``text`` without what was ``found``: as it was before, where a backup tells how that was."""
    for original in (*_originals(file, editor), None):
        if editor.add(original or "", found) == text:
            return original
    return editor.remove(text)


def write(change: Change) -> Change:
    """Do it. Raises ``SettingsChanged`` where the file is not as it was any more; ``OSError``."""
    if change.action == "unchanged":
        return change
    target = Path(os.path.realpath(change.file))
    backup = None if change.before is None else _back_up(target, change.before)

    def check() -> None:
        if read(target) != change.before:
            raise SettingsChanged(f"{change.file} was changed meanwhile; run it again")

    if change.after is None:
        check()
        target.unlink()
    else:
        replace_file(target, change.after, private=change.private, check=check)
    return replace(change, backup=backup)


def read(file: Path) -> str | None:
    """The text of ``file``, with its ends of lines; None where there is none.

    Raises ``SettingsUnreadable``.
    """
    try:
        with file.open(encoding="utf-8", newline="") as source:
            return source.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SettingsUnreadable(f"{file} is not UTF-8; nothing was changed") from None
    except OSError as error:
        problem = f"cannot be read ({error.strerror}); nothing was changed"
        raise SettingsUnreadable(f"{file} {problem}") from None


def check_writable(file: Path) -> None:
    """Raise ``SettingsUnreadable`` where ``file`` is there and may only be read.

    A file can be replaced all the same, but somebody did not want that.
    """
    if file.exists() and not os.access(file, os.W_OK):
        raise SettingsUnreadable(f"{file} is read-only; nothing was changed")


# --- backups --------------------------------------------------------------------------------------


def _backup_files(target: Path) -> list[Path]:
    """The backups beside ``target``, the one made or used last at the end."""
    found = target.parent.glob(f"{target.name}.subcog-*.bak")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def _originals(file: Path, editor: Editor) -> Iterator[str]:
    """The texts that were backed up while nothing in them was ours, newest first."""
    for path in reversed(_backup_files(Path(os.path.realpath(file)))):
        with contextlib.suppress(OSError, ValueError):
            text = read(path) or ""
            if not editor.find(text):
                yield text


def _back_up(target: Path, text: str) -> Path:
    """Copy ``text`` beside ``target``, unless the same copy is there already."""
    files = _backup_files(target)
    for path in files:
        if read(path) == text:
            path.touch()
            return path
    number = len(files) + 1
    while (path := target.with_name(f"{target.name}.subcog-{number}.bak")).exists():
        number += 1
    replace_file(path, text, like=target)
    return path


def replace_file(
    target: Path,
    text: str,
    like: Path | None = None,
    *,
    private: bool = False,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Write ``target`` in one step, with the permissions of ``like`` (itself), or 0600 if new.

    With ``private`` it is 0600 in any case. ``check`` is called right before that step, and may
    raise instead.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    model = like or target
    mode = model.stat().st_mode & 0o777 if model.exists() and not private else 0o600
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        check()
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
