"""The plugin as a user gets it: from this folder as a marketplace, installed by the real agent."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .claude import RUN_S
from .messages_api import texts_of
from .other_agents import marketplace

MEMORY = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
QUESTION = "how do I hash passwords here?"

MOST_COPIED_BYTES = 1_000_000

pytestmark = pytest.mark.slow


def claude(agent, *arguments: str) -> str:
    done = subprocess.run(
        [str(agent.binary), *arguments],
        env=agent.env,
        cwd=agent.root,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_installed_from_the_marketplace_it_works_until_it_is_uninstalled(agent):
    here = agent.project("P")
    agent.subcog("capture", MEMORY, "--namespace", "learnings", "--project", str(here))
    claude(agent, "plugin", "marketplace", "add", str(marketplace(agent.root / "clone")))
    claude(agent, "plugin", "install", "subcog@subcog")
    folder = agent.env.get("CLAUDE_CONFIG_DIR") or f"{agent.env['HOME']}/.claude"
    copies = Path(folder, "plugins", "cache")
    copied = [file.stat().st_size for file in copies.rglob("*") if file.is_file()]
    assert 0 < sum(copied) < MOST_COPIED_BYTES

    body = agent.ask(here, QUESTION, plugin=None)
    assert MEMORY in texts_of(body)
    assert "mcp__plugin_subcog_subcog__recall" in {tool["name"] for tool in body["tools"]}
    assert agent.subcog("install", "--list")[0]["plugin"] is True
    findings = {each["check"]: each["seen"] for each in agent.subcog("doctor")}
    assert findings["Claude Code"] == "installed as a plugin"
    assert "Claude Code UserPromptSubmit" in findings["hooks received last"]

    claude(agent, "plugin", "uninstall", "subcog@subcog")
    assert MEMORY not in texts_of(agent.ask(here, QUESTION, plugin=None))
