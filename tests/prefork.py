"""The installed program without its start: forks of a process that has imported it already.

Importing the product and loading its models takes a second of the processor, and some hundred tests
start a daemon that is not what they are about. ``program()`` is a launcher for these: it takes the
place of ``subcog``, hands its arguments, environment, directory and streams to a process that has
all that is imported, and ends as the fork ends that runs the command.

The fork is no child of whoever ran the launcher, has no other descriptors than the three streams
and none of its limits: a test that looks at these, sends signals, or is about the start itself runs
the installed program.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import re
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from functools import cache
from pathlib import Path
from typing import NoReturn, TextIO

INSTALLED = str(Path(sys.executable).parent / "subcog")
COMMAND_LINE = "subcog.pipeline.cli.main"

LAUNCHER = """\
#!{python} -IS
import _socket, os, sys
if any(name.startswith("PYTHON") for name in os.environ):
    os.execv({installed!r}, [{installed!r}, *sys.argv[1:]])
fork = _socket.socket(_socket.AF_UNIX)
fork.connect({socket!r})
arguments = list(map(os.fsencode, sys.argv[1:]))
variables = [name + b"=" + value for name, value in os.environb.items()]
os.umask(mask := os.umask(0o77))
parts = [os.getcwdb(), b"%d" % mask, b"%d" % len(arguments), *arguments, *variables]
request = b"\\0".join(parts)
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
fork.sendmsg([b"%9d" % len(request)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
fork.sendall(request)
os._exit(int(fork.recv(9) or 1))
"""


@cache
def program() -> str:
    """The path of the launcher; its process is started now, and ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="prefork"))
    launcher = folder / "subcog"
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    socket_path = str(folder / "socket")
    launcher.write_text(
        LAUNCHER.format(python=python, installed=INSTALLED, socket=socket_path), "utf-8"
    )
    launcher.chmod(0o700)
    command = [sys.executable, __file__, str(folder)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"

    @atexit.register
    def end() -> None:
        server.communicate()
        shutil.rmtree(folder, ignore_errors=True)

    return str(launcher)


def serve(folder: Path) -> None:
    """Fork for each request, until the other end of the standard input is closed."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(64)
    prepare(folder / "subcog")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    ended, children = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(children, warn_on_full_buffer=False)
    waiting: dict[int, socket.socket] = {}
    while sys.stdin not in (ready := select.select([listener, ended, sys.stdin], [], [])[0]):
        if ended in ready:
            os.read(ended, 4096)
            tell_ended(waiting)
        if listener in ready:
            connection, _ = listener.accept()
            if not (child := os.fork()):
                signal.set_wakeup_fd(-1)
                for descriptor in (ended, children):
                    os.close(descriptor)
                for other in (listener, *waiting.values()):
                    other.close()
                answer(connection)
            waiting[child] = connection


def tell_ended(waiting: dict[int, socket.socket]) -> None:
    """Tell each launcher whose fork has ended its exit status, as a shell shows it."""
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(found[1])
            with waiting.pop(found[0]) as connection, contextlib.suppress(OSError):
                connection.send(b"%d" % (code if code >= 0 else 128 - code))


def prepare(launcher: Path) -> None:
    """Import what a daemon and the commands import, and load what a daemon keeps."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    import importlib
    import pkgutil

    for room in ("bus", "hooks", "pipeline", "sinks", "stages"):
        package = importlib.import_module(f"subcog.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "hooks" not in module.name and module.name != "subcog.sinks.llm.worker":
                importlib.import_module(module.name)

    from subcog.config.patterns import compile_pending
    from subcog.sinks.models import cross_encoder, spelling
    from subcog.sinks.models.embedder import Embedder
    from subcog.stages.redaction.redact import Redactor

    re._MAXCACHE = 10_000
    Embedder.load()
    spelling.load()
    cross_encoder.load_bundled()
    list(Redactor.load().compile_pending())
    list(compile_pending())
    assert len(os.listdir("/proc/self/task")) == 1, "a thread is not there after a fork"
    sys.executable = str(launcher)
    gc.collect()
    gc.freeze()


def answer(connection: socket.socket) -> NoReturn:
    """Run the command that is asked for, as its own process."""
    code = 1
    try:
        code = run(take_place(connection))
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def take_place(connection: socket.socket) -> list[str]:
    """Have the streams, directory, environment and arguments of the launcher; returns the last."""
    head, streams, *_ = socket.recv_fds(connection, 9, 3)
    request = connection.makefile("rb", buffering=0)
    body = bytearray()
    while len(body) < int(head):
        body += request.read(int(head) - len(body)) or b""
    directory, mask, count, *rest = bytes(body).split(b"\0")
    os.setsid()
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    os.chdir(directory)
    os.umask(int(mask))
    connection.close()
    os.environb.clear()
    os.environb.update(variable.split(b"=", 1) for variable in rest[int(count) :])
    time.tzset()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.stdin, sys.stdout = text_stream(0, "r"), text_stream(1, "w")
    sys.stderr = text_stream(2, "w", buffering=1, errors="backslashreplace")
    return list(map(os.fsdecode, rest[: int(count)]))


def text_stream(
    number: int, mode: str, *, buffering: int = -1, errors: str = "surrogateescape"
) -> TextIO:
    """A standard stream as the interpreter opens it where no locale is set."""
    return os.fdopen(number, mode, buffering, "utf-8", errors, closefd=False)


def run(arguments: list[str]) -> int:
    """What the interpreter does with ``subcog …`` and with ``python -m module …``."""
    module = COMMAND_LINE
    if arguments[:1] == ["-m"]:
        module, arguments = arguments[1], arguments[2:]
    sys.argv = [INSTALLED, *arguments]
    try:
        sys.modules.pop(module, None)
        runpy.run_module(module, run_name="__main__", alter_sys=False)
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
