"""A reviewing with a transcript to write in, and what is said in it."""

from __future__ import annotations

import itertools
import json
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel

from subcog.bus.bus import Bus
from subcog.bus.events import (
    CaptureSettled,
    CompactionStarted,
    ResponseReady,
    ReviewRequested,
    SessionEnded,
    TurnEnded,
)
from subcog.bus.values import Kept
from subcog.config.load import load_settings
from subcog.pipeline.app.review import SessionReviewer
from subcog.pipeline.app.review_captures import ReviewCaptures
from subcog.sinks.sessions import Sessions
from subcog.sinks.transcripts.reader import Transcripts
from tests.waiting import PATIENCE_S

from ....fakes import NOW, PLACE, FakeRecall

DECISION = "We decided to use argon2id for password hashing because bcrypt truncates at 72 bytes."
RULE = "Always run the migrations before the tests, otherwise the schema is stale."
ORDER = "Hash the passwords of new users with argon2id"


class FakeConversations:
    """Keeps what was said in a list, as (hook, passage)."""

    def __init__(self):
        self.kept = []

    async def was_forgotten(self, event):
        return False

    async def forgotten(self, event):
        return lambda message: False

    @asynccontextmanager
    async def holding(self, place, session):
        yield ()

    async def keep(self, event, said):
        self.kept += [(event.hook, one) for one in said]
        return len(said)


class House:
    """A reviewing with a transcript to write in, and everything that it captured."""

    def __init__(self, folder: Path, *, clean=lambda text, known: text, **settings: str) -> None:
        self.file = folder / "session.jsonl"
        self.marks = folder / "transcripts.json"
        self.bus = Bus()
        self.recall = FakeRecall()
        self.captured = []
        self.outcome = "stored"
        self.gate = None
        self.settings = load_settings(folder / "none.toml", settings).settings
        self.numbers = itertools.count()
        self.conversations = FakeConversations()
        self.reviewing = SessionReviewer(
            self.bus,
            settings=self.settings,
            sessions=Sessions(),
            transcripts=Transcripts(self.marks),
            captures=ReviewCaptures(
                settings=self.settings,
                recall=self.recall,
                capture=self.capture,
                new_id=self.new_id,
                clock=lambda: NOW,
            ),
            conversations=self.conversations,
            clean=clean,
            new_id=self.new_id,
        )

    def new_id(self) -> str:
        return f"{next(self.numbers):026d}"

    def forget(self) -> None:
        """As another daemon would begin: with what is in the file of marks alone."""
        self.reviewing._transcripts = Transcripts(self.marks)
        self.reviewing._sessions = Sessions()

    async def capture(self, request):
        if self.gate is not None:
            await self.gate.wait()
        self.captured.append(request)
        kept = Kept(outcome=self.outcome, namespace=request.namespace, memory_id=request.id)
        return CaptureSettled(trace=request.trace, kept=kept)

    @asynccontextmanager
    async def running(self):
        for event, handler in (
            (CompactionStarted, self.reviewing.preserve),
            (TurnEnded, self.reviewing.finish_turn),
            (SessionEnded, self.reviewing.finish_session),
            (ReviewRequested, self.reviewing.review),
        ):
            self.bus.subscribe(event, handler, name=handler.__name__, concurrency=4)
        with anyio.fail_after(PATIENCE_S):
            async with self.bus:
                yield

    def say(self, text, role="user", **more):
        at = "2026-03-01T12:00:00Z"
        line = {"type": role, "timestamp": at, "message": {"content": text}} | more
        with self.file.open("a") as out:
            out.write(json.dumps(line) + "\n")

    def do(self, tool, failed=False, **given):
        call = {"type": "tool_use", "id": "t", "name": tool, "input": given}
        self.say([call], "assistant")
        self.say([{"type": "tool_result", "tool_use_id": "t", "is_error": failed, "content": ""}])

    async def stop(self, **more):
        await self.tell(TurnEnded, **more)

    async def tell(self, kind, **more):
        """Publish, and wait until all that follows is settled."""
        fields = {"session": "s", "client": "claude", "place": PLACE, "transcript": str(self.file)}
        trace = f"{next(self.numbers):026d}"
        await self.bus.publish(kind(trace=trace, **fields | more))
        await self.settle()

    async def settle(self):
        await anyio.wait_all_tasks_blocked()
        while self.bus._in_flight:
            await anyio.wait_all_tasks_blocked()
            await anyio.lowlevel.checkpoint()

    async def compact(self, within_s=5.0, **more):
        fields = {"session": "s", "client": "claude", "place": PLACE, "transcript": str(self.file)}
        event = CompactionStarted(trace=f"{next(self.numbers):026d}", **fields | more)
        return (await self.bus.request(event, ResponseReady, within_s=within_s)).body.decode()

    def of(self, namespace):
        return [request for request in self.captured if request.namespace == namespace]
