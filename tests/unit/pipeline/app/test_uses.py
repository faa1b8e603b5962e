"""What is followed and what is not; the way through hooks and daemon is an integration test."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from subcog.bus.events import (
    CaptureSettled,
    MemoriesShown,
    ToolFailed,
    ToolUsed,
    TurnEnded,
)
from subcog.bus.prompts import InjectedMemory, MemoryContext, ProjectFacts
from subcog.bus.values import Action, Kept, Provenance, Shown
from subcog.pipeline.app.routes import ROUTES
from subcog.pipeline.app.uses import MAX_SESSION_CHARS, Followed, UseWatcher
from subcog.sinks.sessions import Sessions
from tests.fakes import (
    NOW,
    PLACE,
    FakeCatalogue,
    make_built,
    make_classified,
    make_hit,
    make_memory,
    make_parsed,
    make_prompt,
)

POOL = make_memory(1, content="The pool is set up in src/db/pool.py with python")


@dataclass
class FakeArchive(FakeCatalogue):
    """Has ``memories``, and remembers what is noted of their use."""

    noted: list[object] = field(default_factory=list)

    @property
    def loaded(self):
        return SimpleNamespace(uses=SimpleNamespace(note=self.noted.extend))

    @property
    def kinds(self):
        return [event.kind for event in self.noted]


@pytest.fixture
def archive():
    return FakeArchive([POOL])


@pytest.fixture
def watcher(archive):
    return UseWatcher(archive, sessions=Sessions(), clock=lambda: NOW)


def built(memory=POOL, *, facts=None, **changes):
    prompt = make_prompt(**changes)
    classified = make_classified([make_hit(memory)], parsed=make_parsed(prompt))
    if facts:
        classified = replace(classified, enriched=replace(classified.enriched, project=facts))
    one = InjectedMemory(id=memory.id, namespace="decisions", content_preview="", score=0.9)
    context = MemoryContext(search_intent_detected=True, injected_memories=(one,))
    return make_built(classified, "x", context=context)


def of_tool(kind, action=None, **more):
    action = action or Action(tool="Edit", paths=("src/db/pool.py",))
    told = {"trace": "t2", "session": "s1", "client": "claude", "place": PLACE, "action": action}
    return kind(**(told | more))


def test_each_route_that_follows_has_a_handler(watcher):
    assert {r.stage for r in ROUTES if r.stage.startswith("follow_")} == set(watcher.handlers)


async def test_what_a_prompt_was_given_is_followed(watcher, archive):
    await watcher.follow_prompt(make_prompt())
    await watcher.follow_context(built())
    await watcher.follow_use(of_tool(ToolUsed))
    first, second = archive.noted
    assert (first.kind, first.rank, first.moment) == ("shown", 1, "UserPromptSubmit")
    assert (second.kind, second.rank, second.moment) == ("taken_up", 0, "PostToolUse")
    assert {(one.memory_id, one.session, one.at) for one in archive.noted} == {(POOL.id, "s1", NOW)}


async def test_what_is_only_explained_is_not(watcher, archive):
    await watcher.follow_prompt(make_prompt(rehearsal=True))
    await watcher.follow_context(built(rehearsal=True))
    await watcher.follow_context(built(session=""))
    await watcher.follow_use(of_tool(ToolUsed, detailed=True))
    assert archive.noted == []


async def test_what_the_projects_own_files_name_is_known(watcher, archive):
    memory = make_memory(2, content="We only run python")
    await watcher.follow_context(built(memory, facts=ProjectFacts(stack=("Python 3.11",))))
    await watcher.follow_use(of_tool(ToolUsed, Action(tool="Bash", command="python -m x")))
    assert "taken_up" not in archive.kinds


async def test_what_is_shown_at_other_moments_is_fetched_from_its_scopes_alone(watcher, archive):
    one = Shown(memory_id=POOL.id, score=1.0, why="x")
    event = MemoriesShown(trace="t1", session="s1", hook="PreToolUse", shown=(one,))
    await watcher.follow_shown(event)
    assert archive.noted == []
    await watcher.follow_shown(replace(event, scopes=(PLACE.user,)))
    assert archive.noted == []
    await watcher.follow_shown(replace(event, scopes=PLACE.readable))
    assert archive.kinds == ["shown"]


async def test_while_the_memories_cannot_be_read_nothing_is_followed(watcher, archive):
    archive.raises = ConnectionError()
    one = Shown(memory_id=POOL.id, score=1.0, why="x")
    await watcher.follow_shown(
        MemoriesShown(trace="t", session="s", hook="x", shown=(one,), scopes=PLACE.readable)
    )
    assert archive.noted == []


async def test_a_notification_is_no_objection(watcher, archive):
    await watcher.follow_context(built())
    await watcher.follow_prompt(
        make_prompt("<task-notification>that's outdated: the pool of src/db/pool.py")
    )
    assert archive.kinds == ["shown"]


async def test_a_tool_that_was_stopped_has_not_failed(watcher, archive):
    await watcher.follow_context(built())
    await watcher.follow_failure(of_tool(ToolFailed, error="stopped", interrupted=True))
    assert archive.kinds == ["shown"]
    await watcher.follow_failure(of_tool(ToolFailed, error="no such file"))
    assert archive.kinds == ["shown", "taken_up"]


async def test_a_turn_without_a_last_word_tells_nothing(watcher, archive):
    await watcher.follow_context(built())
    ended = {"trace": "t2", "session": "s1", "client": "claude", "place": PLACE, "transcript": ""}
    await watcher.follow_answer(TurnEnded(**ended))
    assert archive.kinds == ["shown"]
    await watcher.follow_answer(TurnEnded(**ended, said="see src/db/pool.py"))
    assert archive.kinds == ["shown", "taken_up"]


def merged(hook, session="s1", outcome="merged"):
    source = Provenance(hook=hook, session=session)
    kept = Kept(outcome=outcome, namespace="decisions", memory_id=POOL.id)
    return CaptureSettled(trace="t9", kept=kept, memory=replace(POOL, sources=(source,)))


async def test_what_is_captured_again_was_wanted(watcher, archive):
    await watcher.follow_capture(merged("cli", ""))
    await watcher.follow_capture(merged("Stop", "s7"))
    await watcher.follow_capture(merged("Stop", "s8", outcome="stored"))
    assert [(one.kind, one.session) for one in archive.noted] == [
        ("captured_again", "t9"),
        ("captured_again", "s7"),
    ]


async def test_the_echo_of_what_was_shown_is_not_wanted_again(archive):
    sessions = Sessions()
    watcher = UseWatcher(archive, sessions=sessions, clock=lambda: NOW)
    sessions.show("s1", frozenset({(POOL.id, 1)}))
    await watcher.follow_capture(merged("Stop"))
    assert archive.noted == []
    await watcher.follow_capture(merged("UserPromptSubmit"))
    assert archive.kinds == ["captured_again"]


async def test_a_memory_that_an_agent_reads_by_its_id_is_quoted(watcher, archive):
    await watcher.was_read("", POOL.id)
    assert archive.noted == []
    await watcher.was_read("s1", POOL.id)
    await watcher.was_read("s1" * 1000, POOL.id)
    assert archive.kinds == ["quoted", "quoted"]
    assert len(archive.noted[1].session) == MAX_SESSION_CHARS


def test_a_session_is_followed_in_one_record():
    sessions = Sessions()
    assert sessions.state("s1").part(Followed) is sessions.state("s1").part(Followed)
