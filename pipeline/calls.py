"""What the command line and other clients may ask of the daemon: one struct in, one object out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

import anyio
import msgspec
from msgspec import Struct

from ..bus.bus import BusClosed
from ..bus.events import (
    CaptureRequested,
    ForgetRequested,
    ForgetSettled,
    PromptEnriched,
    PromptSubmitted,
    QueryAnswered,
    QueryRequested,
    ResponseReady,
)
from ..bus.inbox import StageFailed
from ..bus.values import Mode, Place, ProjectFacts, Provenance, Query, Scope
from ..stages.parse import parse
from ..stages.ports import RecallUnavailable
from . import answers
from .app import App
from .entrance import Entrance

CAPTURE_S = 10.0
QUERY_S = 10.0
P = TypeVar("P", bound=Struct)
Fields = dict[str, str]


class CallRefused(ValueError):
    """A call that cannot be answered as asked; the message is for the user."""


class Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what a call takes."""


class CaptureParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``capture``."""

    text: str
    namespace: str | None = None
    tags: tuple[str, ...] = ()
    scope: Literal["project", "user", "org"] = "project"
    confidence: float = 1.0
    hook: str = "cli"


class CaptureManyParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``capture_many``."""

    captures: tuple[CaptureParams, ...]


class RecallParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``recall``."""

    query: str
    limit: int = 10
    mode: Mode = "hybrid"
    namespace: str | None = None


class IdParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``get`` and ``forget``."""

    id: str


class TopicParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``topics``."""

    topic: str | None = None
    limit: int = 100


class TextParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``classify`` and ``explain``."""

    text: str


class PageParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``export``."""

    offset: int = 0
    limit: int = 500


class NoParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``status``."""


