"""Looks around on this machine: which agents are there, and what of ours they are wired with."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from .agent import Agent, Env, Version
from .claude import places as claude_places

VERSION_S = 10
_VERSION = re.compile(r"(?<![\d.])(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?!\d)")


class FoundAgent(Struct, frozen=True, kw_only=True):
    """An agent as it was found. ``program`` is None where it is not on PATH.

    ``version`` is () where the program did not tell it.
    """

    program: str | None
    version: Version


def find_agent(agent: Agent, env: Env) -> FoundAgent:
    """Find the agent's program and ask for its version."""
    program = shutil.which(agent.program, path=env.get("PATH"))
    return FoundAgent(program=program, version=_version(program, env) if program else ())


def _version(program: str, env: Env) -> Version:
    try:
        done = subprocess.run(  # noqa: S603 - the agent that the user asked to wire
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(env),
            timeout=VERSION_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return read_version(done.stdout.decode(errors="replace"))


def read_version(text: str) -> Version:
    """The first ``1.2.3`` in what a program said of itself, or ()."""
    found = _VERSION.search(text)
    return tuple(map(int, found.groups())) if found else ()


def plugin_enabled(env: Env) -> bool:
    """Whether Claude Code runs subcog as an installed plugin, by the user's settings."""
    settings: Any = None
    try:
        file: Path = claude_places(env, None)[0].file
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    enabled = settings.get("enabledPlugins") if isinstance(settings, Mapping) else None
    return isinstance(enabled, Mapping) and any(
        name.partition("@")[0] == "subcog" and bool(value) for name, value in enabled.items()
    )
