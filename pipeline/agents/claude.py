"""Claude Code: its words are ours."""

from __future__ import annotations

from pathlib import Path

from ...config.paths import agent_folders
from .agent import Agent, Env, Place, home
from .json_settings import JsonSettings

# The oldest version that was seen to know these; some older ones drop all hooks for one such name.
KNOWN_LATE = (2, 1, 197)
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "Stop",
    "SubagentStop",
    "SessionEnd",
)


def places(env: Env, project: Path | None) -> tuple[Place, ...]:
    """The settings, and the file of the MCP servers.

    Those of a project are the ones that Claude Code keeps for this user alone, since what is
    written there are paths of this machine.
    """
    folder = agent_folders(env)["claude"]
    state = (folder if env.get("CLAUDE_CONFIG_DIR") else home(env)) / ".claude.json"
    if project is None:
        hooks, servers = folder / "settings.json", JsonSettings()
    else:
        hooks = project / ".claude" / "settings.local.json"
        servers = JsonSettings(("projects", str(project), "mcpServers"))
    return (
        Place(file=hooks, editor=JsonSettings(), hooks=True),
        Place(file=state, editor=servers, server=True),
    )


AGENT = Agent(
    name="claude",
    title="Claude Code",
    program="claude",
    events={event: event for event in EVENTS},
    since={"PostToolUseFailure": KNOWN_LATE},
    places=places,
)
