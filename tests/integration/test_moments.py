"""A session's start, and what its tools do: the real hooks, with what the agent really sends."""

from __future__ import annotations

import itertools
import json
from urllib.request import urlopen

import pytest

JWT = "JWT tokens are signed with RS256 and expire after 15 minutes"
PURE = "src/billing/models.py stays free of I/O: the report worker imports it"
REFUSED = (
    "CI fails with ECONNREFUSED 127.0.0.1:5432 until postgres is up; we wait for pg_isready now"
)
ERROR = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5432"
_sessions = map("session-{}".format, itertools.count())


@pytest.fixture
def session():
    return next(_sessions)


@pytest.fixture(scope="module")
def known(shared):
    """A project of which something is known."""
    shared.capture(JWT, "--namespace", "decisions")
    shared.capture(PURE, "--namespace", "patterns")
    shared.capture(REFUSED, "--namespace", "blockers")
    shared.capture("Invoices are numbered per tenant, never globally", "--namespace", "learnings")
    return shared


def added(answer):
    return (answer or {}).get("hookSpecificOutput", {}).get("additionalContext", "")


def start(house, session, source="startup", **env):
    payload = {"session_id": session, "cwd": str(house.project), "source": source}
    return added(house.hook("SessionStart", payload, **env))


def wrote(house, session, path, content="x = 1\n", **changes):
    """What Claude Code sends after a Write, and what it is answered."""
    file = f"{house.project}/{path}"
    payload = {
        "session_id": session,
        "transcript_path": "/nowhere.jsonl",
        "cwd": str(house.project),
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": file, "content": content},
        "tool_response": {
            "type": "create",
            "filePath": file,
            "content": content,
            "structuredPatch": [],
            "originalFile": None,
            "userModified": False,
        },
        "tool_use_id": "toolu_1",
        "duration_ms": 17,
    }
    return added(house.hook("PostToolUse", payload | changes))


def failed(house, session, error, **changes):
    payload = {
        "session_id": session,
        "cwd": str(house.project),
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "npm test", "description": "run it"},
        "error": error,
        "is_interrupt": False,
    }
    return added(house.hook("PostToolUseFailure", payload | changes))


def counter(house, name):
    """A counter as the daemon serves it."""
    with urlopen(house.ask("status")["metrics_url"], timeout=30) as page:
        lines = page.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def test_a_changed_file_brings_up_what_is_known_about_its_subject_once(known, session):
    first = wrote(known, session, "src/auth/jwt_handler.py")
    assert first.startswith("Related memories for jwt_handler.py:\n<subcog-memory>")
    assert JWT in first
    assert PURE not in first
    assert wrote(known, session, "src/auth/jwt_handler.py") == ""


def test_a_changed_file_brings_up_the_memory_that_names_it_and_not_its_namesake(known, session):
    assert wrote(known, session, "src/auth/models.py") == ""
    assert PURE in wrote(known, session, "src/billing/models.py")


@pytest.mark.parametrize("path", ["README.md", "src/util.py", "web/Button.tsx", "a/weather.go"])
def test_a_file_about_which_nothing_is_known_brings_up_nothing(known, session, path):
    assert wrote(known, session, path, "const colour = 'red'\n") == ""


def test_what_was_written_counts_as_well_as_where(known, session):
    text = "def next_invoice_number(tenant):\n    return tenant.invoices.last().number + 1\n"
    assert "numbered per tenant" in wrote(known, session, "src/app.py", text)


def test_a_subagent_is_reminded_in_a_context_of_its_own(known, session):
    assert JWT in wrote(known, session, "src/auth/jwt_handler.py")
    inside = {"agent_id": "a1", "agent_type": "general-purpose"}
    assert JWT in wrote(known, session, "src/auth/jwt_handler.py", **inside)


def test_tools_that_change_nothing_are_left_alone(known, session):
    for tool in ("Read", "Bash", "Grep"):
        assert wrote(known, session, "src/auth/jwt_handler.py", tool_name=tool) == ""


def test_what_a_prompt_was_given_is_not_brought_up_again(known, session):
    assert JWT in known.context("how long do our JWT tokens live?", session)
    assert wrote(known, session, "src/auth/jwt_handler.py") == ""


def test_a_failure_brings_up_the_blocker_that_it_was_before(known, session):
    assert REFUSED in failed(known, session, ERROR)
    assert failed(known, session, ERROR) == ""


