"""Which format a file or folder has, told by its name and its first bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from .item import BadImport, Items, lines_of, read_jsonl
from .markdown import read_markdown
from .other_systems import ClaudeMem, memories_in, read_mem0

_NOTES = {".md", ".markdown"}
_SQLITE = b"SQLite format 3\0"
_KNOWN = "JSONL, Markdown (a file or a folder), JSON of mem0, SQLite of claude-mem"


class Source(Struct, frozen=True):
    """What was recognised. ``read`` begins at the start each time; ``left_out`` is for the user."""

    format: str
    read: Callable[[], Items]
    left_out: str = ""


def recognise(path: Path, *, project: str | None) -> Source:
    """The source at ``path``; ``project`` picks one of several in it. Raises ``BadImport``."""
    if path.is_dir():
        return Source("markdown notes", lambda: _read_folder(path))
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(_SQLITE):
        return _claude_mem(path, project)
    if path.suffix.lower() in _NOTES:
        return Source("markdown", lambda: read_markdown(path, name=path.name))
    if path.suffix.lower() in {".jsonl", ".ndjson"} or _is_jsonl(path):
        return Source("jsonl", lambda: read_jsonl(path))
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"[", b"{"}:
        return Source("mem0", lambda: read_mem0(path))
    raise BadImport(path, f"its format is not known; these are: {_KNOWN}")


def _is_jsonl(path: Path) -> bool:
    """Whether the first line is an object by itself, and not the wrapping of a list."""
    try:
        line = next((line for _, line in lines_of(path) if line.strip()), "")
        value: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, BadImport):
        return False
    return isinstance(value, dict) and memories_in(value) is None


def _claude_mem(path: Path, project: str | None) -> Source:
    others = {
        name: count
        for name, count in ClaudeMem(path, None).projects().items()
        if project is not None and name not in {project, ""}
    }
    told = ", ".join(f"{name} ({count})" for name, count in sorted(others.items()))
    return Source(
        "claude-mem",
        ClaudeMem(path, project).read,
        left_out=f"other projects: {told}; --all-projects takes them too" if told else "",
    )


def _read_folder(folder: Path) -> Items:
    for file in _notes_in(folder):
        yield from read_markdown(file, name=str(file.relative_to(folder)))


def _notes_in(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if not hidden and file.suffix.lower() in _NOTES and file.is_file():
            yield file
