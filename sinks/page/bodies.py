"""What the page's script sends, read within a limit."""

from __future__ import annotations

import msgspec
from starlette.requests import ClientDisconnect, Request

from .visits import Refused

MAX_BODY = 4_000_000


async def body_of(request: Request, *, limit: int = MAX_BODY) -> bytes:
    """The body of a request. Raises ``Refused`` where it is too large, and never holds more."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused("the body must be application/json")
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > limit:
                raise Refused(f"that is more than {limit:,} bytes")
    except ClientDisconnect:
        raise Refused("the request was cut off") from None
    return bytes(body)


async def text_in(request: Request, name: str, what: str, *, limit: int = MAX_BODY) -> str:
    """The text called ``name`` in the body of a request.

    Raises ``Refused``, like ``body_of``, or since no ``what`` was sent.
    """
    body = await body_of(request, limit=limit)
    try:
        return msgspec.json.decode(body, type=dict[str, str])[name]
    except (ValueError, KeyError, RecursionError):
        raise Refused(f"no {what} was sent") from None