@pytest.mark.parametrize(
    "error",
    [
        "Exit code 1",
        "Exit code 1\nAssertionError: assert 3 == 4",
        "Exit code 2\ngrep: notes.txt: No such file or directory",
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
    ],
)
def test_a_failure_about_which_nothing_is_known_brings_up_nothing(known, session, error):
    assert failed(known, session, error) == ""


def test_a_failure_that_an_agent_reports_as_an_answer_is_answered_under_that_hook(known, session):
    payload = {"session_id": session, "tool_name": "Bash", "tool_response": ERROR}
    output = known.hook("PostToolUse", payload)["hookSpecificOutput"]
    assert output["hookEventName"] == "PostToolUse"
    assert REFUSED in output["additionalContext"]


def test_a_session_begins_with_what_matters_and_how_to_say_what_does(known, session):
    text = start(known, session)
    assert REFUSED in text
    assert JWT in text
    assert '<response_guidance detail="minimal">' in text
    for part in ("<labels>", "<inline_markers>"):
        assert part in text


def test_the_first_prompt_does_not_repeat_what_the_start_gave(known, session):
    assert JWT in start(known, session)
    assert known.context("how long do our JWT tokens live?", session) == ""
    start(known, session, "clear")
    assert wrote(known, session, "src/auth/jwt_handler.py") == ""


def test_a_resumed_session_is_told_nothing_twice(known, session):
    start(known, session)
    known.hook("SessionEnd", {"session_id": session, "reason": "other"})
    assert start(known, session, "resume") == ""


def test_a_compaction_brings_back_what_the_session_had(known, session):
    numbered = "numbered per tenant"
    assert numbered not in start(known, session)
    assert numbered in known.context("how are invoices numbered?", session)
    known.prompt("[remember:gotchas] Laboklin sends glucose in mg/dl", session)
    text = start(known, session, "compact")
    assert numbered in text
    assert "glucose in mg/dl" in text
    assert "response_guidance" in text
    assert known.context("how are invoices numbered?", session) == ""


def test_what_is_shown_is_counted_and_can_be_explained(known, session):
    before = counter(known, "subcog_injected_memories_total")
    wrote(known, session, "src/auth/jwt_handler.py")
    assert counter(known, "subcog_injected_memories_total") == before + 1
    body = {
        "session_id": session,
        "tool_name": "Edit",
        "tool_input": {"file_path": "src/auth/jwt_handler.py", "new_string": "x"},
    }
    done = known.run("hook", "PostToolUse", "--explain", stdin=json.dumps(body))
    metadata = json.loads(done.stdout)["metadata"]
    assert metadata["abstained"] == "already_shown"
    assert "already shown in this session" in metadata["memories"].values()


def test_a_huge_payload_is_answered_too(known, session):
    original = "y" * 10_000_000
    answer = wrote(known, session, "src/auth/jwt_handler.py", tool_response=original)
    assert JWT in answer


@pytest.mark.parametrize(
    "payload",
    [
        {"tool_name": "Write", "tool_input": None},
        {"tool_name": "Write", "tool_input": {"file_path": {"a": 1}, "content": 3}},
        {"tool_name": "Write", "tool_input": [["file_path"]], "tool_response": True},
        {"tool_name": "Edit", "tool_input": {"file_path": "\u0000" * 5000}},
        {"tool_name": "Edit", "tool_input": {"file_path": "/" * 50_000, "edits": {"a": 1}}},
    ],
)
def test_payloads_of_any_shape_pass_through(known, payload):
    for event in ("PostToolUse", "PostToolUseFailure"):
        assert known.hook(event, {"session_id": "s"} | payload) == {}


def test_a_strong_statement_is_answered_with_how_to_keep_it(known, session):
    said = "From now on always use pnpm instead of npm in this repo"
    told = known.prompt(said, session)["systemMessage"]
    assert "reads like a preference" in told
    assert "[remember:preferences]" in told
    assert "reads like" not in known.prompt(f"[remember] {said}", session)["systemMessage"]
    assert known.prompt("rename foo to bar", session) == {}


def test_the_settings_are_obeyed_by_their_plain_names_too(house):
    house.env |= {
        "HOOK_POST_TOOL_USE_ENABLED": "false",
        "HOOK_SESSION_START_GUIDANCE_DETAIL": "minimal",
        "HOOK_USER_PROMPT_SUGGEST_CAPTURES": "false",
    }
    house.capture(JWT, "--namespace", "decisions")
    assert wrote(house, "s1", "src/auth/jwt_handler.py") == ""
    assert '<response_guidance detail="minimal">' in start(house, "s2")
    assert house.prompt("From now on always use pnpm instead of npm in this repo") == {}
