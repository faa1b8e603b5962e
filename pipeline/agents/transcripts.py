"""The transcripts that agents have left on this disk: whose session each is, and in which project.

What these clients write is promised to nobody: a file whose beginning says nothing that is known
here is passed over.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ...bus.frames import read_json
from ...config.paths import agent_folders
from ...sinks.files import Look
from ...sinks.transcripts.reader import TranscriptUnreadable, open_transcript
from .agent import MAX_PATH_CHARS, Env

HEAD_BYTES = 256 * 1024
"""A client writes within so many bytes where it works; Codex its whole instructions before."""


class Transcript(Struct, frozen=True):
    """A file of a ``session`` of ``client`` that worked in ``cwd`` ("" where unknown).

    ``agent`` is not empty where it is a sub-agent's. ``modified`` is in seconds since 1970.
    """

    file: str
    client: str
    session: str
    cwd: str
    agent: str
    bytes: int
    modified: float


class _Payload(Struct):
    id: str | None = None
    cwd: str | None = None
    source: Any = None
    thread_source: Any = None


class _Line(Struct):
    cwd: str | None = None
    sessionId: str | None = None  # noqa: N815 - the clients' own spelling, as all of these
    agentId: str | None = None  # noqa: N815
    isSidechain: bool = False  # noqa: N815
    payload: _Payload | None = None


_lines = msgspec.json.Decoder(_Line)


def find_transcripts(env: Env, *, near: str = "") -> list[Transcript]:
    """All of them, newest first. Gemini names a project by a hash: ``near`` is one to compare.

    What has a name that is not UTF-8, or is of a project with such a name, is passed over: the
    daemon cannot be told of it.
    """
    found = [*_claude(env), *_codex(env), *_gemini(env, near)]
    tellable = [one for one in found if _is_utf8(one.file) and _is_utf8(one.cwd)]
    return sorted(tellable, key=lambda one: -one.modified)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def count_transcripts(env: Env) -> tuple[int, int]:
    """How many files there are, and how many bytes; none is opened."""
    sizes = [size for file in _files(env) if (size := _size(file)) > 0]
    return len(sizes), sum(sizes)


def _files(env: Env) -> Iterator[Path]:
    yield from _claude_files(env)
    yield from _codex_files(env)
    yield from _gemini_files(env)


def _claude_files(env: Env) -> Iterator[Path]:
    projects = agent_folders(env)["claude"] / "projects"
    yield from projects.glob("*/*.jsonl")
    yield from projects.glob("*/*/subagents/*.jsonl")


def _codex_files(env: Env) -> Iterator[Path]:
    yield from (agent_folders(env)["codex"] / "sessions").rglob("*.jsonl")


def _gemini_files(env: Env) -> Iterator[Path]:
    yield from (agent_folders(env)["gemini"] / "tmp").glob("*/chats/*.jsonl")


def _claude(env: Env) -> Iterator[Transcript]:
    for file, lines in _opened(_claude_files(env)):
        session = next((line.sessionId for line in lines if line.sessionId), file.stem)
        aside = next((line for line in lines if line.isSidechain), None)
        agent = (aside.agentId or "sub-agent") if aside and file.stem != session else ""
        cwd = next((line.cwd for line in lines if line.cwd), "")
        yield _transcript(file, "claude", session, cwd, agent)


def _codex(env: Env) -> Iterator[Transcript]:
    for file, lines in _opened(_codex_files(env)):
        head = next((line.payload for line in lines if line.payload and line.payload.cwd), None)
        if head is not None:
            session, agent = _thread(head, head.id or file.stem)
            yield _transcript(file, "codex", session, head.cwd or "", agent)


def _thread(head: _Payload, own: str) -> tuple[str, str]:
    """The session of a thread with the id ``own``, and that id where it is a sub-agent's."""
    sent = head.source.get("subagent") if isinstance(head.source, dict) else None
    if not sent and head.thread_source != "subagent":
        return own, ""
    spawned = sent.get("thread_spawn") if isinstance(sent, dict) else None
    parent = spawned.get("parent_thread_id") if isinstance(spawned, dict) else None
    return (parent if parent and isinstance(parent, str) else own), own


def _gemini(env: Env, near: str) -> Iterator[Transcript]:
    hashed = hashlib.sha256(near.encode("utf-8", "surrogateescape")).hexdigest()
    for file, lines in _opened(_gemini_files(env)):
        session = next((line.sessionId for line in lines if line.sessionId), file.stem)
        folder = file.parents[1]
        cwd = _named_root(folder) or (near if folder.name == hashed else "")
        yield _transcript(file, "gemini", session, cwd)


def _named_root(folder: Path) -> str:
    """The project that newer versions name beside its chats."""
    return (Look().text(folder / ".project_root", MAX_PATH_CHARS) or "").strip()


def _opened(files: Iterable[Path]) -> Iterator[tuple[Path, list[_Line]]]:
    """Each file that can be read, with what its beginning says."""
    for file in files:
        try:
            descriptor = open_transcript(str(file))
        except TranscriptUnreadable:
            continue
        try:
            head = os.pread(descriptor, HEAD_BYTES, 0)
        except OSError:  # of a disk that fails, or is gone
            continue
        finally:
            os.close(descriptor)
        if lines := list(_read(head)):
            yield file, lines


def _read(head: bytes) -> Iterator[_Line]:
    for line in head.split(b"\n"):
        try:
            yield read_json(line, _lines.decode)
        except (ValueError, RecursionError):
            continue


def _transcript(file: Path, client: str, session: str, cwd: str, agent: str = "") -> Transcript:
    try:
        found = file.stat()
    except OSError:  # it was deleted meanwhile; its reading will say so
        return Transcript(str(file), client, session, cwd, agent, 0, 0.0)
    return Transcript(str(file), client, session, cwd, agent, found.st_size, found.st_mtime)


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0
