"""What there is to know about an agent in order to wire it: where, and under which names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from .json_settings import JsonSettings
from .settings_file import Editor

Env = Mapping[str, str]
Version = tuple[int, ...]


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
    it counts in milliseconds; ``longest_s`` is what it grants an event at most.
    """

    name: str
    title: str
    program: str
    events: Mapping[str, str]
    places: Callable[[Env, Path | None], tuple[Place, ...]]
    since: Mapping[str, Version] = {}
    timeouts_per_s: int = 1
    longest_s: Mapping[str, float] = {}
    passes_env: bool = True
    advice: str = ""


def home(env: Env) -> Path:
    """The user's home."""
    return Path(env.get("HOME") or Path.home())


def json_place(file: Path, *, hooks: bool = False, server: bool = False) -> Place:
    """A JSON file that keeps MCP servers, if any, under ``mcpServers``."""
    return Place(file=file, editor=JsonSettings(), hooks=hooks, server=server)
