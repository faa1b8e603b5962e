"""Gives tests the real agent, where it is installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .claude import CHECKOUT, Agent
from .messages_api import MessagesApi

CLAUDE = ".cache/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude"


@pytest.fixture(scope="session")
def claude() -> Path:
    """The agent's binary. It may be missing on a developer's machine, never in CI."""
    binary = Path(os.environ.get("SUBCOG_TEST_CLAUDE") or CHECKOUT / CLAUDE)
    if not os.access(binary, os.X_OK):
        missing = f"Claude Code is not at {binary}; `make claude` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return binary


@pytest.fixture
def agent(claude: Path) -> Iterator[Agent]:
    api = MessagesApi()
    with tempfile.TemporaryDirectory(prefix="sc", ignore_cleanup_errors=True) as root:
        agent = Agent(claude, Path(root), api)
        yield agent
        agent.close()
        api.close()
