import json

from subcog.bus.events import ActionProposed
from subcog.bus.values import Action
from subcog.config.settings import ActionSettings
from subcog.stages.actions.failures import FailureRecord
from subcog.stages.moments.warn import warn
from tests.fakes import NOW, PLACE, FakeSessions, FakeWarnings, make_memory

SETTINGS = ActionSettings(enabled=True, tools=("Bash",), min_relevance=0.5, max_results=2)
RECORD = FailureRecord(
    failed="npm install", errors=("ERESOLVE",), works="npm install --legacy-peer-deps"
)
MEMORY = make_memory(1, RECORD.text, namespace="gotchas")


async def warned(command, *, known=(MEMORY,), sessions=None, tool="Bash"):
    event = ActionProposed(
        trace="t1",
        session="s1",
        client="claude",
        place=PLACE,
        action=Action(tool=tool, command=command),
    )
    said = await warn(
        event,
        warnings=FakeWarnings(known),
        sessions=sessions or FakeSessions(),
        settings=SETTINGS,
        now=NOW,
    )
    shown = [(one.memory_id, one.score, one.why) for event in said[1:] for one in event.shown]
    return json.loads(said[0].body), shown


async def test_a_command_that_repeats_a_failure_is_warned_of_for_certain():
    answer, shown = await warned("npm install")
    assert shown == [(MEMORY.id, 0.97, "repeats a command that failed")]
    assert "--legacy-peer-deps" in answer["hookSpecificOutput"]["additionalContext"]


async def test_the_form_that_works_gets_nothing():
    for command in ("npm install --legacy-peer-deps", "cd a && npm install --legacy-peer-deps -q"):
        assert await warned(command) == ({}, [])


async def test_a_command_that_a_changed_file_mended_is_not_warned_of():
    record = FailureRecord(failed="make serve", errors=("KeyError",), files=(".env",))
    memory = make_memory(2, record.text, namespace="gotchas")
    assert await warned("make serve", known=(memory,)) == ({}, [])


async def test_it_comes_once_in_a_context():
    sessions = FakeSessions()
    assert (await warned("npm install", sessions=sessions))[1]
    assert (await warned("npm install", sessions=sessions))[1] == []
