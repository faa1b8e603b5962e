"""What becomes of a memory that was shown, with the real hooks and a real daemon."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from tests.waiting import eventually

from .mcp_client import ERAS, call
from .mcp_client import session as mcp_session

POOL = "The connection pool is set up in src/db/pool_config.py, with max_overflow 37 and no echo"
QUESTION = "how is our connection pool set up?"
LOCKED = (
    "`pytest -n 8 tests/api` fails: OperationalError: database is locked. "
    "What works: `pytest -n 0 tests/api`.\nWhat differs: `-n 0` instead of `-n 8`."
)
_sessions = map("use-{}".format, itertools.count())


@pytest.fixture
def house(fresh):
    return fresh


@pytest.fixture
def session():
    return next(_sessions)


@pytest.fixture
def pool(house):
    return house.capture(POOL, "--namespace", "decisions")["id"]


def tool(house, session, event, name, tool_input, **more):
    payload = {
        "session_id": session,
        "cwd": str(house.project),
        "hook_event_name": event,
        "tool_name": name,
        "tool_input": tool_input,
        "tool_use_id": "toolu_1",
    }
    return house.hook(event, payload | more) or {}


def edit(house, session, path):
    """What Claude Code sends after an Edit."""
    file = f"{house.project}/{path}"
    written = {"file_path": file, "old_string": "x = 0\n", "new_string": "x = 1\n"}
    answer = {"filePath": file, "structuredPatch": [], "userModified": False}
    return tool(house, session, "PostToolUse", "Edit", written, tool_response=answer)


def run(house, session, command, event="PostToolUse"):
    answer = {"stdout": "", "stderr": "", "interrupted": False}
    return tool(house, session, event, "Bash", {"command": command}, tool_response=answer)


def stop(house, session, said):
    payload = {"session_id": session, "cwd": str(house.project), "last_assistant_message": said}
    house.hook("Stop", payload)


def use(house, memory):
    return house.ask("why", memory)["use"]


def counts(house, memory):
    return use(house, memory)["counts"]


def test_a_memory_that_is_taken_up_is_told_from_one_that_is_not(alone, session):
    house = alone  # how much one helps goes by what became of the others
    pool = house.capture(POOL, "--namespace", "decisions")["id"]
    assert POOL in house.context(QUESTION, session)
    edit(house, session, "src/other.py")
    assert counts(house, pool) == {}
    edit(house, session, "src/db/pool_config.py")
    eventually(lambda: counts(house, pool) == {"taken_up": 1})
    told = use(house, pool)
    assert (told["shown"], told["sessions"]) == (1, 1)
    assert (told["last"][0]["moment"], told["last"][0]["session"]) == ("PostToolUse", session)
    helped = told["mean"]
    assert told["low"] < 0.5 < helped < told["high"]
    assert told["floor_shift"] < 0

    other = next(_sessions)
    assert POOL in house.context(QUESTION, other)
    stop(house, other, "I looked at something else.")
    eventually(lambda: use(house, pool)["sessions"] == 2)
    assert counts(house, pool) == {"taken_up": 1}
    assert use(house, pool)["mean"] < helped


def test_an_answer_takes_up_a_value_and_quotes_an_id(house, pool, session):
    assert POOL in house.context(QUESTION, session)
    stop(house, session, f"It has a max_overflow of 37 ({pool}).")
    eventually(lambda: counts(house, pool) == {"taken_up": 1, "quoted": 1})


def test_a_correction_right_after_is_seen(alone, session):
    house = alone  # how far it moves the floor goes by what is usual among the others
    pool = house.capture(POOL, "--namespace", "decisions")["id"]
    assert POOL in house.context(QUESTION, session)
    house.prompt("No, that's outdated. We don't set up a connection pool there any more.", session)
    eventually(lambda: counts(house, pool) == {"corrected": 1})
    assert use(house, pool)["floor_shift"] > 0


def test_what_is_buried_is_shown_nowhere_unasked_and_still_found(house, pool):
    [buried] = house.ask("bury", pool)["memories"]
    assert (buried["vote"], buried["buried"]) == ("buried", True)
    first = next(_sessions)
    assert house.context(QUESTION, first) == ""
    start = {"session_id": next(_sessions), "cwd": str(house.project), "source": "startup"}
    assert POOL not in json.dumps(house.hook("SessionStart", start))
    assert edit(house, next(_sessions), "src/db/pool_config.py") == {}
    [found] = house.ask("recall", QUESTION)["memories"]
    assert (found["id"], found["buried"]) == (pool, True)
    assert "buried" in house.run("recall", QUESTION).stdout
    explained = house.ask("explain", QUESTION)["inject"]
    assert "buried" in explained["verdicts"][0]["why"]
    assert explained["uses"][0]["vote"] == "buried"

    [kept] = house.ask("keep", pool.removeprefix("mem_"))["memories"]
    assert (kept["vote"], kept["buried"]) == ("kept", False)
    assert POOL in house.context(QUESTION, next(_sessions))


def test_a_vote_outlives_the_daemon(house, pool, session):
    house.ask("bury", pool)
    house.kill()
    assert house.context(QUESTION, session) == ""
    assert use(house, pool)["buried"]


def test_a_vote_on_what_is_not_there_is_refused_as_a_whole(house, pool):
    done = house.run("bury", pool, "mem_nowhere")
    assert done.returncode == 1
    assert "no memory mem_nowhere" in done.stderr
    assert not use(house, pool)["buried"]


def test_a_warning_that_is_heeded_is_told_from_one_that_is_not(house):
    locked = house.capture(LOCKED, "--namespace", "gotchas")["id"]
    failing, passing = "pytest -n 8 tests/api", "pytest -n 0 tests/api"
    wise, stubborn = next(_sessions), next(_sessions)
    for session in (wise, stubborn):
        assert "database is locked" in json.dumps(run(house, session, failing, "PreToolUse"))
    run(house, wise, passing)
    eventually(lambda: counts(house, locked) == {"heeded": 1})
    error = "Exit code 1\nE   sqlite3.OperationalError: database is locked"
    tool(house, stubborn, "PostToolUseFailure", "Bash", {"command": failing}, error=error)
    eventually(lambda: counts(house, locked) == {"heeded": 1, "failed_anyway": 1})


def test_a_memory_that_is_captured_again_counts_as_wanted(house, pool):
    house.capture(POOL, "--namespace", "decisions")
    eventually(lambda: counts(house, pool) == {"captured_again": 1})


@pytest.mark.slow
def test_a_vote_that_is_no_evidence_changes_nothing_of_how_often_it_helps(alone):
    pool = alone.capture(POOL, "--namespace", "decisions")["id"]
    for _ in range(5):
        assert POOL in alone.context(QUESTION, next(_sessions))
    alone.run("daemon", "stop")

    def helps():
        use = alone.ask("why", pool)["use"]
        return [use[name] for name in ("mean", "low", "high", "floor_shift")]

    before = helps()
    alone.ask("bury", pool)
    assert helps() == before


def test_what_became_of_a_memory_goes_with_it_and_holds_no_text(house, pool, session):
    house.context(f"{QUESTION} zebra-prompt", session)
    stop(house, session, "zebra-answer: it has a max_overflow of 37")
    eventually(lambda: counts(house, pool) == {"taken_up": 1})
    assert "zebra" not in json.dumps(house.ask("why", pool))
    house.ask("backup", str(house.root / "copy.duckdb"))
    house.ask("bury", pool)
    house.ask("restore", str(house.root / "copy.duckdb"))
    assert counts(house, pool) == {"taken_up": 1}
    assert POOL in house.context(QUESTION, next(_sessions))
    house.ask("forget", pool)
    assert house.run("why", pool).returncode == 1


def counted(house, kind):
    found = re.search(rf'subcog_memory_use_total{{kind="{kind}"}} (\S+)', house.metrics())
    return float(found[1]) if found else 0.0


def test_uses_are_counted(house, pool, session):
    shown, taken_up = counted(house, "shown"), counted(house, "taken_up")
    house.context(QUESTION, session)
    edit(house, session, "src/db/pool_config.py")
    eventually(lambda: counted(house, "taken_up") == taken_up + 1)
    assert counted(house, "shown") == shown + 1


def test_where_nothing_is_to_be_learned_the_floor_stays(alone, session):
    house = alone
    house.env["SUBCOG_SEARCH_INTENT_CONTEXT_LEARN_FROM_USE"] = "false"
    pool = house.capture(POOL, "--namespace", "decisions")["id"]
    house.context(QUESTION, session)
    edit(house, session, "src/db/pool_config.py")
    eventually(lambda: counts(house, pool) == {"taken_up": 1})
    assert use(house, pool)["floor_shift"] == 0.0


def test_people_read_what_became_of_a_memory(house, pool, session):
    house.context(QUESTION, session)
    edit(house, session, "src/db/pool_config.py")
    eventually(lambda: counts(house, pool) == {"taken_up": 1})
    told = house.run("why", pool).stdout
    # How much it helps goes by what other memories did, too.
    assert re.search(
        r"shown 1 time in 1 session, taken up 1: helps with a probability of \d+% \(\d+%–\d+%\)",
        told,
    )
    assert "an action has its file" in told
    assert f"{pool}: buried" in house.run("bury", pool).stdout
    assert "buried" in house.run("why", pool).stdout


async def test_a_memory_that_the_agent_reads_by_its_id_is_quoted(fresh):
    kept = fresh.capture(POOL, "--namespace", "decisions")["id"]
    fresh.context(QUESTION, "over-mcp")
    async with mcp_session(fresh, ERAS[0], CLAUDE_CODE_SESSION_ID="over-mcp") as client:
        await call(client, "get", id=kept)
    told = use(fresh, kept)
    assert (told["counts"], told["last"][0]["session"]) == ({"quoted": 1}, "over-mcp")
    fresh.ask("bury", kept)
    async with mcp_session(fresh, ERAS[0]) as client:
        found = await call(client, "recall", query=QUESTION)
    assert [(one["id"], one["buried"]) for one in found["memories"]] == [(kept, True)]


def test_what_was_shown_used_and_kept_is_counted_by_day(house, session, pool):
    spare = house.capture("The office closes at six on Fridays")["id"]
    assert "max_overflow 37" in str(house.prompt(QUESTION, session=session))
    edit(house, session, "src/db/pool_config.py")
    eventually(lambda: house.ask("stats")["most_used"])
    house.prompt("thanks, that is all", session=session)
    stats = house.ask("stats", "--days", "2")
    _, today = stats["days"]
    counted = {name: today[name] for name in ("prompts", "served", "shown", "used", "asked")}
    assert counted == {"prompts": 2, "served": 1, "shown": 1, "used": 1, "asked": 2}
    assert (stats["memories"], stats["unused"], today["automatic"]) == (2, 1, 0)
    assert [(one["id"], one["used"]) for one in stats["most_used"]] == [(pool, 1)]
    assert stats["log_since"]
    assert today["tokens"] > 0
    shown = house.run("stats").stdout
    assert today["day"] in shown
    assert f"used once: {pool}" in shown
    assert "2 memories, 1 of them never shown" in shown
    assert spare not in shown
