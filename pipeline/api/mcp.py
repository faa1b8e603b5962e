"""An MCP session's way to the calls: the same calls as the command line's, in a client's words."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ...bus.values import Memory, Provenance, Scope
from ...hooks.client import VERSION
from ...sinks.mcp.port import Intent, Json, Refused
from ...stages.injection.pack import Budget, Offer, pack
from ...stages.text.envelope import (
    MORE,
    PREAMBLE,
    Note,
    extend,
    neutralise,
    preview,
    source_of,
)
from ...stages.text.summary import summarise
from ...stages.text.unicode import cut
from ..app.app import App
from ..entrance.handler import HookHandler
from ..entrance.set_aside import DurableHooks
from . import results as answers
from .dispatch import Calls
from .params import FAILURES, CallRefused, find_memory, reason_of

if TYPE_CHECKING:
    from ...sinks.mcp.server import Session

_log = logging.getLogger(__name__)
# The parts of an answer that somebody wrote.
WRITTEN = frozenset(
    "author content summary questions triggers reason why tags file query topic name text opening"
    " branch files hook client provenance also_said_by".split()
)
TEXTS_CHARS = 20_000
"""So many characters the memories of one answer have together."""

PROMPT_BUDGET = Budget(tokens=6_000, units=24_000)
"""Of the memories that a prompt quotes; what does not fit is named after them."""

_SHORT_CHARS = 200
_SEARCHES = {
    "howto": "howto",
    "troubleshoot": "troubleshoot",
    "explain": "explanation",
    "locate": "location",
}


class McpPort:
    """Asks for one client; ``fields`` are those of its pipe, and say which project it is in."""

    notice = PREAMBLE

    def __init__(
        self, app: App, calls: Calls, entrance: HookHandler, fields: dict[str, str]
    ) -> None:
        self._app = app
        self._calls = calls
        self._entrance = entrance
        self._hooks = DurableHooks(entrance)
        self._fields = fields

    @property
    def text_chars(self) -> int:
        return self._app.settings.capture.max_chars

    async def scopes(self) -> tuple[Scope, ...]:
        with _refusals():
            return (await self._entrance.places.find(self._fields)).readable

    async def call(self, name: str, params: Mapping[str, object], *, brief: bool = False) -> Json:
        done, body = await self._calls.handle(name, self._fields, msgspec.json.encode(params))
        answer: Json = msgspec.json.decode(body)
        if not done:
            raise Refused(self._why(answer))
        if name == "get":
            await self._app.uses.was_read(self._fields.get("session", ""), answer["id"])
        if name == "topics":
            for memory in answer.get("memories", ()):
                memory["summary"] = summarise(memory["content"])
        if brief:  # what is not told need not be made harmless
            for memory in answer.get("memories", ()):
                del memory["content"]
                for field in ("author", "buried", "replaced_by"):
                    if not memory.get(field):
                        memory.pop(field, None)
        harmless: Json = self._harmless(answer)
        return harmless

    def _why(self, refusal: Json) -> str:
        """What a refusal says; one that quotes memories is data like every other answer."""
        if "quotes" not in refusal:
            return str(refusal["error"])
        return f"{neutralise(self._app.clean(refusal['error']))}\n{self.notice}"

    async def hook(self, event: str, client: str, payload: bytes) -> bytes:
        """What a hook would print, for an agent whose hooks are calls of our tool."""
        fields = self._fields | {"client": client or self._fields.get("client", "")}
        fields.pop("id", None)  # it names the connection, and would be that of every hook
        # The payload's directory is the caller's word, and must not open another project.
        fields["project"] = fields.get("project") or fields.get("cwd", "")
        return (await self._hooks.answer(event, fields, payload)).body

    async def count(self) -> int:
        with _refusals():
            archive = await self._app.archive.get()
            counts = await archive.store.holding()
        return sum(counts.get(scope, 0) for scope in await self.scopes())

    async def find(self, memory_id: str) -> Json | None:
        with _refusals():
            archive = await self._app.archive.get()
            place = await self._entrance.places.find(self._fields)
            try:
                return self._told(await find_memory(archive, memory_id, place))
            except CallRefused:
                return None

    async def latest(self, *, limit: int, namespaces: tuple[str, ...] = ()) -> list[Json]:
        with _refusals():
            archive = await self._app.archive.get()
            found = await archive.latest(await self.scopes(), limit=limit, namespaces=namespaces)
        return [self._told(memory) for memory in found]

    async def starting(self, beginning: str, *, limit: int) -> list[str]:
        with _refusals():
            archive = await self._app.archive.get()
            return list(await archive.store.starting(beginning, await self.scopes(), limit=limit))

    async def session(self) -> Json:
        name = self._fields.get("session", "")
        shown = self._app.sessions.shown(name)
        known = self._app.sessions.info(name)
        memories = [await self.find(memory_id) for memory_id, _ in sorted(shown)]
        reasons = {memory_id: self._app.sessions.reason(name, memory_id) for memory_id, _ in shown}
        return {
            "session": name or None,
            "known": self._harmless(msgspec.to_builtins(known), written=True),
            "injected": [
                {key: memory[key] for key in ("id", "urn", "namespace", "summary", "version")}
                | {"score": None, "why": None}
                | self._harmless(msgspec.to_builtins(reasons[memory["id"]] or {}))
                for memory in memories
                if memory is not None
            ],
        }

    def weights(self, intent: Intent) -> Mapping[str, float]:
        weights = self._app.settings.search_intent.weights
        chosen: Mapping[str, float] = getattr(weights, _SEARCHES[intent])
        return chosen

    def bounded(self, memories: Sequence[Json]) -> list[Json]:
        if sum(len(memory["content"]) for memory in memories) <= TEXTS_CHARS:
            return list(memories)
        share = TEXTS_CHARS // len(memories)
        return [_cut(memory, share) for memory in memories]

    def quote(self, memories: Sequence[Json], *, brief: bool = False) -> str:
        holding = [memory for memory in memories if not memory.get("replaced_by")]
        offers = [
            Offer(memory["id"], len(holding) - rank, partial(_notes, memory, brief=brief))
            for rank, memory in enumerate(self.bounded(holding))
        ]
        packed = pack(offers, ceiling=len(offers), budget=PROMPT_BUDGET, now=self._app.clock())
        left_out = ", ".join(_address(memory_id) for memory_id in packed.refused)
        return extend(packed.text, [f"{MORE}{left_out}"] if left_out else ())

    def _told(self, memory: Memory) -> Json:
        answer = answers.memory_answer(memory)
        told: Json = self._harmless(msgspec.json.decode(msgspec.json.encode(answer)))
        return told

    def _harmless(self, answer: Any, *, written: bool = False) -> Any:
        """``answer`` with what somebody wrote redacted and neutralised."""
        if isinstance(answer, dict):
            return {
                key: self._harmless(value, written=written or key in WRITTEN)
                for key, value in answer.items()
            }
        if isinstance(answer, list):
            return [self._harmless(each, written=written) for each in answer]
        if written and isinstance(answer, str):
            return neutralise(self._app.clean(answer))
        return answer


@contextmanager
def _refusals() -> Iterator[None]:
    """Refuse in words what fails in a way that a call may fail."""
    try:
        yield
    except FAILURES as error:
        raise Refused(reason_of(error)) from None


def _address(memory_id: str) -> str:
    return f"subcog://memory/{memory_id}"


def _cut(memory: Json, limit: int) -> Json:
    """``memory`` with a text of at most ``limit`` characters, and where the ``whole`` is."""
    text = cut(memory["content"], limit)
    if text == memory["content"]:
        return memory
    return memory | {"content": text, "whole": _address(memory["id"])}


def _notes(memory: Json, *, brief: bool) -> tuple[Note, ...]:
    """``memory`` as it may be quoted, the longest form first."""
    if brief and memory.get("summary"):
        return (_note(memory, preview(memory["summary"])),)
    return tuple(_note(form, form["content"]) for form in (memory, _cut(memory, _SHORT_CHARS)))


def _note(memory: Json, text: str) -> Note:
    provenance = memory.get("provenance", {})
    known = {key: provenance.get(key, "") for key in ("hook", "file")}
    known["author"] = provenance.get("author") or memory.get("author") or ""
    whole = f"\nWhole: {memory['whole']}" if "whole" in memory else ""
    return Note(
        id=memory["id"],
        namespace=memory["namespace"],
        created_at=datetime.fromisoformat(memory["created_at"]),
        text=text + whole,
        source=source_of(Provenance(**known)),
        author=known["author"],
    )


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
        try:
            opened = await self._opened(fields)
        except Refused:
            _log.warning("an MCP client was sent away: its project's directory does not answer")
            return
        with opened as session:
            await session.serve(source, target)

    async def load(self) -> None:
        """Import the SDK; all who come meanwhile wait for the one who does."""
        async with self._loading:
            if not self._is_loaded:
                await anyio.to_thread.run_sync(_import_sdk)
                self._is_loaded = True

    async def opened_over_http(
        self, project: str, max_listeners: int
    ) -> AbstractContextManager[Session]:
        """A session of ``project``, or of the user alone where it is empty; after ``load``.

        Raises ``Refused`` where the project's disk does not answer.
        """
        fields = {"project": project} if project else {"scope": "user"}
        return await self._opened(fields, max_listeners=max_listeners)

    async def _opened(
        self, fields: dict[str, str], **limits: int
    ) -> AbstractContextManager[Session]:
        port = McpPort(self._app, self._calls, self._entrance, fields)
        return self._session(port, await port.scopes(), **limits)

    @contextmanager
    def _session(
        self, port: McpPort, scopes: tuple[Scope, ...], **limits: int
    ) -> Iterator[Session]:
        from ...sinks.mcp.server import Session

        self.sessions += 1
        try:
            with self._app.changes.watching(scopes) as watch:
                yield Session(port, watch, version=VERSION, **limits)
        finally:
            self.sessions -= 1


def _import_sdk() -> None:
    from ...sinks.mcp import server as mcp_server  # noqa: F401 - it is imported here and found there

    # It stays for good; to look through it for garbage would hold everything up for 35 ms.
    gc.freeze()
