"""The official client, and raw lines, through the real ``subcog mcp`` and over real HTTP."""

from __future__ import annotations

import contextlib
import json
import queue
import ssl
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

from subcog.hooks import mcp_pipe

from .house import PATIENCE_S, PYTHON, SUBCOG, House

ERAS = ("legacy", "2026-07-28")
HTTP = " over HTTP"
# Each era in one way, and each way in one era, in every run; the rest is slow as a whole.
WAYS = (
    pytest.param(ERAS[0], marks=pytest.mark.slow),
    ERAS[1],
    ERAS[0] + HTTP,
    pytest.param(ERAS[1] + HTTP, marks=pytest.mark.slow),
)
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

    ``heard`` gets what the server says unasked. An era of ``WAYS`` may say that it is over HTTP.
    """
    protocol, _, over_http = era.partition(HTTP[:-4])
    with anyio.fail_after(PATIENCE_S):
        async with contextlib.AsyncExitStack() as stack:
            if over_http:
                project = env.get("CLAUDE_PROJECT_DIR", str(house.project))
                transport = await _http(house, stack, f"?project={quote(project)}")
            else:
                transport = _stdio(house, env)
            client = Client(transport, mode=protocol, message_handler=heard)
            yield await stack.enter_async_context(client)


def command(house: House) -> list[str]:
    """What a client runs: ``subcog mcp`` of an installed house, what that becomes of any other."""
    if house.program == SUBCOG:
        return [SUBCOG, "mcp"]
    return [PYTHON, "-I", "-S", mcp_pipe.__file__, house.program]


def _stdio(house: House, env: dict[str, str]) -> Any:
    program, *args = command(house)
    server = StdioServerParameters(
        command=program, args=args, env=house.env | env, cwd=house.project
    )
    return stdio_client(server, errlog=sys.stderr)


async def _http(house: House, stack: contextlib.AsyncExitStack, query: str) -> Any:
    url = await anyio.to_thread.run_sync(lambda: house.mcp_url)
    headers = {"Authorization": f"Bearer {house.paths.http_token.read_text().strip()}"}
    # Nothing is encrypted here: the system's certificates would be read for each client in vain.
    no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    http = httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, verify=no_tls)
    return streamable_http_client(url + query, http_client=await stack.enter_async_context(http))


@contextlib.asynccontextmanager
async def session_of_the_user(house: House, era: str) -> AsyncIterator[Client]:
    """A client over HTTP that names no project."""
    with anyio.fail_after(PATIENCE_S):
        async with contextlib.AsyncExitStack() as stack:
            client = Client(await _http(house, stack, ""), mode=era)
            yield await stack.enter_async_context(client)


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


class Heard:
    """What a client of either era hears of changes."""

    def __init__(self):
        self.uris = set()
        self.lists = 0
        self._news = anyio.Event()

    async def of_legacy(self, message):
        if isinstance(message, ResourceUpdatedNotification):
            self.note(message.params.uri)
        elif isinstance(message, ResourceListChangedNotification):
            self.note(None)

    def note(self, uri):
        if uri is None:
            self.lists += 1
        else:
            self.uris.add(uri)
        self._news.set()

    async def until(self, condition):
        while not condition():
            await self._news.wait()
            self._news = anyio.Event()

    async def watch(self, client, uris, era, tasks):
        """Subscribe, and return when the server has acknowledged it."""
        if era.startswith("legacy"):
            for uri in uris:
                await client.subscribe_resource(uri)
        else:
            await tasks.start(self._listen, client, uris)

    async def _listen(self, client, uris, task_status):
        async with client.listen(
            resources_list_changed=True, resource_subscriptions=uris
        ) as events:
            task_status.started()
            async for event in events:
                assert isinstance(event, ResourceUpdated | ResourcesListChanged)
                self.note(event.uri if isinstance(event, ResourceUpdated) else None)


class Lines:
    """A client that speaks in lines, right or wrong, and may be rude."""

    def __init__(self, house: House, *, era: str = "legacy") -> None:
        self.era = era
        self.process = subprocess.Popen(
            command(house),
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
