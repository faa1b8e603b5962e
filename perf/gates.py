"""What a change may not make dearer: counts that are the same on every machine.

``python -m perf.gates`` prints them as JSON. Counted are the modules that an entry point loads,
and for each kind of request the SQL statements and the lines of our own code that are run; and how
many times more lines ten times the input takes. Wall clocks have no part in it.

``perf/baseline.json`` holds what was reviewed; ``make perf-baseline`` writes it anew, and
``perf/test_gates.py`` compares.
"""

from __future__ import annotations

import json
import math
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from statistics import fmean, median
from types import FrameType
from typing import Any

import anyio
import duckdb
import msgspec

from perf.corpus import memories, question
from subcog.bus.frames import reply_frame
from subcog.bus.values import Memory, Scope
from subcog.config.ids import ulid_of
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.hooks import client as pipe
from subcog.hooks import mcp_pipe
from subcog.pipeline.api.dispatch import Calls
from subcog.pipeline.app.app import App
from subcog.pipeline.entrance.handler import HookHandler
from subcog.sinks.indexes.topic_index import TopicIndex
from subcog.stages.capture.statement_classifier import find_noteworthy
from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.topics import retrieval_words
from subcog.stages.redaction.redact import Redactor

HOUSE = Path(__file__).resolve().parents[1]
BASELINE = HOUSE / "perf" / "baseline.json"
COUNTED = ("bus", "config", "pipeline", "sinks", "stages")
ROOMS = tuple(f"{HOUSE / room}{os.sep}" for room in COUNTED)
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
NOW = datetime(2026, 6, 1, tzinfo=UTC)
MEMORIES = 200
REQUESTS = 9
# Under a tracer everything takes many times as long; what a budget does is tested elsewhere.
PATIENT = {"SUBCOG_HOOK_TOTAL_MS": "60000", "SUBCOG_HOOK_START_MS": "60000"}
PROSE = (
    "The gateway drops every second request since we moved it, and nobody knows why. "
    "We decided to keep src/auth/login.py; the token is refreshed by `SessionGuard`.\n"
)


class Lines:
    """Counts the lines of our own code that run, in every thread that is begun while it counts."""

    def __init__(self) -> None:
        self.count = 0

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(ROOMS) else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.count += 1
        return self._line

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Coroutines and threads that are begun within count."""
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def of(self, work: Callable[[], object]) -> int:
        """The lines that ``work`` takes."""
        before = self.count
        with self.counting():
            work()
        return self.count - before


class Statements:
    """A connection that counts what is executed on it and on its cursors."""

    count = 0

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __enter__(self) -> Statements:
        self._connection.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._connection.__exit__(*error)

    def cursor(self) -> Statements:
        return Statements(self._connection.cursor())

    def execute(self, *args: Any, **more: Any) -> Any:
        Statements.count += 1
        return self._connection.execute(*args, **more)


# --- modules --------------------------------------------------------------------------------------


def loaded(command: Sequence[str], env: dict[str, str]) -> set[str]:
    """The modules that a process imports, as the interpreter tells; it need not succeed."""
    done = subprocess.run(
        [command[0], "-X", "importtime", *command[1:]],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=env,
        timeout=60,
        check=False,
    )
    lines = done.stderr.decode(errors="replace").splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


@contextmanager
def answering(place: Path) -> Iterator[None]:
    """A daemon that answers every hook with nothing."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()

        def serve() -> None:
            with suppress(OSError):  # the listener was shut down
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(1 << 16)
                        connection.sendall(reply_frame("ok", pipe.VERSION, b"{}"))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def modules() -> dict[str, list[str]]:
    """What the pipes load beyond a bare interpreter, and whose packages the command line loads."""
    with tempfile.TemporaryDirectory(prefix="sc") as home:
        env = {"PATH": "/usr/bin:/bin", "HOME": home, "SUBCOG_HOME": home + "/h"}
        bare = loaded([PYTHON, "-I", "-S", "-c", "pass"], env)
        cli = [sys.executable, "-m", "subcog.pipeline.cli.main"]
        # A status starts no daemon, and shows what every command loads.
        status = loaded([*cli, "status"], env)
        with answering(find_paths(env).link):  # without one, each would start a daemon
            hook = loaded([PYTHON, "-I", "-S", pipe.__file__, "UserPromptSubmit"], env)
            session = loaded([PYTHON, "-I", "-S", mcp_pipe.__file__], env)
        return {
            "hook pipe": sorted(hook - bare),
            "MCP pipe": sorted(session - bare),
            "command line, of others": sorted(_of_others(status)),
            "command line, of ours": sorted(one for one in status if one.startswith("subcog.")),
        }


