"""Ten agents for four hours, compressed: nothing is lost, and nothing grows that should not.

    python -m pytest perf/test_soak.py -s

``SUBCOG_SOAK_HOURS`` and ``SUBCOG_SOAK_AGENTS`` make it shorter or larger. It is gated by counts:
what was asked to be kept is told and stored once, and files, threads and descriptors do not grow
from the first half to the second. Memory grows with what is kept: the daemon may hold no more than
``MOST_LEFT_MB`` more than a new one that loads the same data and serves a session.
"""

from __future__ import annotations

import csv
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.house import House
from tests.promises import DEFAULTS, fact, stored
from tests.waiting import eventually

from .soak import SESSIONS_AN_HOUR, TURNS, Agent, resident_mb, slope

HOURS = float(os.environ.get("SUBCOG_SOAK_HOURS", "4"))
AGENTS = int(os.environ.get("SUBCOG_SOAK_AGENTS", "10"))
OUT = Path(__file__).parent / "out"
SAMPLES = 60
# What requests leave behind in caches, which are bounded, and as holes between what stays.
MOST_LEFT_MB = 80
# How much higher each may be in the second half than in the first.
ROOM = {"descriptors": 3, "threads": 3, "home_files": 6}


class Watch:
    """Samples the daemon, every so many turns of all agents together."""

    def __init__(self, house: House, pid: int, turns: int) -> None:
        self._house, self._pid = house, pid
        self._every = max(1, turns // SAMPLES)
        self._turns = 0
        self._lock = threading.Lock()
        self.samples: list[dict[str, float]] = []

    def turn(self) -> None:
        with self._lock:
            self._turns += 1
            if self._turns % self._every == 0:
                self.samples.append(self._sample())

    def _sample(self) -> dict[str, float]:
        home = self._house.paths.data.parent
        return {
            "hours": self._turns / (TURNS * SESSIONS_AN_HOUR * AGENTS),
            "resident_mb": resident_mb(self._pid),
            "descriptors": entries(f"/proc/{self._pid}/fd"),
            "threads": entries(f"/proc/{self._pid}/task"),
            "home_files": sum(len(files) for _, _, files in os.walk(home)),
        }


def entries(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


@pytest.fixture
def house(tmp_path):
    house = House(tmp_path, installed=True)
    house.env |= DEFAULTS
    yield house
    house.close()


def test_ten_agents_for_four_hours_lose_nothing_and_leave_nothing_behind(house):
    pid = house.start()
    house.metrics()  # HTTP is served a moment after the start, and is to be there from here on
    sessions = max(1, round(HOURS * SESSIONS_AN_HOUR))
    agents = [Agent(house, number) for number in range(1, AGENTS + 1)]
    watch = Watch(house, pid, turns=sessions * TURNS * AGENTS)

    def work(agent: Agent) -> None:
        for number in range(sessions):
            agent.session(number, done=watch.turn)

    with ThreadPoolExecutor(AGENTS) as lanes:
        list(lanes.map(work, agents))

    eventually(lambda: house.ask("status")["mcp_sessions"] == 0)
    show(watch.samples, agents)
    assert house.pid() == pid
    assert_kept(house, agents)
    for name, more in ROOM.items():
        first, second = halves(watch.samples, name)
        assert max(second) <= max(first) + more, f"{name} grow: {max(first)} → {max(second)}"
    left_mb = resident_mb(pid) - fresh_mb(house, pid)
    print(f"  {left_mb:.0f} MB more than a new daemon with the same data")
    assert left_mb <= MOST_LEFT_MB


def fresh_mb(house: House, pid: int) -> float:
    """What a new daemon in the place of ``pid`` takes, in megabytes, once it served a session."""
    house.run("daemon", "stop")
    house.wait_until_gone(pid)
    pid = house.start()
    Agent(house, AGENTS + 1).session(0, done=lambda: None)
    return resident_mb(pid)


def assert_kept(house: House, agents: list[Agent]) -> None:
    sent = [number for agent in agents for number in agent.sent]
    told = sum((agent.told for agent in agents), Counter())
    assert told.total() == len(sent)
    assert told.keys() <= {"stored", "set aside"}
    found: Counter[str] = Counter()
    for project in range(5):
        house.env["CLAUDE_PROJECT_DIR"] = str(house.root / f"project-{project}")
        found += stored(house)
    assert found == Counter(map(fact, sent))


def halves(samples: list[dict[str, float]], name: str) -> tuple[list[float], list[float]]:
    values = [row[name] for row in samples]
    return values[: len(values) // 2], values[len(values) // 2 :]


def growth(samples: list[dict[str, float]]) -> float:
    """By how many megabytes an hour resident memory rises in the second half."""
    half = samples[len(samples) // 2 :]
    return slope([(row["hours"], row["resident_mb"]) for row in half])


def show(samples: list[dict[str, float]], agents: list[Agent]) -> None:
    events = sum((agent.events for agent in agents), Counter())
    told = sum((agent.told for agent in agents), Counter())
    sent = sum(len(agent.sent) for agent in agents)
    print(f"\nsoak: {AGENTS} agents, {HOURS:g} h, {events.total():,} events {dict(events)}")
    print(f"  {sent} asked to keep, told {dict(told)}")
    for name in samples[0]:
        first, second = halves(samples, name)
        print(f"  {name:<12} first half {max(first):8.1f}  second half {max(second):8.1f}")
    print(f"  memory rises by {growth(samples):.2f} MB an hour in the second half")
    OUT.mkdir(exist_ok=True)
    with (OUT / "soak.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, samples[0])
        table.writeheader()
        table.writerows(samples)
