"""What ``learn`` says where not every transcript is read, and what is printed of a search."""

import json
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from subcog.bus.sessions import FoundSession, FoundSessions, LearnedResult, SaidResult
from subcog.pipeline.agents.transcripts import Transcript
from subcog.pipeline.cli.client import CallFailed, DaemonLate, DaemonUnreachable
from subcog.pipeline.commands import sessions

NOW = datetime(2026, 11, 1, tzinfo=UTC)


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


def found(query, *texts):
    said = tuple(
        SaidResult(id=f"psg_{at}", speaker="user", said_at=NOW, text=text, files=())
        for at, text in enumerate(texts)
    )
    one = FoundSession(
        id="s1", urn="", began_at=NOW, relevance=0.2, replaces=None, replaced_by=None, said=said
    )
    return FoundSessions(query=query, sessions=(one,))


def test_what_is_printed_of_a_session_holds_the_words_that_were_searched(capsys):
    long = "We talked about the tides for the whole morning, " * 3
    sessions.show_found(found("Cats", *["Nothing."] * 8, f"{long}and a Mr. Cats agreed."))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 6 + 1
    assert lines[-2].endswith("and a Mr. Cats agreed.")
    assert lines[-2].startswith("      user: …")
    assert lines[-1] == "      … 3 more"


def test_a_session_whose_beginning_holds_the_words_is_printed_from_its_beginning(capsys):
    sessions.show_found(found("the tides", "The tides are cached.", "Yes, " + "they are " * 40))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "      user: The tides are cached."
    assert lines[2].startswith("      user: Yes, they are")
