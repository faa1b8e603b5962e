import json
from datetime import timedelta

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.anchors import CodeState
from subcog.bus.events import ActionProposed, MemoriesShown
from subcog.bus.signals import abstained, degraded, proposed
from subcog.bus.values import Action, FileChange
from subcog.config.settings import ActionSettings
from subcog.stages.moments.reminder import NOTHING_KNOWN, KnownAtAct
from subcog.stages.moments.warn import HEADING, lifts, warn
from subcog.stages.ports import RecallUnavailable
from tests.emissions import emitted
from tests.fakes import NOW, PLACE, FakeSessions, FakeWarnings, make_memory
from tests.waiting import PATIENCE_S

SETTINGS = ActionSettings(enabled=True, tools=("Bash",), min_relevance=0.6, max_results=2)
RULE = "Never run `alembic upgrade head` on staging; use `scripts/migrate.sh staging`."
BAD = "alembic upgrade head"


def about(command=BAD, **changes):
    fields = {"trace": "t1", "session": "s1", "client": "claude", "place": PLACE}
    return ActionProposed(action=Action(tool="Bash", command=command), **(fields | changes))


async def warned(event=None, *, known=None, sessions=None, settings=SETTINGS, at_act=NOTHING_KNOWN):
    known = [make_memory(1, RULE)] if known is None else known
    with anyio.fail_after(PATIENCE_S):
        said = await warn(
            event or about(),
            warnings=FakeWarnings(known),
            sessions=sessions or FakeSessions(),
            settings=settings,
            now=NOW,
            known=at_act,
        )
    return json.loads(said[0].body), said[1:]


async def test_the_memory_that_speaks_against_a_command_comes_before_it_is_run():
    with emitted(proposed) as told:
        answer, (shown,) = await warned()
    specific = answer["hookSpecificOutput"]
    assert set(specific) == {"hookEventName", "additionalContext"}, "it denies nothing"
    assert specific["hookEventName"] == "PreToolUse"
    assert specific["additionalContext"].startswith(f"{HEADING}\n<subcog-memory>\n")
    assert "scripts/migrate.sh" in specific["additionalContext"]
    assert isinstance(shown, MemoriesShown)
    assert shown.hook == "PreToolUse"
    assert told == [("warn", {"tool": "Bash", "outcome": "warned"})]


async def test_an_action_does_not_wait_for_a_search_of_the_project():
    class Watch:
        patience_s = 1.0

        async def check(self, memories, place, *, patience_s):
            self.patience_s = patience_s
            return {memory.id: CodeState(state="gone") for memory in memories}

    code = Watch()
    assert await warned(at_act=KnownAtAct(code)) == ({}, ())
    assert code.patience_s < 0.1


@pytest.mark.parametrize(
    "command", ["scripts/migrate.sh staging", "make test", "grep -rn alembic ."]
)
async def test_a_harmless_command_gets_nothing(command):
    with emitted(proposed) as told:
        assert await warned(about(command)) == ({}, ())
    assert told == [("warn", {"tool": "Bash", "outcome": "silent"})]


def patched(written):
    """A patch of several files: what is written into each, by its path."""
    changes = tuple(FileChange(path=path, written=text) for path, text in written.items())
    action = Action(tool="Edit", paths=tuple(written), written="x", changes=changes)
    return replace(about(), action=action)


@pytest.mark.parametrize(
    ("written", "warns"),
    [
        ({"src/a.py": "x", "gen/b.py": "x"}, True),
        ({f"src/{n}.py": "x" for n in range(15)} | {"gen/b.py": "x"}, True),
        ({"src/a.py": "x", "src/b.py": "x"}, False),
    ],
)
async def test_every_file_of_a_patch_is_checked(written, warns):
    rule = make_memory(1, "never edit files under gen/: they are written by codegen")
    answer, _ = await warned(patched(written), known=[rule])
    assert bool(answer) == warns


@pytest.mark.parametrize(
    ("written", "warns"),
    [
        ({"src/a.py": "x = 1", "tools/b.py": "print(x)"}, False),
        ({"tools/b.py": "x = 1", "src/a.py": "print(x)"}, True),
    ],
)
async def test_a_file_of_a_patch_is_judged_by_its_own_lines(written, warns):
    rule = make_memory(1, "never use print() in src/")
    answer, _ = await warned(patched(written), known=[rule])
    assert bool(answer) == warns


async def test_what_only_looks_gets_nothing():
    assert await warned(about(f"grep -rn '{BAD}' .")) == ({}, ())


@pytest.mark.parametrize(
    ("said", "lifted"),
    [
        ("alembic may be run on staging again", True),
        ("The staging database moved to Aurora, scripts/migrate.py is the script now", False),
        ("Next month we will drop the script, then alembic runs on staging", False),
        ("Exception: alembic may be run on the branch database", False),
    ],
)
def test_a_rule_is_lifted_by_what_takes_just_that_back(said, lifted):
    rule = make_memory(1, RULE)
    assert lifts(make_memory(2, said, contradicts=rule.id), rule, NOW) is lifted


@pytest.mark.parametrize(("days", "lifted"), [(10, True), (-10, False)])
def test_a_rule_that_a_dated_change_takes_back_holds_until_its_day(days, lifted):
    rule = make_memory(1, RULE)
    text = f"Starting {NOW - timedelta(days=days):%Y-%m-%d} we run alembic on staging"
    said = NOW - timedelta(days=400)
    newer = make_memory(2, text, contradicts=rule.id, updated_at=said)
    assert lifts(newer, rule, NOW) is lifted


async def test_a_memory_warns_once_in_a_context_unless_it_changed():
    sessions = FakeSessions()
    assert (await warned(sessions=sessions))[1]
    assert await warned(sessions=sessions) == ({}, ())
    assert (await warned(about(agent="a1"), sessions=sessions))[1], "a sub-agent has its own"
    changed = make_memory(1, f"{RULE} Always.")
    assert (await warned(known=[changed], sessions=sessions))[1]


async def test_what_a_prompt_brought_comes_again_at_the_very_act():
    sessions = FakeSessions()
    sessions.show("s1", frozenset({make_memory(1, RULE).seen_key}))
    assert (await warned(sessions=sessions))[1]


async def test_without_the_memories_the_action_goes_on():
    class Gone:
        async def warning(self, keys, scopes):
            raise RecallUnavailable

    with emitted(degraded) as told, emitted(abstained) as why:
        said = await warn(
            about(), warnings=Gone(), sessions=FakeSessions(), settings=SETTINGS, now=NOW
        )
    assert json.loads(said[0].body) == {}
    assert told == [("warn", {"reason": "search.unavailable"})]
    assert why == [("warn", {"reason": "search_unavailable"})]


async def test_it_can_be_limited_to_nothing():
    assert await warned(settings=replace(SETTINGS, max_results=0)) == ({}, ())
