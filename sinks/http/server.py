"""The daemon's HTTP side, on the loopback interface: a list of routes, each made where it belongs.

What is open to everybody on this machine holds no text: ``/metrics`` and ``/healthz``. Whatever
reads memories or changes anything wants the token (``guard``). A request whose Host or Origin is
not this machine's loopback is refused, so that no web page can reach it, be it through a name that
it made to point here (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...bus.frames import MAX_BODY

ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
# An MCP client names the resource that it reads in a header too, however long that is.
MAX_HEADERS = 1 << 18
# Above so many connections and requests at a time, the next is told to come later (503).
MAX_CONNECTIONS = 512
# Beyond so many a connection is closed unheard: each holds a descriptor of the daemon.
MAX_OPEN = 600
REQUEST_S = 10.0
"""A connection is closed that asks for nothing for so long, also in the middle of its headers.

One whose request has a body that is not there after that, at most twice as long.
"""

Routes = list[BaseRoute]
Application = ASGIApp

_ALLOWED_ORIGINS = ("127.0.0.1", "localhost", "::1")


class Http:
    """One HTTP server on a socket that listens already."""

    def __init__(self, listener: socket.socket, *, routes: Sequence[BaseRoute]) -> None:
        self._listener = listener
        app = Starlette(
            routes=routes,
            middleware=[
                Middleware(TrustedHostMiddleware, allowed_hosts=ALLOWED_HOSTS),
                Middleware(OriginCheck),
            ],
        )
        self._server = _Server(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                ws="none",
                http=_Connection,
                h11_max_incomplete_event_size=MAX_HEADERS,
                limit_concurrency=MAX_CONNECTIONS,
            )
        )

    async def serve(self) -> None:
        """Answer until ``stop`` is called."""
        try:
            await self._server.serve(sockets=[self._listener])
        finally:
            for server in getattr(self._server, "servers", ()):  # still open where it failed
                server.close()

    def stop(self) -> None:
        self._server.should_exit = True


def open_routes(
    *, metrics: Callable[[], bytes], metrics_type: str, ready: Callable[[], bool]
) -> Routes:
    """What needs no token, since it holds counts and no text."""

    async def answer_metrics(request: Request) -> Response:
        return Response(metrics(), media_type=metrics_type)

    async def answer_health(request: Request) -> Response:
        is_ready = ready()
        return JSONResponse({"ready": is_ready}, status_code=200 if is_ready else 503)

    return [Route("/metrics", answer_metrics), Route("/healthz", answer_health)]


def route(path: str, app: ASGIApp, middleware: Sequence[Middleware]) -> BaseRoute:
    """A route to an application of its own, whatever the method."""
    return Route(path, app, middleware=middleware)


def made_late(path: str, make: Callable[[], Application]) -> BaseRoute:
    """A route to all below ``path``, to what ``make`` makes when it is first asked for."""
    return Mount(path, MadeLate(make))


class MadeLate:
    """An application that ``make`` makes when the first request comes, in another thread.

    Where that fails, as for a module that cannot be imported, it is that request's error alone, and
    the next one tries again.
    """

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = await anyio.to_thread.run_sync(self._make)
        await self._app(scope, receive, send)


def guard(token: str) -> list[Middleware]:
    """The ``middleware`` of a route that only whoever has the token may use."""
    return [Middleware(TokenCheck, token=token)]


class TokenCheck:
    """Lets a request pass that brings ``Authorization: Bearer TOKEN``; answers 401 to others."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("authorization", "").encode("latin-1", "replace")
        if secrets.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
            return
        answer = PlainTextResponse(
            "missing or invalid token; `subcog mcp --http` shows where it is\n",
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await answer(scope, receive, send)


class OriginCheck:
    """Refuses what a browser sends for a page that is not served by this machine."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin") if scope["type"] == "http" else None
        if origin is None or is_local(origin):
            await self._app(scope, receive, send)
            return
        answer = PlainTextResponse(
            "forbidden: the Origin header is not this machine's loopback address\n",
            status_code=403,
        )
        await answer(scope, receive, send)


def is_local(origin: str) -> bool:
    """Whether an ``Origin`` header names this machine's loopback."""
    try:
        return urlsplit(origin).hostname in _ALLOWED_ORIGINS
    except ValueError:
        return False


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the daemon has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Connection(H11Protocol):
    """uvicorn's, which waits for ever for a first request, with a deadline and a limit."""

    _idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_OPEN:
            transport.abort()
            return
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._idle is not None:
            self._idle.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        self._idle = self.loop.call_later(REQUEST_S, self._close_if_idle, self.cycle)

    def _close_if_idle(self, last: object) -> None:
        """Close it unless a request is being answered, or was since ``last``."""
        if self.cycle is last and not self._is_busy():
            self.transport.close()
        else:
            self._watch()

    def _is_busy(self) -> bool:
        """Whether it waits for our answer, and we do not wait for the rest of its request."""
        if self.cycle is None or self.cycle.response_complete:
            return False
        return not self.cycle.more_body or self.flow.read_paused


CLIENT_HEADER = "x-subcog-client"
MAX_NAME = 64


class Answer(Protocol):
    """What a hook prints, and what is to be called where that did not reach the agent."""

    @property
    def body(self) -> bytes: ...

    @property
    def take_back(self) -> Callable[[], None]: ...


Hook = Callable[[str, dict[str, str], bytes], Awaitable[Answer]]


def hook_route(hook: Hook, seen: Callable[[], None], middleware: Sequence[Middleware]) -> Route:
    """``POST /hooks/EVENT`` with the payload, answered with what a hook would print.

    For an agent that posts its hooks by itself, which spares it a process for each. It is answered
    with JSON or not at all: no agent takes anything else over HTTP.

    ``hook`` takes event, fields and payload, as it does for a pipe. Where the client hangs up
    before it is answered, the answer is taken back. ``seen`` is told that somebody was here;
    ``middleware`` has to keep out whoever has no token.
    """

    async def answer(request: Request) -> Response:
        event = request.path_params["event"]
        if not (event.isascii() and event.isalnum() and len(event) <= MAX_NAME):
            return Response(status_code=HTTPStatus.NOT_FOUND)
        seen()
        body = await _body(request)
        if body is None:
            return Response(status_code=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        made = await hook(event, _fields(request), body)
        if await request.is_disconnected():
            made.take_back()
        said = made.body
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
        "client": client if client.isalnum() and len(client) <= MAX_NAME else "other",
    }
