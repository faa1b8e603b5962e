"""What each request to the page has to pass, and what each answer forbids the browser."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .visits import Visits

COOKIE = "subcog_ui"
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Protected:
    """Adds to every answer of the page what browsers are to forbid."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, send_on)


class Door:
    """Lets in whoever has the visit's cookie, and nothing that another origin made the browser ask.

    The visit is in ``request.state.visit`` of what comes in, and ``seen`` is called for it.
    """

    def __init__(self, app: ASGIApp, *, visits: Visits, seen: Callable[[], None]) -> None:
        self._app = app
        self._visits = visits
        self._seen = seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = HTTPConnection(scope).cookies.get(COOKIE, "")
        visit = self._visits.find(scope["path_params"]["visit"], given)
        if is_foreign(scope["method"], Headers(scope=scope)):
            answer = PlainTextResponse("another page may not ask this\n", status_code=403)
        elif visit is None:
            answer = PlainTextResponse(
                "this page has expired; `subcog ui` opens a new one\n", status_code=401
            )
        else:
            self._seen()
            scope.setdefault("state", {})["visit"] = visit
            await self._app(scope, receive, send)
            return
        await answer(scope, receive, send)


def is_foreign(method: str, headers: Headers) -> bool:
    """Whether a request comes from a page of another origin, be it another port of this machine.

    What changes something must name its origin; browsers always do.
    """
    if headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
        return True
    origin = headers.get("origin")
    own = f"http://{headers.get('host', '')}"
    return origin != own if origin is not None else method not in {"GET", "HEAD"}
