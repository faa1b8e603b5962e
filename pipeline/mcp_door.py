"""Lets MCP clients in: the SDK is loaded for the first of them, in a thread."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ..hooks.client import VERSION
from .app import App
from .calls import Calls
from .entrance import Entrance
from .mcp_desk import McpDesk

if TYPE_CHECKING:
    from ..sinks.mcp_server import Session

_log = logging.getLogger(__name__)


class McpDoor:
    """Serves MCP over connections whose head was read already."""

    def __init__(self, app: App, calls: Calls, entrance: Entrance) -> None:
        self._app = app
        self._calls = calls
        self._entrance = entrance
        self._loading = anyio.Lock()
        self.sessions = 0

    async def serve(
        self, source: BufferedByteReceiveStream, target: ByteSendStream, fields: dict[str, str]
    ) -> None:
        """Serve one client until it leaves."""
        async with self._loading:  # all who come meanwhile wait for the one who imports
            kind = await anyio.to_thread.run_sync(_session_class)
        desk = McpDesk(self._app, self._calls, self._entrance, fields)
        self.sessions += 1
        try:
            with self._app.changes.watching(desk.scopes) as watch:
                await kind(desk, watch, version=VERSION).serve(source, target)
        finally:
            self.sessions -= 1


def _session_class() -> type[Session]:
    from ..sinks.mcp_server import Session

    return Session
