"""The pipe between an agent's MCP client and the daemon: lines in, lines out, for a whole session.

Run as ``python3 -I -S mcp_pipe.py [LAUNCHER]``. The server itself is in the daemon, where what it
needs is loaded once for all sessions. This process only carries lines, and remembers what the
daemon would have to hear again: when the daemon is restarted, the client does not notice. Messages
are read, not changed, and only after they were passed on. Runs on Python 3.9 and later.
"""

import select
import sys
from time import monotonic

try:  # the built-in halves, as in client.py
    import _signal  # type: ignore[import-not-found]
    import _socket
    import posix
except ImportError:
    import os as posix  # type: ignore[no-redef]
    import signal as _signal
    import socket as _socket  # type: ignore[no-redef]

sys.path.append(__file__.rpartition("/")[0] or ".")
import client  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    Id = Union[str, int, None]

START_MS = 15_000
# How often it is looked whether somebody else has started the daemon again.
LOOK_S = 1.0
# How long answers are waited for after the client has said its last.
LINGER_S = 10.0
# A daemon that has said nothing for so long is asked whether it lives, and has as long to say it.
HUNG_S = 5.0
CHUNK = 1 << 16
# What a pipe takes without blocking once it takes anything.
PIPE_CHUNK = 4096
# So much may wait on its way to one side before the other is not read from any longer.
MAX_WAITING = 1 << 20
MAX_HEARD = 256
# A request that outlived so many daemons is not asked again.
MAX_TRIES = 3
UP, DOWN = 0, 1


class Unreachable(ConnectionError):
    """There is no daemon, and none could be started."""


class Request:
    """A request without an answer so far. One that is ``lasting`` is only answered at its end."""

    def __init__(self, line: bytes, lasting: bool) -> None:
        self.line = line
        self.lasting = lasting
        self.tries = 1


class Memory:
    """What a new daemon has to hear, so that it can take the place of the old one."""

    def __init__(self) -> None:
        self.heard: "list[tuple[int, bytes]]" = []
        self.opening: "list[bytes]" = []
        self.opening_id: Id = None
        self.watched: "dict[str, tuple[Id, bytes]]" = {}
        self.pending: "dict[Id, Request]" = {}

    def digest(self) -> None:
        """Read what was heard since the last time."""
        heard, self.heard = self.heard, []
        for direction, line in heard:
            message = decode(line)
            if direction == UP:
                self.asked(message, line)
            elif "method" not in message:
                self.pending.pop(id_of(message), None)

    def asked(self, message: "dict[str, Any]", line: bytes) -> None:
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if "id" in message and isinstance(method, str):
            self.pending[id_of(message)] = Request(line, method == "subscriptions/listen")
        if method == "initialize":
            self.opening, self.opening_id = [line], id_of(message)
        elif method == "notifications/initialized":
            self.opening[1:] = [line]
        elif method == "notifications/cancelled":
            self.pending.pop(id_of(params, "requestId"), None)
        elif method == "resources/subscribe":
            self.watched[str(params.get("uri"))] = (id_of(message), line)
        elif method == "resources/unsubscribe":
            self.watched.pop(str(params.get("uri")), None)

    @property
    def misses(self) -> bool:
        """Whether something is lost as long as there is no daemon."""
        return bool(self.pending or self.watched)

    @property
    def waits(self) -> bool:
        """Whether the client waits for an answer."""
        return any(not request.lasting for request in self.pending.values())

    def again(self) -> "tuple[list[bytes], set[Id]]":
        """The lines for a new daemon, and whose answers the client has had already."""
        lines = list(self.opening) if self.opening_id not in self.pending else []
        known = {self.opening_id} if lines else set()
        for watch_id, line in self.watched.values():
            if watch_id not in self.pending:
                lines.append(line)
                known.add(watch_id)
        for request in self.pending.values():
            lines.append(request.line)
            request.tries += 1
        return lines, known

    def worn_out(self, tries: int) -> "list[Id]":
        """Take out the requests that were asked so often, and return whose they were."""
        found = [key for key, each in self.pending.items() if each.tries >= tries]
        found = [key for key in found if not self.pending[key].lasting]
        for key in found:
            del self.pending[key]
        return found


