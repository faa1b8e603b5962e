"""Tells agents' transcripts from memories: `subcog learn` reads them, and no import does."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from .item import BadImport

_MOST_FILES = 50
_MOST_LINES = 20
_LINE_BYTES = 1024 * 1024
_CODEX_TYPES = frozenset(("session_meta", "response_item", "event_msg", "turn_context"))
_SUFFIXES = {".jsonl", ".ndjson"}


def refuse_transcripts(path: Path) -> None:
    """Raise ``BadImport``, with the command that reads them, where ``path`` holds transcripts."""
    folders: set[str] = set()
    found = False
    for file in islice(_files(path), _MOST_FILES):
        cwd = _transcript_of(file)
        found = found or cwd is not None
        folders |= {cwd} if cwd else set()
    if not found:
        return
    notes = path / "memory"
    also = (
        f"; `subcog import {shlex.quote(str(notes))}` imports the notes beside them"
        if (notes / "MEMORY.md").is_file()
        else ""
    )
    raise BadImport(
        path,
        "this holds transcripts of an agent's sessions, which are no memories; nothing was "
        f"imported. To remember what was said in them: {_command(folders)}{also}",
    )


def _command(folders: set[str]) -> str:
    here = [folder for folder in folders if Path(folder).is_dir()]
    if len(folders) == len(here) == 1:
        return f"subcog learn --project {shlex.quote(here[0])}"
    return "subcog learn --all"


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in sorted(path.rglob("*.jsonl")) if file.is_file())
    elif path.suffix.lower() in _SUFFIXES:
        yield path


def _transcript_of(file: Path) -> str | None:
    """Where the session of ``file`` worked, "" where it does not say; None for no transcript."""
    lines = list(_objects(file))
    if not any(map(_is_transcript_line, lines)):
        return None
    for line in lines:
        payload = line.get("payload")
        cwd = line.get("cwd") or (payload.get("cwd") if isinstance(payload, dict) else None)
        if isinstance(cwd, str) and cwd:
            return cwd
    return ""


def _is_transcript_line(line: dict[str, Any]) -> bool:
    if isinstance(line.get("payload"), dict):
        return line.get("type") in _CODEX_TYPES
    named = isinstance(line.get("sessionId"), str) or isinstance(line.get("leafUuid"), str)
    return named and bool(line.keys() & {"type", "projectHash", "message", "uuid"})


def _objects(file: Path) -> Iterator[dict[str, Any]]:
    """The objects in the first lines of ``file``."""
    with file.open("rb") as lines:
        for _ in range(_MOST_LINES):
            line = lines.readline(_LINE_BYTES)
            if not line:
                return
            try:
                value = msgspec.json.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value
