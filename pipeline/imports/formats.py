"""Which format a file or folder has, told by its name and its first bytes; and claude-mem's.

Agents' transcripts are told from memories: `subcog learn` reads them, and no import does.
claude-mem's SQLite file is read and never written; its tables changed over time, so the columns
that are there are asked for first, and what is missing is taken to be empty.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from ...bus.frames import read_json
from ...bus.values import Provenance
from ...sinks.files import Look
from .agent_notes import INSTRUCTIONS, is_memory_folder, read_instructions, read_memory_file
from .item import (
    BadImport,
    Item,
    Items,
    lines_of,
    memories_in,
    moment_of,
    read_jsonl,
    read_mem0,
    strings_of,
    tags_of,
)
from .markdown import Lines, is_basic_memory, read_basic_memory, read_markdown

_NOTES = {".md", ".markdown"}
_LINES = {".jsonl", ".ndjson"}
_SQLITE = b"SQLite format 3\0"
_KNOWN = (
    "JSONL, Markdown (a file or a folder; also Basic Memory's notes, CLAUDE.md, AGENTS.md, "
    "GEMINI.md and Claude Code's memory folder), JSON of mem0, SQLite of claude-mem"
)


# So many files of a folder say what it is.
_FORMS_OF = 20


class _Read(Protocol):
    def __call__(self, file: Path, *, name: str) -> Items: ...


class Source(Struct, frozen=True):
    """What was recognised. ``read`` begins at the start each time; ``left_out`` is for the user."""

    format: str
    read: Callable[[], Items]
    left_out: str = ""


def recognise(path: Path, *, project: str | None) -> Source:
    """The source at ``path``; ``project`` picks one of several in it.

    Raises ``BadImport`` and ``OSError``.
    """
    if not (stat.S_ISREG(mode := path.stat().st_mode) or stat.S_ISDIR(mode)):
        raise BadImport(path, "a pipe cannot be read twice; save what it gives to a file")
    refuse_transcripts(path)
    if path.is_dir():
        return _folder(path)
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(_SQLITE):
        return _claude_mem(path, project)
    if path.suffix.lower() in _NOTES:
        form, read = _reader(path)
        return Source(form, lambda: read(path, name=path.name))
    if path.suffix.lower() in _LINES or _is_jsonl(path):
        return Source("jsonl", lambda: read_jsonl(path))
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"[", b"{"}:
        return Source("mem0", lambda: read_mem0(path))
    raise BadImport(path, f"its format is not known; these are: {_KNOWN}")


def _is_jsonl(path: Path) -> bool:
    """Whether the first line is an object by itself, and not the wrapping of a list."""
    try:
        line = next((line for _, line in lines_of(path) if line.strip()), "")
        value: Any = read_json(line, msgspec.json.decode)
    except (ValueError, RecursionError):
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


def _folder(folder: Path) -> Source:
    outside = sum(not _is_inside(file, folder) for file in _named_notes(folder))
    left_out = f"files that only a link leads to: {outside}" if outside else ""
    if is_memory_folder(folder):
        read = partial(_read_folder, folder, lambda _: read_memory_file)
        return Source("claude memory", read, left_out)
    forms = {_reader(file)[0] for file in islice(_notes_in(folder), _FORMS_OF)}
    form = "basic memory" if "basic memory" in forms else "markdown notes"
    return Source(form, partial(_read_folder, folder, lambda file: _reader(file)[1]), left_out)


def _read_folder(folder: Path, reader: Callable[[Path], _Read]) -> Items:
    for file in _notes_in(folder):
        name = os.fsencode(file.relative_to(folder)).decode(errors="replace")
        yield from reader(file)(file, name=name)


def _reader(file: Path) -> tuple[str, _Read]:
    """What a note's format is called, and who reads it."""
    if file.name.lower() in INSTRUCTIONS:
        return "agent instructions", read_instructions
    if is_basic_memory(Lines(file).front):
        return "basic memory", read_basic_memory
    return "markdown", read_markdown


def _notes_in(folder: Path) -> Iterator[Path]:
    """The notes that lie in ``folder``; a link may lead to anything else that the user can read."""
    return (file for file in _named_notes(folder) if _is_inside(file, folder))


def _is_inside(file: Path, folder: Path) -> bool:
    return Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder))


