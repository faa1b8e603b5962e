"""What ``learn`` says where the daemon does not read every transcript."""

import json
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from subcog.bus.sessions import LearnedResult
from subcog.pipeline.agents.transcripts import Transcript
from subcog.pipeline.cli.client import CallFailed, DaemonLate, DaemonUnreachable
from subcog.pipeline.commands import sessions


@pytest.fixture
def learn(tmp_path, monkeypatch):
    """Runs ``learn`` for three transcripts, of which the second ends in ``failure``."""

    def run(failure):
        class Client:
            def call(self, name, kind, params, *, within_s):
                if params["session"] == "two":
                    raise failure
                return LearnedResult(passages=2, memories=1, tasks=0)

        @contextmanager
        def daemon():
            yield Client()

        found = [
            Transcript(name, "claude", name, str(tmp_path), "", bytes=10, modified=0.0)
            for name in ("one", "two", "three")
        ]
        monkeypatch.setattr(sessions, "daemon", daemon)
        monkeypatch.setattr(sessions, "find_transcripts", lambda env, near: found)
        return CliRunner().invoke(sessions.learn_command, ["--all", "--again", "--json"])

    return run


@pytest.mark.parametrize("failure", [CallFailed("no room"), DaemonLate("not within 600 s")])
def test_a_transcript_that_is_not_read_is_counted_and_the_next_is_read(learn, failure):
    done = learn(failure)
    told = json.loads(done.stdout)
    assert (done.exit_code, told["finished"]) == (0, True)
    assert (told["passages"], told["transcripts"], told["failed"]) == (4, 2, 1)
    assert "error" not in told


def test_where_the_daemon_is_lost_it_is_said_what_was_read_until_then(learn):
    done = learn(DaemonUnreachable("the daemon closed the connection"))
    told = json.loads(done.stdout)
    assert (done.exit_code, told["finished"]) == (3, False)
    assert (told["passages"], told["transcripts"], told["failed"]) == (2, 1, 0)
    assert told["error"] == "the daemon closed the connection"
    assert done.stderr == f"subcog: {told['error']}\n"
