"""Writes our hooks into Claude Code's settings, and takes exactly them out again.

The file is the user's: only the characters of our own entries are added or removed, so order,
formatting and unknown keys stay. Each change leaves a backup beside the file and replaces it in
one step. See ``settings_text`` for the editing itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from . import settings_text as text_of

# What the daemon answers. Add an event here and in hooks/hooks.json once it answers that too.
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse")
TIMEOUT_S = 10

Action = Literal["installed", "updated", "removed", "unchanged"]


class SettingsUnreadable(ValueError):
    """The settings file is not what Claude Code could read; nothing was touched."""


class Change(Struct, frozen=True, kw_only=True):
    """What was done, or with ``dry_run`` would be done, to a settings file.

    ``before`` and ``after`` are the whole file's text, None where there is no file. ``backup`` is
    the copy of what was there, None where there was nothing or nothing was written.
    """

    file: Path
    action: Action
    before: str | None
    after: str | None
    backup: Path | None = None


def claude_settings_file(env: Mapping[str, str]) -> Path:
    """The user's settings of Claude Code: in ``CLAUDE_CONFIG_DIR``, else in ``~/.claude``."""
    folder = env.get("CLAUDE_CONFIG_DIR")
    home = Path(env.get("HOME") or Path.home())
    return (Path(folder) if folder else home / ".claude") / "settings.json"


def real_interpreter() -> Path:
    """The interpreter itself: a version manager's shim costs a hook ten times as much to start."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return Path(os.path.realpath(base))


def our_launcher() -> Path:
    """The ``subcog`` command of the environment that runs us."""
    return Path(sys.executable).parent / "subcog"


def our_client_script() -> Path:
    """The hook pipe that was installed with us."""
    return Path(__file__).resolve().parent.parent / "hooks" / "client.py"


def hook_command(event: str, *, interpreter: Path, client_script: Path, launcher: Path) -> str:
    """The shell line that the agent runs for ``event``."""
    return shlex.join([str(interpreter), "-I", "-S", str(client_script), event, str(launcher)])


def is_ours(command: object) -> bool:
    """Whether a hook's ``command`` is one that ``hook_command`` writes, for whatever paths."""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return (
        len(words) == 6
        and words[1:3] == ["-I", "-S"]
        and words[3].endswith("/hooks/client.py")
        and words[4].isalnum()
        and Path(words[5]).name == "subcog"
    )


def install_claude(
    settings_file: Path,
    *,
    interpreter: Path,
    client_script: Path,
    launcher: Path,
    dry_run: bool = False,
) -> Change:
    """Have Claude Code run the pipe for every event in ``EVENTS``.

    Entries of an earlier installation are replaced. Raises ``SettingsUnreadable`` if the file is
    no JSON object, or its ``hooks`` are of another shape than Claude Code's; ``OSError`` if it
    cannot be read or written.
    """
    commands = {
        event: hook_command(
            event, interpreter=interpreter, client_script=client_script, launcher=launcher
        )
        for event in EVENTS
    }
    before = _read(settings_file)
    settings = _parse(settings_file, before)
    ours = _our_commands(settings)
    if sorted(ours) == sorted(commands.items()):
        return Change(file=settings_file, action="unchanged", before=before, after=before)
    after = _with_ours(before, commands)
    action: Action = "updated" if ours else "installed"
    return _apply(settings_file, action, before, after, dry_run=dry_run)


def uninstall_claude(settings_file: Path, *, dry_run: bool = False) -> Change:
    """Take our entries out, and what the installation made around them.

    Where nothing else was changed since the installation, the file is restored byte for byte; one
    that the installation made is removed. Raises like ``install_claude``.
    """
    before = _read(settings_file)
    commands = dict(_our_commands(_parse(settings_file, before)))
    if before is None or not commands:
        return Change(file=settings_file, action="unchanged", before=before, after=before)
    after: str | None = _without_ours(before)
    in_order = {event: commands[event] for event in sorted(commands, key=_order)}
    for original in (*_backups(settings_file), None):
        if _with_ours(original, in_order) == before:
            after = original
            break
    return _apply(settings_file, "removed", before, after, dry_run=dry_run)


# --- what is ours ---------------------------------------------------------------------------------


