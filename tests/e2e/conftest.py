"""Gives tests the real agent, where it is installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from .claude import CHECKOUT, Agent, a_home_of
from .other_agents import PATIENT, Codex, Gemini, OtherAgent
from .other_apis import GenerateContentApi, OtherApi, ResponsesApi

CLAUDE = ".cache/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
CODEX_MODULE = ".cache/codex/node_modules/@openai/codex-linux-x64"
CODEX = f"{CODEX_MODULE}/vendor/x86_64-unknown-linux-musl/bin/codex"
GEMINI = ".cache/gemini/node_modules/@google/gemini-cli/bundle/gemini.js"
AnyAgent = TypeVar("AnyAgent", bound=OtherAgent)


@pytest.fixture(scope="session")
def claude() -> Path:
    """The agent's binary. It may be missing on a developer's machine, never in CI."""
    binary = Path(os.environ.get("SUBCOG_TEST_CLAUDE") or CHECKOUT / CLAUDE)
    if not os.access(binary, os.X_OK):
        missing = f"Claude Code is not at {binary}; `make agents` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return binary


@pytest.fixture
def agent(claude: Path) -> Iterator[Agent]:
    """Claude Code with a home of its own."""
    with a_home_of(claude) as agent:
        yield agent


@pytest.fixture(scope="session")
def shared_agent(claude: Path) -> Iterator[Agent]:
    """Claude Code with one home and one daemon, for tests that have a project of their own."""
    with a_home_of(claude) as agent:
        yield agent


@pytest.fixture
def same_agent(shared_agent: Agent) -> Iterator[Agent]:
    """The same, with the settings that a test makes undone at its end."""
    yield shared_agent
    shared_agent.settings = {}


@pytest.fixture
def codex() -> Iterator[Codex]:
    """Codex with a home of its own, not wired yet."""
    yield from _other(Codex, CODEX, "codex", ResponsesApi())


@pytest.fixture
def gemini() -> Iterator[Gemini]:
    """Gemini CLI with a home of its own, not wired yet."""
    yield from _other(Gemini, GEMINI, "gemini", GenerateContentApi())


@pytest.fixture(scope="session")
def wired_codex() -> Iterator[Codex]:
    """Codex as `subcog install codex` wires it, for tests that have a project of their own."""
    yield from _wired(_other(Codex, CODEX, "codex", ResponsesApi()))


@pytest.fixture(scope="session")
def wired_gemini() -> Iterator[Gemini]:
    """Gemini CLI as `subcog install gemini` wires it, for tests with a project of their own."""
    yield from _wired(_other(Gemini, GEMINI, "gemini", GenerateContentApi()))


def _wired(agents: Iterator[AnyAgent]) -> Iterator[AnyAgent]:
    for agent in agents:
        agent.settings = dict(PATIENT)
        # Started by the server that Codex runs, the daemon would not have these settings.
        agent.subcog("daemon", "start")
        agent.subcog("install", agent.name)
        yield agent


def _other(kind: type[AnyAgent], place: str, name: str, api: OtherApi) -> Iterator[AnyAgent]:
    try:
        binary = Path(os.environ.get(f"SUBCOG_TEST_{name.upper()}") or CHECKOUT / place)
        if not binary.exists():
            missing = f"{name} is not at {binary}; `make agents` installs it"
            if os.environ.get("CI") == "true":
                pytest.fail(missing)
            pytest.skip(missing)
        with tempfile.TemporaryDirectory(prefix="sc", ignore_cleanup_errors=True) as root:
            agent = kind(binary, Path(root), api)
            agent.set_up()
            yield agent
            agent.close()
    finally:
        api.close()
