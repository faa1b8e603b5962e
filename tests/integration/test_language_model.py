"""A language model beside the keywords, through the real pipe, daemon and worker."""

import os
import signal
import threading
from pathlib import Path
from uuid import uuid4

import pytest

from subcog.config.load import load_settings
from tests.processes import children_of
from tests.waiting import eventually

from ..fault.scripted_model import after, once, scripted_model
from .house import House
from .test_passages import talked

MEMORY = "The billing module lives in services/billing, see the invoices package"
# Orders: only the model takes them for a search.
ORDER = "please tidy the billing module invoices"


def llm(house):
    return house.ask("status")["llm"]


def tool_used(house, session, **fields):
    payload = {"session_id": session, "hook_event_name": "PostToolUse", "tool_name": "Bash"}
    answer = house.hook("PostToolUse", payload | fields) or {}
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def settle(house):
    eventually(lambda: llm(house)["asking"] == 0)


@pytest.fixture(scope="module")
def model():
    with scripted_model() as model:
        yield model


@pytest.fixture(scope="module")
def house(model, tmp_path_factory):
    """A house whose model is up, and whose prompts wait 200 ms for it at most."""
    house = House(tmp_path_factory.mktemp("llm"), installed=True)  # whose worker is a child
    house.env |= {
        "SUBCOG_LLM_MODEL": "openai/scripted",
        "SUBCOG_LLM_API_BASE": model.base,
        "SUBCOG_SEARCH_INTENT_LLM_POLICY": "always",
        "SUBCOG_SEARCH_INTENT_LLM_LATE_MS": "10000",
        "SUBCOG_LLM_CONSOLIDATE": "true",
    }
    # The daemon is started by a hook that runs in the project, which may be anybody's.
    for name in ("litellm.py", "subcog.py", "msgspec.py"):
        (house.project / name).write_text(f"open({str(house.root / 'ran')!r}, 'w')\n")
    (house.project / ".env").write_text("OPENAI_API_KEY=from-the-project\n")
    house.prompt("begin")
    house.capture(MEMORY, "--namespace", "learnings")
    eventually(lambda: llm(house)["worker"] == "ready")
    settle(house)
    yield house
    house.close()


def late_prompt(house, model, text, session):
    """A prompt that the model answers when it is over: what it added at once."""
    over = threading.Event()
    model.send = once(over)
    context = house.context(text, session)
    over.set()
    settle(house)
    model.send = after(0.0)
    return context


def test_with_no_model_named_there_is_no_worker(tmp_path):
    house = House(tmp_path)
    try:
        house.capture(MEMORY, "--namespace", "learnings")
        house.prompt("where is the billing module?")
        status = house.ask("status")
        assert status["llm"] is None
        assert children_of(status["pid"]) == []
    finally:
        house.close()


def test_the_model_finds_what_the_keywords_overlook(house, model):
    model.send = after(0.0)
    eventually(lambda: MEMORY in house.context(f"{ORDER} {uuid4()}", str(uuid4())))


def test_a_late_answer_reaches_the_session_once_with_its_next_tool(house, model):
    assert late_prompt(house, model, f"{ORDER} first", "late") == ""
    assert tool_used(house, "other") == ""
    assert tool_used(house, "late", agent_id="a1") == ""
    assert MEMORY in tool_used(house, "late")
    assert tool_used(house, "late") == ""
    assert house.context("where is the billing module?", "late") == ""


def test_a_late_answer_comes_along_with_what_the_tool_itself_brings_up(house, model):
    about_file = "tests/conftest.py and src/ledger.py share one clock fixture"
    house.capture(about_file, "--namespace", "learnings")
    assert late_prompt(house, model, ORDER, "late-and-file") == ""
    edited = {"tool_name": "Edit", "tool_input": {"file_path": "src/ledger.py", "new_string": "x"}}
    added = tool_used(house, "late-and-file", **edited)
    assert added.count(MEMORY) == added.count(about_file) == 1
    assert added.index(MEMORY) < added.index(about_file)
    assert tool_used(house, "late-and-file", **edited) == ""


def test_or_with_its_next_prompt_that_brings_nothing_of_its_own(house, model):
    assert late_prompt(house, model, f"{ORDER} second", "next") == ""
    model.send = after(0.0, {"intent_type": "none", "topics": [], "confidence": 0.9})
    assert MEMORY in house.context("thanks, go on", "next")
    assert tool_used(house, "next") == ""