def _order(event: str) -> int:
    """The place of ``event`` among those that are installed, in the order of installation."""
    return EVENTS.index(event) if event in EVENTS else len(EVENTS)


def _our_commands(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(event, str(command)) for event, command, _ in _entries(settings) if is_ours(command)]


def _entries(settings: Mapping[str, Any]) -> Iterable[tuple[str, object, tuple[int, int]]]:
    """Every hook: its event, its command, and where it stands among groups and in its group."""
    for event, groups in settings.get("hooks", {}).items():
        for number, group in enumerate(groups):
            for place, hook in enumerate(group.get("hooks", ())):
                command = hook.get("command") if isinstance(hook, dict) else None
                yield event, command, (number, place)


def _with_ours(before: str | None, commands: Mapping[str, str]) -> str:
    """``before`` without what is ours in it, and with ``commands`` added last of their events."""
    text = _without_ours(before) if before and before.strip() else "{}\n"
    for event, command in commands.items():
        hook = {"type": "command", "command": command, "timeout": TIMEOUT_S}
        text = text_of.add_key(text, (), "hooks", {})
        text = text_of.add_key(text, ("hooks",), event, [])
        text = text_of.append(text, ("hooks", event), {"hooks": [hook]})
    return text


def _without_ours(text: str) -> str:
    """``text`` without our hooks, and without the groups, events and ``hooks`` left empty by it."""
    while True:
        settings = json.loads(text)
        found = next((entry for entry in _entries(settings) if is_ours(entry[1])), None)
        if found is None:
            return text
        event, _, (number, place) = found
        groups = settings["hooks"][event]
        path: tuple[str | int, ...] = ("hooks", event, number, "hooks", place)
        if len(groups[number]["hooks"]) == 1:
            path = ("hooks", event, number)
            if len(groups) == 1:
                path = ("hooks", event) if len(settings["hooks"]) > 1 else ("hooks",)
        text = text_of.remove(text, path)


# --- the file -------------------------------------------------------------------------------------


def _read(file: Path) -> str | None:
    try:
        with file.open(encoding="utf-8", newline="") as source:
            return source.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SettingsUnreadable(f"{file} is not UTF-8; nothing was changed") from None


def _parse(file: Path, text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise SettingsUnreadable(f"{file} is not JSON{where}; nothing was changed") from None
    if not (isinstance(settings, dict) and _shaped(settings.get("hooks", {}))):
        raise SettingsUnreadable(f"{file} is not of the shape of settings; nothing was changed")
    return settings


def _shaped(hooks: object) -> bool:
    return isinstance(hooks, dict) and all(
        isinstance(groups, list)
        and all(isinstance(g, dict) and isinstance(g.get("hooks", []), list) for g in groups)
        for groups in hooks.values()
    )


def _apply(
    file: Path, action: Action, before: str | None, after: str | None, *, dry_run: bool
) -> Change:
    backup = None
    if not dry_run:
        target = Path(os.path.realpath(file))
        backup = None if before is None else _back_up(target, before)
        if after is None:
            target.unlink()
        else:
            _replace(target, after)
    return Change(file=file, action=action, before=before, after=after, backup=backup)


def _backup_files(file: Path) -> list[Path]:
    """The backups beside ``file``, the one made or used last at the end."""
    target = Path(os.path.realpath(file))
    found = target.parent.glob(f"{target.name}.subcog-*.bak")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def _backups(file: Path) -> Iterator[str]:
    """The texts that were backed up, newest first."""
    for path in reversed(_backup_files(file)):
        with contextlib.suppress(OSError, ValueError):
            text = _read(path) or ""
            _parse(path, text)
            yield text


def _back_up(target: Path, text: str) -> Path:
    """Copy ``text`` beside ``target``, unless the same copy is there already."""
    files = _backup_files(target)
    for path in files:
        if _read(path) == text:
            path.touch()
            return path
    number = len(files) + 1
    while (path := target.with_name(f"{target.name}.subcog-{number}.bak")).exists():
        number += 1
    _replace(path, text, like=target)
    return path


def _replace(target: Path, text: str, like: Path | None = None) -> None:
    """Write ``target`` in one step, with the permissions of ``like`` (itself), or 0600 if new."""
    target.parent.mkdir(parents=True, exist_ok=True)
    model = like or target
    mode = model.stat().st_mode & 0o777 if model.exists() else 0o600
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
