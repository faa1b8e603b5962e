"""What can happen to the database, met by the real daemon: each is said, with what to do."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from tests.integration.house import PATIENCE_S, House
from tests.waiting import eventually

FIRST = "We deploy with ArgoCD, never by hand"
LAST = "The nightly job runs at 03:00 UTC"

HOLD = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def killed_after_captures(house: House) -> Path:
    """The log of a daemon that was killed after it had acknowledged two captures."""
    house.capture(FIRST)
    house.capture(LAST)
    pid = house.pid()
    house.kill(signal.SIGKILL)
    house.wait_until_gone(pid)
    return house.paths.database.with_name("subcog.duckdb.wal")


def problem_of(house: House) -> str:
    """What the daemon says of itself, once it has tried to open the database."""
    house.run("daemon", "start")
    deadline = time.monotonic() + PATIENCE_S
    while not (status := house.ask("status"))["problem"]:
        assert not status["ready"]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return status["problem"]


def assert_it_passes_through(house: House, problem: str) -> None:
    """The agent is not held up, and whoever asks for more is told ``problem``."""
    house.prompt("how do we deploy?")
    refused = house.run("capture", "something else")
    assert refused.returncode == 1
    assert problem in refused.stderr


def contents(house: House) -> set[str]:
    return {memory["content"] for memory in house.ask("recall", "deploy job nightly")["memories"]}


def kept_aside(house: House) -> list[Path]:
    return list(house.paths.data.glob("*.wal.damaged-*"))


def test_a_log_whose_end_was_cut_gives_what_was_whole(house):
    wal = killed_after_captures(house)
    os.truncate(wal, wal.stat().st_size - 20)
    before = wal.read_bytes()

    # The cut is in the last capture, or in the search tables that are filled after it.
    assert {FIRST} <= contents(house) <= {FIRST, LAST}

    [kept] = kept_aside(house)
    assert kept.read_bytes() == before
    [told] = [line for line in house.log() if "kept_aside" in line]
    assert told["level"] == "error"
    assert told["kept_aside"] == str(kept)


@pytest.mark.slow
def test_a_flipped_byte_in_the_log_costs_only_what_follows_it(house):
    wal = killed_after_captures(house)
    data = bytearray(wal.read_bytes())
    at = data.index(LAST.encode())
    data[at] ^= 0xFF
    wal.write_bytes(data)

    assert contents(house) == {FIRST}

    [kept] = kept_aside(house)
    assert kept.read_bytes() == bytes(data)
    house.capture(LAST)
    assert contents(house) == {FIRST, LAST}


@pytest.mark.slow
def test_a_flipped_byte_in_the_file_is_told_with_the_way_to_save_the_rest(house):
    house.capture(FIRST)
    house.run("daemon", "stop")
    data = bytearray(house.paths.database.read_bytes())
    data[data.index(FIRST.encode())] ^= 0xFF
    house.paths.database.write_bytes(data)

    problem = problem_of(house)

    assert "is damaged" in problem
    assert "subcog doctor --repair" in problem
    assert_it_passes_through(house, problem)
    assert house.paths.database.read_bytes() == bytes(data)


@pytest.mark.slow
def test_prompts_without_a_database_are_degraded_and_no_stage_has_failed(house):
    house.capture(FIRST)
    house.run("daemon", "stop")
    with house.paths.database.open("r+b") as file:
        file.seek(12_288)
        file.write(b"\xff" * 4096)
    problem_of(house)

    house.prompt("how do we deploy?")

    def counted(line):
        return line.startswith(("subcog_events_total", "subcog_degraded_total"))

    def counts():
        lines = filter(counted, house.metrics().splitlines())
        return dict(line.rpartition(" ")[::2] for line in lines)

    use = 'subcog_degraded_total{reason="store.unavailable",stage="use"}'
    found = eventually(lambda: use in (now := counts()) and now)
    assert found[use] == "1.0"
    assert {n for name, n in found.items() if 'outcome="failed"' in name} <= {"0.0"}
    assert "a stage failed" not in {entry["what"] for entry in house.log()}


@pytest.mark.slow
def test_a_database_of_a_newer_subcog_is_not_touched(house):
    house.capture(FIRST)
    house.run("daemon", "stop")
    with duckdb.connect(house.paths.database) as connection:
        connection.execute("INSERT INTO migrations VALUES (77, now()::TIMESTAMP)")
    before = house.paths.database.read_bytes()

    problem = problem_of(house)

    assert "newer subcog" in problem
    assert "Update subcog" in problem
    assert_it_passes_through(house, problem)
    assert house.paths.database.read_bytes() == before


@pytest.mark.slow
def test_a_database_that_another_process_holds_is_told_with_its_number(house):
    house.capture(FIRST)
    house.run("daemon", "stop")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(house.paths.database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "open\n"
        problem = problem_of(house)
        assert f"in use by process {holder.pid}" in problem
        assert "try again" in problem
        assert_it_passes_through(house, problem)
        holder.stdin.close()
    house.run("daemon", "stop")

    assert contents(house) == {FIRST}


def test_a_full_disk_refuses_captures_and_loses_nothing(house):
    """No file of the daemon may grow, which it cannot tell from a disk that is full."""
    house.capture(FIRST)
    pid = house.pid()
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1_000, hard))

    refused = house.run("capture", LAST)
    assert refused.returncode == 1
    assert "is full" in refused.stderr
    assert "Free some space" in refused.stderr
    assert contents(house) == {FIRST}

    resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
    house.capture(LAST)
    house.kill(signal.SIGKILL)
    house.wait_until_gone(pid)
    assert contents(house) == {FIRST, LAST}


@pytest.mark.slow
def test_a_directory_that_cannot_be_written_is_told(house):
    house.capture(FIRST)
    house.run("daemon", "stop")
    data = house.paths.data
    with read_only(data):
        refused = house.run("capture", LAST)
        assert house.prompt("how do we deploy?") in (None, {})
    assert refused.returncode != 0
    assert str(data) in refused.stderr

    assert contents(house) == {FIRST}


class read_only:  # noqa: N801 - it reads as a statement
    """Nobody, be it root, can write in ``directory`` inside this block."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)

    def __enter__(self) -> None:
        if os.geteuid():
            Path(self.directory).chmod(0o500)
            return
        bound = ["mount", "--bind", self.directory, self.directory]
        if subprocess.run(bound, check=False, capture_output=True).returncode:
            pytest.skip("nothing can be mounted here")
        subprocess.run(["mount", "-o", "remount,ro,bind", self.directory], check=True)

    def __exit__(self, *_: object) -> None:
        if os.geteuid():
            Path(self.directory).chmod(0o700)
        else:
            subprocess.run(["umount", self.directory], check=True)