class Calls:
    """Answers calls. ``handle`` is the one entrance."""

    def __init__(self, app: App, entrance: Entrance, status: Callable[[], dict[str, Any]]) -> None:
        self._app = app
        self._entrance = entrance
        self._status = status
        self._table: dict[str, tuple[type[Params], Callable[..., Awaitable[Any]]]] = {
            "capture": (CaptureParams, self.capture),
            "capture_many": (CaptureManyParams, self.capture_many),
            "recall": (RecallParams, self.recall),
            "get": (IdParams, self.get),
            "forget": (IdParams, self.forget),
            "topics": (TopicParams, self.topics),
            "classify": (TextParams, self.classify),
            "explain": (TextParams, self.explain),
            "export": (PageParams, self.export),
            "status": (NoParams, self.status),
        }

    async def handle(self, name: str, fields: Fields, body: bytes) -> tuple[bool, bytes]:
        """Whether the call succeeded, and its answer or ``{"error": …}`` as JSON."""
        try:
            kind, method = self._table[name]
            params = msgspec.json.decode(body or b"{}", type=kind)
            answer = await method(params, self._entrance.place(fields))
        except KeyError:
            return False, _refusal(f"unknown call {name}; known: {', '.join(self._table)}")
        except (msgspec.DecodeError, CallRefused) as error:
            return False, _refusal(str(error))
        except (RecallUnavailable, TimeoutError, BusClosed) as error:
            return False, _refusal(str(error) or "the daemon did not answer in time")
        except StageFailed as error:
            cause = error.__cause__
            told = str(cause) if isinstance(cause, ConnectionError) else str(error)
            return False, _refusal(told)
        return True, msgspec.json.encode(answer)

    # --- keeping ---------------------------------------------------------------------------------

    async def capture(self, params: CaptureParams, place: Place) -> dict[str, Any]:
        if not params.text.strip():
            raise CallRefused("there is no text to capture")
        if not 0.0 <= params.confidence <= 1.0:
            raise CallRefused(f"confidence = {params.confidence}; allowed: 0.0 to 1.0")
        request = CaptureRequested(
            trace=self._app.new_id(),
            id=f"mem_{self._app.new_id()}",
            text=params.text,
            scope=_scope(params.scope, place),
            namespace=params.namespace,
            tags=params.tags,
            confidence_percent=round(params.confidence * 100),
            provenance=Provenance(hook=params.hook, branch=place.branch or ""),
        )
        with anyio.fail_after(CAPTURE_S):
            settled = await self._app.keeper.capture(request)
        return answers.capture_answer(settled)

    async def capture_many(self, params: CaptureManyParams, place: Place) -> dict[str, Any]:
        results: list[dict[str, Any] | None] = [None] * len(params.captures)

        async def one(number: int, capture: CaptureParams) -> None:
            try:
                results[number] = await self.capture(capture, place)
            except CallRefused as error:
                results[number] = {"outcome": "declined", "reason": str(error)}

        async with anyio.create_task_group() as tasks:
            for number, capture in enumerate(params.captures):
                tasks.start_soon(one, number, capture)
        return {"results": results}

    async def forget(self, params: IdParams, place: Place) -> dict[str, Any]:
        memory_id = await self._full_id(params.id, place)
        event = ForgetRequested(trace=self._app.new_id(), id=memory_id, scopes=place.readable)
        settled = await self._app.bus.request(event, ForgetSettled, within_s=CAPTURE_S)
        if not settled.found:
            raise CallRefused(_not_found(params.id, place))
        return {"id": memory_id, "forgotten": True}

    # --- finding ---------------------------------------------------------------------------------

    async def recall(self, params: RecallParams, place: Place) -> dict[str, Any]:
        if not 1 <= params.limit <= 1000:
            raise CallRefused(f"limit = {params.limit}; allowed: 1 to 1000")
        query = Query(
            text=params.query,
            scopes=place.readable,
            limit=params.limit,
            mode=params.mode,
            namespaces=(params.namespace,) if params.namespace else (),
        )
        event = QueryRequested(trace=self._app.new_id(), query=query)
        answered = await self._app.bus.request(event, QueryAnswered, within_s=QUERY_S)
        archive = await self._app.archive.get()
        topics = archive.topics.search(query.text, query.scopes)
        return answers.recall_answer(answered.query, answered.recalled, topics)

    async def get(self, params: IdParams, place: Place) -> dict[str, Any]:
        memory_id = await self._full_id(params.id, place)
        archive = await self._app.archive.get()
        found = await archive.store.get([memory_id], place.readable)
        if not found:
            raise CallRefused(_not_found(params.id, place))
        return answers.memory_answer(found[0])

    async def _full_id(self, given: str, place: Place) -> str:
        """The id that ``given`` is, with or without its URI or prefix."""
        bare = given.strip().removeprefix("subcog://memory/")
        return bare if bare.startswith("mem_") else f"mem_{bare}"

    async def topics(self, params: TopicParams, place: Place) -> dict[str, Any]:
        archive = await self._app.archive.get()
        if params.topic is None:
            topics, scopes = archive.topics, place.readable
            return answers.topics_answer(
                topics.list(scopes, limit=params.limit), topics.count(scopes), topics.last_indexed
            )
        ids = archive.topics.lookup(params.topic, place.readable)
        memories = await archive.store.get(ids, place.readable)
        related = archive.topics.related(params.topic, place.readable)
        return answers.topic_answer(params.topic, memories, related)

    async def export(self, params: PageParams, place: Place) -> dict[str, Any]:
        archive = await self._app.archive.get()
        every = await archive.store.latest(place.readable, limit=params.offset + params.limit)
        page = every[params.offset :]
        return {"memories": [msgspec.to_builtins(memory) for memory in page]}

    # --- understanding ---------------------------------------------------------------------------

    async def classify(self, params: TextParams, place: Place) -> dict[str, Any]:
        prompt = self._prompt(params.text, place)
        parsed = parse(prompt)
        event = await self._app.classify(
            PromptEnriched(
                trace=prompt.trace,
                prompt=prompt,
                parsed=parsed.parsed,
                project=ProjectFacts(),
            )
        )
        return answers.classify_answer(params.text, event)

    async def explain(self, params: TextParams, place: Place) -> dict[str, Any]:
        prompt = self._prompt(params.text, place)
        ready = await self._app.bus.request(prompt, ResponseReady, within_s=QUERY_S)
        return answers.explain_answer(ready)

    def _prompt(self, text: str, place: Place) -> PromptSubmitted:
        return PromptSubmitted(
            trace=self._app.new_id(),
            session="",
            client="cli",
            place=place,
            text=text,
            detailed=True,
            rehearsal=True,
        )

    async def status(self, params: NoParams, place: Place) -> dict[str, Any]:
        return self._status()


def _scope(kind: str, place: Place) -> Scope:
    return {"project": place.project, "user": place.user}.get(kind) or place.organisation


def _not_found(memory_id: str, place: Place) -> str:
    return f"no memory {memory_id} in {place.project}, {place.user} or {place.organisation}"


def _refusal(message: str) -> bytes:
    return msgspec.json.encode({"error": message})
