from __future__ import annotations

import json
import sys
from datetime import timedelta

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.events import (
    ChangeSettled,
    ExpireRequested,
    RestoreRequested,
    ReviewRequested,
    SessionEnded,
)
from subcog.bus.signals import degraded
from subcog.bus.values import Scope
from subcog.pipeline.app.review import Reviews
from subcog.sinks.transcripts.reader import Transcripts
from subcog.stages.redaction.redact import Redactor
from tests.emissions import emitted

from ....fakes import PLACE, make_hit, make_memory
from .reviewed import DECISION, ORDER, RULE, House

LABELLED = f"Done.\n\n**Decision**: {DECISION}"


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


async def test_what_was_said_in_a_turn_is_kept_below_what_somebody_asked_to_keep(house):
    house.say(DECISION)
    async with house.running():
        await house.stop()

    (request,) = house.captured
    assert request.text == DECISION
    assert request.tags == ("auto-captured",)
    assert not request.explicit
    assert 85 <= request.confidence_percent < 100
    assert (request.provenance.hook, request.provenance.session) == ("Stop", "s")
    assert request.provenance.branch == "main"


async def test_what_was_given_away_in_a_turn_is_hidden_in_the_next(tmp_path):
    secret = "Tr0ub4dor" + "&Nine"
    redactor = Redactor.load()
    house = House(tmp_path, clean=lambda text, known: redactor.redact(text, known).text)
    house.say(f"Write the export, it logs in with the password {secret}.")
    async with house.running():
        await house.stop()
        house.say(f"Done; the script uses {secret}.", role="assistant")
        await house.stop()
        house.forget()
        house.say(f"It ran with {secret}.", role="assistant")
        await house.stop()

    said = [one.text for _, one in house.conversations.kept]
    assert "Done; the script uses [redacted:said-secret]." in said
    assert said[-1] == "It ran with [redacted:said-secret]."
    assert secret not in str(said)


def known_as(house):
    """The memory that the first capture made."""
    return replace(make_memory(7, DECISION, namespace="decisions"), id=house.captured[0].id)


def settle_each(house, *kinds, failures=(), missing=""):
    """Settle each change of ``kinds``, or raise the next of ``failures``; the ids come back.

    The memory with the id ``missing`` is not there.
    """
    asked, failures = [], iter(failures)

    async def settle(event):
        asked.append(event.id)
        if failure := next(failures, None):
            raise failure
        if event.id == missing:
            return ChangeSettled(trace=event.trace, missing=missing)
        return ChangeSettled(trace=event.trace, memory=replace(known_as(house), id=event.id))

    for kind in kinds:
        house.bus.subscribe(kind, settle, name=kind.__name__, fails_request=True)
    return asked


@pytest.mark.parametrize(
    ("version", "after", "ended"),
    [(1, timedelta(), True), (2, timedelta(), True), (2, timedelta(seconds=5), False)],
    ids=["kept", "annotated", "changed"],
)
async def test_what_the_next_message_takes_back_holds_no_more(house, version, after, ended):
    expired = settle_each(house, ExpireRequested)
    house.say(DECISION)
    async with house.running():
        await house.stop()
        known = known_as(house)
        changed = replace(known, version=version, updated_at=known.created_at + after)
        house.recall.hits = [make_hit(changed)]
        house.say("no wait, scrap that. bcrypt is fine", timestamp="2026-03-01T12:01:00Z")
        await house.stop()
        house.say("no wait, scrap that", timestamp="2026-03-01T12:02:00Z")
        await house.stop()

    assert expired == [house.captured[0].id] * ended
    told = house.reviewing._sessions.take_closed("s")
    assert [(one.memory_id, one.how) for one in told] == [(one, "taken back") for one in expired]


async def test_a_compaction_is_not_told_to_keep_what_was_taken_back(house):
    settle_each(house, ExpireRequested)
    house.say(DECISION)
    async with house.running():
        await house.stop()
        assert DECISION in await house.compact()
        house.say("no wait, scrap that", timestamp="2026-03-01T12:01:00Z")
        assert DECISION not in await house.compact()


async def test_what_a_later_slice_takes_back_of_an_earlier_one_is_no_point(house):
    house.reviewing._transcripts = Transcripts(house.marks, slice_bytes=200)
    settle_each(house, ExpireRequested)
    house.say(DECISION)
    house.say("no wait, scrap that", timestamp="2026-03-01T12:01:00Z")
    async with house.running():
        assert DECISION not in await house.compact()


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "forgotten"])
async def test_what_was_superseded_by_what_is_taken_back_holds_again(house, is_there):
    asked = settle_each(house, RestoreRequested, ExpireRequested, missing="" if is_there else "old")
    house.say(DECISION)
    async with house.running():
        await house.stop()
        known = known_as(house)
        house.recall.hits = [make_hit(replace(known, supersedes="old"))]
        house.say("no wait, scrap that", timestamp="2026-03-01T12:01:00Z")
        await house.stop()

    assert asked == ["old", known.id]
    (told,) = house.reviewing._sessions.take_closed("s")
    assert (told.memory_id, told.restored) == (known.id, "old" if is_there else "")


