import math
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import msgspec
import pytest
from anyio import to_thread

from subcog.bus.bus import Bus, StageFailed
from subcog.bus.events import ResponseReady, SessionStarted
from subcog.config.paths import find_paths
from subcog.hooks.starter import missed_start_name, note_missed_start
from subcog.pipeline.app.archives import LazyArchive
from subcog.pipeline.entrance.greeting import Greetings, context_of, room_beside
from subcog.sinks.sessions import Sessions
from subcog.stages.inject import MAX_TOKENS
from subcog.stages.text.envelope import MAX_UNITS
from subcog.stages.text.unicode import count_tokens, count_units
from tests.fakes import OffTheLoop, make_prompt
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.anyio
START = SessionStarted(
    trace="t", session="s", client="claude", place=make_prompt("x").place, source="startup"
)
FIRST, SECOND = f"{1:032x}", f"{2:032x}"
SOON_S = 0.05


def says(event, context, **more):
    output = {"hookEventName": event, "additionalContext": context}
    return msgspec.json.encode(({"hookSpecificOutput": output} if context else {}) | more)


class House:
    """Greetings on a real bus, with a stage that greets whom it has not greeted yet."""

    def __init__(self, home, bus):
        self.text, self.slow, self.traces = "hello", False, []
        self.greeting = anyio.Event()
        self.app = SimpleNamespace(
            sessions=Sessions(),
            archive=LazyArchive(),
            bus=bus,
            projects=OffTheLoop(),
            paths=find_paths({"SUBCOG_HOME": str(home)}),
            new_id=lambda: f"trace {len(self.traces)}",
        )
        self.greetings = Greetings(self.app)
        bus.subscribe(SessionStarted, self.greet, name="greet")

    async def greet(self, event):
        self.traces.append(event.trace)
        first = not self.app.sessions.is_greeted(event.session)
        self.app.sessions.greet(event.session, by=event.trace)
        self.app.sessions.show(event.session, frozenset({("a", 1)}), by=event.trace)
        self.greeting.set()
        if self.slow:
            await anyio.sleep_forever()
        return ResponseReady(
            trace=event.trace, body=says("SessionStart", self.text if first else "")
        )

    def load(self):
        self.app.archive.arrive(object())

    async def start(self, event=START, request=FIRST, within_s=5.0):
        return context_of(await self.greetings.at_start(event, request, within_s=within_s))

    async def late_start(self, **told):
        with pytest.raises(TimeoutError):
            await self.start(within_s=SOON_S, **told)

    async def prompt(self, own="", within_s=5.0, session="s"):
        await self.greetings.find_missed(session)
        deadline = anyio.current_time() + within_s
        async with self.greetings.made_meanwhile(session, deadline, wanted=True):
            body = says("UserPromptSubmit", own)
        body, self.take_back = self.greetings.with_prompt(session, body)
        return context_of(body)

    def note(self, request=FIRST, **payload):
        body = msgspec.json.encode({"session_id": "s", "source": "startup", "cwd": "/p"} | payload)
        note_missed_start({b"id": request.encode()}, body, bytes(self.app.paths.data))


@asynccontextmanager
async def at_home(home):
    async with Bus() as bus:
        yield House(home, bus)


async def test_a_start_is_greeted_at_once_where_the_memories_are_there(tmp_path):
    async with at_home(tmp_path) as house:
        house.load()
        assert await house.start() == "hello"
        assert await house.prompt("found") == "found"


async def test_while_the_memories_are_loading_the_greeting_waits_for_the_prompt(tmp_path):
    async with at_home(tmp_path) as house:
        await house.late_start()
        assert house.traces == []
        assert await house.prompt("found", within_s=SOON_S) == "found"
        house.load()
        assert await house.prompt("found") == "hello\nfound"
        assert await house.prompt("found") == "found"


async def test_a_start_that_is_cancelled_is_greeted_with_the_prompt(tmp_path):
    async with at_home(tmp_path) as house:
        house.load()
        house.slow = True
        async with anyio.create_task_group() as group:
            group.start_soon(house.start)
            await house.greeting.wait()
            group.cancel_scope.cancel()
        assert not house.app.sessions.shown("s")
        house.slow = False
        assert await house.prompt() == "hello"
        assert house.app.sessions.shown("s") == {("a", 1)}


async def test_a_prompt_without_time_for_it_leaves_the_greeting_to_the_next(tmp_path):
    async with at_home(tmp_path) as house:
        await house.late_start()
        house.load()
        assert await house.prompt("found", within_s=0.0) == "found"
        house.slow = True
        assert await house.prompt("found", within_s=SOON_S) == "found"
        house.slow = False
        assert await house.prompt("found") == "hello\nfound"


async def test_a_prompt_that_fails_leaves_the_greeting_to_the_next(tmp_path):
    async with at_home(tmp_path) as house:
        await house.late_start()
        house.load()
        with pytest.raises(StageFailed):
            async with house.greetings.made_meanwhile("s", math.inf, wanted=True):
                raise StageFailed("parse")
        assert await house.prompt("found") == "hello\nfound"


