"""The checks of this installation: interpreter, settings, files, daemon, database."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from ...bus.results import ProjectResult
from ...bus.service_results import StatusResult, StopResult
from ...config.build import read_build
from ...config.load import SettingsError, load_settings, without_password
from ...config.paths import Paths
from ...hooks.client import VERSION
from ...sinks.store.errors import StoreUnavailable
from ...sinks.store.wal import loss_of
from ..agents.agent import Env
from ..agents.install import real_interpreter
from ..cli.client import CallFailed, Client, DaemonUnreachable, connect
from ..cli.wording import counted, memories
from ..daemon.sockets import AlreadyRunning, listen_on_loopback, only_one, socket_path, unlisten
from .findings import (
    Finding,
    Unrepaired,
    examine_backups,
    examine_damage,
    examine_http,
    examine_index,
    examine_model,
    examine_project,
    examine_reranker,
    examine_sessions,
    examine_team,
    examine_time,
    failed,
    passed,
)

_UNREACHED = (DaemonUnreachable, CallFailed, OSError)
# Folders may be searched by their owner alone, files read and written.
FOLDER_MODE, FILE_MODE = 0o700, 0o600
# A daemon that was just started loads the memories first.
LOAD_S = 20.0
LEAVE_S = 10.0
POLL_S = 0.02


class Installation:
    """One user's installation. ``status`` is the daemon's, None until it could be asked."""

    def __init__(self, paths: Paths, env: Env) -> None:
        self._paths = paths
        self._env = env
        self.status: StatusResult | None = None

    def examine(self) -> Iterator[Finding]:
        """Every finding. Starts the daemon if it can be started."""
        yield _interpreter()
        yield _settings(self._paths, self._env)
        yield _permissions(self._paths)
        yield _spool(self._paths)
        socket = _socket(self._paths)
        yield socket
        if not socket.ok and socket.repair is None:
            return  # there is no way to a daemon, and asking would only wait
        self.status, error = _ask(self._paths)
        yield _daemon(self._paths, self.status, error)
        yield from _http(self._paths, self._env, self.status)
        yield examine_reranker(self.status)
        yield from examine_index(self.status)
        yield from examine_time(self.status)
        yield examine_model(self.status)
        yield examine_team(self.status)
        yield examine_project(_project(self._paths, self._env) if self.status else None)
        yield from _sessions(self._paths, self._env, self.status)
        yield from _database(self._paths, self.status)
        if self.status is not None:
            yield examine_backups(self.status)
            yield examine_damage(self.status)


def _interpreter() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    well = sys.version_info >= (3, 11)
    mend = "install subcog with Python 3.11 or later"
    seen = f"{real_interpreter()}, {version}"
    return Finding(check="interpreter", ok=well, seen=seen, mend=mend)


def _settings(paths: Paths, env: Env) -> Finding:
    try:
        loaded = load_settings(paths.config_file, env)
    except SettingsError as error:
        return failed("settings", str(error), "correct that value, or remove it")
    changed = sum(origin.source != "default" for origin in loaded.origins)
    seen = "; ".join([_changed(changed), *loaded.warnings])
    return passed("settings", seen)


def _changed(count: int) -> str:
    if not count:
        return "all are the defaults"
    return f"{counted(count, 'setting')} {'differs' if count == 1 else 'differ'} from the defaults"


# --- files ----------------------------------------------------------------------------------------


def _permissions(paths: Paths) -> Finding:
    found = open_to_others(paths)
    if not found:
        return passed("permissions", "only you can read the files")
    named = ", ".join(map(str, found[:5])) + (" and more" if len(found) > 5 else "")
    return failed(
        "permissions",
        f"others may read or write {named}",
        "`subcog doctor --repair` removes these permissions, or run chmod go-rwx",
        partial(_close_to_others, found),
    )


def open_to_others(paths: Paths) -> list[Path]:
    """Our folders and files that others than their owner may use, but no links."""
    folders = [paths.data, paths.state, paths.spool]
    files = [path for folder in folders for path in _children(folder)]
    socket = [socket_path(paths)] if paths.data.exists() else []
    secret = [paths.config_file] if _holds_password(paths.config_file) else []
    places = dict.fromkeys([*folders, *files, *socket, *secret])
    return [place for place in places if _is_open(place)]


def _holds_password(settings: Path) -> bool:
    """Whether the address of a team's server stands there with its password."""
    try:
        url = load_settings(settings, {}).settings.team.url
    except SettingsError:
        return False
    return without_password(url) != url


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_open(path: Path) -> bool:
    try:
        return not path.is_symlink() and bool(path.stat().st_mode & 0o077)
    except OSError:
        return False