async def test_what_could_not_be_taken_back_is_not_told_and_tried_again(house):
    expired = settle_each(house, ExpireRequested, failures=[ConnectionError("no disk")])
    house.say(DECISION)
    async with house.running():
        await house.stop()
        house.recall.hits = [make_hit(known_as(house))]
        house.say("no wait, scrap that", timestamp="2026-03-01T12:01:00Z")
        with emitted(degraded) as told:
            await house.stop()
        assert house.reviewing._sessions.take_closed("s") == ()
        await house.stop()

    assert ("review", {"reason": "store.unavailable"}) in told
    assert expired == [house.captured[0].id] * 2
    assert [one.memory_id for one in house.reviewing._sessions.take_closed("s")] == expired[1:]


async def test_what_is_taken_back_before_it_is_read_is_not_kept(house):
    house.say(DECISION)
    house.say(f"Done.\n\n**Decision**: {DECISION}", "assistant")
    house.say("never mind, that was a bad idea", timestamp="2026-03-01T12:01:00Z")
    async with house.running():
        await house.stop()

    assert house.of("decisions") == []


async def test_what_was_looked_at_is_not_looked_at_again(house):
    house.say(DECISION)
    async with house.running():
        await house.stop()
        await house.stop()
        house.forget()
        await house.stop()

    assert len(house.captured) == 1


async def test_what_is_read_twice_has_one_identity(house):
    house.say(DECISION)
    async with house.running():
        await house.stop()
        house.marks.unlink()
        house.forget()
        await house.stop()

    first, second = house.captured
    assert first.id == second.id


async def test_what_the_store_could_not_take_is_read_again(house):
    house.say(DECISION)
    house.outcome = "failed"
    async with house.running():
        with emitted(degraded) as told:
            await house.stop()
        house.outcome = "stored"
        await house.stop()

    assert told == [("review", {"reason": "store.unavailable"})]
    assert [request.text for request in house.captured] == [DECISION, DECISION]


async def test_a_task_that_ended_while_the_store_took_nothing_is_recorded_later(house):
    house.outcome = "failed"
    async with house.running():
        for order, file in ((ORDER, "a.py"), ("Translate the invoices into French", "b.py")):
            house.say(order)
            house.do("Write", file_path=f"/src/shop/{file}")
            await house.stop()
        house.captured.clear()
        house.outcome = "stored"
        await house.stop()

    first, second = house.of("tasks")
    assert (first.text.splitlines()[0], second.text.splitlines()[0]) == (
        ORDER,
        "Translate the invoices into French",
    )
    assert first.text.endswith("Files: a.py")


async def test_each_part_of_a_long_stretch_has_limits_of_its_own(tmp_path):
    house = House(tmp_path, HOOK_STOP_MAX_CAPTURES="1")
    house.reviewing._transcripts = Transcripts(house.marks, slice_bytes=512)
    things = (
        "invoices tokens parcels refunds vouchers baskets prices stocks carriers returns".split()
    )
    for thing in things:
        house.say(f"Translate the {thing} into French")
        house.do("Write", file_path=f"/src/shop/{thing}.py")
    for said in (DECISION, RULE):
        house.say(said)
        house.say("x" * 600, "assistant")
    async with house.running():
        await house.stop()

    assert len(house.of("tasks")) == len(things)
    assert {DECISION, RULE} <= {request.text for request in house.captured}


async def test_nothing_is_kept_where_the_settings_say_so(tmp_path):
    house = House(tmp_path, HOOK_STOP_AUTO_CAPTURE="false", SUBCOG_CAPTURE_TASKS_ENABLED="false")
    house.say(DECISION)
    house.do("Write", file_path="/src/shop/a.py")
    async with house.running():
        await house.stop()

    assert house.captured == []


async def test_a_last_word_that_is_not_written_yet_is_waited_for(house, monkeypatch):
    async def written_meanwhile(delay_s):
        house.say([{"type": "text", "text": LABELLED}], "assistant")

    house.say("what did we decide?")
    monkeypatch.setattr("subcog.pipeline.app.review.anyio.sleep", written_meanwhile)
    async with house.running():
        await house.reviewing.review(
            ReviewRequested(
                trace="t",
                session="s",
                client="claude",
                place=PLACE,
                transcript=str(house.file),
                hook="Stop",
                said=LABELLED,
            )
        )

    assert [request.text for request in house.captured] == [DECISION]


