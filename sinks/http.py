"""The daemon's HTTP side: ``/metrics`` and ``/healthz`` on the loopback interface.

Neither holds text. A request whose Host is not this machine's loopback is refused, so that a web
page cannot read them through a name that it made to point here (DNS rebinding).
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]


class Http:
    """One HTTP server on a socket that listens already."""

    def __init__(
        self,
        listener: socket.socket,
        *,
        metrics: Callable[[], bytes],
        metrics_type: str,
        ready: Callable[[], bool],
    ) -> None:
        self._listener = listener
        self._metrics = metrics
        self._metrics_type = metrics_type
        self._ready = ready
        self._server = _Server(
            uvicorn.Config(
                self._app(), lifespan="off", log_config=None, access_log=False, ws="none"
            )
        )

    async def serve(self) -> None:
        """Answer until ``stop`` is called."""
        await self._server.serve(sockets=[self._listener])

    def stop(self) -> None:
        self._server.should_exit = True

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/metrics", self._answer_metrics),
                Route("/healthz", self._answer_health),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=ALLOWED_HOSTS)],
        )

    async def _answer_metrics(self, request: Request) -> Response:
        return Response(self._metrics(), media_type=self._metrics_type)

    async def _answer_health(self, request: Request) -> Response:
        ready = self._ready()
        return JSONResponse({"ready": ready}, status_code=200 if ready else 503)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the daemon has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
