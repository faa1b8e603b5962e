"""Sends hostile input to every door of a daemon, and holds it to what it promises.

A case is a door and a seed, and nothing else decides what is sent: ``--door D --seed S --cases 1``
sends the same again. What is found is listed at the end, and kept in ``seeds.txt``, which the
suite replays. Exits 1 if anything was found.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .bench import Bench, Finding
from .on_disk import Import, Pipe, Project, SettingsFile, Spool, Transcript
from .wire import Call, Frame, Hook, Http, McpPipe

SEEDS = Path(__file__).with_name("seeds.txt")
WARM_UP = 0.1
TIDY_EVERY = 1000
# How much higher each may be at the end than after the warm-up: a share, and so much more. Twice
# 50,000 cases took resident memory from 324 to 383 MB and from 315 to 381, with some twenty more
# MCP sessions open, a third of it in the first 10,000: it is held there, not said to be flat.
ROOM = {
    "resident_mb": (0.25, 0.0),
    "descriptors": (0.0, 10),
    "threads": (0.0, 4),
    "tasks": (0.0, 20),
    "clients": (0.0, 2),
    "home_files": (0.0, 30),
}
MOST_RESIDENT_MB = 80.0
# An MCP client over HTTP may leave its session open; so many stay, with some tasks each.
TASKS_A_SESSION = 8


class Door(Protocol):
    """One way into the daemon. ``make`` is pure; ``send`` says how it went, or raises."""

    name: str
    weight: float

    def make(self, rng: random.Random) -> Any: ...

    def send(self, made: Any, bench: Bench) -> str: ...


def doors() -> dict[str, Door]:
    all_of_them: tuple[Door, ...] = (
        Hook(),
        Call(),
        Frame(),
        Http(),
        McpPipe(),
        Transcript(),
        SettingsFile(),
        Import(),
        Project(),
        Spool(),
        Pipe(),
    )
    return {door.name: door for door in all_of_them}


Case = tuple[str, int]


def cases(count: int, seed: int, named: str | None, known: dict[str, Door]) -> Iterator[Case]:
    """So many cases from ``seed`` on; the door too follows from the seed, unless one is named."""
    names, weights = list(known), [door.weight for door in known.values()]
    for number in range(seed, seed + count):
        chosen = random.Random(number).choices(names, weights)[0]
        yield named or chosen, number


def kept_cases() -> list[Case]:
    """The cases that once found something."""
    lines = (line.partition("#")[0].split() for line in SEEDS.read_text().splitlines())
    return [(words[0], int(words[1])) for words in lines if words]


@dataclass
class Outcome:
    """What became of a run."""

    took_s: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    findings: list[tuple[str, int, str]] = field(default_factory=list)
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def count(self) -> int:
        return sum(map(len, self.took_s.values()))

    def grown(self) -> Iterator[str]:
        """What is larger at the end than it may be."""
        sessions = self.after["mcp_sessions"] - self.before["mcp_sessions"]
        for name, (share, more) in ROOM.items():
            limit = self.before[name] * (1 + share) + more
            if name == "tasks":
                limit += max(0.0, sessions) * TASKS_A_SESSION
            if name == "resident_mb":
                limit = min(limit, self.before[name] + MOST_RESIDENT_MB)
            if self.after[name] > limit:
                yield f"{name} grew from {self.before[name]:.0f} to {self.after[name]:.0f}"


class Run:
    """Sends cases to a bench, one after another; ``outcome`` has what is known so far."""

    def __init__(self, bench: Bench, known: dict[str, Door]) -> None:
        self._bench = bench
        self._doors = known
        self.outcome = Outcome()

    def send(self, chosen: Iterable[Case], *, count: int, shown: bool) -> None:
        """All of ``chosen``, then the promises about the whole. Stops where the daemon is gone."""
        began = time.monotonic()
        warm = max(1, int(count * WARM_UP))
        try:
            for number, (name, seed) in enumerate(chosen):
                if number == warm:
                    self.outcome.before = self._at_rest()
                if number % TIDY_EVERY == TIDY_EVERY - 1:
                    self._bench.tidy()
                self._one(name, seed)
                if shown and number % 100 == 99:
                    self._show(number + 1, count, time.monotonic() - began)
                if not self._bench.is_alive():
                    self._found(name, seed, "the daemon has ended")
                    self._why()
                    return
            self._end(count)
        except Finding as finding:
            self._found("bench", 0, str(finding))
        except OSError as error:
            self._found("bench", 0, f"the daemon cannot be reached: {error!r}")
            self._why()
        finally:
            self.outcome.seconds = time.monotonic() - began

    def _why(self) -> None:
        """Add what the log says last of a daemon that has ended."""
        try:
            self._bench.check()
        except Finding as finding:
            self._found("bench", 0, str(finding))

    def _end(self, count: int) -> None:
        self.outcome.after = self._at_rest()
        self._bench.check()
        problems = self._bench.problems()
        if self.outcome.before and count >= TIDY_EVERY:
            problems += self.outcome.grown()
        for problem in problems:
            self._found("bench", 0, problem)

    def _at_rest(self) -> dict[str, float]:
        self._bench.tidy()
        self._bench.rest()
        return self._bench.sizes()

    def _one(self, name: str, seed: int) -> None:
        door = self._doors[name]
        made = door.make(random.Random(f"{name}:{seed}"))
        began, said = time.perf_counter(), "found"
        try:
            said = door.send(made, self._bench)
        except Finding as finding:
            self._found(name, seed, str(finding))
        except OSError as error:
            at = traceback.extract_tb(error.__traceback__)[-1].lineno
            self._found(name, seed, f"sending failed: {error!r} at line {at}")
        self.outcome.took_s.setdefault(name, []).append(time.perf_counter() - began)
        self.outcome.refused[name] = self.outcome.refused.get(name, 0) + (said == "refused")
        try:
            self._bench.check()
        except Finding as finding:
            self._found(name, seed, str(finding))

    def _found(self, name: str, seed: int, what: str) -> None:
        self.outcome.findings.append((name, seed, what))

    def _show(self, done: int, count: int, took_s: float) -> None:
        found = len(self.outcome.findings)
        sys.stderr.write(f"\r{done:,} of {count:,} cases, {found} findings, {took_s:.0f} s ")
        sys.stderr.flush()


def p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def report(outcome: Outcome) -> str:
    """The table at the end."""
    lines = [f"{'door':<12}{'cases':>8}{'refused':>9}{'seconds':>9}{'p99 ms':>8}"]
    for name, took_s in sorted(outcome.took_s.items()):
        refused = outcome.refused.get(name, 0)
        p99_ms = p99(took_s) * 1000
        lines.append(f"{name:<12}{len(took_s):>8,}{refused:>9,}{sum(took_s):>9.1f}{p99_ms:>8.0f}")
    total = sum(outcome.refused.values())
    lines.append(f"{'all':<12}{outcome.count:>8,}{total:>9,}{outcome.seconds:>9.1f}")
    for name in outcome.after:
        before = outcome.before.get(name, 0.0)
        lines.append(f"{name:<14}{before:>10.1f} →{outcome.after[name]:>10.1f}")
    lines += [f"FOUND {name} {seed}: {what}" for name, seed, what in outcome.findings]
    return "\n".join(lines)


def as_json(outcome: Outcome) -> str:
    table = {
        name: {
            "cases": len(took_s),
            "refused": outcome.refused.get(name, 0),
            "seconds": round(sum(took_s), 3),
            "p99_ms": round(p99(took_s) * 1000, 1),
        }
        for name, took_s in outcome.took_s.items()
    }
    findings = [{"door": name, "seed": seed, "what": what} for name, seed, what in outcome.findings]
    sizes = {"before": outcome.before, "after": outcome.after}
    return json.dumps({"doors": table, "findings": findings, "sizes": sizes}, indent=2)


def keep_seeds(findings: list[tuple[str, int, str]]) -> None:
    """Append what was found to the cases that the suite replays."""
    known = set(kept_cases())
    with SEEDS.open("a") as file:
        for name, seed, what in findings:
            if name != "bench" and (name, seed) not in known:
                known.add((name, seed))
                file.write(f"{name} {seed}  # {' '.join(what.split())[:80]}\n")


def main() -> int:
    known = doors()
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--door", choices=sorted(known))
    parser.add_argument("--json", action="store_true", help="the summary as JSON")
    parser.add_argument("--no-keep", action="store_true", help="append no seed to seeds.txt")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="subcog-fuzz-") as folder:
        bench = Bench(Path(folder))
        run = Run(bench, known)
        chosen = cases(options.cases, options.seed, options.door, known)
        try:
            run.send(chosen, count=options.cases, shown=sys.stderr.isatty() or not options.json)
        except KeyboardInterrupt:
            sys.stderr.write("\ninterrupted")
        finally:
            said = bench.said
            bench.close()
    outcome = run.outcome
    print(as_json(outcome) if options.json else f"\n{report(outcome)}")
    if not options.json:
        print("\n".join(f"logged {count:,} × {line}" for line, count in said.most_common()))
    if not options.no_keep:
        keep_seeds(outcome.findings)
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main())