async def test_without_a_transcript_the_last_word_counts(house):
    async with house.running():
        with emitted(degraded) as told:
            await house.stop(transcript="/nowhere", said=LABELLED)

    assert told == [("review", {"reason": "transcript.unreadable"})]
    assert [request.text for request in house.captured] == [DECISION]


async def test_a_sub_agents_findings_say_so(house):
    house.say(RULE, isSidechain=True)
    house.say([{"type": "text", "text": LABELLED}], "assistant", isSidechain=True)
    async with house.running():
        await house.stop(agent="Explore")

    (request,) = house.captured
    assert request.text == DECISION
    assert request.tags == ("auto-captured", "sub-agent")


# Reading such a session calls some hundred thousand functions.
MOST_CALLS = 4_000


async def test_a_long_session_is_read_beside_the_loop(house):
    """Between two turns of the loop its own thread never calls many functions."""
    block = {"type": "tool_result", "tool_use_id": "t", "content": "word " * 20_000}
    line = json.dumps({"type": "user", "message": {"content": [block]}}) + "\n"
    for number in range(50):
        house.say(f"{DECISION} And the weather is nice, number {number}. " * 5)
        with house.file.open("a") as out:
            out.write(line * 2)
    calls = [0]

    def count(frame, event, arg):
        calls[-1] += event == "call"

    async def tick():
        while True:
            await anyio.sleep(0.0005)
            calls.append(0)

    async with house.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        sys.setprofile(count)  # of this thread alone
        try:
            await house.stop()
        finally:
            sys.setprofile(None)
        tasks.cancel_scope.cancel()

    assert house.file.stat().st_size > 10_000_000
    assert len(house.captured) == 1
    assert len(calls) > 100
    assert max(calls) < MOST_CALLS


OTHER = replace(PLACE, project=Scope("project", "other-0123456789ab"), root="/src/other")


async def test_a_session_in_two_projects_takes_nothing_from_one_into_the_other(house):
    house.say(ORDER)
    house.do("Write", file_path="/src/shop/a.py")
    house.say(DECISION)
    async with house.running():
        await house.stop()
        house.captured.clear()
        house.file.unlink()
        house.file.touch()
        text = await house.compact(place=OTHER)
        await house.stop(place=OTHER)

    assert DECISION not in text
    assert house.captured == []


async def test_what_was_declined_is_not_said_to_be_kept(house):
    house.say(DECISION)
    house.outcome = "declined"
    async with house.running():
        text = await house.compact()

    assert "kept" not in text
    assert DECISION in text


# --- tasks ---------------------------------------------------------------------------------------


async def test_a_task_is_recorded_once_and_brought_up_to_date(house):
    house.say(ORDER)
    house.do("Write", file_path="/src/shop/user.py")
    async with house.running():
        await house.stop()
        house.do("Bash", failed=True, command="pytest -q")
        await house.stop()
        await house.stop()
        house.do("Bash", command="pytest -q")
        await house.stop()

    first, second, third = house.of("tasks")
    assert first.revises is None
    assert (second.revises, third.revises) == (first.id, first.id)
    assert [request.tags[0] for request in (first, second, third)] == [
        "unfinished",
        "unfinished",
        "success",
    ]
    assert first.text.startswith(ORDER)


async def test_a_task_of_what_was_forgotten_is_not_recorded_later(house):
    house.say(ORDER)
    async with house.running():
        await house.stop()
        house.reviewing.forget("s")
        house.say("ok go on")
        house.do("Write", file_path="/src/shop/user.py")
        await house.stop()

    assert not [record for record in house.of("tasks") if ORDER in record.text]


async def test_a_review_that_goes_on_keeps_nothing_of_what_is_forgotten_meanwhile(house):
    house.say(f"{ORDER}. {DECISION}")
    house.do("Write", file_path="/src/shop/user.py")
    keep = house.conversations.keep

    async def forget_meanwhile(event, said):
        house.reviewing.forget("s")
        return await keep(event, said)

    house.conversations.keep = forget_meanwhile
    async with house.running():
        await house.stop()
        await house.tell(SessionEnded)

    assert house.captured == []


async def test_the_end_of_a_session_settles_how_its_task_ended(house):
    house.say(ORDER)
    house.do("Bash", failed=True, command="pytest -q")
    async with house.running():
        await house.stop()
        await house.tell(SessionEnded)

    assert [request.tags[0] for request in house.of("tasks")] == ["unfinished", "failure"]
    assert not house.reviewing._sessions.state("s").part(Reviews)


async def test_talk_is_no_task(house):
    house.say("how are you?")
    house.say([{"type": "text", "text": "fine"}], "assistant")
    async with house.running():
        await house.stop()

    assert house.captured == []
