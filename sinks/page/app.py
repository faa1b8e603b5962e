"""The page as an application under ``/ui``: the way in, the files, and what each visit may ask.

Nothing of it is imported before a daemon's HTTP side is used at all.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus

import anyio
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...bus.values import Scope as Owner
from .activity import Activity, Entry
from .acts import Acts
from .bodies import text_in
from .render import FOLDER, render
from .screens import SCREENS, Screens, named_by_id, summaries_of, visit_of
from .visits import PagePort, Refused, Visit, Visits

ALIVE_S = 15.0
"""A stream says so often that it is alive, where nothing happens."""
RETRY_MS = 2000
COOKIE = "subcog_ui"
MAX_INVITATION = 1024
"""Whoever may not come in yet sends so many bytes at most."""
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


class Page:
    """The routes of the page. ``seen`` is called for each request of a visitor."""

    def __init__(
        self,
        port: PagePort,
        visits: Visits,
        activity: Activity,
        *,
        seen: Callable[[], None],
    ) -> None:
        self._port = port
        self._visits = visits
        self._activity = activity
        self._seen = seen
        self._screens = Screens(port, activity)

    def app(self) -> ASGIApp:
        """All of it, to be mounted at ``/ui``."""
        inside = [
            *self._screens.routes,
            *Acts(self._port).routes,
            Route("/live", self.live),
        ]
        door = Middleware(Door, visits=self._visits, seen=self._seen)
        routes = [
            Route("/", _welcome),
            Route("/enter", self.enter, methods=["POST"]),
            Mount("/static", StaticFiles(directory=FOLDER / "static")),
            Mount("/{visit}", routes=inside, middleware=[door]),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(Protected)],
            exception_handlers={Refused: self._refused},
        )

    async def enter(self, request: Request) -> Response:
        """Trade an invitation for a visit."""
        code = await text_in(request, "code", "code", limit=MAX_INVITATION)
        visit = self._visits.enter(code)
        if visit is None:
            told = "this address was used or is too old; `subcog ui` makes a new one"
            return JSONResponse({"error": told}, status_code=HTTPStatus.FORBIDDEN)
        answer = JSONResponse({"path": f"{visit.path}{SCREENS[0].name}"})
        answer.set_cookie(
            COOKIE,
            visit.secret,
            path=visit.path,
            httponly=True,
            samesite="strict",
        )
        return answer

    async def live(self, request: Request) -> Response:
        """What happens, as server-sent events of ready markup; what was missed comes first."""
        given = request.headers.get("last-event-id") or request.query_params.get("after", "")
        is_number = given.isdecimal() and len(given) < 16
        after = int(given) if is_number else self._activity.latest
        visit = visit_of(request)
        scopes = frozenset(await self._port.readable(visit.fields))
        stream = self._stream(visit, scopes, after)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _stream(
        self, visit: Visit, scopes: frozenset[Owner], after: int
    ) -> AsyncIterator[str]:
        with self._activity.watching(scopes) as watch:
            yield f"retry: {RETRY_MS}\n\n"
            entries = self._activity.recent(scopes, after=after)
            while not watch.is_closed:
                for entry in entries:
                    yield await self._event(visit, entry)
                with anyio.move_on_after(ALIVE_S):
                    entries = await watch.next()
                    continue
                entries = []
                yield ": alive\n\n"

    async def _event(self, visit: Visit, entry: Entry) -> str:
        summaries = await summaries_of(self._port, visit, named_by_id([entry]))
        facts = {"path": visit.path, "summaries": summaries, "clean": self._port.clean}
        html = render("entry.html", entry=entry, **facts)
        return f"id: {entry.number}\nevent: {entry.kind}\ndata: {json.dumps(html)}\n\n"

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Why something was refused: as JSON to the script, as a page to a person."""
        if request.method == "POST" or not hasattr(request.state, "visit"):
            return JSONResponse({"error": str(error)}, status_code=HTTPStatus.CONFLICT)
        name = request.url.path.split("/")[3]
        known = {"memory": "memories"} | {screen.name: screen.name for screen in SCREENS}
        facts: dict[str, object] = {"why": str(error)}
        text = self._screens.page(request, known.get(name, "now"), "trouble.html", facts)
        return HTMLResponse(text, status_code=HTTPStatus.CONFLICT)


async def _welcome(request: Request) -> Response:
    return HTMLResponse(render("welcome.html"))


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
