"""What a user asked to keep: sent is told, told is stored, once, whatever happens to the daemon.

The hooks are the installed pipe with its default budget, each a process. A prompt is told that it
is stored, or that it is set aside; none is answered with silence, and in the end every one is
found once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

from tests.disks import full, mount, read_only, unmount
from tests.promises import DEFAULTS, assert_kept, fact, outcome, send, stored
from tests.thorough import times
from tests.waiting import PATIENCE_S, eventually

from ..integration.conftest import neighbour
from ..integration.house import GENEROUS, House


@pytest.fixture
def house(tmp_path):
    house = House(tmp_path)
    house.env |= DEFAULTS
    yield house
    house.close()


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A house whose daemon runs, for the tests that leave it as it was."""
    house = House(tmp_path_factory.mktemp("serving"))
    house.env |= DEFAULTS
    house.start()
    eventually(lambda: house.ask("status")["ready"])
    yield house
    house.close()


@pytest.fixture
def beside(serving, tmp_path):
    """A project of its own, of that daemon."""
    return neighbour(serving, tmp_path)


def test_many_at_once_are_each_told_and_stored_once(beside):
    house = beside
    sent = times(16, 400)

    with ThreadPoolExecutor(sent) as agents:
        told = Counter(map(outcome, agents.map(lambda n: send(house, n), range(sent))))

    assert told.keys() <= {"stored", "set aside"}
    assert_kept(house, sent)


@pytest.mark.slow
def test_a_daemon_that_is_killed_again_and_again_loses_nothing(house):
    draws = random.Random(7)
    sent, rounds = 0, times(3, 60)
    told: Counter[str] = Counter()
    for _ in range(rounds):
        pid = house.start()
        with ThreadPoolExecutor(6) as agents:
            asked = agents.map(lambda n: send(house, n), range(sent, sent + 6))
            time.sleep(draws.random() * 0.4)
            os.kill(pid, signal.SIGKILL)
            told.update(map(outcome, asked))
        sent += 6

    assert told.keys() <= {"stored", "set aside"}
    assert_kept(house, sent)


def test_a_suspended_daemon_costs_the_budget_and_loses_nothing(beside):
    house = beside
    pid = house.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert outcome(send(house, 0)) == "set aside"
    finally:
        os.kill(pid, signal.SIGCONT)

    assert_kept(house, 1)


@pytest.mark.slow
def test_a_database_that_is_deleted_under_load_takes_only_what_it_had(house):
    house.start()
    with ThreadPoolExecutor(16) as agents:
        before = [agents.submit(send, house, number) for number in range(8)]
        before[0].result()
        # The database first: what lies beside it may be written as long as that is there.
        for file in sorted(house.paths.data.glob("subcog.duckdb*")):
            file.unlink()
        after = [agents.submit(send, house, number) for number in range(8, 16)]
        told = Counter(outcome(one.result()) for one in before + after)

    assert told.keys() <= {"stored", "set aside"}
    found = stored(house)
    assert [found[fact(number)] for number in range(8, 16)] == [1] * 8
    assert max(found.values()) == 1


def test_a_daemon_that_is_suspended_under_load_loses_nothing(beside):
    house = beside
    pid = house.pid()
    with ThreadPoolExecutor(8) as agents:
        asked = [agents.submit(send, house, number) for number in range(8)]
        asked[0].result()
        os.kill(pid, signal.SIGSTOP)
        try:
            asked += [agents.submit(send, house, number) for number in range(8, 12)]
            told = Counter(outcome(one.result()) for one in asked)
        finally:
            os.kill(pid, signal.SIGCONT)

    assert told.keys() <= {"stored", "set aside"}
    assert_kept(house, 12)


@pytest.mark.slow
def test_a_database_that_another_process_holds_loses_nothing(house):
    house.capture("A memory so that there is a database")
    house.run("daemon", "stop")
    holder = duckdb.connect(str(house.paths.database))
    try:
        house.start()
        assert outcome(send(house, 0)) == "set aside"
    finally:
        holder.close()
    house.run("daemon", "stop")

    assert_kept(house, 1)


