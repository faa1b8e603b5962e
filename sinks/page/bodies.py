"""What the page's script sends, read within a limit."""

from __future__ import annotations

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
