"""MCP over HTTP, by the SDK's own transports: one address, both eras, any number of projects.

``?project=/absolute/path`` names the project that a request is about; without it, only the user's
own memories are read and written. A client of the initialize era has a session, which is bound to
its project: with another one it does not exist. A request of 2026-07-28 stands for itself.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http import HTTPStatus

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from .port import Refused
from .server import Session

MAX_BODY = 16 * 1024 * 1024
# A session or project that nobody asks anything of for so long is closed.
IDLE_S = 1800.0
MAX_SESSIONS = 64
MAX_PROJECTS = 32
# So many streams of changes may be open for one project.
MAX_LISTENERS = 64

_log = logging.getLogger(__name__)

Answer = Callable[[Scope, Receive, Send], Awaitable[None]]
OpenSession = Callable[[str, int], Awaitable[AbstractContextManager[Session]]]


class Refusal(Exception):
    """A request that is answered with a status and a reason, and nothing else."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Served:
    """Something that serves requests of one project until ``scope`` is cancelled."""

    def __init__(self, project: str, answer: Answer) -> None:
        self.project = project
        self.answer = answer
        self.in_flight = 0
        self.last_used = anyio.current_time()
        self.scope = anyio.CancelScope(deadline=self.last_used + IDLE_S)

    @property
    def is_closing(self) -> bool:
        return self.scope.cancel_called

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the time of being idle begins anew when none is left."""
        self.in_flight += 1
        self.scope.deadline = math.inf
        try:
            await self.answer(scope, receive, send)
        finally:
            self.in_flight -= 1
            self.last_used = anyio.current_time()
            if not self.in_flight:
                self.scope.deadline = self.last_used + IDLE_S


class McpHttp:
    """An ASGI application. What it opens lives in ``tasks``.

    ``open_session`` makes the session of a project, or of the user alone for an empty one.
    """

    def __init__(
        self, tasks: TaskGroup, open_session: OpenSession, *, new_id: Callable[[], str]
    ) -> None:
        self._tasks = tasks
        self._open_session = open_session
        self._new_id = new_id
        self._sessions: dict[str, Served] = {}
        self._projects: dict[str, Served] = {}
        self._opening = anyio.Lock()

    async def answer(self, project: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request about ``project``."""
        headers = Headers(scope=scope)
        try:
            receive = _replayed(_mended(await _whole_body(receive)), receive)
            if is_stateless(headers):
                served = await self._project(project)
            elif session_id := headers.get(MCP_SESSION_ID_HEADER):
                served = self._session(session_id, project)
            else:
                await self._open(project, scope, receive, send)
                return
            await served.serve(scope, receive, send)
        except Refusal as error:
            await _refused(error)(scope, receive, send)

    # --- the initialize era ----------------------------------------------------------------------

    def _session(self, session_id: str, project: str) -> Served:
        served = self._sessions.get(session_id)
        if served is None or served.is_closing or served.project != project:
            raise Refusal(HTTPStatus.NOT_FOUND, "Session not found")
        return served

    async def _open(self, project: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what opens a session; where it does not, nothing is left of it."""
        async with self._opening:
            _make_room(self._sessions, MAX_SESSIONS)
            session_id = self._new_id()
            served = await self._tasks.start(self._keep_session, project, session_id)
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await served.serve(scope, receive, send_on)
        finally:
            if status != HTTPStatus.OK:
                served.scope.cancel()

    async def _keep_session(
        self, project: str, session_id: str, *, task_status: TaskStatus[Served]
    ) -> None:
        transport = StreamableHTTPServerTransport(session_id, is_json_response_enabled=True)
        served = Served(project, transport.handle_request)
        opened = await self._opened(project, 1)
        with self._kept(self._sessions, session_id, served), opened as mine:
            try:
                async with transport.connect() as (received, sent):
                    task_status.started(served)
                    await mine.converse(received, sent)
            finally:
                with anyio.CancelScope(shield=True):
                    await transport.terminate()

    # --- 2026-07-28 ------------------------------------------------------------------------------

    async def _project(self, project: str) -> Served:
        async with self._opening:
            served = self._projects.get(project)
            if served is None or served.is_closing:
                _make_room(self._projects, MAX_PROJECTS)
                served = await self._tasks.start(self._keep_project, project)
            return served

    async def _keep_project(self, project: str, *, task_status: TaskStatus[Served]) -> None:
        with await self._opened(project, MAX_LISTENERS) as shared:
            manager = StreamableHTTPSessionManager(
                shared.server, json_response=True, max_request_body_size=MAX_BODY
            )
            served = Served(project, manager.handle_request)
            with self._kept(self._projects, project, served):
                async with manager.run():
                    task_status.started(served)
                    await shared.announce()

    async def _opened(self, project: str, max_listeners: int) -> AbstractContextManager[Session]:
        try:
            return await self._open_session(project, max_listeners)
        except Refused as error:
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None

    @contextmanager
    def _kept(self, among: dict[str, Served], key: str, served: Served) -> Iterator[None]:
        """Have ``served`` ``among`` the others until its scope is cancelled, or it breaks."""
        among[key] = served
        try:
            with served.scope:
                yield
        except Exception as error:  # noqa: BLE001 - one client's bad luck; the others are served
            _log.error("an MCP session failed", extra={"error": type(error).__name__})
        finally:
            if among.get(key) is served:
                del among[key]


def is_stateless(headers: Headers) -> bool:
    """Whether a request is of the era without sessions, or of one that is not known."""
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    return version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS


def _make_room(kept: dict[str, Served], limit: int) -> None:
    """Close what was idle for longest, where there are too many. Raises ``Refusal``."""
    if len(kept) < limit:
        return
    idle = [key for key, served in kept.items() if not served.in_flight]
    if not idle:
        raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Too many open sessions")
    oldest = min(idle, key=lambda key: kept[key].last_used)
    kept.pop(oldest).scope.cancel()


# --- one request ---------------------------------------------------------------------------------


async def _whole_body(receive: Receive) -> bytes:
    """The body of a request. Raises ``Refusal`` if it is too large, and never holds more."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Message too large")
        if not message.get("more_body", False):
            return bytes(body)


def _mended(body: bytes) -> bytes:
    """``body`` with a question mark for each half of a character, as on a pipe."""
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    try:
        value = json.loads(body)
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):  # the protocol's own error follows
        return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """``receive`` that gives ``body`` first."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def _refused(error: Refusal) -> JSONResponse:
    told = {"code": INVALID_REQUEST, "message": str(error)}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, status_code=error.status)