def decode(line: bytes) -> "dict[str, Any]":
    """A message as a dictionary; empty for what is none."""
    import json  # not needed for the handshake, and costs as much as all the rest

    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def id_of(message: "dict[str, Any]", name: str = "id") -> "Id":
    """The id in a message; None where it is none."""
    value = message.get(name)
    return value if isinstance(value, (str, int)) else None


def split(lines: bytes) -> "list[bytes]":
    """Whole lines, each with its end. A carriage return is no end."""
    return [line + b"\n" for line in lines[:-1].split(b"\n")]


def trouble() -> "Any":
    """What is needed where the daemon has left or hangs."""
    return client.helper("mcp_trouble")


class Pipe:
    """One session: the client on the standard streams, the daemon on a socket."""

    def __init__(self, launcher: str, env: "dict[bytes, bytes]") -> None:
        self.launcher = launcher
        self.data = client.data_folder(env)
        self.state = client.state_folder(env)
        self.fields = client.describe(env)
        self.memory = Memory()
        self.daemon: "_socket.socket | None" = None
        # On their way: to the daemon, and to the client; and the beginnings of lines from each.
        self.up, self.down = bytearray(), bytearray()
        self.typed, self.told = bytearray(), bytearray()
        self.known: "set[Id]" = set()
        self.answered = False
        self.left_at: "float | None" = None
        # When something was last said that may not be answered yet.
        self.said_at: "float | None" = None

    # --- the daemon ------------------------------------------------------------------------------

    def dial(self) -> "_socket.socket":
        """A connection to the daemon that runs. Raises ``OSError``."""
        posix.chdir(self.data)
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.settimeout(HUNG_S)
        connection.connect(b"daemon.sock")
        return connection

    def start(self) -> "_socket.socket":
        """A connection to the daemon, started if need be. Raises ``Unreachable``."""
        try:
            return self.dial()
        except OSError:
            pass
        try:
            client.arm(START_MS)
            connection, reason = client.helper("starter").ask(
                self.dial,
                died=False,
                launcher=self.launcher,
                data=self.data,
                state=self.state,
                cwd=self.fields[b"cwd"],
            )
        except client.OutOfTime:
            connection, reason = None, "late"
        finally:
            client.disarm()
        if connection is None:
            raise Unreachable(reason)
        return connection  # type: ignore[no-any-return]

    def take(self, connection: "_socket.socket") -> None:
        """Begin with a daemon: say who we are, and what it would know if it had always been."""
        self.up = bytearray(client.pack("mcp stdio", self.fields, b""))
        connection.setblocking(False)
        self.daemon, self.said_at = connection, monotonic()
        lines, self.known = self.memory.again()
        for line in lines:
            self.up += line
        for uri, (watch_id, _) in self.memory.watched.items():
            if watch_id in self.known:  # it may have changed while nobody watched
                self.down += trouble().updated(uri)

    def drop(self) -> None:
        """The daemon has gone."""
        if self.daemon is not None:
            self.daemon.close()
        self.daemon = None
        self.up.clear()
        self.told.clear()
        self.memory.digest()
        self.refuse(MAX_TRIES, "subcog's daemon left before it had answered")

    def retrieve(self) -> None:
        """Find a daemon again, now that one is needed."""
        self.memory.digest()
        try:
            self.take(self.start())
        except Unreachable as error:
            self.refuse(1, "subcog does not start (%s); `subcog doctor` says why" % error)

    def refuse(self, tries: int, why: str) -> None:
        """Answer with an error what was asked ``tries`` times."""
        for request_id in self.memory.worn_out(tries):
            self.down += trouble().refusal(request_id, why)

    def watch_over(self) -> None:
        """Answer what waits with an error where the daemon hangs: no request waits for ever."""
        self.memory.digest()
        if not self.memory.waits or self.daemon is None:
            self.said_at = None
            return
        asking = client.pack("call status", self.fields, b"{}") + b"{}"
        if trouble().is_alive(self.dial, self.daemon, asking, HUNG_S):
            self.said_at = monotonic()
            return
        self.refuse(1, trouble().hung(self.daemon))
        self.drop()

    def look(self) -> None:
        """Take a daemon that somebody else has started, if there is one."""
        try:
            connection = self.dial()
        except OSError:
            return
        self.take(connection)

    # --- carrying --------------------------------------------------------------------------------

    def run(self) -> None:
        """Carry until the client leaves. Raises ``Unreachable`` if it cannot even begin."""
        self.take(self.start())
        while not self.is_over():
            self.turn()

    def is_over(self) -> bool:
        if self.left_at is None:
            return False
        self.memory.digest()
        waits = (self.memory.waits or self.up) and monotonic() < self.left_at + LINGER_S
        return not (waits or self.down)

    def turn(self) -> None:
        """Wait for something to happen, and deal with it."""
        poll = select.poll()
        reading = self.left_at is None and len(self.up) < MAX_WAITING
        if reading:
            poll.register(0, select.POLLIN)
        if self.down:
            poll.register(1, select.POLLOUT)
        if self.daemon is not None:
            wanted = select.POLLIN if len(self.down) < MAX_WAITING else 0
            poll.register(self.daemon.fileno(), wanted | (select.POLLOUT if self.up else 0))
        events = dict(poll.poll(0 if self.is_behind() else self.patience_ms()))
        if self.daemon is not None and self.said_at and monotonic() >= self.said_at + HUNG_S:
            self.watch_over()
        elif not events:
            self.idle()
        if 1 in events:
            self.write_down()
        if 0 in events:
            self.read_client()
        if self.daemon is not None and (event := events.get(self.daemon.fileno())):
            self.serve_daemon(event)

    def is_behind(self) -> bool:
        """Whether there is something to read up on while nothing happens."""
        heard = self.memory.heard
        return bool(heard) and (self.answered or len(heard) > MAX_HEARD)

    def patience_ms(self) -> "int | None":
        missed = self.daemon is None and self.memory.misses
        waiting = self.left_at is not None or missed or self.said_at is not None
        return int(LOOK_S * 1000) if waiting else None

    def idle(self) -> None:
        if self.is_behind():
            self.memory.digest()
        elif self.daemon is None and self.memory.misses:
            self.look()

    def read_client(self) -> None:
        chunk = posix.read(0, CHUNK)
        if not chunk:
            self.left_at = monotonic()
            return
        self.typed += chunk
        end = self.typed.rfind(b"\n") + 1
        if not end:
            return
        lines = bytes(self.typed[:end])
        del self.typed[:end]
        self.memory.heard += [(UP, line) for line in split(lines) if line.strip()]
        if self.daemon is None:
            self.retrieve()
        else:
            self.up += lines
            self.said_at = self.said_at or monotonic()

    def write_down(self) -> None:
        del self.down[: posix.write(1, self.down[:PIPE_CHUNK])]

    def serve_daemon(self, event: int) -> None:
        """Send and receive what can be. The daemon's death is noticed here."""
        try:
            if self.up and event & select.POLLOUT and self.daemon is not None:
                del self.up[: self.daemon.send(self.up[: 4 * CHUNK])]
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                self.read_daemon()
        except BlockingIOError:
            pass
        except OSError:
            self.lose()

    def read_daemon(self) -> None:
        chunk = self.daemon.recv(CHUNK) if self.daemon is not None else b""
        if not chunk:
            self.lose()
            return
        self.told += chunk
        self.said_at = monotonic()
        end = self.told.rfind(b"\n", len(self.told) - len(chunk)) + 1
        if not end:
            return
        lines = split(bytes(self.told[:end]))
        del self.told[:end]
        for line in lines:
            self.pass_on(line)

    def pass_on(self, line: bytes) -> None:
        """Give a line to the client, unless it answers what was asked on our own account."""
        if self.known:
            message = decode(line)
            if "method" not in message and id_of(message) in self.known:
                self.known.discard(id_of(message))
                return
        self.answered = True
        self.memory.heard.append((DOWN, line))
        self.down += line

    def lose(self) -> None:
        self.drop()
        if self.memory.waits:
            self.retrieve()


def main(argv: "list[str]") -> int:
    """Run the pipe. Returns the exit code: 1 where there is no daemon to talk to."""
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    pipe = Pipe(argv[1] if len(argv) > 1 else "", getattr(posix, "environb", posix.environ))
    try:
        pipe.run()
    except Unreachable as error:
        posix.write(2, b"subcog mcp: no daemon (%s)\n" % str(error).encode())
        return 1
    except BrokenPipeError:  # the client has left
        pass
    return 0


if __name__ == "__main__":
    posix._exit(main(sys.argv))
