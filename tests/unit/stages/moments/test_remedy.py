import json

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.events import MemoriesShown, ToolFailed
from subcog.bus.signals import abstained, degraded
from subcog.bus.values import Action
from subcog.config.settings import FailureSettings
from subcog.stages.moments.remedy import (
    HEADING,
    NAMESPACES,
    failure_query,
    remedy,
)
from subcog.stages.ports import RecallUnavailable
from tests.emissions import emitted
from tests.fakes import NOW, PLACE, FakeRecall, FakeSessions, make_hit, make_memory
from tests.waiting import PATIENCE_S

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
    with anyio.fail_after(PATIENCE_S):
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


LINKER = (
    "ld: cannot find -lproj: No such file or directory\ncollect2: error: ld returned 1 exit status"
)
SPIRE = "httpx.HTTPStatusError: '429 Too Many Requests' for url 'https://api.spire.com/v2'"


@pytest.mark.parametrize(
    ("error", "text", "is_known"),
    [
        (LINKER, "'cannot find -lproj' until libproj-dev is installed", True),
        (LINKER, "the grid files are missing until they are fetched", False),
        (SPIRE, "Spire answers 429 from 512 on", True),
        (SPIRE, "Spire bills by the month", False),
        (SPIRE, "GitHub answers 429 from 5000 on", False),
    ],
)
async def test_it_is_known_by_another_line_or_by_its_code(error, text, is_known):
    class ByWords(FakeRecall):
        async def recall(self, query):
            found = await super().recall(query)
            relevance = 0.9 if "lproj" in query.text else 0.1
            return replace(found, hits=(about(text, relevance),))

    assert bool((await remedied(failed(error), recall=ByWords()))[1]) == is_known


async def test_nothing_is_brought_up_twice_in_one_context():
    sessions = FakeSessions()
    assert (await remedied(sessions=sessions))[0] != {}
    assert (await remedied(sessions=sessions))[0] == {}
    assert (await remedied(failed(agent="a1"), sessions=sessions))[0] != {}


async def test_what_is_not_relevant_enough_stays_out():
    other = about("ECONNREFUSED 127.0.0.1:9000 until MinIO is up", relevance=0.5)
    assert (await remedied(recall=FakeRecall(hits=[other])))[0] == {}


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
