"""`subcog doctor` finds what is wrong in a real house, and mends it without losing anything."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import stat
from pathlib import Path

import duckdb
import pytest

from subcog.pipeline.agents.install import our_parts
from subcog.pipeline.daemon.sockets import listen_on_loopback
from subcog.pipeline.doctor.agents import fly, hook_commands
from tests.waiting import eventually

# DuckDB's own: where the first block begins, and how long each is.
FIRST_BLOCK, BLOCK = 12_288, 262_144
MEMORY = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"


def examine(house, *args):
    """Each finding by its name, and the exit code."""
    done = house.run("doctor", "--json", *args)
    said = json.loads(done.stdout)
    findings = said["findings"] if isinstance(said, dict) else said
    return {each["check"]: each for each in findings}, done.returncode


def repaired(house):
    done = house.run("doctor", "--repair", "--json")
    return json.loads(done.stdout)["repaired"], done.returncode


@pytest.fixture
def wired(fresh):
    """A user's home with settings of agents; the daemon is shared."""
    fresh.env = fresh.env | {"HOME": str(fresh.root)}
    return fresh


def claude_settings(house):
    return house.root / ".claude" / "settings.json"


def test_well_house_is_told_well_after_a_restart_too_and_the_canary_leaves_nothing(house):
    house.capture(MEMORY)
    house.prompt("rename foo to bar")
    before = house.ask("status")["memories"]
    house.run("daemon", "stop")

    found, code = examine(house)

    assert [each for each in found.values() if not each["ok"]] == []
    assert code == 0
    assert "recalled, injected through the pipe, forgotten" in found["test memory"]["seen"]
    assert "Claude Code UserPromptSubmit" in found["hooks received last"]["seen"]
    assert house.ask("status")["memories"] == before
    assert "aviary" not in json.dumps(house.ask("recall", "where does the canary live?"))


def test_trace_leaves_out_the_prompts_of_the_test_memory_unless_asked_for(house):
    house.prompt("rename foo to bar")
    [mine] = eventually(lambda: house.ask("trace")["traces"])
    house.run("doctor")
    house.prompt("rename bar to foo", "s2")

    latest, *rest = eventually(lambda: (now := house.ask("trace")["traces"])[1:] and now)
    every = house.ask("trace", "--all")["traces"]

    assert (latest["session"], rest) == ("s2", [mine])
    assert [one["session"] for one in every] == ["s2", *("" for _ in every[2:]), "s1"]
    assert len(every) > 2
    assert house.ask("trace", every[1]["id"]) == every[1]
    assert len(house.ask("trace", "--limit", "2")["traces"]) == 2


def test_canary_flies_through_every_wired_agent(wired):
    for agent in ("claude", "codex", "gemini"):
        wired.ask("install", agent)

    found, code = examine(wired)

    assert code == 0
    assert "through Claude Code, Codex, Gemini CLI" in found["test memory"]["seen"]
    assert "UserPromptSubmit" in found["Codex"]["seen"]
    assert "BeforeAgent" in found["Gemini CLI"]["seen"]


# A hook that answers nothing as often as its first argument says, after so many seconds.
SLUGGISH = """#!/bin/sh
echo >> "$0.runs"
if [ "$(wc -l < "$0.runs")" -le {silent} ]; then sleep {seconds}; echo "{{}}"; exit; fi
exec {pipe}
"""


def canary(house, *, silent, seconds=0):
    hook = house.root / "sluggish"
    (pipe,) = hook_commands({"HOME": str(house.root / "nobody")}, our_parts()).values()
    hook.write_text(SLUGGISH.format(silent=silent, seconds=seconds, pipe=shlex.join(pipe)))
    hook.chmod(0o755)
    house.start()
    (finding,) = fly(house.paths, house.env, {"the hook": [str(hook)]})
    return finding


@pytest.mark.parametrize("silent", [0, 1, 2])
def test_canary_is_given_a_second_chance_once_everything_is_loaded(fresh, silent):
    finding = canary(fresh, silent=silent)
    assert finding.ok, finding


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("search_intent.enabled", "false"),
        pytest.param("search_intent.min_confidence", "0.99", marks=pytest.mark.slow),
        pytest.param("search_intent.context.max_tokens", "60", marks=pytest.mark.slow),
    ],
)
def test_canary_that_a_setting_keeps_in_is_well_and_names_it(fresh, setting, value):
    fresh.run("daemon", "stop")
    fresh.env[f"SUBCOG_{setting.replace('.', '_').upper()}"] = value
    finding = canary(fresh, silent=0)
    fresh.run("daemon", "stop")
    assert finding.ok, finding
    assert f"not injected because of {setting} = {value}" in finding.seen


