"""The pipe between an agent's hook and the daemon: bytes in, bytes out, never in the agent's way.

Run as ``python3 -I -S client.py EVENT [LAUNCHER [CLIENT | detailed]]`` with the hook's payload on
standard input; ``CLIENT`` names the agent where its environment does not, and ``detailed`` asks for
metadata that no agent reads. It prints the daemon's answer when the whole of it has arrived, or
nothing, and always exits 0. It parses nothing, because every module that is imported here is paid
for on every prompt: what is seldom needed (starting the daemon, keeping a capture that no daemon
took) is loaded from the files beside this one when it is needed. The bytes on the wire are those
of ``bus/frames.py``; a contract test holds the two equal. Runs on Python 3.9 and later.
"""

import sys
from time import monotonic, time

try:  # the built-in halves of signal, socket and os; the other halves cost as much as the rest
    import _signal  # type: ignore[import-not-found]
    import _socket
    import posix
except ImportError:
    import os as posix  # type: ignore[no-redef]
    import signal as _signal
    import socket as _socket  # type: ignore[no-redef]

TYPE_CHECKING = False  # type checkers take it for true; typing's own would have to be imported
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VERSION = "0.1.0"
MAX_BODY = 16 * 1024 * 1024
MAX_LINE = 256
MAX_VALUE = 4096  # the longest path that Linux takes; a longer value is no path
MAX_WAIT_MS = 5000
MARGIN_MS = 100  # what the daemon's budget leaves for starting and leaving this process
ARRIVAL_MS = 2000  # for the payload: a busy machine may hold up who writes it
SPOOL_MS = 8000  # for writing down a capture after the time is up; agents wait for 10 s in all
NOTICE_MS = 1000  # for telling the user why there is no answer
NOTE_MS = 400  # for noting that a session's start was not answered; it takes 1 to 20
UNCERTAIN = (
    b'{"systemMessage": "subcog: it is not certain that this is kept: the disk did not answer in'
    b' time. To be sure, send it again."}'
)
# Those of ``spool.py``, which costs too much here, and what may hide one; a test compares them.
HINTS = (
    *(b"[remember", b"[capture", b"@memory"),
    *(b"\xef\xbc\xbbremember", b"\xe3\x80\x90remember"),  # the full-width brackets and sign
    *(b"\xef\xbc\xbbcapture", b"\xe3\x80\x90capture", b"\xef\xbc\xa0memory"),
    b"\\u",
)
UNSEEN = bytes(range(0x7F, 0x100))  # among it what may stand in a marker, and cannot be seen
URGENT = ("SessionStart", "UserPromptSubmit")  # they try to start what refused to, each time
AGAIN_S = 0.1  # the alarm repeats: an exception that falls into a destructor is swallowed there


class OutOfTime(BaseException):
    """The hook's budget is used up."""


class Gone(ConnectionError):
    """The daemon took the request, and hung up before it had answered."""


def _expire(signum: int, frame: object) -> None:
    raise OutOfTime


def _leave(signum: int, frame: object) -> None:
    posix._exit(0)


def _leave_uncertain(signum: int, frame: object) -> None:
    """Leave in the midst of setting aside what is marked, and say that."""
    disarm()
    _write_all(1, UNCERTAIN)
    posix._exit(0)


def arm(milliseconds: float, handler: "Callable[[int, object], None]" = _expire) -> None:
    """Raise ``OutOfTime`` after so many milliseconds from now, unless armed anew or disarmed."""
    _signal.signal(_signal.SIGALRM, handler)
    _signal.setitimer(_signal.ITIMER_REAL, max(milliseconds, 1) / 1000, AGAIN_S)


def disarm() -> None:
    """Take the limit away."""
    _signal.setitimer(_signal.ITIMER_REAL, 0)


def setting(env: dict[bytes, bytes], name: bytes, default_ms: int) -> int:
    """Milliseconds from the environment; the daemon says it if they are no such number."""
    value = env.get(name, b"")
    return int(value) if value.isdigit() and len(value) < 6 else default_ms


def folder(env: dict[bytes, bytes], name: bytes, xdg: bytes, default: bytes) -> bytes:
    """One of subcog's folders, as ``config/paths.py`` finds it."""
    if moved := env.get(b"SUBCOG_HOME"):
        return _absolute(moved) + b"/" + name
    place = env.get(xdg, b"")
    if not place.startswith(b"/"):
        place = _absolute(env.get(b"HOME") or _home()) + default
    return place + b"/subcog"


def _absolute(place: bytes) -> bytes:
    """``place`` from the root on, because the way to the socket begins with a change of folder."""
    return place if place.startswith(b"/") else _working_directory() + b"/" + place


def _home() -> bytes:
    import pwd

    try:
        return pwd.getpwuid(posix.getuid()).pw_dir.encode(errors="surrogateescape")
    except KeyError:  # a user without a home: nothing can be kept there, and that is told
        return b"/nonexistent"


