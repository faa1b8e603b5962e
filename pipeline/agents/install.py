"""Wires subcog into an agent, and takes exactly that out again; finds which agents are there.

The plan of an installation is a list of changes, one a settings file, that is made before anything
is written; so a file that cannot be read stops all of it. ``settings_file.py`` does the writing,
and keeps what the user wrote. A ``Transport`` is another way to the daemon than a process a hook.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from ...config.load import load_settings
from ...config.paths import Paths
from ...config.patterns import regex
from ...sinks.http.credentials import http_token, last_port
from .agent import (
    CLIENT_HEADER,
    HOOK_TOOL,
    MOVERS,
    NEVER_FAILS,
    SERVER,
    Agent,
    Env,
    Hook,
    Place,
    Version,
    Wiring,
)
from .claude import AGENT as CLAUDE
from .claude import KNOWN_LATE
from .claude import places as claude_places
from .codex import AGENT as CODEX
from .gemini import AGENT as GEMINI
from .settings_file import (
    Change,
    SettingsChanged,
    SettingsMalformed,
    SettingsUnreadable,
    read,
    unwire,
    wire,
    write,
)

# At the start there may be no daemon yet, and no agent posts that event.
# PreCompact is answered in plain text, which only a command can print.
WITHOUT_HTTP = ("SessionStart", "PreCompact")
# What of a payload is handed to the MCP tool: there is no way to hand over the whole. The other
# events come before the connection is there, when it is gone, or want an answer in plain text.
FIELDS = {
    "UserPromptSubmit": ("agent_id", "prompt"),
    "PreToolUse": ("agent_id", "tool_name", "tool_input"),
    "PostToolUse": ("agent_id", "tool_name", "tool_input", "tool_response"),
    "PostToolUseFailure": ("agent_id", "tool_name", "tool_input", "error", "is_interrupt"),
    "Stop": ("last_assistant_message",),
    "SubagentStop": (
        "agent_id",
        "agent_type",
        "agent_transcript_path",
        "last_assistant_message",
    ),
}
COMMON = ("session_id", "transcript_path", "cwd")
__all__ = ["AGENTS", "Change", "Parts", "SettingsUnreadable", "install", "uninstall", "wired"]
AGENTS = {agent.name: agent for agent in (CLAUDE, CODEX, GEMINI)}
# Not in the plugin's hooks.json, which every version has to understand.
LATE_EVENTS = {"PostToolUseFailure": 10}
VERSION_S = 10
# So often a change is made anew where the agent wrote its settings meanwhile.
AGAIN = 3
_VERSION = regex(r"(?<![\d.])(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?!\d)")


class Transport(Protocol):
    """Writes hook entries that reach the daemon in its own way."""

    def carries(self, event: str) -> bool:
        """Whether this way is open to ``event``."""
        ...

    def entry(self, event: str, timeout: float) -> dict[str, Any]:
        """The hook's entry in the settings."""
        ...


class Http(Struct, frozen=True, kw_only=True):
    """The agent posts to the daemon. The settings hold the token, so they are for one user alone.

    An agent fills in variables of its own environment alone, in which nobody could put the token.
    """

    client: str
    port: int
    token: str

    def carries(self, event: str) -> bool:
        return event not in WITHOUT_HTTP

    def entry(self, event: str, timeout: float) -> dict[str, Any]:
        return {
            "type": "http",
            "url": f"http://127.0.0.1:{self.port}/hooks/{event}",
            "headers": {"Authorization": f"Bearer {self.token}", CLIENT_HEADER: self.client},
            "timeout": timeout,
        }


def http_of(client: str, paths: Paths, env: Env) -> Http | None:
    """The way to the daemon's HTTP side as it is set up now.

    None where that is switched off, or has had no port yet. Raises ``SettingsError``, ``OSError``.
    """
    http = load_settings(paths.config_file, env).settings.http
    port = (http.port or last_port(paths.http_port)) if http.enabled else 0
    return Http(client=client, port=port, token=http_token(paths.http_token)) if port else None


class Mcp(Struct, frozen=True, kw_only=True):
    """The agent calls a tool of the MCP server that it is connected to anyway."""

    client: str

    def carries(self, event: str) -> bool:
        return event in FIELDS

    def entry(self, event: str, timeout: float) -> dict[str, Any]:
        fields = {name: f"${{{name}}}" for name in (*COMMON, *FIELDS[event])}
        return {
            "type": "mcp_tool",
            "server": SERVER,
            "tool": HOOK_TOOL,
            "input": {"event": event, "client": self.client, "payload": fields},
            "timeout": timeout,
        }


def why_not(agent: Agent, version: Version) -> str:
    """Why ``agent`` in that version takes command hooks alone; empty if it takes others."""
    if agent.name != "claude":
        return f"{agent.title} takes no other hooks than commands"
    if not version:
        return "the version of Claude Code could not be found out"
    if version < KNOWN_LATE:
        found, least = (".".join(map(str, each)) for each in (version, KNOWN_LATE))
        return f"Claude Code {found} may drop all hooks for one of another kind; {least} takes them"
    return ""


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
    """The shell line that an agent runs for what Claude Code calls ``event``.

    Where the interpreter or the pipe is gone it must not fail: Python exits with 2 where there is
    no such file, and an agent takes that for a refusal of the prompt.
    """
    pipe = parts.hooks / "client.py"
    words = [parts.interpreter, "-I", "-S", pipe, event, parts.launcher, client]
    return shlex.join(map(str, words)) + NEVER_FAILS


