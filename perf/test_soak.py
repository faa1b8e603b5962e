"""An hour of several sessions, compressed: memory, files, threads, tasks and disk level off.

``SUBCOG_SOAK_HOURS`` is how many hours' worth of events are sent; the default is short enough for
every run. The gate is that the last third of the samples is no higher than the middle one, but for
what is named in ``ROOM``. ``perf/out`` gets the samples, and a plot where matplotlib is installed.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import random
import statistics
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.house import House

from .corpus import question, sentence

HOURS = float(os.environ.get("SUBCOG_SOAK_HOURS", "0.25"))
OUT = Path(__file__).parent / "out"
# What eight busy sessions do in an hour.
AN_HOUR = {
    "prompt": 960,
    "tool": 6400,
    "failure": 320,
    "capture": 400,
    "recall": 400,
    "session": 32,
    "stop": 640,
}
KEPT = 40  # memories at a time: each capture beyond that forgets the oldest
SAMPLES = 60
# How much higher the last third may be: a share, and that much more in the figure's own unit.
ROOM = {
    "resident_mb": (0.03, 6.0),
    "files": (0.0, 3),
    "threads": (0.0, 3),
    "tasks": (0.0, 10),
    "database_mb": (0.25, 2.0),
}


class Sender:
    """Sends events of a kind over one connection after the other, as clients do."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._rng = random.Random(7)
        self._kept: list[str] = []
        self._numbers = itertools.count()
        self.forgotten = 0

    def send(self, kind: str) -> None:
        getattr(self, f"_{kind}")()

    def _hook(self, event: str, **payload: object) -> None:
        session = f"s{self._rng.randrange(8)}"
        body = {"session_id": session, "cwd": str(self._house.project), "hook_event_name": event}
        fields = {"project": str(self._house.project), "client": "claude"}
        encoded = json.dumps(body | payload).encode()
        status, _ = self._house.exchange("hook", event, encoded, **fields)
        assert status == "ok"

    def _call(self, name: str, **params: object) -> dict:
        fields = {"project": str(self._house.project), "client": "cli"}
        status, answer = self._house.exchange("call", name, json.dumps(params).encode(), **fields)
        assert status == "ok", answer
        return json.loads(answer)

    def _prompt(self) -> None:
        self._hook("UserPromptSubmit", prompt=question(self._rng))

    def _tool(self) -> None:
        path = str(self._house.project / "src" / f"{self._rng.randrange(200)}.py")
        written = {"file_path": path, "content": sentence(self._rng)}
        self._hook("PostToolUse", tool_name="Write", tool_input=written, tool_response={})

    def _failure(self) -> None:
        error = f"ImportError: {sentence(self._rng)}"
        self._hook("PostToolUseFailure", tool_name="Bash", tool_input={}, error=error)

    def _session(self) -> None:
        self._hook("SessionEnd", reason="other")
        self._hook("SessionStart", source="startup")

    def _stop(self) -> None:
        self._hook("Stop", transcript_path=str(self._house.project / "none.jsonl"))

    def _recall(self) -> None:
        self._call("recall", query=question(self._rng))

    def _capture(self) -> None:
        text = f"{sentence(self._rng)} It is number {next(self._numbers)}."
        self._kept.append(self._call("capture", text=text)["id"])
        if len(self._kept) > KEPT:
            self.forgotten += 1
            # Compacting waits for a quiet moment, and there is none here.
            now = {"now": True} if self.forgotten % 10 == 0 else {}
            self._call("forget", id=self._kept.pop(0), **now)


def an_hour(hours: float) -> Iterator[str]:
    """The kinds of so many hours' events, shuffled."""
    kinds = [kind for kind, count in AN_HOUR.items() for _ in range(round(count * hours))]
    random.Random(3).shuffle(kinds)
    return iter(kinds)


def entries(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


def sample(house: House, pid: int, url: str) -> dict[str, float]:
    with urllib.request.urlopen(url, timeout=30) as page:
        families = list(text_string_to_metric_families(page.read().decode()))
    told = {family.name: sum(s.value for s in family.samples) for family in families}
    status = Path(f"/proc/{pid}/status").read_text()
    [resident_kb] = [int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line]
    return {
        "resident_mb": resident_kb / 1024,
        "files": entries(f"/proc/{pid}/fd"),
        "threads": entries(f"/proc/{pid}/task"),
        "tasks": told["subcog_tasks"],
        "database_mb": told["subcog_database_bytes"] / 1e6,
    }


@pytest.fixture
def house(tmp_path):
    house = House(tmp_path)
    # The daemon tells a hook with more time than usual to wait, and this one reads one frame.
    del house.env["SUBCOG_HOOK_TOTAL_MS"]
    yield house
    house.close()


def test_an_hour_of_events_levels_off(house):
    pid = house.start()
    house.metrics()  # HTTP is served a moment after the start, and is to be there from here on
    url = house.ask("status")["metrics_url"]
    sender, kinds = Sender(house), list(an_hour(HOURS))
    every = max(1, len(kinds) // SAMPLES)
    began, samples = time.monotonic(), []
    for number, kind in enumerate(kinds):
        sender.send(kind)
        if number % every == 0:
            samples.append({"events": number, **sample(house, pid, url)})
    took_s = time.monotonic() - began
    write(samples)
    show(samples, len(kinds), took_s)
    for name, (share, more) in ROOM.items():
        middle, last = thirds([row[name] for row in samples])
        assert last <= middle * (1 + share) + more, f"{name} grows: {middle:.1f} → {last:.1f}"


def thirds(values: list[float]) -> tuple[float, float]:
    """The medians of the middle and the last third; in the first, caches fill."""
    third = len(values) // 3
    return statistics.median(values[third : 2 * third]), statistics.median(values[2 * third :])


def show(samples: list[dict[str, float]], events: int, took_s: float) -> None:
    print(f"\nsoak: {events:,} events ({HOURS:g} h of eight sessions) in {took_s:.0f} s")
    for name in ROOM:
        values = [row[name] for row in samples]
        middle, last = thirds(values)
        print(f"  {name:<12} first {values[0]:8.1f}  middle {middle:8.1f}  last {last:8.1f}")


def write(samples: list[dict[str, float]]) -> None:
    OUT.mkdir(exist_ok=True)
    with (OUT / "soak.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, samples[0])
        table.writeheader()
        table.writerows(samples)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\nno plot: matplotlib is not installed (pip install 'subcog[perf]')")
        return
    figure = Figure(figsize=(8, 10), layout="constrained")
    for axes, name in zip(figure.subplots(len(ROOM), sharex=True), ROOM, strict=True):
        axes.plot([row["events"] for row in samples], [row[name] for row in samples])
        axes.set_ylabel(name)
        axes.set_ylim(bottom=0)
    axes.set_xlabel("events")
    figure.savefig(OUT / "soak.png", dpi=110)