async def test_an_agent_that_wants_it_so_is_greeted_with_the_prompt(tmp_path):
    async with at_home(tmp_path) as house:
        house.load()
        gemini = msgspec.structs.replace(START, client="gemini")
        assert await house.start(gemini) == ""
        assert await house.prompt("found") == "hello\nfound"
        assert await house.prompt("found") == "found"


async def test_a_session_that_starts_again_is_greeted_anew_and_silence_keeps_the_greeting(tmp_path):
    async with at_home(tmp_path) as house:
        house.load()
        gemini = msgspec.structs.replace(START, client="gemini")
        await house.start(gemini)
        house.text = "hello again"
        house.app.sessions.forget_shown("s")
        await house.start(gemini, SECOND)
        await house.start(gemini, SECOND)
        assert await house.prompt() == "hello again"


async def test_a_greeting_that_does_not_fit_waits_for_the_next_prompt(tmp_path):
    async with at_home(tmp_path) as house:
        house.text = "hello to everybody " * 20
        await house.late_start()
        house.load()
        full = "word " * 2200
        assert await house.prompt(full) == full
        assert await house.prompt() == house.text


async def test_a_greeting_that_comes_later_says_what_holds_by_then(tmp_path):
    async with at_home(tmp_path) as house:
        house.load()
        house.text = "hello to everybody " * 20
        await house.start(msgspec.structs.replace(START, client="gemini"))
        house.text = "a memory that is forgotten soon " * 20
        await house.prompt("word " * 2200)
        assert not house.app.sessions.shown("s")
        house.text = "hello"
        assert await house.prompt() == "hello"
        house.text = "hello again"
        house.take_back()
        assert await house.prompt() == "hello again"


async def test_a_greeting_whose_answer_did_not_arrive_waits_again(tmp_path):
    async with at_home(tmp_path) as house:
        await house.late_start()
        house.load()
        assert await house.prompt() == "hello"
        house.take_back()
        assert await house.prompt("own") == "hello\nown"
        assert await house.prompt() == ""


async def test_a_greeting_that_did_not_arrive_does_not_replace_a_newer_one(tmp_path):
    async with at_home(tmp_path) as house:
        await house.late_start()
        house.load()
        assert await house.prompt() == "hello"
        lost, house.text = house.take_back, "hello again"
        house.app.sessions.forget_shown("s")
        assert await house.start(msgspec.structs.replace(START, client="gemini")) == ""
        lost()
        assert await house.prompt() == "hello again"


async def test_a_start_that_no_daemon_saw_is_found_once(tmp_path):
    async with at_home(tmp_path) as house:
        house.note(source="clear")
        missed = await house.greetings.find_missed("s")
        assert (missed.session_id, missed.source, missed.cwd) == ("s", "clear", "/p")
        assert await house.greetings.find_missed("s") is None


async def test_only_the_first_prompt_after_a_start_looks_for_one_that_was_missed(tmp_path):
    async with at_home(tmp_path) as house:
        assert await house.greetings.find_missed("s") is None
        house.note()
        assert await house.greetings.find_missed("s") is None
        house.greetings.expect_start("s")  # before a compaction, for instance
        assert await house.greetings.find_missed("s") is not None


async def test_a_greeting_that_was_sent_and_did_not_arrive_goes_out_again(tmp_path):
    async with at_home(tmp_path) as house:
        house.load()
        await house.start()
        house.note()
        assert await house.prompt("found") == "hello\nfound"
        assert await house.prompt("found") == "found"


async def test_a_note_of_an_earlier_start_is_over_with_a_later_one(tmp_path):
    async with at_home(tmp_path) as house:
        house.note(FIRST)
        house.load()
        await house.start(request=SECOND)
        assert await house.prompt("found") == "found"
        assert not list(house.app.paths.missed_starts.iterdir())


async def test_nonsense_in_the_place_of_a_note_is_no_start(tmp_path):
    async with at_home(tmp_path) as house:
        file = house.app.paths.missed_starts / missed_start_name("s")
        file.parent.mkdir(parents=True)
        for text in ("", "[]", '{"id": 7}', '{"id": "9", "session_id": "another"}'):
            file.write_text(text)
            assert await house.greetings.find_missed("s") is None
            assert not file.exists()


async def test_a_disk_that_does_not_answer_holds_up_no_prompt(tmp_path, monkeypatch):
    async with at_home(tmp_path) as house:

        async def hang(*_, **__):
            await anyio.sleep_forever()

        monkeypatch.setattr(to_thread, "run_sync", hang)
        with anyio.fail_after(PATIENCE_S):
            assert await house.prompt("found") == "found"


@pytest.mark.parametrize("own", ["", "a short note " * 30, "word " * 1500, "漢" * 3000])
def test_two_contexts_in_one_answer_stay_inside_its_limits(own):
    room = room_beside(own)
    assert 0 <= room <= MAX_TOKENS - count_tokens(own) or room == 0
    assert count_units(own) > MAX_UNITS or count_units(own) + 1 + 4 * room <= MAX_UNITS