def _close_to_others(found: list[Path]) -> tuple[str, ...]:
    for path in found:
        path.chmod(FOLDER_MODE if path.is_dir() else path.stat().st_mode & 0o700 or FILE_MODE)
    return tuple(f"{path}: now only for you" for path in found)


def _spool(paths: Paths) -> Finding:
    unread = [path for path in _children(paths.spool) if path.suffix == ".bad"]
    waiting = sum(path.suffix == ".json" for path in _children(paths.spool))
    if unread:
        seen = f"{len(unread)} prompts or captures that were set aside could not be read"
        mend = f"inspect them in {paths.spool}, and delete what you do not need"
        return failed("spool", seen, mend)
    return passed("spool", f"{waiting} prompts or captures waiting to be stored")


# --- the daemon -----------------------------------------------------------------------------------


def _socket(paths: Paths) -> Finding:
    """Whether what lies where clients connect leads to somebody."""
    if not os.path.lexists(paths.link):
        return passed("socket", "no daemon runs; the next client starts it")
    try:
        connection = connect(paths.link)
    except OSError:
        connection = None
    if connection is not None:
        connection.close()
        return passed("socket", str(paths.link))
    if _held(paths):
        seen = "a daemon is running, but its socket cannot be reached"
        mend = f"end the process that holds {paths.lock}: `fuser -k {paths.lock}`"
        return failed("socket", seen, mend)
    return failed(
        "socket",
        f"{paths.link} is left over; no daemon listens on it",
        "the next daemon replaces it, and `subcog doctor --repair` removes it",
        partial(_remove_socket, paths),
    )


