"""Runs Codex and Gemini CLI as they are installed, each against its fake API."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .claude import CHECKOUT, Agent
from .other_apis import OtherApi, ResponsesApi, said_in

RUN_S = 60
# All the time that hooks need: budgets are measured elsewhere.
PATIENT = {"SUBCOG_HOOK_TOTAL_MS": "5000", "SUBCOG_HOOK_START_MS": "5000"}
MEMORY = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
QUESTION = "how do I hash passwords here?"
DECISION = "The API speaks JSON only"
ORDER = "Hash the passwords of new users with argon2id."
DECIDED = "We decided to use argon2id for password hashing because bcrypt truncates at 72 bytes."
JWT = "JWT tokens are signed with RS256 and expire after 15 minutes"
REFUSED = "CI fails with ECONNREFUSED 127.0.0.1:5432 until postgres is up; we wait for pg_isready"
PORTS = "The payment service listens on port 8443 behind the gateway"
RULE = "Never run `make reset-db` on staging: it wipes the demo. Use `make reset-local`."
WARNED = "Before you do this, earlier notes that seem to speak of just that:"
FAIL = "echo 'Error: connect ECONNREFUSED 127.0.0.1:5432' >&2; exit 1"
CODEX_SETTINGS = """\
# this stays
model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
"""
GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}


class OtherAgent(Agent):
    """An agent that runs one prompt a process; its settings are in the home like a user's."""

    api: OtherApi  # type: ignore[assignment]
    name = ""

    @property
    def env(self) -> dict[str, str]:
        env = {k: v for k, v in super().env.items() if not k.startswith(("CLAUDE", "ANTHROPIC"))}
        return env | {
            "PATH": f"{env['PATH']}:{Path(shutil.which('node') or '/usr/bin/node').parent}",
            "FAKE_KEY": "no-key",
            "GEMINI_API_KEY": "no-key",
            "GOOGLE_GEMINI_BASE_URL": self.api.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            # It would start itself a second time, with more memory than a test needs.
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "NO_COLOR": "1",
        }

    @property
    def home(self) -> Path:
        return self.root / "home"

    def run(self, project: Path, text: str, *, resume: bool = False) -> str:
        """One prompt, with every tool use that the fake answers with; what the agent printed.

        With ``resume`` it belongs to the latest session, else to a new one.
        """
        done = subprocess.run(
            self.command(text, resume=resume),
            cwd=project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return done.stdout.decode() + done.stderr.decode()

    def command(self, text: str, *, resume: bool = False) -> list[str]:
        raise NotImplementedError


class Codex(OtherAgent):
    api: ResponsesApi
    name = "codex"

    def set_up(self) -> None:
        file = self.home / ".codex" / "config.toml"
        file.parent.mkdir()
        file.write_text(CODEX_SETTINGS.format(url=self.api.url))

    def set(self, **settings: str | int) -> None:
        """Settings of Codex that are not the usual ones."""
        file = self.home / ".codex" / "config.toml"
        lines = file.read_text().splitlines()
        kept = [line for line in lines if line.split(" ")[0] not in settings]
        given = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        file.write_text("\n".join((*given, *kept)) + "\n")

    def codex(self, *arguments: str) -> None:
        """Run a command of Codex itself."""
        done = subprocess.run(
            [str(self.binary), *arguments],
            env=self.env,
            cwd=self.root,
            capture_output=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()

    def command(self, text: str, *, resume: bool = False) -> list[str]:
        how = ["exec", *(["resume", "--last"] if resume else [])]
        how += ["--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
        return [str(self.binary), *how, text]


class Gemini(OtherAgent):
    name = "gemini"

    def set_up(self) -> None:
        file = self.home / ".gemini" / "settings.json"
        file.parent.mkdir()
        file.write_text(json.dumps(GEMINI_SETTINGS, indent=2))

    def command(self, text: str, *, resume: bool = False) -> list[str]:
        node = shutil.which("node") or "node"
        how = ["--resume", "latest"] if resume else []
        how += ["--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p", text]
        return [node, str(self.binary), *how]


@dataclass
class Work:
    """A turn: where it was, the requests that it led to, and how many hooks were heard."""

    agent: OtherAgent
    project: Path
    asked: list[str]
    heard: Counter[str]


def marketplace(folder: Path) -> Path:
    """The checkout as a clone has it: the agents copy all of it, environments and caches too."""
    for name in (".claude-plugin", "hooks"):
        shutil.copytree(
            CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder


def settings_of(agent: OtherAgent) -> dict[str, bytes]:
    """Every file in the agent's folders of settings that we may write into, but backups."""
    return {
        name: (agent.home / name).read_bytes()
        for name in (".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json")
        if (agent.home / name).exists() and not os.path.islink(agent.home / name)
    }


def busy(agent: OtherAgent) -> Path:
    """A project for a whole session."""
    return agent.remembering(*((text, "learnings") for text in (JWT, REFUSED, PORTS)))


def counts_of_hooks(agent: OtherAgent) -> Counter[str]:
    """How many hooks of each event the daemon has heard from this agent."""
    heard = agent.subcog("status")["heard"]
    return Counter({e["event"]: e["count"] for e in heard if e["client"] == agent.name})


def wait_for_memory(agent: Agent, project: Path, question: str, text: str) -> dict[str, Any]:
    """The memory with ``text``, which is kept behind the agent's back."""
    deadline = time.monotonic() + RUN_S
    while time.monotonic() < deadline:
        found = agent.subcog("recall", question, "--project", str(project))["memories"]
        for memory in found:
            if text in memory["content"]:
                return memory
        time.sleep(0.2)
    raise AssertionError("it was not kept")


def work(agent: OtherAgent, tool: str, field: str, server: dict[str, Any]) -> Work:
    """Have a turn decide something, run tests that pass, and ask the server that is named."""
    here = agent.remembering((PORTS, "learnings"))
    before = counts_of_hooks(agent)
    agent.api.commands += [
        {"name": tool, "input": {field: "echo 3 passed # && pytest -q"}},
        server | {"input": {"query": "payment service"}},
    ]
    agent.run(here, f"{ORDER} {DECIDED}")
    asked = [said_in(body) for body in agent.api.prompts]
    return Work(agent, here, asked, counts_of_hooks(agent) - before)


def work_is_remembered(work: Work) -> None:
    """What was decided in that turn, and that its tests passed, is kept when it ends."""
    agent, here = work.agent, work.project
    found = wait_for_memory(agent, here, "password hashing", "bcrypt truncates")
    assert "auto-captured" in found["tags"]
    kept = agent.subcog("get", found["id"], "--project", str(here))
    assert kept["provenance"]["client"] == agent.name
    record = wait_for_memory(agent, here, ORDER, "Tests: ")
    assert record["namespace"] == "tasks"
    assert "Outcome: success (tests passed)" in record["content"]
