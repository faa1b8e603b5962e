from __future__ import annotations

import json
import os
import signal
import subprocess
from time import monotonic

import pytest

from subcog.bus.frames import reply_frame
from subcog.hooks import client, starter

from .conftest import PYTHON

PAYLOAD = b'{"session_id": "one", "prompt": "how do I hash passwords here?"}'
PATIENT = {"SUBCOG_HOOK_START_MS": "10000"}
OTHER_FAILS = "#!/bin/sh\necho $0 >> $SUBCOG_HOME/../tried; exit 3\n"


def told(done: subprocess.CompletedProcess[bytes]) -> str:
    """What the user is shown."""
    assert done.returncode == 0
    return json.loads(done.stdout)["systemMessage"] if done.stdout else ""


@pytest.fixture
def subcog(workshop):
    return workshop.launcher(workshop.root / "bin" / "subcog")


def test_first_hook_starts_the_daemon_and_is_answered(workshop, subcog):
    done = workshop.hook(PAYLOAD, launcher=subcog, **PATIENT)

    (start,) = workshop.starts
    assert start["argv"][1:] == ["daemon", "run"]
    assert json.loads(done.stdout) == {"answered by": start["pid"]}


def test_next_hook_finds_it_running(workshop, subcog):
    first = workshop.hook(PAYLOAD, launcher=subcog, **PATIENT)
    second = workshop.hook(PAYLOAD, launcher=subcog)

    assert first.stdout == second.stdout
    assert len(workshop.starts) == 1


def test_ten_hooks_at_once_start_exactly_one(workshop, subcog):
    hooks = [
        subprocess.Popen(
            workshop.command("UserPromptSubmit", subcog),
            stdin=subprocess.DEVNULL,  # so that none of them waits for its turn to be fed
            stdout=subprocess.PIPE,
            env=workshop.env(**PATIENT, SUBCOG_TEST_DELAY_S="0.5"),
        )
        for _ in range(10)
    ]
    answers = {hook.communicate(timeout=20)[0] for hook in hooks}

    (start,) = workshop.starts
    assert {json.loads(answer)["answered by"] for answer in answers} == {start["pid"]}


def test_hook_that_starts_the_daemon_has_more_patience(workshop, subcog):
    done = workshop.hook(
        PAYLOAD, launcher=subcog, SUBCOG_HOOK_START_MS="5000", SUBCOG_TEST_DELAY_S="0.6"
    )

    assert json.loads(done.stdout) == {"answered by": workshop.starts[0]["pid"]}


def test_hook_that_gets_the_lock_looks_again_before_it_starts_one(workshop, subcog, monkeypatch):
    monkeypatch.chdir(workshop.root)
    connected = iter([FileNotFoundError(), b"answer"])

    def exchange() -> bytes:
        outcome = next(connected)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    places = {"data": os.fsencode(workshop.data), "state": b"/none", "cwd": b"/"}
    answer = starter.ask(exchange, died=False, launcher=subcog, **places)

    assert answer == (b"answer", "")
    assert workshop.starts == []


def test_while_another_daemon_leaves_one_is_started_again_and_again(workshop, subcog):
    tries = workshop.root / "tried"
    busy = f"echo $$ >> {tries}; [ $(wc -l < {tries}) -ge 3 ] || exit 0"
    early = workshop.launcher(workshop.root / "early", f"#!/bin/sh\n{busy}; exec {subcog} $@\n")

    done = workshop.hook(PAYLOAD, launcher=early, **PATIENT)

    (start,) = workshop.starts
    assert json.loads(done.stdout) == {"answered by": start["pid"]}
    assert len(tries.read_text().splitlines()) == 3


@pytest.mark.parametrize("home", ["absolute", "relative"])
def test_daemon_that_was_killed_is_started_anew(workshop, subcog, home):
    env = PATIENT if home == "absolute" else {**PATIENT, "SUBCOG_HOME": "h"}
    workshop.hook(PAYLOAD, launcher=subcog, **env)
    os.kill(workshop.starts[0]["pid"], signal.SIGKILL)

    done = workshop.hook(PAYLOAD, launcher=subcog, **env)

    assert json.loads(done.stdout) == {"answered by": workshop.starts[1]["pid"]}


def test_daemon_that_dies_with_the_request_in_hand_is_replaced(workshop, subcog):
    daemon = workshop.daemon()

    def die(connection) -> None:
        os.unlink(workshop.data / "daemon.sock")

    daemon.answers = (die,)
    done = workshop.hook(PAYLOAD, launcher=subcog, **PATIENT)

    assert json.loads(done.stdout) == {"answered by": workshop.starts[0]["pid"]}