def _of_others(names: set[str]) -> Iterator[str]:
    """The packages that are neither Python's nor ours nor of how this one was installed."""
    ours = {"imported package", "sitecustomize", "subcog", "typing_extensions"}
    packages = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - ours
    return (package for package in packages if not package.startswith("_"))


# --- requests -------------------------------------------------------------------------------------


def requests() -> dict[str, dict[str, float]]:
    """For each kind of request its statements and lines, the median and mean of several."""
    with tempfile.TemporaryDirectory(prefix="sc") as folder:
        return anyio.run(_requests, Path(folder))


async def _requests(folder: Path) -> dict[str, dict[str, float]]:
    env = {"HOME": str(folder), "SUBCOG_HOME": str(folder / "h"), **PATIENT}
    paths = find_paths(env)
    for place in (paths.data, paths.state):
        place.mkdir(parents=True, mode=0o700)
    project = folder / "project"
    project.mkdir()
    settings = load_settings(paths.config_file, PATIENT).settings
    connect, lines = duckdb.connect, Lines()
    duckdb.connect = lambda *a, **k: Statements(connect(*a, **k))  # type: ignore[assignment]
    try:
        with lines.counting():
            ids = (ulid_of(number, bytes(10)) for number in count())
            make = partial(App, settings, paths, clock=lambda: NOW, new_id=lambda: next(ids))
            async with _loaded(make()) as app:
                await Bench(app, lines, project).fill()
            # A daemon reads what is in its store once, at the start. The one that captured it would
            # fetch each memory from the database for whichever request needs it first.
            async with _loaded(make()) as app:
                return await Bench(app, lines, project).run()
    finally:
        duckdb.connect = connect


@asynccontextmanager
async def _loaded(app: App) -> AsyncIterator[App]:
    async with app.running():
        await app.load()
        (await app.archive.get()).search.rerank_budget_s = math.inf
        yield app
    await app.unload()


