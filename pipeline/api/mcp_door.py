"""Lets MCP clients in: the SDK is loaded for the first of them, in a thread."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ...hooks.client import VERSION
from ..app.app import App
from ..entrance.handler import HookHandler
from .dispatch import Calls
from .mcp import McpPort

if TYPE_CHECKING:
    from ...sinks.mcp.server import Session


class SessionOpener:
    """Serves MCP over connections whose head was read already."""

    def __init__(self, app: App, calls: Calls, entrance: HookHandler) -> None:
        self._app = app
        self._calls = calls
        self._entrance = entrance
        self._loading = anyio.Lock()
        self._is_loaded = False
        self.sessions = 0

    async def serve(
        self, source: BufferedByteReceiveStream, target: ByteSendStream, fields: dict[str, str]
    ) -> None:
        """Serve one client until it leaves."""
        await self.load()
        with self._opened(fields) as session:
            await session.serve(source, target)

    async def load(self) -> None:
        """Import the SDK; all who come meanwhile wait for the one who does."""
        async with self._loading:
            if not self._is_loaded:
                await anyio.to_thread.run_sync(_import_sdk)
                self._is_loaded = True

    def opened_over_http(self, project: str, max_listeners: int) -> AbstractContextManager[Session]:
        """A session of ``project``, or of the user alone where it is empty; after ``load``."""
        fields = {"project": project} if project else {"scope": "user"}
        return self._opened(fields, max_listeners=max_listeners)

    @contextmanager
    def _opened(self, fields: dict[str, str], **limits: int) -> Iterator[Session]:
        from ...sinks.mcp.server import Session

        desk = McpPort(self._app, self._calls, self._entrance, fields)
        self.sessions += 1
        try:
            with self._app.changes.watching(desk.scopes) as watch:
                yield Session(desk, watch, version=VERSION, **limits)
        finally:
            self.sessions -= 1


def _import_sdk() -> None:
    from ...sinks.mcp import server as mcp_server  # noqa: F401 - it is imported here and found there

    # It stays for good; to look through it for garbage would hold everything up for 35 ms.
    gc.freeze()
