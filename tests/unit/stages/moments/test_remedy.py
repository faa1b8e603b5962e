import json

import anyio
import pytest

from subcog.bus.actions import Action
from subcog.bus.events import MemoriesShown, ToolFailed
from subcog.bus.signals import abstained, degraded
from subcog.config.settings import FailureSettings
from subcog.stages.moments.remedy import (
    HEADING,
    MAX_LINE_CHARS,
    NAMESPACES,
    failure_query,
    remedy,
    salient_lines,
    salient_terms,
)
from subcog.stages.ports import RecallUnavailable
from tests.emissions import emitted
from tests.fakes import NOW, PLACE, FakeRecall, FakeSessions, make_hit, make_memory
from tests.waiting import ends_soon

ERROR = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5432"
BLOCKER = "CI fails with ECONNREFUSED 127.0.0.1:5432 until pg_isready; fixed by waiting for it"
SETTINGS = FailureSettings(enabled=True, min_similarity=0.6, max_results=3)


def failed(error=ERROR, **changes):
    fields = {"trace": "t1", "session": "s1", "client": "claude", "place": PLACE}
    action = Action(tool="Bash", command=changes.pop("text", ""))
    return ToolFailed(action=action, error=error, **(fields | changes))


def about(text=BLOCKER, relevance=0.8, number=1):
    return make_hit(make_memory(number, text, namespace="blockers"), relevance)


async def remedied(event=None, *, recall=None, sessions=None, settings=SETTINGS):
    with anyio.fail_after(5):
        said = await remedy(
            event or failed(),
            recall=recall or FakeRecall(hits=[about()]),
            sessions=sessions or FakeSessions(),
            settings=settings,
            now=NOW,
        )
    return json.loads(said[0].body), said[1:]


async def test_a_failure_brings_up_the_blocker_that_it_was_before():
    recall = FakeRecall(hits=[about()])
    answer, (shown,) = await remedied(recall=recall)
    added = answer["hookSpecificOutput"]
    assert added["hookEventName"] == "PostToolUseFailure"
    assert added["additionalContext"].startswith(f"{HEADING}\n<subcog-memory>")
    assert "pg_isready" in added["additionalContext"]
    assert isinstance(shown, MemoriesShown)
    (query,) = recall.queries
    assert (query.namespaces, query.scopes) == (NAMESPACES, PLACE.readable)


async def test_the_answer_names_the_hook_that_reported_the_failure():
    answer, _ = await remedied(failed(hook="PostToolUse"))
    assert answer["hookSpecificOutput"]["hookEventName"] == "PostToolUse"


@pytest.mark.parametrize("error", ["", "Exit code 1", "Exit code 1\nAssertionError: assert False"])
async def test_a_failure_that_says_nothing_is_left_alone(error):
    recall = FakeRecall(hits=[about()])
    with emitted(abstained) as told:
        assert await remedied(failed(error), recall=recall) == ({}, ())
    assert (recall.queries, told) == ([], [("remedy", {"reason": "no_subject"})])


async def test_what_shares_no_telling_word_with_the_error_is_not_about_it():
    other = about("ModuleNotFoundError: No module named 'psycopg2'; use psycopg2-binary", 0.95)
    event = failed("ModuleNotFoundError: No module named 'requests'")
    assert (await remedied(event, recall=FakeRecall(hits=[other])))[0] == {}


async def test_nothing_is_brought_up_twice_in_one_context():
    sessions = FakeSessions()
    assert (await remedied(sessions=sessions))[0] != {}
    assert (await remedied(sessions=sessions))[0] == {}
    assert (await remedied(failed(agent="a1"), sessions=sessions))[0] != {}


async def test_what_is_not_relevant_enough_stays_out():
    assert (await remedied(recall=FakeRecall(hits=[about(relevance=0.5)])))[0] == {}


async def test_without_a_search_the_agent_goes_on():
    with emitted(degraded) as told:
        assert (await remedied(recall=FakeRecall(raises=RecallUnavailable())))[0] == {}
    assert told == [("remedy", {"reason": "search.unavailable"})]


async def test_it_can_be_limited_to_nothing():
    none = FailureSettings(enabled=True, min_similarity=0.0, max_results=0)
    assert (await remedied(settings=none))[0] == {}


def test_a_bare_error_is_asked_for_with_the_command():
    question = failure_query(failed("Exit code 137\nKilled", text="cargo test --workspace"))
    assert question.text == "Killed\ncargo test --workspace"
    assert "cargo" in question.terms


TRACEBACK = """Exit code 1
Traceback (most recent call last):
  File "/home/u/shop/app/db.py", line 3, in <module>
    import psycopg2
ModuleNotFoundError: No module named 'psycopg2'"""
RUST = """Exit code 101
   Compiling shop v0.1.0 (/home/u/shop)
error[E0277]: the trait bound `Foo: Handler<_, _>` is not satisfied
  --> src/main.rs:10:5
help: consider borrowing"""
NODE = """Exit code 1
\x1b[31mError: connect ECONNREFUSED 127.0.0.1:5432\x1b[0m
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1555:16)"""


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (TRACEBACK, ("ModuleNotFoundError: No module named 'psycopg2'",)),
        (RUST, ("error[E0277]: the trait bound `Foo: Handler<_, _>` is not satisfied",)),
        (NODE, ("Error: connect ECONNREFUSED 127.0.0.1:5432",)),
        ("Exit code 137\nKilled", ("Killed",)),
        ("first line\nsecond line", ("second line",)),
    ],
)
def test_the_line_that_says_what_is_wrong_is_found(output, lines):
    assert salient_lines(output) == lines


@pytest.mark.parametrize(
    "output",
    [
        "",
        "Exit code 1",
        "Exit code 1\n\n",
        "Process exited with code 2\n",
        "error",
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
        "[Request interrupted by user for tool use]",
        "The user doesn't want to proceed with this tool use.",
    ],
)
def test_a_failure_that_says_nothing_of_its_cause_has_no_such_line(output):
    assert salient_lines(output) == ()


def test_what_differs_from_run_to_run_is_left_out():
    said = (
        "2026-03-01 12:00:00,123 PoolError: cannot open /home/u/shop/var/jobs.db at 0x7f3a2b10 "
        "in worker 12345678, request 3fa85f64-5717-4562-b3fc-2c963f66afa6 (queue.py:88)"
    )
    assert salient_lines(said) == (
        "PoolError: cannot open jobs.db at in worker , request (queue.py)",
    )


def test_what_every_error_says_is_no_telling_word():
    assert salient_terms(["ModuleNotFoundError: No module named 'psycopg2'"]) == ("psycopg2",)
    assert salient_terms(["AssertionError: assert False"]) == ()
    assert "5432" in salient_terms(["Error: connect ECONNREFUSED 127.0.0.1:5432"])


@pytest.mark.parametrize(
    "output", ["x" * 1_000_000, "error " * 200_000, "/a" * 400_000, "\n" * 10**6]
)
def test_an_output_of_any_size_gives_short_lines(output):
    assert all(len(line) <= MAX_LINE_CHARS for line in salient_lines(output))


@pytest.mark.parametrize("unit", [" ", "\n", "x", "/a", "<"])
def test_of_a_flood_only_the_ends_are_read(unit):
    with ends_soon():
        salient_lines(unit * 5_000_000)
