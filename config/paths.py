"""Where subcog keeps things. ``SUBCOG_HOME`` moves all of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

LOG_BACKUPS = 3
"""How many rotated logs are kept beside the current one: ``daemon.log.1`` is the newest."""


class Paths(Struct, frozen=True, kw_only=True):
    """The directories of one user. Nothing here is created by naming it.

    A client always connects to ``link``: the socket itself, or a symbolic link to it. Its place
    depends on the data directory alone, so a hook and a terminal with different runtime
    directories still meet at one daemon.
    """

    data: Path
    config: Path
    state: Path
    runtime: Path

    @property
    def database(self) -> Path:
        return self.data / "subcog.duckdb"

    @property
    def traces(self) -> Path:
        return self.state / "traces.jsonl"

    @property
    def spool(self) -> Path:
        return self.data / "spool"

    @property
    def backups(self) -> Path:
        """Where backups are made without being asked for, unless a setting names another place."""
        return self.data / "backups"

    @property
    def told_damage(self) -> Path:
        """Of which damage the user was told in a hook."""
        return self.state / "told-damage.json"

    @property
    def earlier_scopes(self) -> Path:
        """Which project goes on with a scope that several had once."""
        return self.data / "earlier-scopes.json"

    @property
    def kinship(self) -> Path:
        """Which repositories belong to the project whose remote they name."""
        return self.data / "projects.json"

    @property
    def warning_keys(self) -> Path:
        """By which keys each memory is found that may warn of an action: a cache."""
        return self.data / "warning-keys.jsonl"

    @property
    def missed_starts(self) -> Path:
        """Where hooks note the starts of sessions that no daemon answered."""
        return self.data / "starts"

    @property
    def link(self) -> Path:
        return self.data / "daemon.sock"

    @property
    def lock(self) -> Path:
        return self.data / "daemon.lock"

    @property
    def http_token(self) -> Path:
        return self.data / "http-token"

    @property
    def http_port(self) -> Path:
        return self.data / "http-port"

    @property
    def log(self) -> Path:
        return self.state / "daemon.log"

    @property
    def refusal(self) -> Path:
        """A note that a daemon refused to start, for the hooks."""
        return self.state / "refused"

    @property
    def late(self) -> Path:
        """A note of a hook that a daemon did not listen in time, for the next hooks."""
        return self.state / "late"

    @property
    def logs(self) -> tuple[Path, ...]:
        """The log with its rotations, oldest first, whether they exist or not."""
        rotated = (self.log.with_name(f"{self.log.name}.{n}") for n in range(LOG_BACKUPS, 0, -1))
        return (*rotated, self.log)

    @property
    def hook_activity(self) -> Path:
        return self.state / "heard.json"

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"


def find_paths(env: Mapping[str, str]) -> Paths:
    """The directories that ``env`` names, by the XDG base directory specification.

    Relative XDG values are ignored, as that specification asks. Without ``XDG_RUNTIME_DIR``, or
    where what it names is not the user's alone, the socket lives in the data directory.
    """
    if moved := env.get("SUBCOG_HOME"):
        home = Path(moved).absolute()
        return Paths(
            data=home / "data", config=home / "config", state=home / "state", runtime=home / "run"
        )
    user = _home(env).absolute()

    def xdg(name: str, default: Path) -> Path:
        value = Path(env.get(name, ""))
        return (value if value.is_absolute() else default) / "subcog"

    data = xdg("XDG_DATA_HOME", user / ".local" / "share")
    runtime = Path(env.get("XDG_RUNTIME_DIR", ""))
    return Paths(
        data=data,
        config=xdg("XDG_CONFIG_HOME", user / ".config"),
        state=xdg("XDG_STATE_HOME", user / ".local" / "state"),
        runtime=runtime / "subcog" if runtime.is_absolute() else data,
    )


def _home(env: Mapping[str, str]) -> Path:
    """The user's home; a place where nothing can be kept for a user without one."""
    try:
        return Path(env.get("HOME") or Path.home())
    except RuntimeError:
        return Path("/nonexistent")


def agent_folders(env: Mapping[str, str]) -> dict[str, Path]:
    """Where each agent, by its name with us, keeps what is the user's."""
    home = _home(env)
    return {
        "claude": Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude"),
        "codex": Path(env.get("CODEX_HOME") or home / ".codex"),
        "gemini": Path(env.get("GEMINI_CLI_HOME") or home) / ".gemini",
    }
