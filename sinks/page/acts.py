"""What a person does on the page: one request an act, for one memory or for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ...bus.results import (
    CaptureResult,
    ForgetResult,
    MemoryResult,
    Result,
    Undone,
    UndoResult,
    VotesResult,
)
from .bodies import body_of
from .render import render
from .screens import visit_of
from .visits import PagePort, Refused

_DONE = {
    "forget": "forgotten",
    "expire": "expired",
    "restore": "restored",
    "update": "changed",
    "supersede": "superseded",
    "keep": "kept",
    "bury": "buried",
}


class Act(Struct, frozen=True, forbid_unknown_fields=True):
    """What to do to ``ids``; the other fields are for those acts that need them.

    ``version`` is the one to restore, and for an update the one that was read.
    """

    do: Literal["forget", "expire", "restore", "update", "supersede", "keep", "bury", "undo"]
    ids: Annotated[tuple[str, ...], Meta(max_length=1000)]
    text: str | None = None
    namespace: str | None = None
    tags: str | None = None
    version: int | None = None


class Acts:
    """Answers the POST requests of a visit."""

    def __init__(self, port: PagePort) -> None:
        self._port = port

    @property
    def routes(self) -> list[Route]:
        """What changes something, or takes long."""
        return [
            Route("/act", self.act, methods=["POST"]),
            Route("/doctor", self.doctor, methods=["POST"]),
        ]

    async def act(self, request: Request) -> Response:
        """Do it; the answer says what was done, and what of it can be undone."""
        body = await body_of(request)
        try:
            act = msgspec.json.decode(body, type=Act)
        except (ValueError, RecursionError) as error:
            raise Refused(f"this is no change of a memory: {error}") from None
        fields = visit_of(request).fields
        if act.do == "undo":
            return JSONResponse(await self._undo(fields, act))
        if not act.ids:
            raise Refused("no memory was chosen")
        if act.do in {"keep", "bury"}:
            await self._port.ask(fields, act.do, VotesResult, {"ids": act.ids})
            done, failed = list(dict.fromkeys(act.ids)), list[str]()
        else:
            done, failed = await self._each(fields, act)
        if not done:
            raise Refused(failed[0])
        told = f"{_count(len(done))} {_DONE[act.do]}"
        if failed:
            told += f"; {len(failed)} not: {failed[0]}"
        return JSONResponse({"told": told, "undo": done, "failed": len(failed)})

    async def _undo(self, fields: dict[str, str], act: Act) -> dict[str, object]:
        answer = await self._port.ask(fields, "undo", UndoResult, {"ids": act.ids})
        undone, failed = answer.undone, answer.failed
        told = _taken_back(undone)
        if failed:
            told += f"; {len(failed)} not: {failed[0].reason}"
        return {
            "told": told,
            "undo": [one.id for one in failed],
            "failed": len(failed),
            "now": {one.id: one.now for one in undone},
        }

    async def _each(self, fields: dict[str, str], act: Act) -> tuple[list[str], list[str]]:
        """Do it to one after another: whose turn went well, and why the others' did not."""
        done, failed = [], []
        for id_ in dict.fromkeys(act.ids):
            try:
                await self._one(fields, act, id_)
                done.append(id_)
            except Refused as error:
                failed.append(str(error))
        return done, failed

    async def _one(self, fields: dict[str, str], act: Act, id_: str) -> None:
        params: Mapping[str, object]
        kind: type[Result]
        match act.do:
            case "forget":
                kind, params = ForgetResult, {"id": id_}
            case "expire":
                kind, params = MemoryResult, {"id": id_}
            case "restore":
                kind, params = MemoryResult, {"id": id_, "version": act.version}
            case "supersede":
                kind, params = CaptureResult, {"old": id_, "text": act.text or ""}
            case _:
                tags = None if act.tags is None else act.tags.split()
                given = {"text": act.text, "namespace": act.namespace, "tags": tags}
                kind, params = CaptureResult, {"id": id_, "version": act.version, **given}
        answer = await self._port.ask(fields, act.do, kind, params)
        if isinstance(answer, CaptureResult) and answer.outcome not in {"stored", "merged"}:
            raise Refused(answer.reason or f"it was {answer.outcome}")

    async def doctor(self, request: Request) -> Response:
        """What ``subcog doctor`` finds."""
        findings = await self._port.doctor(visit_of(request).fields)
        return HTMLResponse(render("findings.html", findings=findings))


def _taken_back(undone: Sequence[Undone]) -> str:
    if not undone:
        return "nothing was undone"
    if all(one.what == "forget" for one in undone):
        return f"{_count(len(undone))} {'is' if len(undone) == 1 else 'are'} back"
    told = f"undone: {undone[0].what if len(undone) == 1 else _count(len(undone))}"
    if any(one.kept is not UNSET for one in undone):
        told += "; what was said again or changed since is kept as well"
    return told


def _count(memories: int) -> str:
    return "1 memory" if memories == 1 else f"{memories} memories"
