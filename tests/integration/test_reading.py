"""What a prompt gets because its candidates were read, through the real hook."""

from __future__ import annotations

import json
import time
from itertools import count

import pytest

from subcog.sinks.search.retriever import RERANK_MIN_RELEVANCE
from tests.waiting import eventually

from ..fault.ruins import hide
from .house import PATIENCE_S, House

ARGON = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
NOTES = (
    (ARGON, "decisions"),
    ("Accounts that came from the old shop still have bcrypt hashes", "context"),
    ("The bcrypt benchmark runs on the build machine each night", "learnings"),
    ("The staging database is emptied on Sundays", "gotchas"),
    ("The staging database is a copy of last month's orders", "context"),
    ("Password reset tokens expire after 15 minutes, see src/auth/reset.py", "patterns"),
    ("Feature flags are read from a file at start, not from a service", "decisions"),
    ("Timezone tests fail in March, when the clocks change", "gotchas"),
    ("The payment provider blocks our test card until the contract is signed", "blockers"),
    ("Invoices are numbered by the database, as two workers once gave out one", "learnings"),
)
# Three memories share the one telling word of this, and one of them answers it.
ANSWERED = "Why is bcrypt not good enough?"
# Two memories share nearly all words of this, and none of them answers it.
UNANSWERED = "Which password does the staging database have?"
FLOOR = 0.45


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("reading"))
    house.env["SUBCOG_SEARCH_INTENT_CONTEXT_MIN_RELEVANCE"] = str(FLOOR)
    for text, namespace in NOTES:
        house.capture(text, "--namespace", namespace)
    yield house
    house.close()


@pytest.fixture
def words_alone(house, tmp_path):
    """The house without what reads."""
    house.run("daemon", "stop")
    whole = dict(house.env)
    house.env |= hide(tmp_path / "hidden", "onnxruntime")
    yield house
    house.run("daemon", "stop")
    house.env = whole


def verdicts(house, prompt):
    """The verdicts on the candidates of a prompt, best first."""
    return house.ask("explain", prompt)["inject"]["verdicts"]


def when_read(house, prompt):
    """The same when the best were read: a busy machine reads fewer, and loads the reader late."""
    deadline = time.monotonic() + PATIENCE_S
    found = verdicts(house, prompt)
    while any(
        one["by_words"] is None for one in found[:3] if one["relevance"] >= RERANK_MIN_RELEVANCE
    ):
        assert time.monotonic() < deadline
        found = verdicts(house, prompt)
    return found


def test_what_answers_is_shown_though_its_words_alone_would_not_do(house):
    found = when_read(house, ANSWERED)
    verdict = next(one for one in found if one["summary"] == ARGON)
    assert verdict["by_words"] < FLOOR <= verdict["relevance"]
    assert verdict["injected"]
    assert f"{verdict['by_words']:.2f} by its words alone" in verdict["why"]
    told = f"first stage {verdict['by_words']:.2f} → relevance"
    eventually(lambda: told in house.run("explain", ANSWERED, "--full").stdout)
    sessions = (f"answered {number}" for number in count())
    eventually(lambda: ARGON in house.context(ANSWERED, next(sessions)))


def test_a_question_that_nothing_answers_gets_nothing_though_its_words_are_all_there(house):
    found = when_read(house, UNANSWERED)
    assert max(one["by_words"] or 0 for one in found) > FLOOR > found[0]["relevance"]
    assert house.context(UNANSWERED, "unanswered") == ""


@pytest.mark.slow
def test_words_alone_would_have_decided_both_the_other_way(words_alone):
    assert ARGON not in words_alone.context(ANSWERED, "words answered")
    assert "staging database" in words_alone.context(UNANSWERED, "words unanswered")
    assert verdicts(words_alone, ANSWERED)[0]["by_words"] is None
    findings = json.loads(words_alone.run("doctor", "--json").stdout)
    (finding,) = [one for one in findings if one["check"] == "reranking"]
    assert not finding["ok"]
    assert "pip install onnxruntime" in finding["mend"]
