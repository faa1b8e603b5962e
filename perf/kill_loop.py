"""Breaks the daemon again and again while prompts ask to keep something, and counts what became of
each: sent is told, told is stored, once.

    python -m perf.kill_loop --markers 2000 --kills 300 --seed 1

Every prompt is the installed pipe in a process of its own, with its default budget. A round is one
of ``ROUNDS``; what a seed draws is the order of rounds, how many prompts they send, and when they
strike. A loop ends when it has sent so many markers and killed so often. It prints a table, and
exits 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from tests.integration.house import House
from tests.promises import DEFAULTS, NOT_KEPT, fact, outcome, send, stored

# A spool has room for 1,000; what a round leaves there is stored before it comes to that.
SETTLED_EVERY = 400


@dataclass
class Row:
    """What one kind of round came to."""

    rounds: int = 0
    kills: int = 0
    sent: int = 0
    told: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    twice: int = 0
    broken: list[str] = field(default_factory=list)


@dataclass
class Marker:
    """One prompt: the round that sent it, when, what was told, and when."""

    kind: str
    began: float
    told: str = ""
    ended: float = 0.0


class Loop:
    """Rounds on one house. ``rows`` has what is known so far, by kind of round."""

    def __init__(self, house: House, seed: int) -> None:
        self.house = house
        self.draws = random.Random(seed)
        self.rows: dict[str, Row] = {}
        self._markers: dict[int, Marker] = {}
        self._unsettled: list[int] = []
        self._kind = ""

    @property
    def sent(self) -> int:
        return len(self._markers)

    @property
    def kills(self) -> int:
        return sum(row.kills for row in self.rows.values())

    def run(self, kind: str) -> None:
        """One round; what was promised is compared with what is stored now and then."""
        self._kind = kind
        self.rows.setdefault(kind, Row()).rounds += 1
        ROUNDS[kind](self)
        if len(self._unsettled) >= SETTLED_EVERY:
            self.settle()

    # --- what a round is made of -----------------------------------------------------------------

    @contextmanager
    def prompts(self, count: int) -> Iterator[list[Future[None]]]:
        """So many prompts at once, which are answered when the block is left."""
        numbers = range(self.sent, self.sent + count)
        for number in numbers:
            self._markers[number] = Marker(self._kind, time.monotonic())
        self._unsettled += numbers
        self.rows[self._kind].sent += count
        with ThreadPoolExecutor(count) as agents:
            asked = [agents.submit(self._send, number) for number in numbers]
            yield asked
            for one in asked:
                one.result()

    def _send(self, number: int) -> None:
        marker = self._markers[number]
        marker.began = time.monotonic()
        marker.told = send(self.house, number)
        marker.ended = time.monotonic()
        self.rows[self._kind].told[outcome(marker.told)] += 1

    def pause(self, longest_s: float) -> None:
        time.sleep(self.draws.random() * longest_s)

    def daemons(self) -> list[int]:
        """The daemons of this house, those that are still starting among them."""
        ours = f"SUBCOG_HOME={self.house.env['SUBCOG_HOME']}".encode()
        return [pid for pid in _processes() if _is_daemon(pid, ours)]

    def kill(self) -> None:
        """Kill every daemon there is, however far its start has come."""
        for pid in self.daemons():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.rows[self._kind].kills += 1
            self.house.wait_until_gone(pid)

    # --- what must be so -------------------------------------------------------------------------

    def settle(self, lost_until: float | None = None) -> None:
        """Compare what was told with what is stored.

        What was sent before ``lost_until`` may be gone: the file that had it was deleted then.
        """
        found = stored(self.house)
        for number in self._unsettled:
            marker, times = self._markers[number], found[fact(number)]
            row = self.rows[marker.kind]
            row.stored += times > 0
            row.twice += times > 1
            if lost_until is not None and marker.began < lost_until and not times:
                continue
            if problem := broken(marker.told, times):
                row.broken.append(f"{fact(number)}: told {marker.told!r}, {problem}")
        self._unsettled.clear()
        for file in self.house.paths.spool.glob("*.bad"):
            self.rows[self._kind].broken.append(f"{file.name} is bad")


def broken(told: str, times: int) -> str:
    """What is wrong with a marker that was ``told`` so and is stored so often, or nothing."""
    if times > 1:
        return f"stored {times} times"
    if not told:
        return f"answered with silence, stored {times} times"
    if NOT_KEPT in told:
        return "stored all the same" if times else ""
    return "" if times else "lost"


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _is_daemon(pid: int, ours: bytes) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return (
            command.endswith(b"\0daemon\0run\0")
            and ours in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except OSError:
        return False


# --- the rounds -----------------------------------------------------------------------------------


def burst(loop: Loop) -> None:
    """Many at once, and nothing goes wrong but the time."""
    loop.house.start()
    with loop.prompts(loop.draws.randint(20, 150)):
        pass


def kill(loop: Loop) -> None:
    """Some at once, and the daemon is killed while it answers."""
    loop.house.start()
    with loop.prompts(loop.draws.randint(3, 8)):
        loop.pause(0.4)
        loop.kill()


def cold(loop: Loop) -> None:
    """Some at once find no daemon, and one of them starts it."""
    loop.kill()
    with loop.prompts(loop.draws.randint(3, 8)):
        pass


def cold_kill(loop: Loop) -> None:
    """The daemon that they start is killed, too, however far it has come."""
    loop.kill()
    with loop.prompts(loop.draws.randint(3, 8)):
        loop.pause(1.2)
        loop.kill()


def drain_kill(loop: Loop) -> None:
    """What was set aside is being stored, and the daemon is killed."""
    os.kill(loop.house.start(), signal.SIGSTOP)
    with loop.prompts(loop.draws.randint(3, 8)):
        pass
    loop.kill()
    for _ in range(2):
        loop.house.start()
        loop.pause(0.4)
        loop.kill()


def suspended(loop: Loop) -> None:
    """The daemon does not get the processor for a while; some are killed in that state."""
    pid = loop.house.start()
    with loop.prompts(loop.draws.randint(3, 8)) as asked:
        loop.pause(0.2)
        os.kill(pid, signal.SIGSTOP)
        loop.pause(0.6)
        if loop.draws.random() < 0.5:
            loop.kill()
            return
        for one in asked[: loop.draws.randint(0, len(asked))]:
            one.result()
        os.kill(pid, signal.SIGCONT)


def held(loop: Loop) -> None:
    """Another process holds the database when the daemon starts, and lets it go."""
    loop.house.start()
    loop.house.run("daemon", "stop")
    holder = duckdb.connect(str(loop.house.paths.database))
    try:
        with loop.prompts(loop.draws.randint(3, 8)):
            pass
        if loop.draws.random() < 0.5:
            loop.kill()
    finally:
        holder.close()


def deleted(loop: Loop) -> None:
    """The database and all that lies beside it are deleted under the daemon while it stores."""
    loop.settle()
    loop.house.start()
    with loop.prompts(loop.draws.randint(8, 20)):
        loop.pause(0.3)
        database = loop.house.paths.database
        # The database first: what lies beside it may be written as long as that is there.
        for file in sorted(database.parent.glob(f"{database.name}*")):
            file.unlink(missing_ok=True)
        gone = time.monotonic()
        with loop.prompts(loop.draws.randint(8, 20)):
            pass
    if loop.draws.random() < 0.3:
        loop.kill()
    loop.settle(lost_until=gone)


ROUNDS: dict[str, Callable[[Loop], None]] = {
    "burst": burst,
    "kill": kill,
    "cold": cold,
    "cold_kill": cold_kill,
    "drain_kill": drain_kill,
    "suspended": suspended,
    "held": held,
    "deleted": deleted,
}
WEIGHTS = {"burst": 4, "kill": 60, "cold": 20, "cold_kill": 40, "drain_kill": 10, "suspended": 12}
WEIGHTS |= {"held": 3, "deleted": 4}


def report(loop: Loop, seed: int, took_s: float) -> str:
    """The table: what was sent, told and stored, by kind of round."""
    lines = [
        f"seed {seed}: {loop.sent:,} markers, {loop.kills:,} kills in {took_s:.0f} s",
        f"{'round':<12}{'rounds':>7}{'kills':>7}{'sent':>7}{'told':>7}{'at once':>9}{'aside':>7}"
        f"{'not kept':>10}{'stored':>8}{'twice':>7}{'broken':>8}",
    ]
    total = Row()
    for kind, row in loop.rows.items():
        lines.append(_line(kind, row))
        total.rounds += row.rounds
        total.kills += row.kills
        total.sent += row.sent
        total.told += row.told
        total.stored += row.stored
        total.twice += row.twice
        total.broken += row.broken
    return "\n".join([*lines, _line("all", total), *(f"BROKEN {one}" for one in total.broken)])


def _line(kind: str, row: Row) -> str:
    told = row.told.total() - row.told["silence"]
    refused = sum(count for text, count in row.told.items() if NOT_KEPT in text)
    return (
        f"{kind:<12}{row.rounds:>7}{row.kills:>7}{row.sent:>7}{told:>7}{row.told['stored']:>9}"
        f"{row.told['set aside']:>7}{refused:>10}{row.stored:>8}{row.twice:>7}{len(row.broken):>8}"
    )


def run(root: Path, *, markers: int, kills: int, seed: int, kinds: Sequence[str]) -> Loop:
    """Rounds of these ``kinds`` until so many markers were sent and so many daemons killed."""
    house = House(root, installed=True)
    house.env |= DEFAULTS
    # Where anything is left of one, no new database is begun in the place of what was deleted.
    house.env["SUBCOG_BACKUP_ENABLED"] = "false"
    loop = Loop(house, seed)
    try:
        while loop.sent < markers or loop.kills < kills:
            loop.run(loop.draws.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0])
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{loop.sent:,} markers, {loop.kills:,} kills ")
        loop.settle()
    finally:
        house.close()
    return loop


def main() -> int:
    parser = argparse.ArgumentParser(prog="perf.kill_loop")
    parser.add_argument("--markers", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", nargs="+", choices=list(ROUNDS), default=list(ROUNDS))
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="subcog-kills-") as folder:
        loop = run(
            Path(folder),
            markers=options.markers,
            kills=options.kills,
            seed=options.seed,
            kinds=options.rounds,
        )
    print(report(loop, options.seed, time.monotonic() - began))
    return 1 if any(row.broken for row in loop.rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