def data_folder(env: dict[bytes, bytes]) -> bytes:
    """Where the daemon's socket and the spool are."""
    return folder(env, b"data", b"XDG_DATA_HOME", b"/.local/share")


def state_folder(env: dict[bytes, bytes]) -> bytes:
    """Where the daemon's log is, and what was told already."""
    return folder(env, b"state", b"XDG_STATE_HOME", b"/.local/state")


def _working_directory() -> bytes:
    try:
        return posix.getcwdb()
    except OSError:  # it was deleted under us
        return b""


def describe(env: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """The fields of a request that say who asks, from where. ``id`` names this one asking."""
    gemini = env.get(b"GEMINI_PROJECT_DIR", b"")
    fields = {
        b"version": VERSION.encode(),
        b"id": b"%012x%s" % (int(time() * 1000), posix.urandom(10).hex().encode()),
        b"project": env.get(b"CLAUDE_PROJECT_DIR") or gemini,
        b"cwd": _working_directory(),
        b"client": b"claude" if b"CLAUDECODE" in env else b"gemini" if gemini else b"other",
        b"session": env.get(b"CLAUDE_CODE_SESSION_ID", b""),
    }
    return {key: value if len(value) <= MAX_VALUE else b"" for key, value in fields.items()}


def pack(request: str, fields: dict[bytes, bytes], body: bytes) -> bytes:
    """The bytes of a ``request``, its kind and its name, up to its body."""
    packed = b"\0".join([key + b"=" + value for key, value in fields.items()])
    return b"subcog/1 %s %d %d\n" % (request.encode(), len(packed), len(body)) + packed


def read_all(source: int, parts: "list[bytes]") -> None:
    """Add to ``parts`` what is on a file descriptor, up to ``MAX_BODY`` bytes and a few more."""
    length = 0
    while length <= MAX_BODY:
        try:
            part = posix.read(source, 1 << 18)
        except BlockingIOError:
            posix.set_blocking(source, True)
            continue
        except OSError:  # it was never opened
            break
        if not part:
            break
        parts.append(part)
        length += len(part)


def _write_all(target: int, data: bytes) -> None:
    while data:
        try:
            data = data[posix.write(target, data) :]
        except BlockingIOError:
            posix.set_blocking(target, True)


def _receive(connection: "_socket.socket", so_far: bytes) -> bytes:
    part = connection.recv(1 << 16)
    if not part:
        raise Gone
    return so_far + part


def read_reply(connection: "_socket.socket") -> "tuple[bytes, bool]":
    """The body of the daemon's answer, and whether all that is marked is settled.

    The body is empty if it is an error or no answer of ours, and then nothing is settled. Raises
    ``Gone`` if the connection ends before it is whole.
    """
    data, latest = b"", monotonic() + MAX_WAIT_MS / 1000
    while True:
        while b"\n" not in data and len(data) <= MAX_LINE:
            data = _receive(connection, data)
        head, _, data = data.partition(b"\n")
        parts = head.split(b" ")
        if len(parts) != 4 or parts[0] != b"subcog/1" or not parts[3].isdigit():
            return b"", False
        _, status, detail, length = parts
        if status != b"wait":
            break
        asked_ms = int(detail) if detail.isdigit() and len(detail) < 6 else 0
        arm(min(asked_ms, (latest - monotonic()) * 1000))
    if status not in (b"ok", b"unsettled") or len(length) > 8 or int(length) > MAX_BODY:
        return b"", False
    while len(data) < int(length):
        data = _receive(connection, data)
    return data[: int(length)], status == b"ok"


def exchange(event: str, fields: dict[bytes, bytes], body: bytes) -> "tuple[bytes, bool]":
    """Ask the daemon whose socket is in the current directory; its answer, as ``read_reply``.

    Raises ``OSError``: ``FileNotFoundError`` or ``ConnectionRefusedError`` if there is no daemon,
    ``Gone`` or another ``ConnectionError`` if there was one.
    """
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(b"daemon.sock")
    left_ms = _signal.getitimer(_signal.ITIMER_REAL)[0] * 1000
    head = pack("hook " + event, {**fields, b"budget_ms": b"%d" % left_ms}, body)
    connection.sendall(head + body)
    answer = read_reply(connection)
    connection.close()
    return answer


def helper(name: str) -> "Any":
    """Import one of the modules beside this file, which may cost more."""
    here = __file__.rpartition("/")[0] or "."
    if here not in sys.path:
        sys.path.append(here)
    return __import__(name)


class Hook:
    """One run of the pipe. ``reason`` says why there is no answer: ``late``, or as the starter.

    ``settled``: the daemon answered, and what the prompt asks to keep is committed.
    """

    def __init__(self, event: str, launcher: str, env: dict[bytes, bytes]) -> None:
        self.event = event
        self.launcher = launcher
        self.env = env
        self.started = monotonic()
        self.data = data_folder(env)
        self.fields = describe(env)
        self.body = b""
        self.reason = ""
        self.settled = False

    def run(self) -> bytes:
        """What to print; empty for nothing."""
        answer = None
        parts: "list[bytes]" = []
        try:
            arm(ARRIVAL_MS)
            read_all(0, parts)
            self.body = b"".join(parts)
            budget_ms = setting(self.env, b"SUBCOG_HOOK_TOTAL_MS", 200) + MARGIN_MS
            if self.marked(HINTS[:-1]):  # who asks to keep something waits to be told that it is
                start_ms = setting(self.env, b"SUBCOG_HOOK_START_MS", 1000)
                budget_ms = max(budget_ms, start_ms + MARGIN_MS)
            arm(budget_ms - (monotonic() - self.started) * 1000)
            if len(self.body) <= MAX_BODY:
                answer = self.ask()
            disarm()
        except OutOfTime:
            disarm()  # it repeats
            self.reason = "late"
            self.body = self.body or b"".join(parts)  # whoever wrote it may not close its end
        unkept = not self.settled and self.marked()
        if unkept or (answer is None and self.reason != "late"):
            arm(*((SPOOL_MS, _leave_uncertain) if unkept else (NOTICE_MS, _leave)))
            answer = self.last_words(answer, unkept)
            disarm()
        if answer is None and self.event == "SessionStart" and self.reason != "not_installed":
            self.note_missed_start()
        return answer or b""

    def ask(self) -> "bytes | None":
        """The daemon's answer, after starting it if need be; None and a reason without one."""
        try:
            posix.chdir(self.data)
            return self.exchange()
        except OSError as error:
            failed = error
        spent_ms = (monotonic() - self.started) * 1000
        arm(setting(self.env, b"SUBCOG_HOOK_START_MS", 1000) - spent_ms)
        answer: bytes | None
        starter, state = helper("starter"), state_folder(self.env)
        try:
            answer, self.reason = starter.ask(
                self.exchange,
                died=not isinstance(failed, (FileNotFoundError, ConnectionRefusedError)),
                launcher=self.launcher,
                data=self.data,
                state=state,
                cwd=self.fields[b"cwd"],
                urgent=self.event in URGENT,
            )
        except OutOfTime:
            disarm()
            if not starter.has_refused(state):
                starter.note(state, starter.LATE)
                raise
            answer, self.reason = None, "refused"  # as the one before, which said so too late
        return answer

    def exchange(self) -> bytes:
        """Ask the daemon once."""
        answer, self.settled = exchange(self.event, self.fields, self.body)
        return answer

    def note_missed_start(self) -> None:
        """Have the session's first prompt bring the greeting, if the disk takes that at once."""
        try:
            arm(NOTE_MS)
            helper("starter").note_missed_start(self.fields, self.body, self.data)
            disarm()
        except OutOfTime:
            disarm()

    def marked(self, hints: "tuple[bytes, ...]" = HINTS) -> bool:
        """Whether this is a prompt that may hold something that the user asked to keep."""
        if self.event != "UserPromptSubmit":
            return False
        text = self.body.lower()
        seen = text.translate(None, UNSEEN)
        return any(hint in seen or hint in text for hint in hints)

    def last_words(self, answer: "bytes | None", unkept: bool) -> bytes:
        """Keep what would be lost, and say what the user should know, beside ``answer``."""
        starter = helper("starter")
        notes = []
        if answer is None:
            session, state = self.fields[b"session"], state_folder(self.env)
            notes.append(starter.notice(self.event, self.reason, self.body, session, state))
        if unkept:
            notes.append(helper("spool").keep(self.event, self.fields, self.body, self.data))
        told: bytes = starter.message(notes, answer or b"")
        return told


def main(argv: "list[str]") -> None:
    """Run the hook, and leave the process with exit code 0, whatever happens."""
    try:
        # Whoever started us may have blocked the signal by which every limit here is held.
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
        event = argv[1] if len(argv) > 1 else ""
        launcher = argv[2] if len(argv) > 2 else ""
        if event.isascii() and event.isalnum() and len(event) <= 64:
            hook = Hook(event, launcher, getattr(posix, "environb", posix.environ))
            if argv[3:] == ["detailed"]:
                hook.fields[b"detailed"] = b"1"
            elif len(argv) == 4 and argv[3].isascii() and argv[3].isalnum():
                hook.fields[b"client"] = argv[3][:64].encode()
            answer = hook.run()
            arm(ARRIVAL_MS, _leave)  # nobody may be reading
            _write_all(1, answer)
    except KeyboardInterrupt:  # the user interrupts the agent, or tries the hook by hand
        pass
    except BaseException as error:  # noqa: BLE001 - a hook never fails: the agent would be told
        _write_all(2, b"subcog hook: unexpected " + type(error).__name__.encode() + b"\n")
    finally:
        posix._exit(0)


if __name__ == "__main__":
    main(sys.argv)
