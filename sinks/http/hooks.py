"""Hooks over HTTP: ``POST /hooks/EVENT`` with the payload, answered with what a hook would print.

For an agent that posts its hooks by itself, which spares it a process for each. It is answered with
JSON or not at all: no agent takes anything else over HTTP.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus

from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ...bus.frames import MAX_BODY

CLIENT_HEADER = "x-subcog-client"
MAX_NAME = 64

Hook = Callable[[str, dict[str, str], bytes], Awaitable[bytes]]


def hook_route(hook: Hook, seen: Callable[[], None], middleware: Sequence[Middleware]) -> Route:
    """The route. ``hook`` takes event, fields and payload, as it does for a pipe.

    ``seen`` is told that somebody was here; ``middleware`` has to keep out whoever has no token.
    """

    async def answer(request: Request) -> Response:
        event = request.path_params["event"]
        if not (event.isascii() and event.isalnum() and len(event) <= MAX_NAME):
            return Response(status_code=HTTPStatus.NOT_FOUND)
        seen()
        body = await _body(request)
        if body is None:
            return Response(status_code=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        said = await hook(event, _fields(request), body)
        return Response(said if said[:1] == b"{" else b"{}", media_type="application/json")

    return Route("/hooks/{event}", answer, methods=["POST"], middleware=middleware)


async def _body(request: Request) -> bytes | None:
    """The payload, or None where it is too large or its sender left."""
    parts, length = [], 0
    try:
        async for part in request.stream():
            length += len(part)
            if length > MAX_BODY:
                return None
            parts.append(part)
    except ClientDisconnect:
        return None
    return b"".join(parts)


def _fields(request: Request) -> dict[str, str]:
    """What a pipe says of itself. Which project it is, the session's start has told."""
    client = request.headers.get(CLIENT_HEADER, "")
    return {
        "id": f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}",
        "client": client if client.isalnum() and len(client) <= MAX_NAME else "other",
    }