def test_canary_that_had_no_time_says_what_that_means(fresh):
    fresh.start()  # the daemon is shared, and keeps the budget that it has
    fresh.env["SUBCOG_HOOK_TOTAL_MS"] = "200"
    finding = canary(fresh, silent=9, seconds=0.3)
    assert not finding.ok
    assert "its budget is 200 (hook.total_ms)" in finding.seen
    assert "nothing is lost" in finding.mend
    assert "raise hook.total_ms" in finding.mend


def test_canary_that_had_time_points_at_the_log(fresh):
    finding = canary(fresh, silent=9)
    assert not finding.ok
    assert finding.mend == f"see {fresh.paths.log}"


@pytest.mark.slow
def test_taken_http_port_is_told_and_had_as_soon_as_it_is_free(house):
    with listen_on_loopback(0) as taken:
        port = taken.getsockname()[1]
        house.env["SUBCOG_HTTP_PORT"] = str(port)
        told = house.run("doctor")
        found, code = examine(house)
    assert code == 1
    assert not found["http"]["ok"]
    assert f"port {port} cannot be used (address already in use)" in found["http"]["seen"]
    assert "http.port" in found["http"]["mend"]
    assert f"BAD  http: {found['http']['seen']}\n     {found['http']['mend']}" in told.stdout

    eventually(lambda: house.ask("status")["metrics_url"])
    found, code = examine(house)
    assert code == 0
    assert found["http"]["seen"] == f"http://127.0.0.1:{port}/"
    assert "subcog_ready" in house.metrics()


@pytest.mark.slow
def test_files_that_others_may_read_are_closed(house):
    house.capture(MEMORY)
    house.paths.data.chmod(0o755)
    house.paths.database.chmod(0o644)

    found, code = examine(house)
    assert (found["permissions"]["ok"], code) == (False, 1)

    done, code = repaired(house)
    assert {each["check"] for each in done} == {"permissions"}
    assert code == 0
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (house.paths.data, house.paths.database)]
    assert modes == [0o700, 0o600]


def test_socket_that_nobody_listens_on_is_removed(house):
    house.start()
    pid = house.pid()
    house.kill()
    house.wait_until_gone(pid)
    assert os.path.lexists(house.paths.link)

    found, code = examine(house)  # looks before it starts the daemon
    assert "left over" in found["socket"]["seen"]
    assert code == 1
    assert examine(house)[1] == 0


def test_daemon_that_cannot_be_reached_is_not_worked_around(house):
    house.paths.data.mkdir(parents=True, mode=0o700)
    house.paths.link.touch(mode=0o600)
    with house.paths.lock.open("w") as lock:
        os.chmod(house.paths.lock, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = house.run("doctor", "--repair", "--json")

    findings = {each["check"]: each for each in json.loads(done.stdout)["findings"]}
    assert "end the process" in findings["socket"]["mend"]
    assert done.returncode == 1
    assert house.paths.link.exists()


def damage(database, table):
    """Change one byte of what ``table`` needs, and of nothing that other tables need."""
    whole = database.read_bytes()
    for place in range(FIRST_BLOCK, len(whole), BLOCK):
        database.write_bytes(whole[: place + 5000] + b"\xa5\x5a" + whole[place + 5002 :])
        if unreadable(database) == {table}:
            return
    raise AssertionError(f"no block is of {table} alone")


def unreadable(database):
    found = set()
    with duckdb.connect() as connection:
        try:
            connection.execute(f"ATTACH '{database}' AS store (READ_ONLY)")
        except duckdb.Error:
            return {"file"}
        for table in ("memories", "versions"):
            try:
                connection.execute(f"SELECT bit_xor(hash(t)) FROM store.{table} t").fetchall()
            except duckdb.Error:
                found.add(table)
    return found


def damaged_house(house, table):
    house.capture("Service 2 keeps its queue in the table jobs_2")
    pid = house.pid()
    house.run("daemon", "stop")
    house.wait_until_gone(pid)
    damage(house.paths.database, table)
    return house.paths.database.read_bytes()


@pytest.mark.slow
def test_damaged_database_is_saved_and_the_old_one_kept(house):
    damaged = damaged_house(house, "memories")

    found, code = examine(house)
    assert (found["database"]["repairable"], code) == (True, 1)

    done, code = repaired(house)
    assert code == 0
    kept = [Path(each["done"].partition("kept as ")[2]) for each in done if "kept" in each["done"]]
    assert damaged in [path.read_bytes() for path in kept]
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)
    assert "jobs_2" in json.dumps(house.ask("recall", "the queue of service 2"))