def test_daemon_belongs_to_no_session(workshop, subcog):
    read, write = os.pipe()
    with subprocess.Popen(
        workshop.command("UserPromptSubmit", subcog),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=workshop.env(
            CLAUDECODE="1",
            CLAUDE_PROJECT_DIR="/p",
            CLAUDE_CONFIG_DIR="c",
            GEMINI_CLI_HOME="/g",
            SUBCOG_HOME="h",
            SUBCOG_LOG_LEVEL="debug",
        )
        | PATIENT,
        cwd=workshop.root,
        pass_fds=(write,),
    ) as hook:
        hook.communicate(PAYLOAD, timeout=20)
    os.close(write)

    (start,) = workshop.starts
    assert os.read(read, 1) == b"", "the daemon kept a pipe of the agent's open"
    os.close(read)
    assert start["session"] == start["pid"], "a signal to the agent's group would end it"
    assert start["stdin"] == "/dev/null"
    assert [name for name in start["env"] if name.startswith("CLAUDE")] == ["CLAUDE_CONFIG_DIR"]
    assert start["env"]["CLAUDE_CONFIG_DIR"] == os.path.realpath(workshop.root / "c")
    assert start["env"]["GEMINI_CLI_HOME"] == "/g"
    assert start["env"]["SUBCOG_HOME"] == os.path.realpath(workshop.home)
    assert start["env"]["SUBCOG_LOG_LEVEL"] == "debug"


def test_launcher_is_looked_for_where_we_were_installed_then_on_the_path_then_at_home(workshop):
    ours, path, home = (
        workshop.root / place / "subcog" for place in (".venv/bin", "path", "user/.local/bin")
    )
    named = workshop.root / "named"
    for place in (named, ours, path, home):
        workshop.launcher(place, OTHER_FAILS)
    tried = []
    for place in (named, ours, path, home):
        workshop.hook(PAYLOAD, launcher=str(named), PATH=f"{path.parent}:/bin:/usr/bin")
        tried.append((workshop.root / "tried").read_text().splitlines()[-1])
        place.unlink()

    assert tried == [str(named), str(ours), str(path), str(home)]


def test_launcher_of_an_installed_package_is_that_of_its_environment(workshop):
    room = workshop.root / "env/lib/python3.11/site-packages/subcog"
    room.mkdir(parents=True)
    (workshop.root / "hooks").rename(room / "hooks")
    place = workshop.root / "env/bin/subcog"
    workshop.launcher(place, OTHER_FAILS)

    subprocess.run(
        [*workshop.command("SessionStart")[:3], str(room / "hooks/client.py"), "SessionStart"],
        input=PAYLOAD,
        env=workshop.env(),
        capture_output=True,
        check=True,
        timeout=20,
    )

    assert (workshop.root / "tried").read_text().split() == [str(place)]


def test_program_in_the_project_is_never_taken_for_ours(workshop):
    workshop.launcher(workshop.root / "project" / "subcog", OTHER_FAILS)

    workshop.hook(PAYLOAD, cwd=workshop.root / "project", PATH=":.:/usr/bin:/bin")

    assert not (workshop.root / "tried").exists()


def test_launcher_whose_interpreter_is_gone_is_passed_over(workshop, subcog):
    gone = workshop.launcher(workshop.root / "gone", "#!/no/such/python\n")

    done = workshop.hook(PAYLOAD, launcher=gone, PATH=os.path.dirname(subcog), **PATIENT)

    assert json.loads(done.stdout) == {"answered by": workshop.starts[0]["pid"]}


def test_missing_subcog_is_told_once_per_session_with_the_command_that_mends_it(workshop):
    (workshop.root / "Makefile").write_text("setup:\n")
    elsewhere = [told(workshop.hook(PAYLOAD, event)) for event in ("SessionStart", "PostToolUse")]
    first = told(workshop.hook(PAYLOAD))
    again = told(workshop.hook(PAYLOAD))
    other = told(workshop.hook(PAYLOAD.replace(b"one", b"two")))

    assert elsewhere == ["", ""], "where the user would not see it, and it would count as told"
    assert again == ""
    assert "subcog is not installed" in first
    assert f"make -C {workshop.root} setup" in first
    assert other == first


def test_a_disk_that_hangs_holds_only_what_is_to_be_kept_and_no_other_prompt(workshop):
    starter = workshop.root / "hooks" / "starter.py"
    hangs = "\n\ndef notice(*told):\n    time.sleep(60)\n"
    starter.write_text(starter.read_text() + hangs)

    began = monotonic()
    done = workshop.hook(PAYLOAD)

    assert (done.stdout, done.returncode) == (b"", 0)
    assert monotonic() - began < client.SPOOL_MS / 1000


def test_missing_subcog_is_told_once_where_the_agent_tells_no_session(workshop):
    first = told(workshop.hook(b"not JSON"))
    again = told(workshop.hook(b"not JSON"))

    assert "pipx install subcog" in first
    assert again == ""


def test_daemon_that_refuses_to_start_is_told_and_not_waited_for(workshop):
    refusing = workshop.launcher(workshop.root / "refusing", OTHER_FAILS)

    done = workshop.hook(PAYLOAD, launcher=refusing, **PATIENT)

    assert "does not start" in told(done)
    assert str(workshop.home / "state" / "daemon.log") in told(done)


