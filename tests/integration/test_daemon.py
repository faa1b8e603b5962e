"""The daemon as a real process: one of it, started when needed, gone when not."""

import json
import os
import signal
import stat
import subprocess
import urllib.error
import urllib.request
from contextlib import ExitStack, closing

import pytest

from subcog.bus.service_results import StatusResult
from subcog.pipeline.cli import client
from subcog.pipeline.daemon.sockets import only_one
from tests.waiting import PATIENCE_S, eventually

from .house import SUBCOG, House

ARGON = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
QUESTION = "how do I hash passwords here?"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A house whose daemon runs, for tests that leave it as it is."""
    house = House(tmp_path_factory.mktemp("undisturbed"))
    house.start()
    yield house
    house.close()


def test_ten_hooks_at_once_start_exactly_one_daemon(house):
    hooks = [house.start_hook("UserPromptSubmit") for _ in range(10)]
    payload = json.dumps({"session_id": "s", "prompt": QUESTION}).encode()
    for hook in hooks:
        hook.stdin.write(payload)
        hook.stdin.close()
    for hook in hooks:
        out = hook.stdout.read()
        assert out == b"" or json.loads(out) == {}
        assert hook.wait(PATIENCE_S) == 0
        hook.stdout.close()
        hook.stderr.close()
    assert [entry["what"] for entry in house.log()].count("listening") == 1


def test_the_socket_and_the_files_are_for_their_owner_alone(undisturbed):
    undisturbed.capture(ARGON)
    for path in (undisturbed.paths.link, undisturbed.paths.database, undisturbed.paths.log):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    for path in (undisturbed.paths.data, undisturbed.paths.runtime):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path


def test_a_second_daemon_leaves_the_first_alone(undisturbed):
    pid = undisturbed.pid()
    second = undisturbed.run("daemon", "run")
    assert second.returncode == 0
    assert undisturbed.pid() == pid


@pytest.mark.slow
def test_a_command_waits_for_a_daemon_that_leaves_and_starts_the_next(house, monkeypatch):
    for name, value in house.env.items():
        monkeypatch.setenv(name, value)
    starts, spawn = [], client.spawn
    with ExitStack() as leaving:
        leaving.enter_context(only_one(house.paths.lock))

        def spawn_noted(paths):
            if starts:
                assert starts[-1].wait(PATIENCE_S) == 0
                leaving.close()
            starts.append(spawn(paths))
            return starts[-1]

        monkeypatch.setattr(client, "START_S", PATIENCE_S)
        monkeypatch.setattr(client, "spawn", spawn_noted)
        with closing(client.Client(house.paths, {})) as asking:
            assert asking.call("status", StatusResult).pid == starts[-1].pid
    assert len(starts) == 2
    house.run("daemon", "stop")
    for one in starts:
        one.communicate(timeout=PATIENCE_S)


def test_after_kill_9_the_next_prompt_is_answered_and_nothing_acknowledged_is_lost(house):
    captured = house.capture(ARGON, "--namespace", "decisions")
    assert ARGON in house.context(QUESTION, "before")
    house.kill(signal.SIGKILL)
    assert ARGON in house.context(QUESTION, "after")
    assert house.ask("get", captured["id"])["content"] == ARGON


def test_a_daemon_that_hangs_holds_the_agent_no_longer_than_the_budget(undisturbed):
    pid = undisturbed.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert undisturbed.prompt(QUESTION, SUBCOG_HOOK_TOTAL_MS="200") is None  # it is waited for
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_daemon_killed_during_a_prompt_costs_no_more_than_a_new_start(house):
    pid = house.start()
    os.kill(pid, signal.SIGSTOP)
    with house.start_hook("UserPromptSubmit") as hook:
        hook.stdin.write(json.dumps({"session_id": "s", "prompt": QUESTION}).encode())
        hook.stdin.close()
        eventually(lambda: _has_connected(hook.pid))
        os.kill(pid, signal.SIGKILL)
        assert hook.wait(PATIENCE_S) == 0


def _has_connected(pid):
    try:
        targets = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except FileNotFoundError:
        return False
    return any(target.startswith("socket:") for target in targets)


def test_told_to_leave_it_finishes_and_removes_its_socket(house):
    pid = house.start()
    os.kill(pid, signal.SIGTERM)
    house.wait_until_gone(pid)
    assert not house.paths.link.exists()
    assert house.log()[-1]["what"] == "exited"


def test_it_leaves_when_nobody_needs_it(house):
    house.run("daemon", "start", SUBCOG_DAEMON_IDLE_EXIT_MINUTES="0.005")
    eventually(lambda: not house.paths.link.exists())
    assert "exiting after the idle timeout" in [entry["what"] for entry in house.log()]


def test_a_newer_client_is_served_and_the_newer_command_line_makes_an_older_daemon_leave(house):
    pid = house.start()
    status, _ = house.exchange("hook", "UserPromptSubmit", b'{"prompt":""}', version="99.0.0")
    assert status in {"ok", "wait"}
    assert house.ask("status")["pid"] == pid, "a newer plugin would start the same version again"
    house.exchange("call", "status", b"{}", version="99.0.0")
    house.wait_until_gone(pid)
    assert house.start() != pid


def test_an_older_client_is_served_as_well(undisturbed):
    pid = undisturbed.pid()
    undisturbed.exchange("hook", "UserPromptSubmit", b'{"prompt":""}', version="0.0.1")
    assert undisturbed.pid() == pid


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[hook]\ntotal_mss = 1\n", "did you mean hook.total_ms?"),
        ("[log]\nlevel = 'loud'\n", "log.level = 'loud'; allowed: debug, info, warning, error"),
    ],
)
def test_a_bad_setting_keeps_it_from_starting_and_says_why(house, text, says):
    house.paths.config.mkdir(parents=True)
    house.paths.config_file.write_text(text)
    for command in (("daemon", "run"), ("daemon", "start"), ("status",)):
        refused = house.run(*command)
        assert refused.returncode == 1
        assert says in refused.stderr
        assert str(house.paths.config_file) in refused.stderr
    assert house.paths.refusal.exists(), "a hook that waited less would not be told"
    assert "subcog doctor" in house.prompt(QUESTION)["systemMessage"]
    house.paths.config_file.unlink()
    house.start()
    assert not house.paths.refusal.exists()


def test_an_unknown_variable_is_a_warning_on_the_command_line_and_in_the_log(house):
    unknown = {"SUBCOG_HOOK_TOTL_MS": "1"}
    done = house.run("capture", ARGON, "--json", **unknown)
    assert json.loads(done.stdout)["outcome"] == "stored"
    said = "unknown variable SUBCOG_HOOK_TOTL_MS; did you mean SUBCOG_HOOK_TOTAL_MS?"
    assert done.stderr == f"subcog: warning: environment: {said}\n"
    assert [said in entry["what"] for entry in house.log()].count(True) == 1
    assert ARGON in house.context(QUESTION)


def test_a_home_with_a_very_long_path_works(tmp_path):
    house = House(tmp_path / ("x" * 100) / ("y" * 100))
    try:
        house.capture(ARGON)
        assert ARGON in house.context(QUESTION)
    finally:
        house.close()


def test_hooks_and_terminal_meet_whatever_their_runtime_directories_are(house, tmp_path):
    del house.env["SUBCOG_HOME"]
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    house.capture(ARGON, XDG_RUNTIME_DIR=str(runtime))
    assert ARGON in house.context(QUESTION)
    assert [path.suffix for path in (runtime / "subcog").iterdir()] == [".sock"]
    assert [entry["what"] for entry in house.log()].count("listening") == 1


def test_the_metrics_count_what_happened(house):
    house.capture(ARGON, "--namespace", "decisions")
    assert ARGON in house.context(QUESTION)
    house.prompt("rename foo to bar")
    lines = house.metrics().splitlines()
    assert 'subcog_hooks_total{event="UserPromptSubmit",outcome="answered"} 1.0' in lines
    assert 'subcog_hooks_total{event="UserPromptSubmit",outcome="nothing"} 1.0' in lines
    assert 'subcog_captures_total{namespace="decisions",outcome="stored"} 1.0' in lines
    assert 'subcog_abstentions_total{reason="no_intent",stage="inject"} 1.0' in lines
    assert 'subcog_memories{scope="project"} 1.0' in lines
    assert 'subcog_capture_decisions_total{decision="stored"} 1.0' in lines


def test_another_web_page_cannot_read_the_metrics(undisturbed):
    url = undisturbed.ask("status")["metrics_url"]
    request = urllib.request.Request(url, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="400") as refused:
        urllib.request.urlopen(request, timeout=PATIENCE_S)
    refused.value.close()


def test_ctrl_c_in_the_terminal_does_not_reach_the_daemon(house):
    process = subprocess.Popen(
        [SUBCOG, "daemon", "start"],
        env=house.env,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.wait(PATIENCE_S) == 0
    pid = house.pid()
    assert os.getsid(pid) != process.pid


@pytest.mark.slow
def test_an_http_side_that_cannot_be_imported_costs_neither_hooks_nor_commands(house):
    broken = house.root / "broken"
    broken.mkdir()
    (broken / "uvicorn.py").write_text("raise RuntimeError")
    pid = house.start(PYTHONPATH=str(broken))
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(house.ask("status")["metrics_url"], timeout=PATIENCE_S)
    eventually(lambda: house.ask("status")["metrics_url"] is None)
    (broken / "uvicorn.py").unlink()
    house.capture("Deployments go through ArgoCD")
    assert "ArgoCD" in house.context("how do we deploy?")
    assert house.pid() == pid
    assert "HTTP failed, and is tried again" in [entry["what"] for entry in house.log()]
    # As soon as it can be imported, it is served.
    eventually(lambda: _is_healthy(house))
    assert house.pid() == pid


def _is_healthy(house):
    url = house.ask("status")["metrics_url"]
    if url is None:
        return False
    try:
        answer = urllib.request.urlopen(url.replace("metrics", "healthz"), timeout=PATIENCE_S)
    except (urllib.error.URLError, ConnectionError):
        return False
    with answer:
        return answer.status == 200


@pytest.mark.slow
def test_a_page_that_cannot_be_imported_costs_its_own_requests_alone(house):
    broken = house.root / "broken"
    broken.mkdir()
    (broken / "jinja2.py").write_text("raise RuntimeError")
    house.start(PYTHONPATH=str(broken))
    url = house.ask("status")["metrics_url"]
    page = url.replace("metrics", "ui/")
    with pytest.raises(urllib.error.HTTPError, match="500") as failed:
        urllib.request.urlopen(page, timeout=PATIENCE_S)
    failed.value.close()
    eventually(lambda: _is_healthy(house))
    [entry] = [entry for entry in house.log() if entry.get("error") == "RuntimeError"]
    assert entry["at"] == "jinja2.py:1"
    (broken / "jinja2.py").unlink()
    with urllib.request.urlopen(page, timeout=PATIENCE_S) as answer:
        assert b"subcog" in answer.read()
