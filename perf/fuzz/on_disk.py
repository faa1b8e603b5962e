"""The doors that read files: spool, transcripts, imports, settings, a project's own files.

Also the hook's pipe, which is a process of its own. Settings and imports are read in this process
by the same functions as the command line's; the daemon is given what was read.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from subcog.bus.values import NAMESPACES
from subcog.config.ids import ulid_of_hex
from subcog.config.load import DEFAULTS, SettingsError, load_settings, variable
from subcog.config.settings import Settings
from subcog.pipeline.imports.formats import recognise
from subcog.pipeline.imports.item import BadImport

from .bench import BOUND_S, Bench, Finding
from .mutate import STRANGE, Mutator
from .payloads import CLIENTS, payload, transcript
from .wire import check_error, check_hook, check_json

_MOST_ITEMS = 50
_KEPT_FILES = 16
_MOST_SPOOLED = 50


class Pipe:
    """A payload at the standard input of the pipe, as an agent starts it."""

    name, weight = "pipe", 0.5

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        client = rng.choice(list(CLIENTS))
        event = rng.choice((*CLIENTS[client], "../x", ""))
        return event, maker.encoded(maker.mutated(payload(maker, event), 0.1))

    def send(self, made: Any, bench: Bench) -> str:
        event, body = made
        with bench.house.start_hook(event) as process:
            try:
                out, err = process.communicate(bench.filled(body), timeout=BOUND_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Finding(f"the pipe has not ended within {BOUND_S:g} s") from None
        if process.returncode or err:
            raise Finding(f"the pipe exited {process.returncode} and said {err[-200:]!r}")
        check_hook(event, "ok", out)
        return "answered" if out not in {b"", b"{}\n", b"{}"} else "refused"


class Spool:
    """An entry of the spool, as a hook leaves it there."""

    name, weight = "spool", 1

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng, secret=False)
        prompt = f"[remember] The number of the bench is {rng.randrange(40)}."
        fields = {"project": "@PROJECT@", "cwd": "@PROJECT@", "client": "claude", "session": "s"}
        asked = {"session_id": "fuzz-1", "cwd": "@PROJECT@", "prompt": prompt}
        entry = {"event": "UserPromptSubmit", "fields": fields, "payload": asked}
        name = f"{1767225600000 + rng.randrange(10**9):012x}{rng.getrandbits(80):020x}"
        if maker.chance(0.1):
            name = rng.choice(("x", "0" * 32, "f" * 32, ulid_of_hex(name), " ", "é" * 20))
        return name, maker.encoded(maker.mutated(entry, rng.choice((0.0, 0.1, 0.3))))

    def send(self, made: Any, bench: Bench) -> str:
        name, data = made
        folder = bench.house.paths.spool
        folder.mkdir(mode=0o700, exist_ok=True)
        if sum(1 for _ in folder.iterdir()) > _MOST_SPOOLED:
            bench.rest()
        before = folder / f"{name}.tmp"
        before.write_bytes(bench.filled(data))
        before.rename(folder / f"{name}.json")
        return "left"


class Transcript:
    """A transcript that a hook points at, or that the daemon is asked to learn from."""

    name, weight = "transcript", 4

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        share = rng.choice((0.0, 0.05, 0.2))
        lines = [maker.encoded(maker.mutated(line, share)) for line in transcript(maker)]
        if maker.chance(0.1):
            lines.append(b'{"type":"user","message":' + maker.deep())
        if maker.chance(0.02):
            lines.append(b'{"type":"user","message":{"content":"' + b"x " * 1_000_000 + b'"}}')
        event = rng.choice(("Stop", "SubagentStop", "SessionEnd", "PreCompact", "learn"))
        number = rng.randrange(_KEPT_FILES)
        return event, rng.choice(("claude", "codex", "gemini")), number, b"\n".join(lines)

    def send(self, made: Any, bench: Bench) -> str:
        event, client, number, data = made
        file = bench.root / "transcripts" / f"{number}.jsonl"
        file.write_bytes(bench.filled(data) + b"\n")
        if event == "learn":
            told = {"transcript": str(file), "session": f"fuzz-{number}", "client": client}
            body = json.dumps(told | {"cwd": str(bench.house.project), "again": True}).encode()
            status, answer = bench.exchange("call", "learn", bench.fields(client="cli"), body)
            if status != "ok":
                check_error("learn", check_json(answer))
            return "answered" if status == "ok" else "refused"
        told = {"session_id": f"fuzz-{number}", "cwd": str(bench.house.project)}
        for name in ("transcript_path", "agent_transcript_path"):
            told[name] = str(file)
        body = json.dumps(told | {"agent_type": "Explore"}).encode()
        check_hook(event, *bench.exchange("hook", event, bench.fields(client=client), body))
        return "answered"


class Import:
    """A file of each format that is imported; what is read of it is sent as the command does."""

    name, weight = "import", 3

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        kind = rng.choice(("jsonl", "json", "md", "db"))
        if kind == "db":
            return kind, _rows(maker)
        items = [maker.mutated(_item(maker), 0.1) for _ in range(rng.randrange(1, 6))]
        if kind == "md":
            return kind, maker.damaged(_markdown(maker))
        if kind == "json":
            return kind, maker.encoded(maker.mutated({"results": items}, 0.05))
        return kind, b"\n".join(maker.encoded(item) for item in items)

    def send(self, made: Any, bench: Bench) -> str:
        kind, data = made
        file = bench.root / f"import.{kind}"
        file.unlink(missing_ok=True)
        if kind == "db":
            _write_rows(file, data)
        else:
            file.write_bytes(bench.filled(data))
        items = []
        try:
            for item in recognise(file, project=None).read():
                items.append(item)
                if len(items) == _MOST_ITEMS:
                    break
            body = msgspec.json.encode({"items": items, "dry_run": len(data) % 2 == 0})
        except BadImport:
            return "refused"
        except Exception as error:
            raise Finding(f"reading the import raised {_name(error)}") from error
        status, answer = bench.exchange("call", "import", bench.fields(client="cli"), body)
        said = check_json(answer)
        if status != "ok":
            check_error("import", said)
        return "answered" if status == "ok" else "refused"


def _item(maker: Mutator) -> dict[str, Any]:
    return {
        "content": maker.text(),
        "namespace": maker.rng.choice(NAMESPACES),
        "tags": maker.rng.choice((["a"], "a,b", '["a"]', [])),
        "created_at": maker.rng.choice(("2026-01-01T00:00:00Z", 1767225600, 1767225600000, 1e300)),
        "metadata": {"category": "x"},
    }


def _markdown(maker: Mutator) -> bytes:
    front = "---\ntags: a, b\ncreated: 2026-01-01\n---\n" if maker.chance(0.5) else ""
    ours = '<!-- subcog:memory {"id": "mem_00000000000000000000000001"} -->\n# x\n'
    parts = (
        "# One\n",
        "## Two [decisions]\n",
        "```\n# no heading\n",
        ours,
        "<!-- subcog:end -->\n",
    )
    text = front + "".join(
        f"{maker.rng.choice(parts)}{maker.text()}\n" for _ in range(maker.rng.randrange(1, 8))
    )
    return text.encode("utf-8", "replace")


def _rows(maker: Mutator) -> list[list[Any]]:
    row = {"project": "project", "type": "decision", "text": "x", "facts": '["a"]', "title": "t"}
    scalars = (str, int, float, type(None))
    changed = (maker.mutated(row | {"created_at_epoch": 1767225600000}, 0.2) for _ in range(3))
    return [
        [each if isinstance(each, scalars) else b"\xff" for each in one.values()]
        for one in changed
        if one
    ]


def _write_rows(file: Path, rows: list[list[Any]]) -> None:
    columns = ("project", "type", "text", "facts", "title", "created_at_epoch", "concepts")
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"CREATE TABLE observations (id INTEGER PRIMARY KEY, {','.join(columns)})")
        for given in rows:
            row = [_storable(each) for each in given[: len(columns)]]
            marks = ",".join("?" * len(row))
            names = ",".join(columns[: len(row)])
            database.execute(f"INSERT INTO observations ({names}) VALUES ({marks})", row)
        database.commit()


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


class SettingsFile:
    """A settings file and variables of the environment: read, or one sentence that says why not."""

    name, weight = "settings", 4

    def __init__(self) -> None:
        self._lines = DEFAULTS.read_bytes().splitlines(keepends=True)
        self._keys = [
            f"{table.name}.{field.encode_name}"
            for table in msgspec.structs.fields(Settings)
            if isinstance(table.type, type) and issubclass(table.type, msgspec.Struct)
            for field in msgspec.structs.fields(table.type)
        ]

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        lines = [line for line in self._lines if rng.random() < 0.3]
        for _ in range(rng.choice((0, 1, 3))):
            key = rng.choice(self._keys)
            value = json.dumps(maker.value(2)).encode("utf-8", "replace")
            lines.insert(rng.randrange(len(lines) + 1), key.encode() + b" = " + value + b"\n")
        data = b"".join(lines)
        for _ in range(rng.choice((0, 0, 1, 3))):
            data = maker.damaged(data)
        if maker.chance(0.02):
            data = b"a = " + maker.deep()
        names = [rng.choice(self._keys) for _ in range(rng.choice((0, 1, 3)))]
        env = {variable(name): maker.strange()[:5000] for name in names}
        if maker.chance(0.2):
            env["SUBCOG_" + rng.choice(STRANGE)[:300]] = "x"
        return data, env

    def send(self, made: Any, bench: Bench) -> str:
        data, env = made
        file = bench.root / "config.toml"
        file.write_bytes(data)
        try:
            load_settings(file, env)
        except SettingsError as error:
            if not str(error) or "\x1b" in str(error) or len(str(error)) > 4000:
                raise Finding(f"the settings were refused with {str(error)!r:.200}") from None
            return "refused"
        except Exception as error:
            raise Finding(f"reading the settings raised {_name(error)}") from error
        return "answered"


# --- a project's files ----------------------------------------------------------------------------

_HASH = "0123456789abcdef0123456789abcdef01234567\n"
_FILES: dict[str, str] = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@example.com:a/b.git\n',
    ".git/refs/heads/main": _HASH,
    ".git/packed-refs": f"# pack-refs with: peeled\n{_HASH[:-1]} refs/heads/main\n",
    ".git/commondir": "../../elsewhere\n",
    ".git/objects/info/alternates": "/dev\n",
    "package.json": '{"name":"x","scripts":{"test":"vitest"},"dependencies":{"react":"18"}}',
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["fastapi"]\n[tool.ruff]\n',
    "requirements.txt": "django==5\n",
    "Cargo.toml": '[package]\nname = "x"\n[dependencies]\ntokio = "1"\n',
    "go.mod": "module example.com/x\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.0\n",
    "Makefile": "test:\n\tpytest\n",
    "justfile": "test:\n  pytest\n",
    ".tool-versions": "python 3.11\n",
    ".nvmrc": "20\n",
    ".github/workflows/ci.yml": "on: push\njobs: {}\n",
    ".claude/memory/project-context.yaml": "stack: [python, postgres]\nquirks:\n  - slow tests\n",
    "CLAUDE.md": "# Rules\n\n- We use pnpm, never npm. @docs/more.md\n",
    "AGENTS.md": "- The worker retries three times.\n",
    "src/a.py": "def login(user):\n    return user\n",
}
_PLACES = 8
_SPECIAL = ("folder", "pipe", "link", "loop", "device")


class Project:
    """What a project says of itself: git, manifests, the context file; or what lies there."""

    name, weight = "project", 3

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        files: dict[str, bytes | str] = {}
        for name in rng.sample(list(_FILES), rng.randrange(1, 9)):
            data = _FILES[name].encode()
            for _ in range(rng.choice((0, 1, 1, 3))):
                data = maker.damaged(data)
            if maker.chance(0.1):
                data = rng.choice((maker.deep(), maker.strange().encode("utf-8", "replace")))
            files[name] = rng.choice(_SPECIAL) if maker.chance(0.05) else data
        return rng.randrange(_PLACES), files

    def send(self, made: Any, bench: Bench) -> str:
        number, files = made
        root = bench.root / f"project-{number}"
        shutil.rmtree(root, ignore_errors=True)
        for name, content in files.items():
            _put(root / name, content)
        fields = bench.fields(project=str(root), cwd=str(root))
        status, answer = bench.exchange("call", "project", fields, b"{}")
        said = check_json(answer)
        if status != "ok":
            check_error("project", said)
        for event, more in (
            ("SessionStart", {"source": "startup"}),
            ("UserPromptSubmit", {"prompt": "What framework and which tests do we use here?"}),
            ("PostToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}),
        ):
            told = {"session_id": f"fuzz-p{number}", "cwd": str(root)} | more
            body = json.dumps(told).encode()
            check_hook(event, *bench.exchange("hook", event, fields, body))
        return "answered" if status == "ok" else "refused"


def _put(file: Path, content: bytes | str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content == "folder":
        file.mkdir()
    elif content == "pipe":
        os.mkfifo(file)
    else:
        target = {"link": "../elsewhere", "loop": file.name, "device": "/dev/zero"}[content]
        file.symlink_to(target)


def _name(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:120]}"
