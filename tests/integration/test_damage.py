"""A real daemon whose files are damaged, held, or taken away: it is told, and it goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import duckdb
import pytest

from subcog.sinks.store.wal import wal_of
from tests.waiting import PATIENCE_S, eventually

from .house import House

# Commands that need an answer of the daemon.
WAITING = (["daemon", "stop"], ["capture", "a text"])


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("damage"))
    yield house
    house.close()


def told(answer) -> str:
    return (answer or {}).get("systemMessage", "")


@pytest.mark.slow
def test_a_damaged_log_is_told_by_status_by_doctor_and_by_one_hook(house):
    kept = [house.capture(f"Rule {n}: shelf {n} holds box {n * 7919}")["id"] for n in range(6)]
    pid = house.pid()
    os.kill(pid, signal.SIGKILL)
    house.wait_until_gone(pid)
    log = wal_of(house.paths.database)
    data = bytearray(log.read_bytes())
    data[len(data) * 2 // 3] ^= 0xFF
    log.write_bytes(data)

    house.start()
    eventually(lambda: house.ask("status")["ready"])
    status = house.ask("status")

    assert 0 < status["memories"] < len(kept)
    [damage] = status["damage"]
    assert "may be lost" in damage
    eventually(lambda: damage in told(house.prompt("rename foo to bar")))
    assert "damaged" not in told(house.prompt("rename bar to foo"))
    assert damage in house.run("doctor").stdout
    assert damage in house.run("status").stdout
    for copy in house.ask("copies")["copies"]:
        house.run("copies", "--remove", copy["file"], "--yes")
    assert house.ask("status")["damage"] == []


def test_the_newest_backup_is_restored_by_one_command_and_the_forgotten_stays_so(house):
    gone = house.capture("The staging database listens on port 6543")["id"]
    folder = house.paths.backups
    folder.mkdir(parents=True, exist_ok=True)  # the daemon may have made one already
    newest = str(folder / "subcog-20990101T000000Z.duckdb")
    house.ask("backup", newest)
    assert house.ask("status")["backup"]["newest"] == newest
    before = house.ask("status")["memories"]
    house.ask("forget", gone)
    house.capture("Releases are cut on Tuesdays before noon")

    house.run("daemon", "stop")  # one that has just started knows the backups as well
    done = house.run("restore", "latest")

    assert done.returncode == 0, done.stderr
    assert house.ask("status")["memories"] == before - 1
    assert "stays forgotten" in done.stdout


@pytest.mark.parametrize("is_running", [False, True])
def test_a_database_that_was_deleted_is_told_and_not_begun_anew(house, is_running):
    house.capture("Invoices are numbered by the tax office")
    folder = house.paths.backups
    folder.mkdir(parents=True, exist_ok=True)
    newest = folder / f"subcog-2099010{2 + is_running}T000000Z.duckdb"
    house.ask("backup", str(newest))
    memories = house.ask("status")["memories"]
    pid = house.pid()
    if not is_running:
        house.run("daemon", "stop")
        house.wait_until_gone(pid)
    for file in (house.paths.database, wal_of(house.paths.database)):
        file.unlink(missing_ok=True)

    month = "July" if is_running else "June"
    set_aside = told(house.prompt(f"[remember] The lift is serviced in {month}"))

    assert "set aside" in set_aside
    lost = f"{house.paths.database} was deleted or moved away"
    eventually(lambda: lost in told(house.prompt("rename foo to bar")) + set_aside)
    # What was set aside may have told the same before the notice did.
    eventually(lambda: lost not in told(house.prompt("rename bar to foo")))
    assert lost in house.ask("status")["problem"]
    assert lost in house.run("doctor").stdout
    assert not house.paths.database.exists()
    assert house.run("restore", "latest", "--yes").returncode == 0
    eventually(lambda: not list(house.paths.spool.glob("*.json")))
    assert house.ask("status")["memories"] == memories + 1


KILLED_IN_RESTORE = """
import os, signal, sys
from pathlib import Path
replace = Path.replace
def replace_and_be_killed(self, target):
    replace(self, target)
    if "before-restore" in str(target) and not str(target).endswith(".wal"):
        os.kill(os.getpid(), signal.SIGKILL)
