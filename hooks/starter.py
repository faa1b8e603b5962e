"""Starts the daemon when a hook finds none, and tells the user when that cannot be.

Loaded by ``client.py`` on its slow path only; the time limit is the caller's alarm.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Mapping

POLL_S = 0.004
# Before the next start, where another daemon holds the lock and nobody listens: it is leaving.
AGAIN_S = 0.25
# For so long after a daemon refused to start, or did not listen in time, none is started for a hook
# that nobody waits for. Notes in the folder of the state say so.
REFUSED_S = 60.0
REFUSED, LATE = b"refused", b"late"
TOLD_DAYS = 7
# What belongs to one session of an agent, and must not live on in a daemon that outlasts it.
SESSION_PREFIXES = (b"CLAUDE", b"GEMINI", b"AI_AGENT")
# Where an agent keeps the files that the daemon reads; they are the user's, and no session's.
AGENT_HOMES = (b"CLAUDE_CONFIG_DIR", b"GEMINI_CLI_HOME")
# Where Claude Code shows a systemMessage to the user; that of SessionStart was seen to vanish.
SHOWN_EVENT = "UserPromptSubmit"

Answer = tuple["bytes | None", str]


class Start:
    """The attempt of one hook to have a daemon: polls, and starts it under the lock."""

    def __init__(self, candidates: list[bytes], data: bytes, state: bytes, cwd: bytes) -> None:
        os.makedirs(data, 0o700, exist_ok=True)
        os.chdir(data)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, nobody would hear how it ended
        self.lock = os.open(b"start.lock", os.O_RDWR | os.O_CREAT, 0o600)
        self.candidates = candidates
        self.state = state
        self.cwd = cwd
        self.locked = False
        self.child = 0
        self.start_at = 0.0

    def advance(self) -> str:
        """Do what can be done now, where no daemon listens; returns why to give up, or nothing."""
        if not self.locked:
            # Who has just got it looks again before it starts one: its last holder may have.
            self.locked = _try_lock(self.lock)
        elif self.child:
            status = _status(self.child)
            if status:
                return "refused"
            if status == 0:
                self.child, self.start_at = 0, time.monotonic() + AGAIN_S
        elif time.monotonic() >= self.start_at:
            self.child = start(self.candidates, self.state, self.cwd, self.lock)
            if not self.child:
                return "not_installed"
        time.sleep(POLL_S)
        return ""

    def end(self) -> None:
        """Let others start a daemon, unless the one that we started lives.

        A session's pipe lives on, and its daemon may leave.
        """
        os.close(self.lock)


def ask(
    exchange: Callable[[], bytes],
    *,
    died: bool,
    launcher: str,
    data: bytes,
    state: bytes,
    cwd: bytes,
    urgent: bool = True,
) -> Answer:
    """Start the daemon unless somebody else does, and ask it as soon as it listens.

    ``died``: the request was sent once already, and the daemon hung up. Unless ``urgent``, none is
    started where one refused to within ``REFUSED_S``, or was late. Returns the answer, or None and
    the reason: ``not_installed`` (there is no launcher), ``refused`` (the daemon ended with an
    error), ``late``, ``died`` (it hung up twice) or ``unreachable``. Otherwise it waits on, until
    the caller's alarm raises out of it.
    """
    if not (candidates := launchers(os.fsencode(launcher))) and not died:
        return None, "not_installed"
    if not urgent and (reason := _not_now(state)):
        return None, reason
    try:
        attempt = Start(candidates, data, state, cwd)
        try:
            answer, reason = _ask(exchange, attempt, died)
        finally:
            attempt.end()
        if reason == "refused":
            note(state, REFUSED)
        return answer, reason
    except OSError:  # a folder that is none of ours, a file in the socket's place
        return None, "unreachable"


def _ask(exchange: Callable[[], bytes], attempt: Start, died: bool) -> Answer:
    while True:
        try:
            return exchange(), ""
        except (FileNotFoundError, ConnectionRefusedError):
            if reason := attempt.advance():
                return None, reason
        except ConnectionError:
            if died:
                return None, "died"
            died = True


def _not_now(state: bytes) -> str:
    """Why no daemon is to be started; empty if nothing speaks against it."""
    if has_refused(state):
        return "refused"
    return "late" if _is_noted(state, LATE) else ""


def has_refused(state: bytes) -> bool:
    """Whether a daemon refused to start within ``REFUSED_S``; it notes that itself as well."""
    return _is_noted(state, REFUSED)


def _is_noted(state: bytes, what: bytes) -> bool:
    try:
        noted = os.stat(os.path.join(state, what)).st_mtime
    except OSError:
        return False
    return 0 <= time.time() - noted < REFUSED_S


def note(state: bytes, what: bytes) -> None:
    """Note ``REFUSED`` or ``LATE`` for the next hooks."""
    name = os.path.join(state, what)
    try:
        os.makedirs(state, 0o700, exist_ok=True)
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600))
        os.utime(name)
    except OSError:  # then the next hook tries as well
        return


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _status(child: int) -> int | None:
    """How the daemon that we started ended, 0 where another one has the lock; None: it runs."""
    try:
        pid, status = os.waitpid(child, os.WNOHANG)
    except ChildProcessError:
        return None
    return status if pid == child else None


def launchers(named: bytes = b"") -> list[bytes]:
    """Every ``subcog`` that could be started, best first: named, installed with us, PATH, home."""
    room = os.path.dirname(os.path.dirname(os.path.abspath(os.fsencode(__file__))))
    found = [named, os.path.join(room, b".venv/bin/subcog")]
    if os.path.basename(os.path.dirname(room)) in {b"site-packages", b"dist-packages"}:
        found.append(os.path.normpath(os.path.join(room, b"../../../../bin/subcog")))
    found += [os.path.join(os.fsencode(place), b"subcog") for place in os.get_exec_path()]
    found.append(os.path.expanduser(b"~/.local/bin/subcog"))
    return [path for path in dict.fromkeys(found) if _runnable(path)]


def _runnable(path: bytes) -> bool:
    # A relative entry of PATH would run what lies in the agent's project.
    return os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK)


def start(candidates: Iterable[bytes], state: bytes, cwd: bytes, lock: int) -> int:
    """Spawn ``subcog daemon run``, detached from the agent; its process id, or 0 if none ran.

    It holds ``lock`` as long as it lives: until it listens, hooks wait for it and start no other.
    """
    for descriptor in _open_descriptors():
        os.set_inheritable(descriptor, descriptor == lock)
    log = _open_log(state)
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, log if log >= 0 else null, target) for target in (1, 2)]
    for launcher in candidates:
        try:
            return os.posix_spawn(
                launcher,
                [launcher, b"daemon", b"run"],
                daemon_environment(os.environb, cwd),
                file_actions=actions,
                setsid=True,
                setsigmask=(),
                setsigdef=(signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE),
            )
        except OSError:  # its interpreter is gone, or it is no program: the next one
            continue
    return 0


def _open_descriptors() -> list[int]:
    """What we inherited: a daemon that kept the agent's pipes open would make the agent wait."""
    try:
        return [
            int(name) for name in os.listdir("/dev/fd") if int(name) > 2 and _is_open(int(name))
        ]
    except OSError:
        return []


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _open_log(state: bytes) -> int:
    try:
        os.makedirs(state, 0o700, exist_ok=True)
        return os.open(
            os.path.join(state, b"daemon.log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
        )
    except OSError:
        return -1


def daemon_environment(env: Mapping[bytes, bytes], cwd: bytes) -> dict[bytes, bytes]:
    """``env`` without what belongs to one session; where we and agents keep things is absolute.

    The keys of model providers stay: the daemon may need one.
    """
    kept = {
        key: value
        for key, value in env.items()
        if not key.startswith(SESSION_PREFIXES) or key.endswith(b"_API_KEY") or key in AGENT_HOMES
    }
    for name in (b"HOME", b"SUBCOG_HOME", *AGENT_HOMES):
        if moved := kept.get(name):
            kept[name] = os.path.join(cwd, moved)
    return kept


def notice(event: str, reason: str, body: bytes, session: bytes, state: bytes) -> str:
    """What the user should know about ``reason``; empty if nothing, or told in this session."""
    text = {"not_installed": _not_installed, "refused": _does_not_start}.get(reason)
    if text is None or event != SHOWN_EVENT:
        return ""
    return text(state) if _first_time(reason, _session_of(body, session), state) else ""


def _not_installed(state: bytes) -> str:
    room = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    checkout = os.path.isfile(os.path.join(room, "Makefile"))
    command = f"make -C {shlex.quote(room)} setup" if checkout else "pipx install subcog"
    return f"subcog is not installed, so nothing is remembered. To install it: {command}"


def _does_not_start(state: bytes) -> str:
    log = os.path.join(os.fsdecode(state), "daemon.log")
    return f"subcog does not start, so nothing is remembered; `subcog doctor` and {log} say why."


def _session_of(body: bytes, known: bytes) -> str:
    """The agent's session; where nobody tells it, the process that ran the hook stands for it."""
    try:
        session = json.loads(body)["session_id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        session = os.fsdecode(known)
    return f"{session or os.getppid()}"


def missed_start_name(session: str) -> str:
    """The name of the file that notes a start of ``session`` that was not answered."""
    return hashlib.sha256(session.encode(errors="replace")).hexdigest()[:32] + ".json"


def note_missed_start(fields: Mapping[bytes, bytes], body: bytes, data: bytes) -> None:
    """Note a session's start that was not answered, so that its first prompt brings the greeting.

    Of the payload in ``body`` its session, source and directory are kept, for ``TOLD_DAYS``.
    """
    try:
        payload = json.loads(body)
        texts = {key: payload.get(key) for key in ("session_id", "source", "cwd")}
    except (ValueError, AttributeError, RecursionError):
        return
    note = {key: _whole(text[:4096]) for key, text in texts.items() if isinstance(text, str)}
    if not note.get("session_id"):
        return
    folder = os.path.join(os.fsdecode(data), "starts")
    name = os.path.join(folder, missed_start_name(note["session_id"]))
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        _forget_old(folder)
        target = os.open(name + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(target, "w") as file:
            json.dump({**note, "id": fields[b"id"].decode()}, file)
        os.rename(name + ".tmp", name)
    except OSError:  # the session goes without a greeting
        return


def _whole(text: str) -> str:
    """``text`` with a question mark for each half of a character that a client cut in two."""
    return text.encode("utf-8", "replace").decode()


def _first_time(reason: str, session: str, state: bytes) -> bool:
    """Whether ``reason`` is told for the first time in ``session``; it is noted as told."""
    told = os.path.join(os.fsdecode(state), "told")
    name = hashlib.sha256(session.encode(errors="replace")).hexdigest()[:32]
    try:
        os.makedirs(told, 0o700, exist_ok=True)
        _forget_old(told)
        note = os.path.join(told, f"{reason}-{name}")
        os.close(os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:  # told before; or it cannot be noted, and would be told at every prompt
        return False
    return True


def _forget_old(told: str) -> None:
    oldest = time.time() - TOLD_DAYS * 86_400
    with os.scandir(told) as entries:
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)
            except OSError:  # another hook was faster
                continue


def _object(answer: bytes) -> dict[str, object]:
    try:
        told = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def message(notes: Iterable[str], answer: bytes = b"") -> bytes:
    """Hook output that shows ``notes`` to the user, beside what ``answer`` holds already."""
    told = _object(answer)
    texts = [str(text) for text in (told.get("systemMessage"), *notes) if text]
    if not texts:
        return answer
    return json.dumps({**told, "systemMessage": "\n".join(texts)}).encode()