def test_for_a_while_a_daemon_that_refused_is_started_for_prompts_and_new_sessions_alone(workshop):
    refusing = workshop.launcher(workshop.root / "refusing", OTHER_FAILS)

    def tries(*events: str) -> int:
        tried = workshop.root / "tried"
        tried.write_text("")
        for event in events:
            workshop.hook(PAYLOAD, event, launcher=refusing, **PATIENT)
        return len(tried.read_text().splitlines())

    assert tries("PreToolUse", "PostToolUse", "Stop") == 1
    assert tries("SessionStart", "UserPromptSubmit") == 2
    os.utime(workshop.home / "state" / "refused", (0, 0))
    assert tries("Stop", "PreToolUse") == 1


def test_what_a_daemon_says_before_it_can_log_is_in_its_log(workshop):
    noisy = workshop.launcher(workshop.root / "noisy", "#!/bin/sh\necho no such key >&2; exit 2\n")

    workshop.hook(PAYLOAD, launcher=noisy, **PATIENT)

    log = workshop.home / "state" / "daemon.log"
    assert log.read_text() == "no such key\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_daemon_that_never_listens_holds_the_agent_no_longer_than_the_budget(workshop):
    sleepy = workshop.launcher(workshop.root / "sleepy", "#!/bin/sh\nexec sleep 3\n")

    done = workshop.hook(PAYLOAD, launcher=sleepy, SUBCOG_HOOK_START_MS="300")

    assert (done.stdout, done.returncode) == (b"", 0)


def test_while_one_that_is_late_starts_no_other_is_started_and_no_action_waits(workshop):
    started = workshop.root / "started"
    slow = f"#!/bin/sh\necho >> {started}\nexec sleep 5\n"
    sleepy = workshop.launcher(workshop.root / "sleepy", slow)

    def took(event: str) -> float:
        began = monotonic()
        workshop.hook(PAYLOAD, event, launcher=sleepy, SUBCOG_HOOK_START_MS="700")
        return monotonic() - began

    assert took("PreToolUse") >= 0.7
    assert max(took("PreToolUse") for _ in range(3)) < 0.7
    assert took("UserPromptSubmit") >= 0.7, "who asks waits for the one that starts"
    assert len(started.read_text().splitlines()) == 1
    os.utime(workshop.home / "state" / "late", (0, 0))
    assert took("PostToolUse") >= 0.7


def test_the_daemon_is_told_the_home_that_the_hook_found():
    env = starter.daemon_environment({b"HOME": b"h", b"SUBCOG_HOME": b"s"}, b"/work")
    assert env == {b"HOME": b"/work/h", b"SUBCOG_HOME": b"/work/s"}


def test_how_a_daemon_ended_is_heard_where_whoever_started_the_hook_ignores_it(workshop):
    refusing = workshop.launcher(workshop.root / "refusing", OTHER_FAILS)
    ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    command = workshop.command("UserPromptSubmit", refusing)
    done = subprocess.run(
        [PYTHON, "-c", f"{ignore}; os.execv(sys.argv[1], sys.argv[1:])", *command],
        input=PAYLOAD,
        capture_output=True,
        env=workshop.env(**PATIENT),
        check=False,
    )
    assert "does not start" in told(done)


def test_daemon_that_refuses_later_than_the_budget_is_told_by_the_note_that_it_left(workshop):
    sleepy = workshop.launcher(workshop.root / "sleepy", "#!/bin/sh\nexec sleep 3\n")
    note = workshop.home / "state" / "refused"
    note.parent.mkdir(parents=True)
    note.touch()

    done = workshop.hook(PAYLOAD, launcher=sleepy, SUBCOG_HOOK_START_MS="300")

    assert "does not start" in told(done)


def test_data_folder_that_cannot_be_made_is_no_failure(workshop, subcog):
    workshop.home.write_text("a file")

    done = workshop.hook(PAYLOAD, launcher=subcog)

    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


def test_warm_hook_starts_nothing(workshop, subcog):
    workshop.daemon(reply_frame("ok", "0.1.0", b"{}"))

    assert workshop.hook(PAYLOAD, launcher=subcog).stdout == b"{}"
    assert workshop.starts == []


def test_one_old_note_that_cannot_be_removed_leaves_no_other(tmp_path):
    (tmp_path / "a folder").mkdir()
    for name in ("one", "two"):
        (tmp_path / name).touch()
    for entry in tmp_path.iterdir():
        os.utime(entry, (0, 0))
    starter._forget_old(str(tmp_path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a folder"]


def test_what_was_told_is_noted_for_the_user_alone(tmp_path):
    assert starter._first_time("refused", "s", bytes(tmp_path))
    [note] = (tmp_path / "told").iterdir()
    assert note.stat().st_mode & 0o777 == 0o600
    assert not starter._first_time("refused", "s", bytes(tmp_path))
