"""What of ours stands in an agent's settings: hooks, and the entry of the MCP server."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

SERVER = "subcog"
HOOK_TOOL = "hook"
# An HTTP hook of ours says whose it is; that is also how it is recognised.
CLIENT_HEADER = "X-Subcog-Client"
_OUR_URL = re.compile(r"http://127\.0\.0\.1:\d{1,5}/hooks/[A-Za-z]{1,64}")


class Hook(Struct, frozen=True, kw_only=True):
    """One hook: the agent's name of the event, and the entry as it stands in the settings."""

    event: str
    entry: dict[str, Any]
    matcher: str | None = None


class Wiring(Struct, frozen=True, kw_only=True):
    """What is ours in one file. ``server`` is the entry of the MCP server, None for none."""

    hooks: tuple[Hook, ...] = ()
    server: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return bool(self.hooks) or self.server is not None

    def same_as(self, other: Wiring) -> bool:
        """Whether both have the same, in whatever order."""
        return self.server == other.server and _sorted(self.hooks) == _sorted(other.hooks)

    def in_order(self, events: Iterable[str]) -> Wiring:
        """The same with the hooks in the order of ``events``, as they were once added."""
        order = {event: place for place, event in enumerate(events)}
        hooks = sorted(self.hooks, key=lambda hook: order.get(hook.event, len(order)))
        return Wiring(hooks=tuple(hooks), server=self.server)

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(hook.event for hook in self.hooks)

    @property
    def holds_secret(self) -> bool:
        """Whether the token of the daemon's HTTP side stands in it."""
        return any(hook.entry.get("type") == "http" for hook in self.hooks)


def _sorted(hooks: tuple[Hook, ...]) -> list[str]:
    return sorted(f"{hook.event} {hook.matcher} {sorted(hook.entry.items())}" for hook in hooks)


def is_our_hook(entry: object) -> bool:
    """Whether a hook in an agent's settings is one of ours, for whatever paths and ports."""
    if not isinstance(entry, Mapping):
        return False
    if entry.get("type") == "http":
        headers, url = entry.get("headers"), entry.get("url")
        named = isinstance(headers, Mapping) and CLIENT_HEADER in headers
        return named and isinstance(url, str) and _OUR_URL.fullmatch(url) is not None
    if entry.get("type") == "mcp_tool":
        return (entry.get("server"), entry.get("tool")) == (SERVER, HOOK_TOOL)
    return is_our_command(entry.get("command"))


def is_our_command(command: object) -> bool:
    """Whether a hook's ``command`` is one that ``hook_command`` writes, for whatever paths."""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return (
        len(words) in {6, 7}
        and words[1:3] == ["-I", "-S"]
        and words[3].endswith("/hooks/client.py")
        and words[4].isalnum()
        and Path(words[5]).name == "subcog"
        and all(word.isalnum() for word in words[6:])
    )


def is_our_server(entry: object) -> bool:
    """Whether an MCP server's entry is the one that we write."""
    args = entry.get("args") if isinstance(entry, Mapping) else None
    return isinstance(args, list) and any(
        isinstance(arg, str) and arg.endswith("/hooks/mcp_pipe.py") for arg in args
    )
