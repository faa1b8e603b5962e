"""Drains the spool: what hooks set aside while no daemon took it is stored, once, and removed."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct

from ...bus.events import CaptureRequested, PromptSubmitted
from ...bus.signals import emit, redacted
from ...stages.text.markup import split_markers
from ..agents.agent import Payload, identifier
from ..app.app import App
from ..entrance.handler import HookHandler, trace_of

MAX_ENTRY_BYTES = 4_000_000
PATIENCE_S = 30.0
UNFINISHED_S = 3600.0
_log = logging.getLogger(__name__)


class SetAside(Payload):
    """The prompt of a hook, or the request of a capture that could not be stored in time."""

    request: CaptureRequested | None = None


class Entry(Struct):
    """One spooled prompt or capture, as ``hooks/spool.py`` writes it."""

    event: str
    fields: dict[str, str]
    payload: SetAside


async def drain(folder: Path, app: App, entrance: HookHandler) -> int:
    """Store every entry of ``folder``, oldest first; how many were stored.

    An entry is removed once everything in it is settled. One that cannot be read is set aside as
    ``NAME.bad``, never deleted. One that cannot be stored now stays for the next time, with all
    that come after it.
    """
    stored = 0
    for file in sorted(await anyio.to_thread.run_sync(_entries, folder)):
        try:
            done = await _store(file, app, entrance)
        except (OSError, ValueError, RecursionError) as error:
            _log.warning("skipped an unreadable spool entry", extra={"error": type(error).__name__})
            await anyio.to_thread.run_sync(file.replace, file.with_suffix(".bad"))
            continue
        if not done:
            break
        await anyio.to_thread.run_sync(file.unlink)
        stored += 1
    if stored:
        _log.info("drained the spool", extra={"entries": stored})
    return stored


def _entries(folder: Path) -> list[Path]:
    """What is to be drained; what a hook that was killed had not finished for long is deleted."""
    if not folder.is_dir():
        return []
    for unfinished in folder.glob("*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - unfinished.stat().st_mtime > UNFINISHED_S:
                unfinished.unlink()
    return list(folder.glob("*.json"))


def _read(file: Path) -> Entry:
    if file.stat().st_size > MAX_ENTRY_BYTES:
        raise ValueError("too large")
    # json, since a path that is not UTF-8 was written with lone surrogates.
    return msgspec.convert(json.loads(file.read_bytes()), type=Entry)


async def _store(file: Path, app: App, entrance: HookHandler) -> bool:
    entry = await anyio.to_thread.run_sync(_read, file)
    trace = trace_of(file.stem)
    if not trace:
        raise ValueError("the name is no identity")
    if (request := entry.payload.request) is not None:
        with anyio.move_on_after(PATIENCE_S):
            return (await app.captures.capture(request)).kept.is_settled
        return False
    prompt = PromptSubmitted(
        trace=trace,
        session=identifier(entry.payload.session_id),
        client=entry.fields.get("client", ""),
        place=entrance.place(entry.fields, entry.payload.cwd),
        text=entry.payload.prompt,
    )
    with anyio.move_on_after(PATIENCE_S):
        for number, marked in enumerate(split_markers(prompt.text)[1]):
            kept = await app.captures.keep(marked, prompt=prompt, number=number)
            if not kept.is_settled:
                return False
        _tell_redactions(prompt, app)
        return True
    return False


def _tell_redactions(prompt: PromptSubmitted, app: App) -> None:
    """What the hook took out, before it set the prompt aside, belongs into the audit too."""
    if rules := app.redactor.marks(prompt.text):
        emit(
            redacted,
            "spool",
            trace=prompt.trace,
            memory="",
            rules=rules,
            scope=prompt.place.project.kind,
            decision="redacted",
        )
