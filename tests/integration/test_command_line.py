"""The commands that others rely on, and the JSON they print."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

from .house import SUBCOG

ARGON = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
QUESTION = "how do I hash passwords here?"


def test_what_is_captured_can_be_found_shown_and_forgotten(fresh):
    captured = fresh.capture(ARGON, "--namespace", "decisions", "--tags", "Auth, security")
    assert captured["outcome"] == "stored"
    assert captured["tags"] == ["auth", "security"]

    found = fresh.ask("recall", "password hashing")
    assert found["query"] == "password hashing"
    assert found["mode"] == "hybrid"
    (memory,) = found["memories"]
    assert memory["id"] == captured["id"]
    assert memory["urn"] == f"subcog://memory/{captured['id']}"
    assert memory["namespace"] == "decisions"
    assert memory["content"] == ARGON
    assert 0.5 < memory["score"] <= 1.0
    assert memory["created_at"].endswith("Z")
    assert memory["tags"] == ["auth", "security"]
    assert found["total_count"] == 1
    assert found["execution_time_ms"] > 0
    assert "password" in " ".join(found["topics"])

    assert fresh.ask("get", captured["id"])["content"] == ARGON
    answer = fresh.ask("forget", captured["id"])
    assert answer == {
        "id": captured["id"],
        "forgotten": True,
        "team": None,
        "copies": [],
    }
    assert fresh.ask("recall", "password hashing")["memories"] == []
    gone = fresh.run("get", captured["id"])
    assert gone.returncode == 1
    assert "no memory" in gone.stderr


def test_an_id_may_be_given_by_its_beginning(fresh, tmp_path):
    first = fresh.capture(ARGON)["id"]
    assert fresh.ask("get", first[:20].upper().replace("MEM_", ""))["id"] == first
    assert fresh.ask("why", first[:20])["id"] == first
    assert fresh.ask("expire", first[:20])["id"] == first
    refused = fresh.run("get", first[:7])
    assert (refused.returncode, f"no memory {first[:7]}" in refused.stderr) == (1, True)

    second = fresh.capture("Releases are cut on Thursdays from the main branch")["id"]
    several = fresh.run("forget", first[:8])
    assert several.returncode == 1
    assert f"{first[:8]} begins several ids, add characters: {first} (" in several.stderr
    assert f"{second} (Releases are cut on" in several.stderr

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = fresh.run("get", second[:8], "--project", str(elsewhere))
    assert (other.returncode, f"no memory {second[:8]}" in other.stderr) == (1, True)
    assert "Releases" not in other.stderr


def test_a_slip_in_a_name_is_understood_or_answered_with_the_nearest(shared):
    assert (
        shared.capture("Slips are forgiven", "--namespace", "Decision")["namespace"] == "decisions"
    )
    assert "Did you mean capture?" in shared.run("captrue", "x").stderr
    assert "Did you mean" not in shared.run("bogus").stderr
    assert "'decisions'" in shared.run("capture", "x", "--namespace", "nonsense").stderr


def test_several_are_forgotten_at_once_or_none(fresh):
    ids = [fresh.capture(f"Port {port} belongs to the gateway")["id"] for port in (81, 82)]
    assert fresh.run("forget", *ids, "mem_nowhere").returncode == 1
    assert [fresh.ask("get", one)["id"] for one in ids] == ids
    assert [gone["id"] for gone in fresh.ask("forget", *ids, ids[0])] == ids
    assert [fresh.run("get", one).returncode for one in ids] == [1, 1]


@pytest.mark.parametrize("mode", ["hybrid", "text", "vector"])
def test_every_mode_finds(shared, mode):
    shared.capture(ARGON)
    found = shared.ask("recall", "password hashing", "--mode", mode)
    assert found["mode"] == mode
    assert ARGON in [memory["content"] for memory in found["memories"]]


def test_another_project_finds_nothing_and_the_user_scope_is_found_everywhere(house):
    other = house.root / "other"
    other.mkdir()
    house.capture(ARGON)
    house.capture("I prefer small commits with a reason in the message", "--scope", "user")
    elsewhere = house.ask("recall", "password hashing", "--project", str(other))
    assert ARGON not in json.dumps(elsewhere)
    mine = house.ask("recall", "small commits", "--project", str(other))
    assert mine["memories"][0]["scope"].startswith("user:")
    captured = house.ask("recall", "password hashing")["memories"][0]
    for command in ("get", "forget"):
        refused = house.run(command, captured["id"], "--project", str(other))
        assert refused.returncode == 1


def test_topics_and_one_topic(shared):
    shared.capture("Alembic migrations are written by hand for server defaults", "--tags", "db")
    topics = shared.ask("topics")
    names = [topic["name"] for topic in topics["topics"]]
    assert topics["total_topics"] >= len(names)
    assert "db" in names
    one = shared.ask("topics", "DB")
    assert one["total_count"] == 1
    assert "related_topics" in one
    assert shared.ask("topics", "no-such-topic")["memories"] == []


def test_words_that_are_no_topic_find_the_memories_that_hold_them(shared):
    kept = shared.capture("The nightly dump of the warehouse is shipped by rsync, never by scp")
    found = shared.ask("topics", "shipped by rsync")
    assert [memory["id"] for memory in found["memories"]] == [kept["id"]]
    assert shared.ask("topics", "shipped by courier")["memories"] == []


def test_classify_says_what_and_how_sure(shared):
    howto = shared.ask("classify", "how do I implement authentication?")
    assert howto["search_intent_detected"] is True
    assert howto["intent_type"] == "howto"
    assert howto["topics"] == ["authentication"]
    assert 0.5 <= howto["confidence"] <= 0.95
    assert shared.ask("classify", "rename foo to bar")["search_intent_detected"] is False


def test_explain_shows_every_candidate_with_its_reason_and_stores_nothing(fresh):
    fresh.capture(ARGON)
    fresh.capture("The billing module is owned by the payments team")
    answer = fresh.ask("explain", QUESTION)
    verdicts = {verdict["summary"]: verdict for verdict in answer["inject"]["verdicts"]}
    assert verdicts[ARGON]["injected"] is True
    assert all(verdict["why"] for verdict in verdicts.values())
    for name in ("text", "late", "vector", "relevance", "weight", "score"):
        assert isinstance(verdicts[ARGON][name], float)
    assert answer["classify"]["arithmetic"]
    assert ARGON in answer["context"]
    before = fresh.ask("status")["memories"]
    fresh.ask("explain", "[remember] a rehearsal is not stored")
    assert fresh.ask("status")["memories"] == before
    assert fresh.ask("list")["total"] == 2


def test_explain_counts_as_no_injection_and_no_abstention(fresh):
    def counted():
        names = ("subcog_injections_total{", "subcog_abstentions_total{")
        lines = [line for line in fresh.metrics().splitlines() if line.startswith(names)]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    fresh.capture(ARGON)
    before = counted()
    assert fresh.ask("explain", QUESTION)["context"]
    fresh.ask("explain", "thanks, that is all")
    assert counted() == before
    assert fresh.context(QUESTION)
    assert counted() == before + 1


def test_explain_is_readable(shared):
    shared.capture(ARGON)
    page = shared.run("explain", QUESTION, "--full").stdout
    assert "classify" in page
    assert "injected" in page
    brief = shared.run("explain", QUESTION).stdout
    assert "classify" not in brief
    assert "injected" in brief
    assert ARGON[:30] in brief
    assert brief.count("\n") < page.count("\n")
    assert "--full shows" in brief


def test_status_has_the_promised_fields(shared):
    shared.start()
    status = shared.ask("status")
    for name in ("pid", "version", "socket", "database", "memories", "ready", "metrics_url"):
        assert name in status
    assert {"sessions", "passages"} <= status.keys()
    assert status["running"] is True
    assert shared.ask("daemon", "status")["pid"] == status["pid"]


def test_status_starts_nothing(house):
    done = house.run("status", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["running"] is False
    assert not house.paths.link.exists()


def test_config_tells_where_a_value_came_from(shared):
    config = shared.ask("config", SUBCOG_LOG_LEVEL="debug")
    assert config["log.level"] == {"value": "debug", "source": "SUBCOG_LOG_LEVEL"}
    assert config["http.port"] == {"value": 0, "source": "default"}


@pytest.mark.parametrize("text", ["", "   ", "<private>all of it</private>"])
def test_nothing_to_keep_is_said(shared, text):
    refused = shared.run("capture", text)
    assert refused.returncode == 1
    assert "subcog: " in refused.stderr


def test_a_secret_is_taken_out_before_it_is_stored(house):
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    captured = house.capture(f"The deploy token is {token}, rotate it in May")
    assert captured["redactions"]
    assert token not in json.dumps(house.ask("get", captured["id"]))
    house.run("daemon", "stop")
    for path in house.paths.data.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path


def test_an_unknown_project_directory_is_an_error(shared):
    refused = shared.run("recall", "x", "--project", "/no/such/directory")
    assert refused.returncode == 2
    assert "not a directory" in refused.stderr


def test_with_json_each_failure_but_wrong_usage_is_json(shared):
    for command in (("trace", "zzz"), ("get", "zzzz")):
        done = shared.run(*command, "--json")
        assert done.returncode == 1
        assert json.loads(done.stdout)["error"] in done.stderr
    assert shared.run("trace", "--nonsense", "--json").returncode == 2
    assert json.loads(shared.run("help", "trace", "--json").stdout)["command"] == "trace"


def test_every_command_has_help(shared):
    listed = shared.run("--help").stdout
    for name in ("capture", "recall", "hook", "daemon", "install", "doctor"):
        assert name in listed
        assert shared.run(name, "--help").returncode == 0


def run_bytes(house, *args, stdin=b"", **more):
    program = Path(sys.executable).parent / "subcog"
    options = {"env": house.env, "cwd": house.project, "timeout": 60} | more
    return subprocess.run([program, *args], input=stdin, check=False, **options)


def test_a_text_that_is_not_utf_8_is_kept_as_far_as_it_can_be_read(fresh):
    piped = run_bytes(fresh, "capture", "-", "--json", stdin=b"Caf\xe9 is the name of our release")
    given = run_bytes(fresh, "capture", b"The other one is Caf\xe9 Noir", "--json")

    assert (piped.returncode, given.returncode) == (0, 0)
    said = [one["content"] for one in fresh.ask("list")["memories"]]
    assert said == ["The other one is Caf\ufffd Noir", "Caf\ufffd is the name of our release"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("list",), b"No space left on device"),
        (("list", "--json"), b"No space left on device"),
        (("trace", "zzz", "--json"), b"no trace zzz; old traces are deleted"),
    ],
)
def test_where_there_is_no_room_for_the_output_that_is_said(shared, command, says):
    shared.capture("We use argon2id")
    with open("/dev/full", "wb") as full:
        done = run_bytes(shared, *command, stdout=full, stderr=subprocess.PIPE)

    assert (done.returncode, done.stderr) == (1, b"subcog: " + says + b"\n")


def test_a_daemon_can_be_stopped_whatever_became_of_its_settings(house):
    house.start()
    house.paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    house.paths.config_file.write_text("this is [not toml")
    done = house.run("daemon", "stop")

    assert done.stdout == "stopped\n"
    assert "warning" in done.stderr
    assert str(house.paths.config_file) in done.stderr


@pytest.mark.parametrize("command", [["help", "users"], ["sql"]])
def test_output_whose_reader_has_left_is_no_refusal(shared, command):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nobody:
        done = subprocess.run(
            [SUBCOG, *command],
            stdout=nobody,
            stderr=subprocess.PIPE,
            env=shared.env,
            timeout=PATIENCE_S,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_document_is_shown_to_nobody_where_the_output_is_closed(shared):
    line = ["bash", "-c", f'"{SUBCOG}" help users >&-']
    done = subprocess.run(line, capture_output=True, env=shared.env, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
