"""The daemon that is tried, what is sent to it, and what is watched meanwhile."""

from __future__ import annotations

import json
import os
import re
import socket
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from subcog.bus.frames import read_reply_head, request_frame
from tests.integration.house import House

from .mutate import SECRET

BOUND_S = 10.0
CANARY = "The canary of this bench is called Zephyrine and lives in cage 4711."
NOTE = "Releases of the bench are tagged on main by the release manager alone."
LEAST_LEVELS = ("error", "critical")
# What is a warning, since a hook hides it from the user, and still a defect.
FAILURES = ("a hook was answered without context after an error",)
# Lines like these that hostile input may cause, each with the reason why it is no defect.
ALLOWED_LINES: dict[str, str] = {}
ABROAD = re.compile(r"Traceback|Internal Server Error|internal error|the stage \w+ failed")
_FORGOTTEN_AT_A_TIME = 1000


class Finding(Exception):
    """Something that must not be; the message says what."""


class Bench:
    """A private home with a daemon. ``said`` counts what the log said, by its sentence."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.house = House(root, installed=True)
        # The daemon tells a hook with more time than usual to wait; frames are read one by one.
        for name in ("SUBCOG_HOOK_TOTAL_MS", "SUBCOG_HOOK_START_MS"):
            del self.house.env[name]
        self.said: Counter[str] = Counter()
        self._read = 0
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        root = self.root
        (root / "transcripts").mkdir()
        (root / "junk").write_bytes(b"no database")
        self.house.capture(CANARY)
        self.target = str(self.house.capture(NOTE)["id"])
        self.house.run("daemon", "stop")  # what was kept up to here cannot be undone
        self.pid = self.house.start()
        self.house.metrics()  # HTTP is served a moment after the start
        status = self.house.ask("status")
        self.metrics_url = str(status["metrics_url"])
        self.port = int(self.metrics_url.split(":")[2].split("/")[0])
        self.path = str(self.house.paths.link.resolve())
        self._names = {
            "@PROJECT@": str(self.house.project),
            "@HOME@": str(self.house.paths.data),
            "@ROOT@": str(root),
            "@ID@": self.target,
            "@TOKEN@": self.house.paths.http_token.read_text().strip(),
            "@HOST@": f"127.0.0.1:{self.port}",
            **self._visit(),
        }

    def _visit(self) -> dict[str, str]:
        """The way into the page, as its script takes it."""
        url = str(json.loads(self.call("open_page", b"{}"))["url"])
        body = json.dumps({"code": url.partition("#code=")[2]}).encode()
        origin = f"http://127.0.0.1:{self.port}"
        told = {"Origin": origin, "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{origin}/ui/enter", body, told)
        with urllib.request.urlopen(asked, timeout=BOUND_S) as answer:
            cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]
            return {"@VISIT@": json.load(answer)["path"], "@COOKIE@": cookie}

    def filled(self, data: bytes) -> bytes:
        """``data`` with what only this run knows."""
        if b"@" in data:
            for name, value in self._names.items():
                data = data.replace(name.encode(), value.encode())
        return data

    def text(self, text: str) -> str:
        return self.filled(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    # --- frames ----------------------------------------------------------------------------------

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(BOUND_S)
        connection.connect(self.path)
        return connection

    def exchange(self, kind: str, name: str, fields: dict[str, str], body: bytes) -> Reply:
        """One whole frame, and the reply to it; status "" where the daemon hung up."""
        with self.connect() as connection, connection.makefile("rb") as stream:
            try:
                connection.sendall(request_frame(kind, name, fields, body))
            except (BrokenPipeError, ConnectionResetError):
                return "", b""
            return read_reply(stream)

    def fields(self, **more: str) -> dict[str, str]:
        project = str(self.house.project)
        return {"project": project, "cwd": project, "client": "claude"} | more

    def call(self, name: str, body: bytes) -> bytes:
        """The answer to a call that must succeed."""
        status, answer = self.exchange("call", name, self.fields(client="cli"), body)
        if status != "ok":
            raise Finding(f"{name} of the bench itself was answered {status}: {answer[:200]!r}")
        return answer

    # --- what is watched -------------------------------------------------------------------------

    def check(self) -> None:
        """Raises ``Finding`` for a line of the log that no input may cause."""
        try:
            with self.house.paths.log.open("rb") as log:
                size = os.fstat(log.fileno()).st_size
                if size == self._read:
                    return
                log.seek(self._read if size > self._read else 0)  # it was rotated
                lines = log.read()
        except FileNotFoundError:
            return
        whole = lines.rfind(b"\n") + 1
        self._read = (self._read if size > self._read else 0) + whole
        found = [problem for line in lines[:whole].splitlines() if (problem := self._judge(line))]
        if found:
            raise Finding("; ".join(found))

    def _judge(self, line: bytes) -> str:
        """What is wrong with a line of the log, or nothing."""
        if not line.startswith(b"{"):
            return f"the log holds a line that is no JSON: {line[:120]!r}"
        entry = json.loads(line)
        what = str(entry["what"])
        self.said[f"{entry['level']} {what}"] += 1
        if entry["level"] in LEAST_LEVELS or what in FAILURES:
            return "" if what in ALLOWED_LINES else f"logged {what} ({_rest(entry)})"
        return ""

    def is_alive(self) -> bool:
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def sizes(self) -> dict[str, float]:
        """What the gate compares, after the daemon has come to rest."""
        with urllib.request.urlopen(self.metrics_url, timeout=30) as page:
            families = list(text_string_to_metric_families(page.read().decode()))
        told = {family.name: sum(s.value for s in family.samples) for family in families}
        status = Path(f"/proc/{self.pid}/status").read_text()
        [resident_kb] = [int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line]
        home = self.house.paths.data.parent
        return {
            "resident_mb": resident_kb / 1024,
            "descriptors": sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir()),
            "threads": sum(1 for _ in Path(f"/proc/{self.pid}/task").iterdir()),
            "tasks": told["subcog_tasks"],
            "clients": told["subcog_clients"],
            "mcp_sessions": told["subcog_mcp_sessions"],
            "memories": told["subcog_memories"],
            "passages": told["subcog_passages"],
            "home_files": sum(len(files) for _, _, files in os.walk(home)),
            "home_mb": sum(file.stat().st_size for file in _files(home)) / 1e6,
        }

    def rest(self) -> None:
        """Wait until the inboxes are empty, the spool is drained, and no client is left."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            status = json.loads(self.call("status", b"{}"))
            waiting = list(self.house.paths.spool.glob("*.json"))
            if not any(status["inboxes"].values()) and status["clients"] <= 1 and not waiting:
                return
            time.sleep(0.2)
        raise Finding(f"not at rest after 60 s: {len(waiting)} spooled, {status['inboxes']}")

    def tidy(self) -> None:
        """Forget what cases have kept, and delete what they have left in the spool and beside."""
        self.call("forget_sessions", b'{"all": true, "everywhere": true}')
        for place in (self.fields(), self.fields(scope="user")):
            asked = json.dumps({"limit": _FORGOTTEN_AT_A_TIME}).encode()
            status, answer = self.exchange("call", "export", place, asked)
            memories = json.loads(answer)["memories"] if status == "ok" else []
            for memory in memories:
                if memory["content"] not in {CANARY, NOTE}:
                    body = json.dumps({"id": memory["id"]}).encode()
                    self.exchange("call", "forget", place, body)
        for file in self.house.paths.spool.glob("*.bad"):
            file.unlink()
        for file in self.house.paths.data.glob("*.before-restore-*"):
            file.unlink()

    def problems(self) -> list[str]:
        """What of the promises does not hold at the end."""
        answer = self.call("recall", json.dumps({"query": "the canary Zephyrine"}).encode())
        found = [] if b"Zephyrine" in answer else ["the canary memory is not found any more"]
        home = self.house.paths.data.parent
        return found + [
            f"the secret is in {file.relative_to(home)}"
            for file in _files(home)
            if SECRET.encode() in file.read_bytes()
        ]

    def close(self) -> None:
        self.house.close()


Reply = tuple[str, bytes]


def read_reply(stream: Any) -> Reply:
    """The reply to one frame. Raises ``Finding`` for what is none, or does not come."""
    try:
        while True:
            line = stream.readline()
            if not line:
                return "", b""
            head = read_reply_head(line)
            if head.status != "wait":
                return head.status, stream.read(head.body)
    except TimeoutError:
        raise Finding(f"not answered within {BOUND_S:g} s") from None
    except ConnectionResetError:
        return "", b""
    except ValueError as error:
        raise Finding(f"the reply is no frame: {error}") from None


def _files(home: Path) -> list[Path]:
    return [file for file in home.rglob("*") if file.is_file() and not file.is_symlink()]


def _rest(entry: dict[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in entry.items() if k not in {"time", "level", "what"})
