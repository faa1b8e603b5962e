"""One MCP session: the SDK's server for one client port, in whichever protocol era it speaks.

A client on a pipe has a session of its own, and so has one that introduces itself over HTTP. All
others on HTTP, whose requests stand for themselves, share one for each project.

Importing this costs a second or two and 65 MB, for the SDK. The daemon does it in a thread when
the first client comes.
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from anyio.abc import ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from .completion import Values, complete, values_for, values_in
from .port import Changed, ClientPort, Refused, Watch
from .prompts import get_prompt, list_prompts, values_of
from .resources import (
    INSTRUCTIONS,
    UnknownUri,
    is_touched,
    list_resources,
    list_templates,
    parse,
    read_resource,
)
from .stdio import LineTransport
from .tools import NAME as HOOK_TOOL
from .tools import call_hook, call_tool, input_schema, list_tools

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

MAX_LISTENERS = 8
MAX_EVENTS = 64
# A client watches at most so many resources by name.
MAX_WATCHED = 1000
# What never changes while the daemon runs may be kept so long; the rest is asked for anew.
LASTING = CacheHint(ttl_ms=300_000, scope="private")
PASSING = CacheHint(ttl_ms=0, scope="private")

_log = logging.getLogger(__name__)

Context = ServerRequestContext[None]
Page = types.PaginatedRequestParams | None


class Session:
    """The server of one client port. ``serve`` and ``converse`` run until the one client leaves."""

    def __init__(
        self, port: ClientPort, watch: Watch, *, version: str, max_listeners: int = MAX_LISTENERS
    ) -> None:
        self._port = port
        self._watch = watch
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(
            self._bus, max_subscriptions=max_listeners, max_buffered_events=MAX_EVENTS
        )
        self._watched: Counter[str] = Counter()
        # Where a client of the initialize era hears what it did not ask for.
        self._standing: ServerSession | None = None
        self.server = self._build(version)

    def _build(self, version: str) -> Server[None]:
        server: Server[None] = Server(
            "subcog",
            version=version,
            title="subcog",
            description="The memory of this project, of the user and of the team.",
            instructions=INSTRUCTIONS,
            lifespan=_nothing,
            cache_hints={
                "server/discover": LASTING,
                "tools/list": LASTING,
                "prompts/list": LASTING,
                "resources/templates/list": LASTING,
                "resources/list": PASSING,
                "resources/read": PASSING,
            },
            get_tool_input_schema=input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen_to,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )
        server.middleware.clear()  # spans that nobody collects
        return server

    # --- the connection --------------------------------------------------------------------------

    async def serve(self, source: BufferedByteReceiveStream, target: ByteSendStream) -> None:
        """Serve one connection until the client leaves, or does not read what it is sent."""
        wire = LineTransport(source, target)
        incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_gone, wire.read(incoming), tasks.cancel_scope)
            tasks.start_soon(_until_gone, wire.write(outgoing), tasks.cancel_scope)
            await self.converse(received, sent)
            tasks.cancel_scope.cancel()

    async def converse(
        self, received: ReadStream[SessionMessage | Exception], sent: WriteStream[SessionMessage]
    ) -> None:
        """Serve one client over a pair of streams until they close."""
        options = self.server.create_initialization_options(
            NotificationOptions(resources_changed=True)
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.announce)
            await self.server.run(received, sent, options)
            tasks.cancel_scope.cancel()

    # --- handlers --------------------------------------------------------------------------------

    async def _list_tools(self, ctx: Context, page: Page) -> types.ListToolsResult:
        _first_page(page)
        return types.ListToolsResult(tools=list_tools(self._port.text_chars))

    async def _call_tool(
        self, ctx: Context, asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if asked.name == HOOK_TOOL:
            return await call_hook(self._port, asked.arguments)
        return await call_tool(self._port, asked.name, asked.arguments)

    async def _list_resources(self, ctx: Context, page: Page) -> types.ListResourcesResult:
        _first_page(page)
        with _as_errors():
            resources = await list_resources(self._port)
        return types.ListResourcesResult(resources=resources)

    async def _list_templates(self, ctx: Context, page: Page) -> types.ListResourceTemplatesResult:
        _first_page(page)
        return types.ListResourceTemplatesResult(resource_templates=list_templates())

    async def _read_resource(
        self, ctx: Context, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await read_resource(self._port, asked.uri)

    async def _list_prompts(self, ctx: Context, page: Page) -> types.ListPromptsResult:
        _first_page(page)
        return types.ListPromptsResult(prompts=list_prompts())

    async def _get_prompt(
        self, ctx: Context, asked: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        return await get_prompt(self._port, asked.name, asked.arguments or {})

    async def _complete(
        self, ctx: Context, asked: types.CompleteRequestParams
    ) -> types.CompleteResult:
        argument, reference = asked.argument, asked.ref
        typed = argument.value
        with _as_errors():
            if isinstance(reference, types.PromptReference):
                fixed = Values(values_of(reference.name, argument.name))
                values = fixed if fixed.names else await values_for(self._port, argument.name)
            else:
                values = await values_in(self._port, reference.uri, argument.name, typed)
        return types.CompleteResult(completion=complete(typed, values))

    # --- changes ---------------------------------------------------------------------------------

    async def _initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        self._standing = ctx.session

    async def _subscribe(
        self, ctx: Context, asked: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        self._standing = ctx.session
        _must_exist(asked.uri)
        if asked.uri not in self._watched:
            self._admit(1)
            self._watched[asked.uri] = 1
        return types.EmptyResult()

    async def _unsubscribe(
        self, ctx: Context, asked: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self._watched.pop(asked.uri, None)
        return types.EmptyResult()

    async def _listen_to(
        self, ctx: Context, asked: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        wanted = set(asked.notifications.resource_subscriptions or ())
        self._admit(len(wanted))
        self._watched.update(wanted)
        try:
            return await self._listen(ctx, asked)
        finally:
            self._watched.subtract(wanted)
            self._watched = +self._watched

    def _admit(self, more: int) -> None:
        if len(self._watched) + more > MAX_WATCHED:
            told = f"a session watches at most {MAX_WATCHED} resources"
            raise MCPError(types.INVALID_PARAMS, told)

    async def announce(self) -> None:
        """Tell clients what they may want to read anew, as it changes; never returns."""
        while True:
            changed = await self._watch.next()
            for uri in self._touched(changed):
                await self._bus.publish(ResourceUpdated(uri))
                if self._standing is not None:
                    await self._standing.send_resource_updated(uri)
            await self._bus.publish(ResourcesListChanged())
            if self._standing is not None:
                await self._standing.send_resource_list_changed()

    def _touched(self, changed: Changed) -> list[str]:
        touched = []
        for uri in self._watched:
            with contextlib.suppress(UnknownUri):
                if is_touched(parse(uri), changed):
                    touched.append(uri)
        return touched


async def _until_gone(work: Awaitable[None], connection: anyio.CancelScope) -> None:
    """Do ``work``; end the connection where there is nobody to do it for."""
    try:
        await work
    except TimeoutError:
        _log.warning("disconnected an MCP client that does not read")
        connection.cancel()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        _log.debug("an MCP client disconnected")
        connection.cancel()


@contextlib.asynccontextmanager
async def _nothing(server: Server[None]) -> AsyncIterator[None]:
    yield None


@contextlib.contextmanager
def _as_errors() -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None


def _first_page(page: Page) -> None:
    """Every list is one page. Raises ``MCPError`` for a cursor, which was never given out."""
    if page is not None and page.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "Invalid cursor")


def _must_exist(uri: str) -> None:
    try:
        parse(uri)
    except UnknownUri as error:
        raise MCPError(types.INVALID_PARAMS, f"Resource not found: {error}") from None
