"""The official client, and raw lines, through the real ``subcog mcp``."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from .house import PATIENCE_S, SUBCOG, House

ERAS = ("legacy", "2026-07-28")
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@contextlib.asynccontextmanager
async def session(
    house: House,
    era: str,
    *,
    heard: Callable[[Any], Awaitable[None]] | None = None,
    **env: str,
) -> AsyncIterator[Client]:
    """A client in ``era``, of the house's project unless ``env`` names another.

    ``heard`` gets what the server says unasked.
    """
    server = StdioServerParameters(
        command=SUBCOG, args=["mcp"], env=house.env | env, cwd=house.project
    )
    transport = stdio_client(server, errlog=sys.stderr)
    with anyio.fail_after(PATIENCE_S):
        async with Client(transport, mode=era, message_handler=heard) as client:
            yield client


async def read(client: Client, uri: str) -> Any:
    """The JSON of a resource."""
    (content,) = (await client.read_resource(uri, cache_mode="bypass")).contents
    assert content.uri == uri
    assert content.mime_type == "application/json"
    return json.loads(content.text)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool gave; its text and its structure must be the same."""
    result = await client.call_tool(tool, arguments)
    (text,) = result.content
    assert not result.is_error, text.text
    assert json.loads(text.text) == result.structured_content
    return result.structured_content


class Lines:
    """A client that speaks in lines, right or wrong, and may be rude."""

    def __init__(self, house: House, *, era: str = "legacy") -> None:
        self.era = era
        self.process = subprocess.Popen(
            [SUBCOG, "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=house.env,
            cwd=house.project,
        )
        self._id = 0
        self._said: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._listen)
        self._reader.start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._said.put(line)
        self._said.put(b"")

    def __enter__(self) -> Lines:
        if self.era == "legacy":
            assert "result" in self.ask("initialize", INITIALIZE)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def read(self) -> Any:
        line = self._said.get(timeout=PATIENCE_S)
        assert line, "the pipe has ended"
        return json.loads(line)

    def request(self, method: str, params: Any = None) -> int:
        """Send a request, and return its id."""
        self._id += 1
        params = dict(params or {})
        if self.era != "legacy":
            params["_meta"] = META
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def ask(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for its answer; whatever else comes is skipped."""
        asked = self.request(method, params)
        while (message := self.read()).get("id") != asked:
            pass
        return message

    def tool(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
