"""Many machines' change streams against one real server: how far they lag, and what that costs.

    python -m perf.team_simulator --daemons 1000 --seconds 60

Real are the server and its disk, the roles, every statement, rows with their encodings, the feed's
gate, and the engine of a daemon that decides what is asked when. What is simulated says
``simulated_machine.py``. All machines are one process, on loopback.

A change lags from the moment it was written on one machine to the moment another applies it. At the
end captures stop, and every machine must get every change of its team exactly once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import psycopg

from subcog.sinks.team.postgres.admin import init
from subcog.sinks.team.protocol import Cursor

from .prose import ORGANISATION
from .report import percentile, record
from .simulated_machine import Machine, Tally, Team, Texts
from .team_server import cpu_s, team_server, wal_bytes

PATIENCE_S = 120.0
# All of them have just started, and look again a second later; daemons do not start in one moment.
SETTLE_S = 3.0


@dataclass
class Options:
    daemons: int = 1000
    teams: int = 20
    seconds: float = 60.0
    captures_per_hour: float = 20.0

    @classmethod
    def read(cls, arguments: Sequence[str]) -> Options:
        parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
        for name, default in vars(cls()).items():
            flag = f"--{name.replace('_', '-')}"
            parser.add_argument(flag, type=type(default), default=default)
        return cls(**vars(parser.parse_args(arguments)))


@dataclass
class Report:
    """What a run showed; ``server_s`` and ``client_s`` are processor seconds while it ran."""

    options: Options
    tally: Tally
    took_s: float
    server_s: float
    client_s: float
    wal: int
    missing: int

    def lines(self) -> Iterator[str]:
        one, tally, took_s = self.options, self.tally, self.took_s
        puts, pulls = len(tally.put_ms), len(tally.pull_ms)
        yield (
            f"{one.daemons:,} machines in {one.teams} teams, {one.captures_per_hour:g} captures an"
            f" hour each, {took_s:.0f} s"
        )
        yield f"lag       {_spread(tally.lag_ms)} (written here → applied there)"
        yield f"puts      {puts:,}, {puts / took_s:.1f}/s; {_spread(tally.put_ms)}"
        yield f"pulls     {pulls:,}, {pulls / took_s:,.0f}/s; {_spread(tally.pull_ms)}"
        yield f"          {tally.empty:,} empty, of which {tally.gated:,} before the gate"
        yield f"wake-ups  {tally.wake_ups:,}, {tally.wake_ups / took_s:,.0f}/s"
        yield f"changes   {tally.received:,}, {tally.received / took_s:,.0f}/s delivered"
        yield (
            f"processor server {self.server_s / took_s:.2f} cores,"
            f" all machines {self.client_s / took_s:.2f} cores (of {os.cpu_count()})"
        )
        yield f"log       {self.wal / max(1, puts):,.0f} bytes of WAL a put"
        yield f"missing   {self.missing} changes; {tally.twice} came twice"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    p50, p95, p99 = (percentile(values, percent) for percent in (50, 95, 99))
    return f"p50 {p50:.1f}  p95 {p95:.1f}  p99 {p99:.1f} ms"


async def simulate(owner_url: str, options: Options, server_cpu_s: Callable[[], float]) -> Report:
    """Run it on the database at ``owner_url``; ``server_cpu_s()`` is what its server used."""
    tally, texts = Tally(), Texts(random.Random(11))
    teams = [_made(owner_url, number, tally) for number in range(options.teams)]
    try:
        async with asyncio.TaskGroup() as tasks:
            machines = await _peopled(teams, options.daemons)
            standing = [tasks.create_task(team.listen()) for team in teams]
            standing += [tasks.create_task(one.sync.run()) for one in machines]
            await _until(lambda: all(one.is_in_step for one in machines))
            await asyncio.sleep(SETTLE_S)
            tally.clear()
            figures = await _measured(owner_url, options, machines, texts, server_cpu_s)
            await _until(lambda: not any(one.missing for one in machines))
            for task in standing:
                task.cancel()
    finally:
        for team in teams:
            await team.store.close()
    missing = sum(one.missing for one in machines)
    return Report(options, tally, *figures, missing)


def _made(owner_url: str, number: int, tally: Tally) -> Team:
    name = f"team-{number}"
    member = init(owner_url, name, [f"sim_{number}"]).members[0]
    return Team(member.url, name, tally)


async def _peopled(teams: Sequence[Team], count: int) -> list[Machine]:
    """``count`` machines, spread over the teams, each at the end of its feed."""
    ends: list[Cursor] = []
    for team in teams:
        found = await team.store.changes(Cursor(), (ORGANISATION,))
        ends.append(found.cursor)
    for number in range(count):
        place = number % len(teams)
        machine = Machine(teams[place], ends[place], random.Random(number))
        teams[place].machines.append(machine)
    return [machine for team in teams for machine in team.machines]


async def _measured(
    owner_url: str,
    options: Options,
    machines: Sequence[Machine],
    texts: Texts,
    server_cpu_s: Callable[[], float],
) -> tuple[float, float, float, int]:
    """Let them write; the seconds that took, of server and of client processor, and the log."""
    with psycopg.connect(owner_url, autocommit=True) as owner:

        def figures() -> tuple[float, float, float, int]:
            return time.perf_counter(), server_cpu_s(), time.process_time(), wal_bytes(owner)

        before = figures()
        until = before[0] + options.seconds
        per_hour = options.captures_per_hour
        await asyncio.gather(*(one.capture(texts, per_hour, until) for one in machines))
        await asyncio.sleep(max(0.0, until - time.perf_counter()))
        took_s, server_s, client_s, wal = (
            end - start for start, end in zip(before, figures(), strict=True)
        )
    return took_s, server_s, client_s, int(wal)


async def _until(there: Callable[[], bool]) -> None:
    """Wait until it is so, or ``PATIENCE_S`` are over."""
    deadline = time.perf_counter() + PATIENCE_S
    while not there() and time.perf_counter() < deadline:  # noqa: ASYNC110 - of many machines
        await asyncio.sleep(0.2)


def main() -> None:
    options = Options.read(sys.argv[1:])
    # A thread that has an answer of the server waits this long for the interpreter. A thousand
    # machines have one each; here they share one.
    sys.setswitchinterval(0.0002)
    with team_server() as database:
        server = database.server
        report = asyncio.run(simulate(database.owner_url, options, lambda: cpu_s(server)))
    print("\n".join(report.lines()))
    record("team.simulated", report.tally.lag_ms)
    if report.missing or report.tally.twice:
        sys.exit(1)


if __name__ == "__main__":
    main()
