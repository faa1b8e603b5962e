"""Wires subcog into an agent, and takes exactly that out again.

The plan of an installation is a list of changes, one a settings file, that is made before anything
is written; so a file that cannot be read stops all of it. ``clients/settings_file.py`` does the
writing, and keeps what the user wrote.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from .agent import Agent, Env, Hook, Place, Version, Wiring
from .claude import AGENT as CLAUDE
from .codex import AGENT as CODEX
from .gemini import AGENT as GEMINI
from .settings_file import Change, SettingsUnreadable, read, unwire, wire, write
from .transport import Transport

__all__ = ["AGENTS", "Change", "Parts", "SettingsUnreadable", "install", "uninstall", "wired"]

AGENTS = {agent.name: agent for agent in (CLAUDE, CODEX, GEMINI)}
# What decides where subcog keeps things.
MOVERS = ("SUBCOG_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
# Not in the plugin's hooks.json, which every version has to understand.
LATE_EVENTS = {"PostToolUseFailure": 10}


class Parts(Struct, frozen=True, kw_only=True):
    """What an installation points to: the interpreter, the folder of the pipes, the launcher."""

    interpreter: Path
    hooks: Path
    launcher: Path


def our_parts() -> Parts:
    """Those that belong to whoever runs this process."""
    return Parts(
        interpreter=real_interpreter(),
        hooks=Path(__file__).resolve().parents[2] / "hooks",
        launcher=Path(sys.executable).parent / "subcog",
    )


def real_interpreter() -> Path:
    """The interpreter itself: a version manager's shim costs a hook ten times as much to start."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return Path(os.path.realpath(base))


def hook_command(event: str, client: str, parts: Parts) -> str:
    """The shell line that an agent runs for what Claude Code calls ``event``."""
    pipe = parts.hooks / "client.py"
    words = [parts.interpreter, "-I", "-S", pipe, event, parts.launcher, client]
    return shlex.join(map(str, words))


def server_entry(agent: Agent, parts: Parts, env: Env) -> dict[str, Any]:
    """How an agent starts our MCP server; what moves our folders is named where it hides that."""
    entry: dict[str, Any] = {
        "command": str(parts.interpreter),
        "args": ["-I", "-S", str(parts.hooks / "mcp_pipe.py"), str(parts.launcher)],
    }
    moved = {name: env[name] for name in MOVERS if env.get(name)}
    return entry if agent.passes_env or not moved else {**entry, "env": moved}


def timeouts_s(parts: Parts) -> dict[str, float]:
    """The events that are wired, and what each may take: those of the plugin, and the late ones."""
    hooks = json.loads((parts.hooks / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    plugin = {event: groups[0]["hooks"][0]["timeout"] for event, groups in hooks.items()}
    return plugin | {e: s for e, s in LATE_EVENTS.items() if e not in plugin}


def hooks_for(
    agent: Agent, parts: Parts, version: Version, transport: Transport | None = None
) -> tuple[Hook, ...]:
    """The hooks of ``agent`` in that version; an unknown version, (), is taken for an old one."""
    hooks = []
    allowed_s = timeouts_s(parts)
    for own, event in agent.events.items():
        if event not in allowed_s or version < agent.since.get(own, ()):
            continue
        longest_s = min(allowed_s[event], agent.longest_s.get(own, allowed_s[event]))
        timeout = longest_s * agent.timeouts_per_s
        entry = transport.entry(event, timeout) if transport and transport.carries(event) else None
        command = hook_command(event, agent.name, parts)
        entry = entry or {"type": "command", "command": command, "timeout": timeout}
        hooks.append(Hook(event=own, entry=entry))
    return tuple(hooks)


def install(
    agent: Agent,
    parts: Parts,
    env: Env,
    *,
    project: Path | None = None,
    version: Version = (),
    transport: Transport | None = None,
    server: bool = True,
    dry_run: bool = False,
) -> list[Change]:
    """Wire ``agent`` for the user, or in ``project``; what an earlier installation wrote goes.

    ``server`` says whether the MCP server is entered too. Raises ``SettingsUnreadable``, and then
    nothing was changed; ``OSError`` if a file cannot be read or written.
    """
    hooks = hooks_for(agent, parts, version, transport)
    entry = server_entry(agent, parts, env) if server else None
    plan = [
        wire(place.file, place.editor, _share(place, hooks, entry))
        for place in agent.places(env, project)
    ]
    return plan if dry_run else [write(change) for change in plan]


def uninstall(
    agent: Agent, env: Env, *, project: Path | None = None, dry_run: bool = False
) -> list[Change]:
    """Take our entries out, and what the installation made around them. Raises like ``install``."""
    plan = [unwire(place.file, place.editor, agent.events) for place in agent.places(env, project)]
    return plan if dry_run else [write(change) for change in plan]


def wired(agent: Agent, env: Env, *, project: Path | None = None) -> Mapping[Path, Wiring]:
    """What is ours in each settings file of ``agent``. Raises like ``install``."""
    found = {}
    for place in agent.places(env, project):
        try:
            found[place.file] = place.editor.find(read(place.file) or "")
        except SettingsUnreadable:
            raise
        except ValueError as error:
            raise SettingsUnreadable(f"{place.file} {error}") from None
    return found


def _share(place: Place, hooks: tuple[Hook, ...], server: dict[str, Any] | None) -> Wiring:
    return Wiring(
        hooks=hooks if place.hooks else (),
        server=server if place.server else None,
    )