def _named_notes(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if not hidden and file.suffix.lower() in _NOTES and file.is_file():
            yield file


# --- transcripts --------------------------------------------------------------------------------

_MOST_FILES = 50
_MOST_LINES = 20
_LINE_BYTES = 1024 * 1024
_CODEX_TYPES = frozenset(("session_meta", "response_item", "event_msg", "turn_context"))


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
    look = Look()
    here = [folder for folder in folders if look.is_directory(Path(folder))]
    if len(folders) == len(here) == 1:
        return f"subcog learn --project {shlex.quote(here[0])}"
    return "subcog learn --all"


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in sorted(path.rglob("*.jsonl")) if file.is_file())
    elif path.suffix.lower() in _LINES:
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
                value = read_json(line, msgspec.json.decode)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


# --- claude-mem ---------------------------------------------------------------------------------

TABLES = ("observations", "session_summaries", "memories")
_TYPES = {
    "decision": "decisions",
    "discovery": "learnings",
    "bugfix": "learnings",
    "feature": "progress",
    "refactor": "progress",
    "change": "progress",
}
_SUMMARY_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_TEXTS = ("narrative", "text")
_SESSIONS = ("memory_session_id", "sdk_session_id", "session_id")


class ClaudeMem:
    """One file. ``project`` is the name of the project whose memories are taken; None means all."""

    def __init__(self, file: Path, project: str | None) -> None:
        self._file = file
        self._project = project

    def read(self) -> Items:
        """The memories. Raises ``BadImport``."""
        for table, row in self._rows():
            if self._is_wanted(row) and (item := _item(table, _filled(row))):
                yield item

    def projects(self) -> Counter[str]:
        """How many rows each project has. Raises ``BadImport``."""
        return Counter(str(_filled(row).get("project", "")) for _, row in self._rows())

    def _rows(self) -> Iterator[tuple[str, sqlite3.Row]]:
        try:
            with closing(self._open()) as database:
                for table in self._tables(database):
                    for row in database.execute(f'SELECT * FROM "{table}" ORDER BY id'):  # noqa: S608 - one of TABLES
                        yield table, row
        except sqlite3.Error as error:
            raise BadImport(self._file, f"it cannot be read as claude-mem's: {error}") from None

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(f"{self._file.absolute().as_uri()}?mode=ro", uri=True)
        database.row_factory = sqlite3.Row
        return database

    def _tables(self, database: sqlite3.Connection) -> list[str]:
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        names = {row["name"] for row in found}
        tables = [table for table in TABLES if table in names and _has_id(database, table)]
        if not tables:
            raise BadImport(self._file, f"it has none of the tables {', '.join(TABLES)}")
        return tables

    def _is_wanted(self, row: sqlite3.Row) -> bool:
        if self._project is None or "project" not in row.keys():  # noqa: SIM118 - a row is no dict
            return True
        return str(row["project"]) == self._project


def _has_id(database: sqlite3.Connection, table: str) -> bool:
    columns = database.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    return "id" in {row["name"] for row in columns}


def _filled(row: sqlite3.Row) -> dict[str, Any]:
    return {name: row[name] for name in row.keys() if row[name] not in {None, ""}}  # noqa: SIM118


def _item(table: str, row: Mapping[str, Any]) -> Item | None:
    text = "\n\n".join(_summary(row) if table == "session_summaries" else _observed(row))
    if not text.strip():
        return None
    kind = str(row.get("type", ""))
    files = (*strings_of(row.get("files_modified")), *strings_of(row.get("files_touched")))
    session = next((str(row[name]) for name in _SESSIONS if name in row), "")
    return Item(
        content=text,
        namespace="progress" if table == "session_summaries" else _TYPES.get(kind, ""),
        tags=tags_of(row.get("concepts"), row.get("keywords")),
        created_at=moment_of(row.get("created_at_epoch")) or moment_of(row.get("created_at")),
        provenance=Provenance(
            hook="import", client="claude-mem", session=session, file=files[0] if files else ""
        ),
    )


def _summary(row: Mapping[str, Any]) -> Iterator[str]:
    for name in _SUMMARY_PARTS:
        if text := str(row.get(name, "")).strip():
            yield f"{name.replace('_', ' ').capitalize()}: {text}"


def _observed(row: Mapping[str, Any]) -> Iterator[str]:
    """Title and subtitle, then what was told, then the facts as a list."""
    for name in ("title", "subtitle"):
        if text := str(row.get(name, "")).strip():
            yield text
    if text := next((str(row[name]) for name in _TEXTS if name in row), "").strip():
        yield text
    if facts := strings_of(row.get("facts")):
        yield "\n".join(f"- {fact}" for fact in facts)