@pytest.mark.slow
@pytest.mark.parametrize("is_running", [False, True])
def test_emptied_database_is_told_and_nothing_begins_in_its_place_unasked(house, is_running):
    house.capture(MEMORY)
    if not is_running:
        house.run("daemon", "stop")
    os.truncate(house.paths.database, 0)

    found, code = examine(house)
    set_aside = house.prompt("[remember] The cellar floods in April")

    assert code == 1
    assert not found["database"]["ok"]
    assert "is empty" in found["database"]["seen"]
    assert "`subcog doctor --repair`" in found["database"]["mend"]
    assert "`subcog restore latest`" in found["database"]["mend"]
    assert "set aside safely" in set_aside["systemMessage"]
    assert house.paths.database.stat().st_size == 0
    done, _ = repaired(house)
    assert [each["well"] for each in done if each["check"] == "database"]
    eventually(lambda: not list(house.paths.spool.glob("*.json")))
    texts = {memory["content"] for memory in house.ask("list")["memories"]}
    assert texts == {"The cellar floods in April", *([MEMORY] if is_running else [])}


@pytest.mark.slow
def test_database_that_cannot_be_saved_is_left_as_it_is(house):
    damaged = damaged_house(house, "versions")

    done, code = repaired(house)

    assert code == 1
    assert [each["well"] for each in done if each["check"] == "database"] == [False]
    assert house.paths.database.read_bytes() == damaged


def test_hooks_that_lead_nowhere_are_written_anew(wired):
    settings = claude_settings(wired)
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}\n')
    wired.ask("install", "claude")
    pipe = str(wired.root / "gone" / "hooks" / "client.py")
    text = settings.read_text()
    ours = json.loads(text)["hooks"]["Stop"][0]["hooks"][0]["command"].split()[3]
    settings.write_text(text.replace(ours, pipe))

    found, code = examine(wired)
    assert (found["Claude Code"]["ok"], code) == (False, 1)
    assert f"{pipe} is gone" in found["Claude Code"]["seen"]
    assert pipe in found["test memory"]["seen"]
    assert "`subcog install claude`" in found["test memory"]["mend"]

    done, code = repaired(wired)
    assert code == 0
    assert any("updated" in each["done"] for each in done)
    wired.ask("uninstall", "claude")
    assert settings.read_text() == '{"model": "opus"}\n'


def test_hooks_over_http_that_knock_at_another_door_are_told(wired):
    program = wired.root / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.1.330 (Claude Code)'\n")
    program.chmod(0o755)
    wired.env["PATH"] = f"{program.parent}:{wired.env['PATH']}"
    wired.ask("install", "claude", "--transport", "http")
    assert examine(wired)[0]["Claude Code"]["ok"]

    wired.env["SUBCOG_HTTP_PORT"] = "4711"
    assert "another port" in examine(wired)[0]["Claude Code"]["seen"]


def test_plugin_and_settings_together_are_told(wired):
    wired.ask("install", "claude")
    settings = claude_settings(wired)
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps(known | {"enabledPlugins": {"subcog@subcog": True}}))

    found, code = examine(wired)

    assert code == 1
    assert "twice" in found["wired once"]["seen"]
    assert "plugin uninstall" in found["wired once"]["mend"]
    assert "twice" in json.dumps(wired.ask("install", "claude")["notes"])


@pytest.mark.parametrize("text", ["{ broken subcog", '["subcog"]'])
def test_settings_that_name_us_and_cannot_be_read_are_told_and_left(wired, text):
    settings = claude_settings(wired)
    settings.parent.mkdir()
    settings.write_text(text)

    found, code = examine(wired, "--repair")

    assert (found["Claude Code"]["ok"], code) == (False, 1)
    assert settings.read_text() == text