def server_entry(agent: Agent, parts: Parts, env: Env) -> dict[str, Any]:
    """How an agent starts our MCP server; what moves our folders is named where it hides that."""
    entry: dict[str, Any] = {
        "command": str(parts.interpreter),
        "args": ["-I", "-S", str(parts.hooks / "mcp_pipe.py"), str(parts.launcher)],
    }
    moved = {name: env[name] for name in MOVERS if env.get(name)}
    return entry if agent.passes_env or not moved else {**entry, "env": moved}


class Wired(Struct, frozen=True):
    """How an event is wired: what it may take, and the tools that it is for, by Claude's names."""

    timeout_s: float
    tools: tuple[str, ...] = ()


def wired_events(parts: Parts) -> dict[str, Wired]:
    """The events that are wired: those of the plugin, and the late ones."""
    hooks = json.loads((parts.hooks / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    plugin = {event: _wired(group) for event, (group,) in hooks.items()}
    return plugin | {e: Wired(s) for e, s in LATE_EVENTS.items() if e not in plugin}


def _wired(group: Mapping[str, Any]) -> Wired:
    tools = group.get("matcher", "")
    return Wired(group["hooks"][0]["timeout"], tuple(tools.split("|")) if tools else ())


def hooks_for(
    agent: Agent, parts: Parts, version: Version, transport: Transport | None = None
) -> tuple[Hook, ...]:
    """The hooks of ``agent`` in that version; an unknown version, (), is taken for an old one."""
    hooks = []
    known = wired_events(parts)
    for own, event in agent.events.items():
        if event not in known or version < agent.since.get(own, ()):
            continue
        longest_s = min(known[event].timeout_s, agent.longest_s.get(own, math.inf))
        timeout = longest_s * agent.timeouts_per_s
        entry = transport.entry(event, timeout) if transport and transport.carries(event) else None
        command = hook_command(event, agent.name, parts)
        entry = entry or {"type": "command", "command": command, "timeout": timeout}
        hooks.append(Hook(event=own, entry=entry, matcher=agent.matcher(known[event].tools)))
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
    nothing was changed; ``SettingsChanged`` if somebody writes a file all the time, ``OSError`` if
    it cannot be written.
    """
    hooks = hooks_for(agent, parts, version, transport)
    entry = server_entry(agent, parts, env) if server else None
    plan = []
    for place in agent.places(env, project):
        ours = Wiring(hooks=hooks if place.hooks else (), server=entry if place.server else None)
        plan.append(partial(wire, place.file, place.editor, ours))
    return _carry_out(plan, dry_run=dry_run)


def uninstall(
    agent: Agent, env: Env, *, project: Path | None = None, dry_run: bool = False
) -> list[Change]:
    """Take our entries out, and what the installation made around them. Raises like ``install``."""
    places = agent.places(env, project)
    plan = [partial(unwire, place.file, place.editor, agent.events) for place in places]
    return _carry_out(plan, dry_run=dry_run)


def _carry_out(plan: Sequence[Callable[[], Change]], *, dry_run: bool) -> list[Change]:
    """Make all changes, then write them; one whose file was written meanwhile is made anew."""
    changes = [make() for make in plan]
    return changes if dry_run else [_write(*each) for each in zip(plan, changes, strict=True)]


def _write(make: Callable[[], Change], change: Change) -> Change:
    for _ in range(AGAIN):
        with suppress(SettingsChanged):
            return write(change)
        change = make()
    return write(change)


def wired(agent: Agent, env: Env, *, project: Path | None = None) -> Mapping[Path, Wiring]:
    """What is ours in each settings file of ``agent``. Raises like ``install``."""
    return {place.file: wired_in(place) for place in agent.places(env, project)}


def wired_in(place: Place) -> Wiring:
    """What is ours in one settings file. Raises ``SettingsUnreadable``."""
    text = read(place.file) or ""
    try:
        return place.editor.find(text)
    except ValueError as error:
        raise SettingsMalformed(f"{place.file} {error}", names_us="subcog" in text) from None


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


def plugin_enabled(env: Env, project: Path) -> bool:
    """Whether Claude Code runs subcog as an installed plugin in ``project``.

    The user's settings, those of the project and the user's own for it each may say so; the last of
    them that names the plugin counts.
    """
    enabled: dict[str, bool] = {}
    folder = project / ".claude"
    users = claude_places(env, None)[0].file
    for file in (users, folder / "settings.json", folder / "settings.local.json"):
        enabled |= _plugins(file)
    return any(on for name, on in enabled.items() if name.partition("@")[0] == "subcog")


def _plugins(file: Path) -> dict[str, bool]:
    """The plugins that a settings file names, and whether it enables them."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    named = settings.get("enabledPlugins") if isinstance(settings, Mapping) else None
    return {name: bool(on) for name, on in named.items()} if isinstance(named, Mapping) else {}