Path.replace = replace_and_be_killed
from subcog.pipeline.cli.command_line import cli
cli(["daemon", "run"])
"""


@contextmanager
def killed_in_restore(house):
    """A daemon that is killed as soon as a restore has set the database aside."""
    house.run("daemon", "stop")
    command = [sys.executable, "-c", KILLED_IN_RESTORE]
    with subprocess.Popen(command, env=house.env, cwd=house.project) as daemon:
        try:
            eventually(lambda: house._is_served({}))
            eventually(lambda: house.ask("status")["ready"])
            yield
            assert daemon.wait(PATIENCE_S) == -signal.SIGKILL
        finally:
            daemon.kill()
    assert not house.paths.database.exists()


@pytest.mark.parametrize("then", ["restore", pytest.param("doctor", marks=pytest.mark.slow)])
def test_what_was_forgotten_stays_so_after_a_restore_that_was_killed(alone, then):
    gone = alone.capture("The staging database listens on port 6543")["id"]
    backup = str(alone.root / "b.duckdb")
    alone.ask("backup", backup)
    alone.ask("forget", gone)
    newer = alone.capture("Releases are cut on Tuesdays before noon")["id"]
    with killed_in_restore(alone):
        assert alone.run("restore", backup, "--yes").returncode != 0

    if then == "doctor":
        alone.run("doctor", "--repair")
        assert alone.ask("get", newer)["id"] == newer
    answer = alone.ask("restore", backup, "--yes")

    assert answer["forgotten"] == 1
    assert alone.run("get", gone).returncode == 1
    assert not list(alone.paths.data.glob("*restoring*"))
    kept = alone.ask("copies")["copies"]
    assert [one["kind"] for one in kept if one["file"] == answer["kept_aside"]]


def test_a_home_without_a_backup_has_its_memories_after_a_restore_that_was_killed(alone, tmp_path):
    other = House(tmp_path / "other")
    other.capture("The pump is serviced in June")
    other.ask("backup", str(tmp_path / "other.duckdb"))
    other.close()
    alone.env["SUBCOG_BACKUP_ENABLED"] = "false"
    kept = alone.capture("The ledger closes at 17:00")["id"]
    assert alone.ask("copies")["copies"] == []
    with killed_in_restore(alone):
        assert alone.run("restore", str(tmp_path / "other.duckdb"), "--yes").returncode != 0

    assert alone.ask("get", kept)["id"] == kept


def test_a_database_that_is_gone_without_a_backup_is_told_and_its_forgotten_unknown(alone):
    kept = alone.capture("The ledger closes at 17:00")["id"]
    backup = alone.root / "b.duckdb"
    alone.ask("backup", str(backup))
    alone.ask("forget", kept)
    alone.run("daemon", "stop")
    for file in (alone.paths.database, alone.paths.database.with_name("subcog.duckdb.backups")):
        file.unlink()

    alone.start()
    problem = eventually(lambda: alone.ask("status")["problem"])

    assert f"{alone.paths.database} was deleted or moved away" in problem
    assert not alone.paths.database.exists()
    done = alone.run("restore", str(backup), "--yes")
    assert done.returncode == 0
    assert "what was forgotten since could not be read" in done.stderr


def test_a_socket_that_was_removed_is_made_again(house):
    house.start()
    shutil.rmtree(house.paths.runtime)
    eventually(lambda: house._is_served({}))
    assert house.paths.link.is_socket()


def test_a_database_that_was_deleted_with_the_list_of_its_backups_is_begun_anew(house):
    house.start()
    house.capture("The queue is drained at midnight")
    for file in sorted(house.paths.data.glob("subcog.duckdb*")):
        file.unlink()

    answer = house.prompt("[remember] The cellar floods in April")

    assert "set aside" in told(answer) or "kept as" in told(answer), answer
    eventually(lambda: house.ask("status")["ready"])
    eventually(lambda: not list(house.paths.spool.glob("*.json")))
    assert house.ask("recall", "when does the cellar flood?")["memories"]


def test_a_daemon_whose_home_was_moved_does_not_make_the_old_one_anew(house):
    old = house.start()
    house.prompt("rename foo to bar")
    house.paths.hook_activity.unlink(missing_ok=True)
    shutil.rmtree(house.paths.data, ignore_errors=True)  # it may write there meanwhile

    house.wait_until_gone(old)
    assert not house.paths.hook_activity.exists()


@pytest.mark.parametrize("with_runtime", [False, True])
def test_a_daemon_whose_data_directory_was_deleted_leaves_and_one_takes_its_place(
    house, with_runtime
):
    old = house.start()
    house.capture("The queue is drained at midnight")
    if with_runtime:
        shutil.rmtree(house.paths.runtime)
    shutil.rmtree(house.paths.data, ignore_errors=True)  # it may write there meanwhile

    told_of = told(house.prompt("[remember] The attic leaks in May"))

    assert "set aside" in told_of or "kept as" in told_of
    house.wait_until_gone(old)
    assert house.start() != old
    eventually(lambda: house.ask("status")["ready"])
    eventually(lambda: not list(house.paths.spool.glob("*.json")))
    [kept] = house.ask("recall", "when does the attic leak?")["memories"]
    assert kept["content"] == "The attic leaks in May"
    runtime = house.paths.runtime  # of two that are started at once, one leaves again
    eventually(lambda: [one.name for one in runtime.iterdir()] == [house.paths.link.resolve().name])


def test_a_database_that_was_held_is_opened_when_it_is_free(house):
    house.capture("The pump is serviced in June")
    house.run("daemon", "stop")
    holder = duckdb.connect(str(house.paths.database))
    try:
        house.start()
        eventually(lambda: house.ask("status")["problem"])
    finally:
        holder.close()
    eventually(lambda: house.ask("status")["ready"])
    assert house.ask("status")["problem"] is None


def test_no_command_waits_for_a_daemon_that_hangs(house):
    pid = house.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with ThreadPoolExecutor() as shells:
            ended = list(shells.map(lambda command: house.run(*command), WAITING))
        assert time.monotonic() - began < 30
        for done in ended:
            assert done.returncode != 0
            assert f"kill -9 {pid}" in done.stderr
    finally:
        os.kill(pid, signal.SIGCONT)