def _held(paths: Paths) -> bool:
    """Whether a daemon holds the lock."""
    try:
        descriptor = os.open(paths.lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _remove_socket(paths: Paths) -> tuple[str, ...]:
    if paths.link.is_dir() and not paths.link.is_symlink():
        raise Unrepaired(f"{paths.link} is a folder that subcog did not create; move it away")
    try:
        with only_one(paths.lock):
            unlisten(paths)
    except AlreadyRunning:
        return ("a daemon has started in the meantime",)
    return (f"{paths.link} is removed",)


def _ask(paths: Paths) -> tuple[StatusResult | None, str]:
    """The daemon's status once it has loaded the memories, or None and why there is none."""
    deadline = monotonic() + LOAD_S
    try:
        with closing(Client(paths, {})) as client:
            status = client.call("status", StatusResult)
            while not _has_settled(status, paths) and monotonic() < deadline:
                sleep(POLL_S)
                status = client.call("status", StatusResult)
    except _UNREACHED as error:
        return None, str(error)
    return status, ""


def _has_settled(status: StatusResult, paths: Paths) -> bool:
    """Whether the daemon knows how it is with its database; one that was just lost it may not."""
    return bool(status.problem) or (status.ready and not loss_of(paths.database))


def _project(paths: Paths, env: Env) -> ProjectResult | None:
    named = env.get("CLAUDE_PROJECT_DIR", "")
    fields = {"project": named, "cwd": str(Path.cwd()), "client": "cli"}
    try:
        with closing(Client(paths, fields)) as client:
            return client.call("project", ProjectResult)
    except _UNREACHED:
        return None


def _daemon(paths: Paths, status: StatusResult | None, error: str) -> Finding:
    if status is None:
        return failed("daemon", error, f"see {paths.log}")
    seen = f"process {status.pid}, version {status.version}"
    if status.version != VERSION:
        mend = "`subcog daemon stop`; the next client starts the new one"
        return failed("daemon", f"{seen}, while the command line has {VERSION}", mend)
    if status.build != read_build():
        mend = "`subcog daemon stop`; the next client starts this one"
        return failed("daemon", f"{seen}, of another build than the command line", mend)
    return passed("daemon", seen)


def _http(paths: Paths, env: Env, status: StatusResult | None) -> Iterator[Finding]:
    """Whether HTTP is served; nothing where no daemon could be asked, or no settings be read."""
    if status is None:
        return
    try:
        settings = load_settings(paths.config_file, env).settings.http
    except SettingsError:
        return
    refusal = "" if status.metrics_url else _refusal_of(settings.port)
    yield examine_http(status, settings, refusal)


def _refusal_of(port: int) -> str:
    """Why nobody can listen on ``port`` now; "" where one can."""
    try:
        listen_on_loopback(port).close()
    except OSError as error:
        return (error.strerror or type(error).__name__).lower()
    return ""


def _sessions(paths: Paths, env: Env, status: StatusResult | None) -> Iterator[Finding]:
    """What is kept of sessions here; nothing where the settings cannot be read."""
    try:
        settings = load_settings(paths.config_file, env).settings.sessions
    except SettingsError:
        return
    yield examine_sessions(status, settings, env.get("CLAUDE_PROJECT_DIR") or str(Path.cwd()))


# --- the database ---------------------------------------------------------------------------------


def _database(paths: Paths, status: StatusResult | None) -> Iterator[Finding]:
    """What keeps the daemon from the database; a database that it has open is well."""
    if status is not None and not status.problem:
        seen = f"{paths.database}, {memories(status.memories or 0)} in all projects"
        if not status.ready:
            seen = f"{paths.database} is still being loaded"
        yield Finding(check="database", ok=status.ready, seen=seen, mend="check again later")
        return
    said = status.problem if status else ""
    if status and said and status.pid == os.getppid():  # it runs this for the page that it serves
        yield failed("database", said, "run `subcog doctor` in a terminal")
        return
    from ...sinks.repair.repair import diagnose

    with _without_daemon(paths, status) as free:
        problems = diagnose(paths.database) if free else ()
    for problem in problems:
        yield failed(
            "database",
            problem.seen,
            problem.mend,
            partial(_repair_database, paths) if problem.repairable else None,
        )
    if not problems and said:
        yield failed("database", said, f"see {paths.log}")


@contextmanager
def _without_daemon(paths: Paths, status: StatusResult | None) -> Iterator[bool]:
    """Whether no daemon runs now, nor starts while this lasts; one with a problem is stopped."""
    if status is not None:
        with closing(Client(paths, {})) as client, suppress(*_UNREACHED):
            client.call("stop", StopResult, start=False)
    with ExitStack() as held:
        yield _locked(paths, held)


def _locked(paths: Paths, held: ExitStack) -> bool:
    """Take the daemon's lock as soon as one that is leaving lets go of it."""
    deadline = monotonic() + LEAVE_S
    while True:
        try:
            held.enter_context(only_one(paths.lock))
        except AlreadyRunning:
            if monotonic() > deadline:
                return False
            sleep(POLL_S)
        except OSError:
            return False
        else:
            return True


def _repair_database(paths: Paths) -> tuple[str, ...]:
    """Mend all of it that can be mended, with no daemon in the way."""
    from ...sinks.repair.repair import repair

    status = None
    if connected := connect(paths.link):
        connected.close()
        status, _ = _ask(paths)
        if status is not None and not status.problem:
            return ("the daemon has the database open, and it is intact",)
    with _without_daemon(paths, status) as free:
        if not free:
            raise Unrepaired("the daemon has it open; run `subcog daemon stop`, and try again")
        try:
            mended = repair(paths.database, now=datetime.now(UTC))
        except StoreUnavailable as error:
            raise Unrepaired(str(error)) from None
    return tuple(line for one in mended for line in _told(one))


def _told(mended: Any) -> Iterator[str]:
    yield mended.done
    for path in mended.kept_aside:
        yield f"the former file is kept as {path}"
