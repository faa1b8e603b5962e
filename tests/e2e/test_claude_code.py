"""The main job, end to end: the real agent, its real hooks, the real daemon, a fake model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from anyio.abc import SocketStream

from ..fault.scripted_model import Send, after, scripted_model
from ..waiting import eventually, until
from .claude import CHECKOUT, SUBCOG, Agent
from .messages_api import texts_of

MEMORY = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
QUESTION = "how do I hash passwords here?"
LABEL = "UserPromptSubmit hook"


def capture(agent: Agent, text: str, project: Path) -> None:
    """By default where the start of a session does not bring it up already."""
    agent.subcog("capture", text, "--namespace", "learnings", "--project", str(project))


def recalled(agent: Agent, query: str, project: Path) -> list[str]:
    answer = agent.subcog("recall", query, "--project", str(project))
    return [json.dumps(hit) for hit in answer["memories"]]


def test_memory_reaches_the_model_in_its_project_alone_and_only_when_asked_for(same_agent):
    here = same_agent.remembering((MEMORY, "learnings"))
    elsewhere = same_agent.remembering()

    session = same_agent.start(here)
    session.prompt("rename foo to bar")
    session.prompt(QUESTION)
    session.close()
    unasked, asked = map(texts_of, same_agent.api.prompts)
    assert LABEL not in unasked
    _, label, added = asked.partition(LABEL)
    assert label, "only the start of the session added something"
    assert MEMORY in added
    assert QUESTION in added
    assert "argon2id" not in texts_of(same_agent.ask(elsewhere, QUESTION))


@pytest.mark.slow
def test_what_claude_md_says_is_not_said_a_second_time(same_agent):
    tabs = "We use tabs for indentation in shell scripts"
    here = same_agent.remembering((MEMORY, "learnings"), (tabs, "learnings"))
    rules = f"# Rules\n\n- {MEMORY}.\n- We never use tabs for indentation in shell scripts.\n"
    (here / "CLAUDE.md").write_text(rules)
    session = same_agent.start(here)
    session.prompt(QUESTION)
    session.prompt("do we use tabs for indentation in shell scripts?")
    session.close()
    repeated, contradicted = map(texts_of, same_agent.api.prompts)
    assert repeated.count("argon2id") == 1
    assert tabs in contradicted.partition(LABEL)[2]
    assert "CLAUDE.md says otherwise" in contradicted


@pytest.mark.slow
def test_what_replaced_the_answer_reaches_the_model_in_its_place(same_agent):
    replaced, holds = "We use Jenkins for CI", "We migrated from Jenkins to GitHub Actions"
    here = same_agent.remembering((replaced, "learnings"), (holds, "learnings"))
    added = texts_of(same_agent.ask(here, "which CI do we use?")).partition(LABEL)[2]
    assert holds in added
    assert replaced not in added


def test_marker_typed_as_a_prompt_is_stored_and_found(same_agent):
    here = same_agent.remembering()

    same_agent.ask(here, "[remember:decisions] Invoices are numbered per tenant, never globally")

    (found,) = recalled(same_agent, "how are invoices numbered", here)
    assert "numbered per tenant" in found
    assert "decisions" in found


@pytest.mark.slow
def test_what_one_session_marks_the_prompt_of_another_finds_at_once(same_agent):
    here = same_agent.remembering()
    first, second = same_agent.start(here), same_agent.start(here)
    second.prompt("rename foo to bar")
    first.prompt("[remember:learnings] Invoices are numbered per tenant, never globally")
    second.prompt("how are invoices numbered here?")
    first.close()
    second.close()
    asked = texts_of(same_agent.api.prompts[-1])
    assert "numbered per tenant" in asked.rpartition(LABEL)[2]


@pytest.mark.slow
def test_daemon_killed_between_two_prompts_is_replaced_and_nothing_is_lost(agent):
    agent.program = str(SUBCOG)  # what is killed is the real daemon
    # A busy machine takes longer to start a daemon; the agent itself gives a hook ten seconds.
    agent.settings |= {"SUBCOG_HOOK_TOTAL_MS": "9500", "SUBCOG_HOOK_START_MS": "9500"}
    here = agent.project("P")
    capture(agent, MEMORY, here)
    session = agent.start(here)
    session.prompt("rename foo to bar")
    killed = agent.subcog("status")["pid"]
    os.kill(killed, signal.SIGKILL)

    session.prompt(QUESTION)
    session.close()

    assert MEMORY in texts_of(agent.api.prompts[-1]).rpartition(LABEL)[2]
    assert agent.subcog("status")["pid"] != killed
    assert len(recalled(agent, QUESTION, here)) == 1


@pytest.mark.slow
def test_daemon_killed_during_a_prompt_does_not_hold_the_agent(agent):
    agent.program = str(SUBCOG)
    # So long a hook waits for an answer, unless it notices that none will come.
    agent.settings = {"SUBCOG_HOOK_TOTAL_MS": "9000"}
    here = agent.project("P")
    capture(agent, MEMORY, here)
    session = agent.start(here)
    session.prompt("rename foo to bar")
    pid = agent.subcog("status")["pid"]
    os.kill(pid, signal.SIGSTOP)  # so that the hook is waiting for it when it is killed
    killer = threading.Timer(0.15, os.kill, (pid, signal.SIGKILL))
    killer.start()

    began = time.monotonic()
    session.prompt(QUESTION)
    took_s = time.monotonic() - began
    killer.join()
    session.close()

    assert QUESTION in texts_of(agent.api.prompts[-1])
    assert took_s < 9
    assert len(recalled(agent, QUESTION, here)) == 1


def test_session_starts_with_a_short_context(same_agent):
    here = same_agent.remembering((MEMORY, "decisions"))

    text = texts_of(same_agent.ask(here, "rename foo to bar"))

    assert "SessionStart hook additional context" in text
    assert MEMORY in text


@pytest.mark.slow
def test_first_prompt_of_all_starts_the_daemon(agent):
    here = agent.project("P")

    agent.ask(here, "[remember] the first prompt of all was kept")

    (found,) = recalled(agent, "the first prompt of all", here)
    assert "was kept" in found


@pytest.mark.slow
def test_installed_hooks_do_the_same_as_the_plugin(agent):
    here = agent.project("P")
    capture(agent, MEMORY, here)
    agent.subcog("install")

    assert MEMORY in texts_of(agent.ask(here, QUESTION, plugin=None))

    agent.subcog("uninstall")
    assert MEMORY not in texts_of(agent.ask(here, QUESTION, plugin=None))


def test_where_subcog_was_removed_prompts_reach_the_model_all_the_same(agent):
    here = agent.project("P")
    agent.subcog("install")
    settings = agent.root / "home" / ".claude" / "settings.json"
    wired = settings.read_text()
    assert wired.count("/hooks/client.py") >= 5
    settings.write_text(wired.replace("/hooks/client.py", "/removed/hooks/client.py"))

    assert "rename foo to bar" in texts_of(agent.ask(here, "rename foo to bar", plugin=None))


def test_plugin_is_valid(claude, tmp_path):
    for folder in (CHECKOUT, CHECKOUT / "hooks"):
        done = subprocess.run(
            [str(claude), "plugin", "validate", "--strict", folder],
            env={"HOME": str(tmp_path), "PATH": os.path.dirname(sys.executable)},
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout.decode()


@pytest.mark.slow
def test_late_answer_of_a_language_model_reaches_the_agent_in_the_same_turn_once(agent):
    here = agent.project("P")
    with scripted_model() as model:
        agent.settings = {
            "SUBCOG_LLM_MODEL": "openai/scripted",
            "SUBCOG_LLM_API_BASE": model.base,
            "SUBCOG_SEARCH_INTENT_LLM_POLICY": "always",
            "SUBCOG_SEARCH_INTENT_LLM_LATE_MS": "30000",
        }
        session = agent.start(here)
        session.prompt("begin")
        wait_until_ready(agent)
        capture(agent, MEMORY, here)
        # The model answers once the agent has gone on without it, however long that took.
        going_on = agent.root / "going on"
        model.send = when(going_on)
        status = f"{agent.program} status --json"
        answered = f"until {status} | grep -q '\"asking\": 0'; do sleep 0.1; done"
        # An order: only the model takes it for a search.
        agent.api.commands += [f"touch '{going_on}'; {answered}", "true"]
        session.prompt("please tidy the password hashing with argon2id")
        session.close()

    before, with_tool, last = map(texts_of, agent.api.prompts[-3:])
    assert MEMORY not in before
    assert "PostToolUse:Bash hook additional context" in with_tool
    assert with_tool.count(MEMORY) == last.count(MEMORY) == 1


def when(file: Path) -> Send:
    """Answer once there is ``file``."""

    async def send(stream: SocketStream) -> None:
        await until(file.exists)
        await after(0)(stream)

    return send


def wait_until_ready(agent: Agent) -> None:
    def ready() -> bool:
        model = agent.subcog("status")["llm"]
        return model["worker"] == "ready" and model["asking"] == 0

    eventually(ready)


@pytest.mark.slow
def test_a_question_about_the_project_is_answered_from_its_own_files(same_agent):
    here = same_agent.remembering()
    (here / "Makefile").write_text("test:\n\tpytest -x\n")
    question = "how do I run the tests?"

    session = same_agent.start(here)
    for text in (question, "run the tests", question):
        session.prompt(text)
    session.close()

    asked = texts_of(same_agent.api.prompts[-1])
    assert "> test command: make test (Makefile)" in asked.partition(LABEL)[2]
    assert asked.count("> test command: make test (Makefile)") == 1
