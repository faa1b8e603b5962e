"""What the daemon itself sets aside: what it was asked to keep, and cannot store in time.

That is what hooks mark that come without the pipe, over HTTP or MCP (the pipe does it for its own,
``hooks/client.py``, since it outlives a daemon that dies), and the captures of the command line and
of tools.
"""

from __future__ import annotations

import secrets
import time

import anyio
import anyio.to_thread
from msgspec import structs, to_builtins

from ...bus.events import CaptureRequested, CaptureSettled
from ...bus.values import Kept
from ...hooks import spool, starter
from ...stages.redaction.redact import clean_provenance, without
from ..agents.agent import read_payload
from ..app.app import App
from .handler import HookAnswer, HookHandler
from .long_prompt import shorten


class DurableHooks:
    """Answers hooks, and what a prompt marks is on disk before that is said."""

    def __init__(self, hooks: HookHandler) -> None:
        self._hooks = hooks

    async def answer(self, event: str, fields: dict[str, str], body: bytes) -> HookAnswer:
        """The hook's answer, settled; never raises for what a client sent."""
        fields = {"id": request_id(), **fields}
        answer = await self._hooks.answer(event, fields, body)
        if answer.is_settled:
            return answer
        told = await anyio.to_thread.run_sync(self._set_aside, event, fields, body, answer.body)
        return structs.replace(answer, body=told, is_settled=True)

    def _set_aside(self, event: str, fields: dict[str, str], body: bytes, answer: bytes) -> bytes:
        body = shorten(body)
        names = fields | {"project": self._hooks.project_dir(_session_of(body), fields)}
        packed = {
            key.encode(): value.encode("utf-8", "surrogateescape") for key, value in names.items()
        }
        note = spool.keep(event, packed, body, bytes(self._hooks.data))
        return starter.message([note], answer)


def _session_of(body: bytes) -> str:
    try:
        return read_payload(body).session_id
    except ValueError:
        return ""


async def capture_durably(
    app: App, request: CaptureRequested, *, within_s: float, made_from: int | None = None
) -> CaptureSettled:
    """What became of ``request``: settled, or on disk and told so, or told that it is not kept.

    ``made_from`` is the version that a revision was made from. What is set aside is on the bus
    still, and stored later as well: it must not take the place of what was said in between.
    """
    with anyio.move_on_after(within_s):
        settled = await app.captures.capture(request)
        if settled.kept.outcome != "pending":
            return settled
    aside = structs.replace(request, made_from=made_from)
    reason = await anyio.to_thread.run_sync(_set_request_aside, app, aside)
    kept = Kept(outcome="pending", namespace=request.namespace or "", reason=reason)
    return CaptureSettled(trace=request.trace, kept=kept)


def _set_request_aside(app: App, request: CaptureRequested) -> str:
    namespace, redact = request.namespace, app.redactor.redact
    try:
        cleaned = structs.replace(
            request,
            text=spool.clean(request.text, spool.RULES),
            tags=tuple(spool.clean(tag, spool.RULES) for tag in request.tags),
            questions=without(request.questions, _holds_secret),
            triggers=without(request.triggers, lambda one: _holds_secret(*one.texts)),
            summary="",  # made anew
            # Names and ids: by patterns alone more would be taken for a secret than is one.
            namespace=namespace and redact(namespace).text,
            provenance=clean_provenance(request.provenance, redact),
        )
        payload = {"request": to_builtins(cleaned)}
        spool.write("capture", {b"id": request_id().encode()}, payload, bytes(app.paths.data))
    except (spool.NotKept, OSError) as error:
        return f"it could not be stored in time, and not be set aside ({error}). Send it again"
    return "it could not be stored in time. It is set aside safely, and stored as soon as possible"


def _holds_secret(*texts: str) -> bool:
    return any(spool.clean(text, spool.RULES) != text for text in texts)


def request_id() -> str:
    """The ``id`` of a request as the pipe makes it: milliseconds since 1970, and 80 random bits."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"
