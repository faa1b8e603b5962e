from functools import partial

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.bus import Bus
from subcog.bus.events import CaptureRequested, CaptureSettled, PromptSubmitted
from subcog.bus.prompts import Marked
from subcog.bus.values import Kept, Place, Scope
from subcog.config.ids import next_ulid, ulid
from subcog.pipeline.app import captures
from subcog.pipeline.app.captures import CaptureService

PLACE = Place(project=Scope("project", "p"), root="/p", user=Scope("user", "u"), branch="main")
PROMPT = PromptSubmitted(trace=ulid(7), session="s", client="claude", place=PLACE, text="")


def _keeper(bus, problem=""):
    numbers = iter(range(100))
    return CaptureService(bus, new_id=lambda: f"id{next(numbers)}", store_problem=lambda: problem)


async def test_what_is_marked_is_requested_and_its_end_is_told():
    bus, seen = Bus(), []
    keeper = _keeper(bus)

    def store(event):
        seen.append(event)
        kept = Kept(outcome="stored", namespace="decisions", memory_id=event.id)
        return CaptureSettled(trace=event.trace, kept=kept)

    bus.subscribe(CaptureRequested, store, name="store")
    bus.subscribe(CaptureSettled, keeper.settle, name="settle")
    async with bus:
        kept = await keeper.keep(Marked(content="x", marker="[remember]"), prompt=PROMPT, number=2)
    assert kept.outcome == "stored"
    (request,) = seen
    assert request.id == f"mem_{next_ulid(PROMPT.trace, 2)}"
    assert request.scope == PLACE.project
    assert (request.provenance.session, request.provenance.branch) == ("s", "main")


async def test_a_prompt_is_heard_once_before_anything_of_it_is_kept():
    bus, heard = Bus(), []
    keeper = CaptureService(
        bus, new_id=lambda: "id", store_problem=str, hear=lambda *said: heard.append(said)
    )
    bus.subscribe(CaptureRequested, lambda event: heard.append(event.text), name="store")
    prompt = replace(PROMPT, text="The password is …\n[remember] x")
    async with bus:
        for number, text in enumerate("xy"):
            with anyio.move_on_after(0):
                await keeper.keep(Marked(content=text, marker="m"), prompt=prompt, number=number)
    assert heard == [("s", prompt.text), "x", "y"]


@pytest.fixture
def unhurried(monkeypatch):
    """Of a deadline of 10 s nearly all is left over for a busy machine."""
    monkeypatch.setattr(captures, "RESERVE_S", 9.95)
    return partial(anyio.fail_after, 10)


async def test_a_capture_outlives_the_prompt_that_brought_it(unhurried):
    bus, gate, ends = Bus(), anyio.Event(), []
    keeper = _keeper(bus)

    async def slow(event):
        await gate.wait()
        ends.append(event.id)

    bus.subscribe(CaptureRequested, slow, name="store")
    async with bus:
        with unhurried():
            marked = Marked(content="x", marker="@memory")
            kept = await keeper.keep(marked, prompt=PROMPT, number=0)
        assert kept.outcome == "pending"
        gate.set()
    assert len(ends) == 1


async def test_what_is_pending_says_what_is_wrong_with_the_store(unhurried):
    bus = Bus()
    keeper = _keeper(bus, problem="another process holds the database")
    async with bus:
        with unhurried():
            marked = Marked(content="x", marker="@memory")
            kept = await keeper.keep(marked, prompt=PROMPT, number=0)
    assert kept.reason == "another process holds the database"


async def test_an_end_that_nobody_waits_for_is_no_matter():
    keeper = _keeper(Bus())
    kept = Kept(outcome="stored", namespace="decisions")
    keeper.settle(CaptureSettled(trace="unknown", kept=kept))
