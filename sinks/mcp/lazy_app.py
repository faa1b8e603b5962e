"""``/mcp``: whose request it is, and that the SDK is loaded only when the first one comes."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import anyio
from anyio.abc import TaskGroup

if TYPE_CHECKING:
    from starlette.responses import JSONResponse
    from starlette.types import Receive, Scope, Send

    from .http import McpHttp, OpenSession

MAX_PATH = 4096


class BadProject(ValueError):
    """The address names a project that cannot be one; the message is for the client."""


class LazyApp:
    """The ASGI application of ``/mcp``; ``run`` beside the HTTP server.

    ``load`` imports the SDK, ``open_session`` is asked after that, and ``seen`` hears of requests.
    ``is_directory`` raises ``TimeoutError`` where the disk does not answer.
    """

    def __init__(
        self,
        load: Callable[[], Awaitable[None]],
        open_session: OpenSession,
        *,
        is_directory: Callable[[str], Awaitable[bool]],
        seen: Callable[[], None],
    ) -> None:
        self._load = load
        self._is_directory = is_directory
        self._open_session = open_session
        self._seen = seen
        self._tasks: TaskGroup | None = None
        self._http: McpHttp | None = None
        self.in_flight = 0

    async def run(self) -> None:
        """Hold what requests open; never returns."""
        async with anyio.create_task_group() as self._tasks:
            await anyio.sleep_forever()

    def close(self) -> None:
        """End every session and stream."""
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request whose token was checked."""
        try:
            project = project_of(scope["query_string"])
            if project and not await self._is_directory(project):
                raise BadProject("project is no directory on this machine")
        except BadProject as error:
            await _refused(HTTPStatus.BAD_REQUEST, error)(scope, receive, send)
            return
        except TimeoutError as error:
            await _refused(HTTPStatus.SERVICE_UNAVAILABLE, error)(scope, receive, send)
            return
        self._seen()
        self.in_flight += 1
        try:
            await (await self._loaded()).answer(project, scope, receive, send)
        finally:
            self.in_flight -= 1
            self._seen()

    async def _loaded(self) -> McpHttp:
        await self._load()
        if self._http is None:
            from .http import McpHttp

            assert self._tasks is not None  # noqa: S101 - `run` comes before the first request
            self._http = McpHttp(
                self._tasks, self._open_session, new_id=lambda: secrets.token_hex(16)
            )
        return self._http


def _refused(status: HTTPStatus, why: Exception) -> JSONResponse:
    from starlette.responses import JSONResponse

    told = {"code": -32600, "message": str(why) or "the project's directory does not answer"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, status_code=status)


def project_of(query: bytes) -> str:
    """The path that a query string names as project; empty for none. Raises ``BadProject``."""
    try:
        asked = parse_qs(query.decode("ascii"), keep_blank_values=True, max_num_fields=16)
    except ValueError:
        raise BadProject("the query cannot be read") from None
    if unknown := sorted(asked.keys() - {"project"}):
        raise BadProject(f"unknown parameter {unknown[0][:100]!r}; known: project")
    named = asked.get("project", [])
    if not named:
        return ""
    project = named[0]
    is_path = project.startswith("/") and "\0" not in project and len(project) <= MAX_PATH
    if len(named) > 1 or not is_path:
        raise BadProject("project is one absolute path, percent-encoded")
    return project