@pytest.mark.slow
def test_a_damaged_database_loses_nothing_that_is_sent(house):
    house.capture("A memory so that there is a database")
    house.run("daemon", "stop")
    whole = house.paths.database.read_bytes()
    house.paths.database.write_bytes(b"\0" * 8192)
    house.start()
    assert outcome(send(house, 0)) == "set aside"
    house.run("daemon", "stop")
    house.paths.database.write_bytes(whole)

    assert_kept(house, 1)


@pytest.fixture
def small_house(tmp_path):
    """A house whose files are on a file system of 48 MB of their own, where one can be mounted."""
    disk = tmp_path / "home"
    disk.mkdir()
    if mount("-t", "tmpfs", "-o", "size=48m,mode=0700", "tmpfs", disk):
        pytest.skip("no file system can be mounted here")
    house = House(tmp_path)
    house.env |= DEFAULTS
    yield house
    house.close()
    unmount(disk)


def is_true(house: House, number: int, told: str) -> bool:
    """Whether what the user was told came true; silence is never true."""
    if "not kept" in told:
        return stored(house)[fact(number)] == 0
    return outcome(told) in {"stored", "set aside"} and stored(house)[fact(number)] == 1


@pytest.mark.slow
def test_on_a_full_disk_nothing_is_answered_with_silence(small_house):
    house, home = small_house, small_house.root / "home"
    house.start()
    house.capture("A memory so that there is a database")
    with full(home):
        told = [send(house, 0)]
        captured = house.run("capture", fact(1))
        forgotten = house.run("forget", house.ask("list")["memories"][0]["id"], "--now")
        house.run("daemon", "stop")
        told.append(send(house, 2))
        house.run("daemon", "stop")

    assert is_true(house, 0, told[0]), told
    assert is_true(house, 2, told[1]), told
    assert captured.returncode == (0 if stored(house)[fact(1)] else 1), captured.stderr
    assert forgotten.returncode == 1
    assert "was not done" in forgotten.stderr or "still in the file" in forgotten.stderr


@pytest.mark.slow
def test_on_a_read_only_disk_nothing_is_answered_with_silence(small_house):
    house, home = small_house, small_house.root / "home"
    house.capture("A memory so that there is a database")
    house.run("daemon", "stop")
    with read_only(home):
        told = send(house, 0)
        captured = house.run("capture", fact(1))

    assert "not kept" in told
    assert "cannot be written" in captured.stderr
    assert captured.returncode
    assert is_true(house, 0, told)


ODD = {
    "a number for a name": {"session_id": 5},
    "no directory": {"cwd": None},
    "a list of tools": {"tool_name": [1]},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_payload_of_another_shape_is_kept_as_well(beside, odd):
    house = beside
    answer = house.hook("UserPromptSubmit", {"prompt": f"[remember] {fact(0)}"} | odd)

    assert outcome(answer["systemMessage"]) == "set aside"
    assert_kept(house, 1)


def test_what_is_told_is_told_beside_the_context(beside):
    house = beside
    house.env |= GENEROUS
    house.capture("We use argon2id for password hashing because bcrypt truncates at 72 bytes")
    payload = {"session_id": "s", "prompt": f"Why do we use argon2id?\n[remember] {fact(0)}"}
    answer = house.hook("UserPromptSubmit", payload)

    assert outcome(answer["systemMessage"]) == "stored"
    assert "argon2id" in answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.slow
def test_over_http_the_daemon_sets_it_aside_itself(house):
    house.capture("A memory so that there is a database")
    house.run("daemon", "stop")
    holder = duckdb.connect(str(house.paths.database))
    try:
        house.start()
        payload = {"session_id": "s", "prompt": f"[remember] {fact(0)}", "cwd": str(house.project)}
        answer = json.loads(post(house, "UserPromptSubmit", payload))
        assert outcome(answer["systemMessage"]) == "set aside"
        (entry,) = house.paths.spool.glob("*.json")
        assert json.loads(entry.read_text())["payload"]["prompt"] == payload["prompt"]
    finally:
        holder.close()
    house.run("daemon", "stop")

    assert_kept(house, 1)


def post(house: House, event: str, payload: object) -> bytes:
    token = house.paths.http_token.read_text().strip()
    url = house.ask("status")["metrics_url"].replace("/metrics", f"/hooks/{event}")
    request = urllib.request.Request(
        url, json.dumps(payload).encode(), {"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return bytes(answer.read())
