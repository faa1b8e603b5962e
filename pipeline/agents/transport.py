"""Other ways to the daemon than a process for each hook: HTTP, and the agent's MCP connection."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from ...config.load import load_settings
from ...config.paths import Paths
from ...sinks.http.credentials import http_token, last_port
from .agent import CLIENT_HEADER, HOOK_TOOL, SERVER, Agent, Env, Version
from .claude import KNOWN_LATE

# At the start there may be no daemon yet, and no agent posts that event.
# PreCompact is answered in plain text, which only a command can print.
WITHOUT_HTTP = ("SessionStart", "PreCompact")
# What of a payload is handed to the MCP tool: there is no way to hand over the whole. The other
# events come before the connection is there, when it is gone, or want an answer in plain text.
FIELDS = {
    "UserPromptSubmit": ("prompt",),
    "PostToolUse": ("tool_name", "tool_input", "tool_response"),
    "PostToolUseFailure": ("tool_name", "tool_input", "error"),
    "Stop": (),
    "SubagentStop": ("agent_id", "agent_type", "agent_transcript_path"),
}
COMMON = ("session_id", "transcript_path", "cwd")


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
    """The way to the daemon's HTTP side as it is set up now; None where it has had no port yet.

    Raises ``SettingsError`` and ``OSError``.
    """
    port = load_settings(paths.config_file, env).settings.http.port or last_port(paths.http_port)
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
