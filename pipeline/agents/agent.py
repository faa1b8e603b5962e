"""What an agent is, where its settings are, which entries in them are subcog's, and its payload."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct

from ...bus.frames import mended
from ...config.patterns import regex

Env = Mapping[str, str]
Version = tuple[int, ...]
SERVER = "subcog"
BOM = "\ufeff"
HOOK_TOOL = "hook"
# At the end of a hook's command: an agent takes some exit codes for a refusal.
NEVER_FAILS = " || true"
# What decides where subcog keeps things.
MOVERS = ("SUBCOG_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
# An HTTP hook of ours says whose it is; that is also how it is recognised.
CLIENT_HEADER = "X-Subcog-Client"
_OUR_URL = regex(r"http://127\.0\.0\.1:\d{1,5}/hooks/[A-Za-z]{1,64}")
MAX_NAME_CHARS = 256
MAX_PATH_CHARS = 4096
"""No agent has longer names, and no file system longer paths; what is longer is not there."""
_NAMES = ("session_id", "agent_id", "tool_use_id")
_IDENTIFIER = regex(r"[\w.:@/+=-]*")
_DIGEST_DIGITS = 32
_BOUNDED = {
    **dict.fromkeys(_NAMES, MAX_NAME_CHARS),
    "cwd": MAX_PATH_CHARS,
    "transcript_path": MAX_PATH_CHARS,
    "agent_transcript_path": MAX_PATH_CHARS,
}


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

    def beside(self, found: Wiring) -> Wiring:
        """The same, with what the user or the agent wrote into the entry of ``found`` besides."""
        if self.server is None or found.server is None:
            return self
        server, env = found.server | self.server, found.server.get("env")
        if isinstance(env, Mapping):
            theirs = {name: value for name, value in env.items() if name not in MOVERS}
            server["env"] = theirs | self.server.get("env", {})
            if env and not server["env"]:
                del server["env"]
        return Wiring(hooks=self.hooks, server=server)

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


class Editor(Protocol):
    """Knows one kind of settings file. All raise ``ValueError`` for a text that is none."""

    def find(self, text: str) -> Wiring:
        """What is ours in ``text``."""
        ...

    def add(self, text: str, wiring: Wiring) -> str:
        """``text``, in which nothing is ours, with ``wiring``."""
        ...

    def remove(self, text: str) -> str:
        """``text`` without what is ours, and without what would be left empty by that."""
        ...


class Place(Struct, frozen=True, kw_only=True):
    """A settings file, and what goes into it."""

    file: Path
    editor: Editor
    hooks: bool = False
    server: bool = False


class Agent(Struct, frozen=True, kw_only=True):
    """One agent. ``events`` has its own name for each event of ours that it may be wired for.

    ``since`` names events that versions before do not know; an unknown name may cost all hooks.
    ``places`` finds its settings for the user, or for a project. ``timeouts_per_s`` is 1000 where
    it counts in milliseconds; ``longest_s`` is what it grants an event at most. ``tools`` has its
    own name for each of Claude Code's tools that it calls otherwise.
    """

    name: str
    title: str
    program: str
    events: Mapping[str, str]
    places: Callable[[Env, Path | None], tuple[Place, ...]]
    since: Mapping[str, Version] = {}
    timeouts_per_s: int = 1
    longest_s: Mapping[str, float] = {}
    tools: Mapping[str, str] = {}
    passes_env: bool = True
    advice: str = ""

    def matcher(self, tools: Iterable[str]) -> str | None:
        """The pattern for a hook that is run for ``tools`` alone; None for all."""
        return "|".join(dict.fromkeys(self.tools.get(tool, tool) for tool in tools)) or None


def home(env: Env) -> Path:
    """The user's home."""
    return Path(env.get("HOME") or Path.home())


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
    words = command_words(command)
    return (
        len(words) in {6, 7}
        and words[1:3] == ["-I", "-S"]
        and words[3].endswith("/hooks/client.py")
        and words[4].isalnum()
        and Path(words[5]).name == "subcog"
        and all(word.isalnum() for word in words[6:])
    )


def command_words(command: object) -> list[str]:
    """What a hook's ``command`` runs, without what keeps it from failing; [] for no command."""
    try:
        return shlex.split(command.removesuffix(NEVER_FAILS)) if isinstance(command, str) else []
    except ValueError:
        return []


def is_our_server(entry: object) -> bool:
    """Whether an MCP server's entry is one that we write, or ``subcog mcp``, added by hand."""
    if not isinstance(entry, Mapping) or not isinstance(args := entry.get("args"), list):
        return False
    if args == ["mcp"]:
        command = entry.get("command")
        return isinstance(command, str) and Path(command).name == "subcog"
    return any(isinstance(arg, str) and arg.endswith("/hooks/mcp_pipe.py") for arg in args)


class Payload(Struct):
    """What we read of a hook's payload; the rest is the agent's business.

    ``tool_input`` and ``tool_response`` are JSON of whatever shape the tool has, not yet decoded.
    """

    session_id: str = ""
    hook_event_name: str = ""
    turn_id: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = ""
    agent_id: str = ""
    agent_type: str = ""
    transcript_path: str | None = ""
    agent_transcript_path: str | None = ""
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: Raw = Raw(b"null")
    tool_response: Raw = Raw(b"null")
    error: str = ""
    is_interrupt: Raw = Raw(b"null")
    trigger: str = ""
    last_assistant_message: str | None = ""
    prompt_response: str | None = ""
    reason: str = ""


def read_payload(body: bytes) -> Payload:
    """Decode a payload. Raises ``ValueError``.

    A lone surrogate (half of a character that a client cut in two) becomes a question mark; what
    else is not JSON, or not of this shape, is refused; so is what is nested a thousand deep.
    """
    payload = _decode(body)
    for name, limit in _BOUNDED.items():
        if len(getattr(payload, name) or "") > limit:
            setattr(payload, name, "")
    for name in _NAMES:
        setattr(payload, name, identifier(getattr(payload, name)))
    return payload


def identifier(name: str) -> str:
    """``name``, or where it is a text and no name, a digest of it.

    Names of sessions are written down as they are; a text may hold what must not be.
    """
    if _IDENTIFIER.fullmatch(name):
        return name
    return sha256(name.encode("utf-8", "replace")).hexdigest()[:_DIGEST_DIGITS]


def _decode(body: bytes) -> Payload:
    try:
        return msgspec.json.decode(body, type=Payload)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return msgspec.json.decode(mended(body), type=Payload)
    except (ValueError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None