class Bench:
    """Sends requests to the parts of a daemon in this process."""

    def __init__(self, app: App, lines: Lines, project: Path) -> None:
        self._app, self._lines = app, lines
        self._entrance = HookHandler(app)
        self._calls = Calls(app, self._entrance, dict)
        self._fields = {"project": str(project), "cwd": str(project), "client": "claude"}
        self._file = str(project / "src" / "ledger_index.py")

    async def fill(self) -> None:
        """Capture what the requests are about."""
        for note in memories(MEMORIES, Scope("project", "any")):
            await self._call("capture", text=note.content, namespace=note.namespace)
        await self._settle()

    async def run(self) -> dict[str, dict[str, float]]:
        """The figures of each kind of request; what is captured meanwhile is captured last."""
        await self._app.build_topics()
        kinds: dict[str, Callable[[int, str], Awaitable[object]]] = {
            "prompt that asks": lambda n, q: self._hook("UserPromptSubmit", n, prompt=q),
            "prompt that orders": lambda n, q: self._hook(
                "UserPromptSubmit", n, prompt=f"rename {' '.join(q.split()[3:5])} to x{n}"
            ),
            "proposed action": lambda n, q: self._hook(
                "PreToolUse", n, tool_name="Bash",
                tool_input={"command": f"make {q.split()[3]}", "description": q},
            ),
            "changed file": lambda n, q: self._hook(
                "PostToolUse", n, tool_name="Edit",
                tool_input={"file_path": self._file, "new_string": f"def {q.split()[3]}(): ..."},
            ),
            "failed tool": lambda n, q: self._hook(
                "PostToolUseFailure", n, tool_name="Bash", error=f"ValueError: {q} failed"
            ),
            "start of a session": lambda n, q: self._hook("SessionStart", n, source="startup"),
            "recall": lambda n, q: self._call("recall", query=q),
            "capture": lambda n, q: self._call("capture", text=f"We decided on {q} number {n}."),
        }  # fmt: skip
        return {name: await self._measured(send) for name, send in kinds.items()}

    async def _measured(self, send: Callable[[int, str], Awaitable[object]]) -> dict[str, float]:
        rng = random.Random(7)
        counts = []
        for number in range(REQUESTS + 1):
            before = Statements.count, self._lines.count
            await send(number, question(rng))
            await self._settle()
            counts.append((Statements.count - before[0], self._lines.count - before[1]))
        statements, ran = zip(*counts[1:], strict=True)
        # Requests differ by what is found for them, so that a median may fall to either side; what
        # is done in the background is in the highest.
        return {"statements": median(statements), "lines": round(fmean(sorted(ran)[:-1]))}

    async def _settle(self) -> None:
        """Until nothing is on its way, so that a request pays for what it sets off."""
        while self._app.bus._in_flight:  # noqa: ASYNC110 - what is awaited has no event
            await anyio.sleep(0.001)

    async def _hook(self, event: str, number: int, **payload: object) -> None:
        body = {"session_id": f"s{number}", "hook_event_name": event, **payload}
        await self._entrance.answer(event, self._fields, msgspec.json.encode(body))

    async def _call(self, name: str, **params: object) -> None:
        well, answer = await self._calls.handle(name, self._fields, msgspec.json.encode(params))
        assert well, answer


# --- growth ---------------------------------------------------------------------------------------


def growth() -> dict[str, float]:
    """How many times the lines ten times the input takes."""
    redactor, scope = Redactor.load(), Scope("project", "any")
    readers: dict[str, Callable[[str], object]] = {
        "keywords of a prompt": detect_search_intent,
        "words of a prompt": retrieval_words,
        "redaction": redactor.redact,
        "signals of a message": find_noteworthy,
    }
    lines = Lines()
    found = {
        name: _ratio(lines, lambda n, read=read: partial(read, PROSE * n))
        for name, read in readers.items()
    }
    kept = list(memories(1000, scope))
    found["topics, built"] = _ratio(lines, lambda n: partial(_topics, kept[: n * 10]))
    found["topics, one more"] = _ratio(lines, lambda n: partial(_topics(kept[:n]).add, kept[-1]))
    return {name: round(ratio, 1) for name, ratio in found.items()}


def _ratio(lines: Lines, work: Callable[[int], Callable[[], object]]) -> float:
    for size in (10, 100):  # what is done once, such as compiling, counts for neither
        work(size)()
    return lines.of(work(100)) / lines.of(work(10))


def _topics(kept: Sequence[Memory]) -> TopicIndex:
    index = TopicIndex()
    index.build(kept)
    return index


def measure() -> dict[str, Any]:
    """Everything that is compared with the baseline."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {
        "python": version,
        "modules": modules(),
        "requests": requests(),
        "growth": growth(),
    }


def measured() -> dict[str, Any]:
    """The same from a process of its own, in which sets have one order."""
    done = subprocess.run(
        [sys.executable, "-m", "perf.gates"],
        cwd=HOUSE,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        BASELINE.write_text(json.dumps(measured(), indent=2) + "\n", encoding="utf-8")
    else:
        sys.stdout.write(json.dumps(measure()))