def test_what_was_forgotten_meanwhile_is_not_delivered(house, model):
    kept = house.capture(
        "The zorblat module lives in services/zorblat, see the grindle package",
        "--namespace",
        "learnings",
    )
    assert late_prompt(house, model, "please tidy the zorblat module grindle", "gone") == ""
    house.ask("forget", kept["id"])
    assert "zorblat" not in tool_used(house, "gone")


def test_private_text_and_secrets_stay_here(house, model):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    house.prompt(f"please tidy <private>the hidden thing</private> with {token} at once", "private")
    settle(house)
    said = str(model.asked[-1])
    assert "please tidy" in said
    assert "hidden" not in said
    assert token not in said


def test_a_server_of_ones_own_needs_no_key_and_a_project_cannot_give_one(house, model):
    model.send = after(0.0)
    house.prompt(f"{ORDER} with a key", "key")
    settle(house)
    assert set(model.keys) == {"Bearer none"}


def test_nothing_of_a_project_is_run(house):
    assert not (house.root / "ran").exists()


def test_the_doctor_tells_about_the_model(house):
    findings = {each["check"]: each for each in house.ask("doctor")}
    assert findings["language model"]["ok"]
    assert "openai/scripted" in findings["language model"]["seen"]


# --- a session that is over ----------------------------------------------------------------------

TALK = (
    ("user", "How should the import handle duplicate invoices? My token is ghp_" + "a1B2" * 9),
    ("assistant", "Either skip them or merge them by their number."),
    ("user", "Merge them by invoice number; the bank sends each file twice."),
    ("assistant", "Done: the import merges by invoice number now."),
)
SUMMED_UP = "Duplicate invoices are merged by invoice number, since the bank sends each file twice."


def test_a_session_that_is_over_is_summed_up_with_its_sources(house, model):
    invented = "Duplicate invoices are skipped within 30 days."
    said = {"namespace": "decisions", "sources": [1, 3]}
    listed = [{**said, "text": text} for text in (SUMMED_UP, invented)]
    model.send, before = after(0.0, {"memories": listed}), len(model.asked)
    try:
        talk = talked(house, 3, TALK)
        [kept] = eventually(lambda: house.ask("list", "--tag", "consolidated")["memories"])
    finally:
        model.send = after(0.0)
    assert (kept["content"], kept["automatic"]) == (SUMMED_UP, True)
    [question] = model.asked[before:]
    sent = question["messages"][1]["content"]
    assert "Merge them by invoice number" in sent
    assert "ghp_a1B2" not in sent
    told = house.ask("why", kept["id"])
    assert told["said_in"]["statement"].startswith("How should the import handle duplicate")
    assert told["captured_by"]["session"] == talk.session
    assert len(told["captured_by"]["said"].split()) == 2
    assert SUMMED_UP in house.context("what do we do with duplicate invoices?", "summed-up")
    # What is forgotten with its session.
    house.ask("sessions", "forget", talk.session, "--yes")
    assert house.ask("list", "--tag", "consolidated")["memories"] == []


def test_a_model_that_says_nothing_useful_loses_nothing(house, model):
    asked = len(model.asked)
    model.send = after(0.0, {"summary": "a nice talk"})
    try:
        talk = talked(house, 4, TALK)
        eventually(lambda: len(model.asked) > asked)
        eventually(lambda: 'reason="model.no_answer"' in house.metrics())
    finally:
        model.send = after(0.0)
    assert len(house.ask("sessions", "show", talk.session)["said"]) == len(TALK)


def test_nothing_is_summed_up_unless_it_is_wanted():
    loaded = load_settings(Path("/nonexistent"), {})
    assert loaded.settings.llm.consolidate is False


# --- the end of the worker, whose next one takes seconds to import litellm -----------------------


@pytest.mark.slow
def test_the_worker_is_replaced_when_it_dies(house, model):
    (worker,) = children_of(house.pid())
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: llm(house)["worker"] == "none")
    house.prompt(f"{ORDER} after its death", "dead")
    eventually(lambda: llm(house)["worker"] == "ready")
    assert children_of(house.pid()) != [worker]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_worker_ends_with_the_daemon(house, model, number):
    house.start()
    house.hook("SessionStart", {"session_id": "s", "source": "startup"})
    pid = house.pid()
    eventually(lambda: llm(house)["worker"] == "ready")
    (worker,) = children_of(pid)
    os.kill(pid, number)
    house.wait_until_gone(pid)
    house.wait_until_gone(worker)
