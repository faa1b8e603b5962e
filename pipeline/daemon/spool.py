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

from ...bus.bus import BusClosed
from ...bus.events import CaptureRequested, PromptSubmitted
from ...bus.signals import emit, redacted
from ...stages.respond import kept_line, refused_line
from ...stages.text.markup import markers_in
from ...stages.text.unicode import cut, one_line, visible
from ..agents.agent import Payload, identifier
from ..app.app import App
from ..entrance.events import translate
from ..entrance.handler import HookHandler, trace_of

MAX_ENTRY_BYTES = 4_000_000
PATIENCE_S = 30.0
PROMPT = "UserPromptSubmit"
UNFINISHED_S = 3600.0
_MAX_TOLD_CHARS = 80
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

    An entry is removed once everything in it is settled. One that makes no sense is set aside as
    ``NAME.bad``, never deleted. One that the disk does not give now stays for the next time, and so
    does one that cannot be stored now, with all that come after it. Returns early where the bus is
    closed.
    """
    stored = 0
    with contextlib.suppress(BusClosed):  # the next daemon goes on
        for file in sorted(await anyio.to_thread.run_sync(_entries, folder)):
            done = await _move(file, app, entrance)
            if done is False:
                break
            stored += done is True
    if stored:
        _log.info("drained the spool", extra={"entries": stored})
    return stored


async def _move(file: Path, app: App, entrance: HookHandler) -> bool | None:
    """Store an entry and remove it; whether it could be stored, None where it was skipped."""
    try:
        if not await _store(file, app, entrance):
            return False
        await anyio.to_thread.run_sync(file.unlink)
    except (ValueError, RecursionError) as error:
        _log.warning("skipped an unreadable spool entry", extra={"error": type(error).__name__})
        with contextlib.suppress(OSError):
            await anyio.to_thread.run_sync(file.replace, file.with_suffix(".bad"))
    except OSError as error:  # it has gone, or the disk fails: that says nothing about the entry
        _log.debug("a spool entry has to wait", extra={"error": error.strerror})
    else:
        return True
    return None


def _entries(folder: Path) -> list[Path]:
    """What is to be drained; what a hook that was killed had not finished for long is deleted."""
    if not folder.is_dir():
        return []
    for unfinished in folder.glob("*.tmp"):
        with contextlib.suppress(OSError):
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
            kept = (await app.captures.capture(request)).kept
            if kept.outcome == "declined":
                _log.warning("a capture that was set aside is not kept")
            return kept.is_settled
        return False
    hook = translate(entry.fields.get("client", ""), PROMPT, entry.payload)
    session = identifier(hook.payload.session_id)
    directory = entrance.project_dir(session, entry.fields)
    prompt = PromptSubmitted(
        trace=trace,
        session=session,
        client=hook.client,
        place=await entrance.places.find(entry.fields | {"project": directory}, hook.payload.cwd),
        text=hook.payload.prompt,
    )
    with anyio.move_on_after(PATIENCE_S):
        found = markers_in(prompt.text)
        for number, marked in enumerate(found.kept):
            kept = await app.captures.keep(marked, prompt=prompt, number=number)
            if not kept.is_settled:
                return False
            if kept.supersedes or kept.contradicts or kept.outcome == "declined":  # nobody was told
                entrance.afterwards.note(session, kept_line(kept, marked))
        if found.refused:
            entrance.afterwards.note(session, refused_line(found.refused))
        elif not found.kept:
            _log.warning("a prompt that was set aside has nothing to keep")
            entrance.afterwards.note(session, _not_kept_line(prompt, app))
        _tell_redactions(prompt, app)
        return True
    return False


def _not_kept_line(prompt: PromptSubmitted, app: App) -> str:
    """What the user reads of a prompt of which the hook said that it will be stored."""
    said = one_line(visible(app.redactor.redact(prompt.text).text))
    return (
        f"subcog: not kept after all: “{cut(said, _MAX_TOLD_CHARS)}” was set aside, but no marker"
        " of yours has a text behind it; to keep it, begin the line with [remember]"
    )


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
