from contextlib import contextmanager

import click
import pytest
from click.testing import CliRunner

from subcog.pipeline.cli.client import CALL_S, CallFailed
from subcog.pipeline.commands import shared, team
from tests.fakes import make_result

URL = "postgresql://ana:s3cret@db/subcog"
WHO = {"team": "shop", "member": "Ana", "server": "db:5432/subcog"}
SHOP = {"scope": "project:shop-1", "name": "shop", "here": 12, "sends": True, "shared_by": "Ben"}
ANSWERS = {
    "team-join": WHO | {"members": ["Ana"], "organisation": 3, "leaves": 15, "projects": [SHOP]},
    "team-share": WHO | SHOP | {"leaves": 12, "warning": ""},
    "team-unshare": SHOP | {"removed": 4, "kept": 8, "listed": True},
    "team-leave": WHO | {"removed": 4, "kept": 8, "unsent": 0},
    "team-status": {"joined": False, "url": False, "projects": [SHOP]},
    "team-recall": WHO | {"memories": [], "skipped": 0, "degraded": None, "mode": "hybrid"},
}


class FakeDaemon:
    """Answers every call, and remembers what was asked of it and for which directory."""

    def __init__(self):
        self.calls = []
        self.projects = []

    @contextmanager
    def __call__(self, project=None):
        self.projects.append(project)
        yield self

    def call(self, name, kind, params=None, *, within_s=CALL_S):
        self.calls.append((name, params))
        return make_result(kind, ANSWERS[name])

    @property
    def agreed(self):
        return [params for _, params in self.calls if params and params.get("yes")]


@pytest.fixture
def daemon(monkeypatch, tmp_path):
    for name in ("SUBCOG_TEAM_URL", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path))
    daemon = FakeDaemon()
    for module in (shared, team):
        monkeypatch.setattr(module, "daemon", daemon)
    return daemon


@pytest.fixture
def terminal(monkeypatch):
    """Somebody sits there and can be asked."""
    for module in (shared, team):
        monkeypatch.setattr(module, "somebody_is_there", lambda: True)


def run(*args, typed=""):
    return CliRunner().invoke(team.team_command, args, input=typed)


def config(tmp_path):
    return tmp_path / "config" / "config.toml"


# --- consent --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("join", URL), ("share",), ("leave",)])
def test_with_nobody_to_ask_nothing_is_done_without_yes(command, daemon, tmp_path):
    done = run(*command)
    assert done.exit_code == 2
    assert "confirm with --yes" in done.stderr
    assert daemon.agreed == []
    assert not config(tmp_path).exists()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("join", URL), "15  in all"),
        (("share",), "what leaves this machine: 12 memories"),
        (("leave",), "removed from this machine: 4 memories"),
    ],
)
@pytest.mark.parametrize("answer", ["n", "y"])
def test_what_would_happen_is_said_before_it_is_asked_for(command, told, answer, daemon, terminal):
    done = run(*command, typed=f"{answer}\n")
    assert done.stderr.index(told) < done.stderr.index("[y/N]")
    assert bool(daemon.agreed) == (answer == "y")
    assert done.exit_code == (0 if answer == "y" else 1)


@pytest.mark.parametrize("command", [("join", URL), ("share",), ("leave",)])
def test_a_rehearsal_says_it_and_does_nothing(command, daemon, tmp_path):
    done = run(*command, "--dry-run")
    assert done.exit_code == 0
    assert done.stdout
    assert daemon.agreed == []
    assert not config(tmp_path).exists()


# --- joining --------------------------------------------------------------------------------------


def test_joining_sends_the_projects_that_were_shown_and_keeps_the_url(daemon, tmp_path):
    done = run("join", URL, "--yes")
    assert daemon.agreed == [{"url": URL, "yes": True, "scopes": ["project:shop-1"]}]
    assert config(tmp_path).read_text() == f'[team]\nurl = "{URL}"\n'
    assert "s3cret" not in done.output


def test_the_url_may_come_on_standard_input(daemon):
    assert run("join", "-", "--yes", typed=f"{URL}\n").exit_code == 0
    assert daemon.agreed[0]["url"] == URL


def test_without_a_url_the_setting_is_taken_and_the_file_left_alone(daemon, tmp_path):
    config(tmp_path).parent.mkdir()
    config(tmp_path).write_text(f"team.url = '{URL}'\n")
    assert run("join", "--yes").exit_code == 0
    assert daemon.agreed[0]["url"] == URL
    assert config(tmp_path).read_text() == f"team.url = '{URL}'\n"


def test_without_any_url_it_is_asked_for(daemon):
    done = run("join", "--yes")
    assert done.exit_code == 2
    assert "give the URL of the team's server, or set team.url" in done.stderr


def test_a_variable_that_would_win_is_not_overruled(daemon, monkeypatch):
    monkeypatch.setenv("SUBCOG_TEAM_URL", "postgresql://other/x")
    done = run("join", URL, "--yes")
    assert "SUBCOG_TEAM_URL is set to another server" in done.stderr
    assert daemon.calls == []


def test_a_url_of_the_environment_is_not_written_down(daemon, monkeypatch, tmp_path):
    monkeypatch.setenv("SUBCOG_TEAM_URL", URL)
    done = run("join", "--yes")
    assert "must be set wherever your agent is started" in done.stderr
    assert not config(tmp_path).exists()


def test_what_was_refused_is_not_written_down(daemon, monkeypatch, tmp_path):
    def refuse(name, kind, params):
        raise CallFailed("the server refused the password")

    monkeypatch.setattr(daemon, "call", refuse)
    assert isinstance(run("join", URL, "--yes").exception, CallFailed)
    assert not config(tmp_path).exists()


def test_settings_that_cannot_be_written_are_left_and_it_is_said(daemon, tmp_path):
    config(tmp_path).parent.mkdir()
    config(tmp_path).symlink_to("/proc/nobody-writes-here/config.toml")
    done = run("join", URL, "--yes")
    assert done.exit_code == 0
    assert "set team.url yourself" in done.stderr
    assert "s3cret" not in done.output
    assert config(tmp_path).is_symlink()


# --- leaving --------------------------------------------------------------------------------------


def noted(tmp_path):
    config(tmp_path).parent.mkdir()
    config(tmp_path).write_text(f"[http]\nport = 1\n\n[team]\nurl = '{URL}'\n")
    return config(tmp_path)


def test_leaving_takes_the_password_out_of_the_file_and_says_so(daemon, tmp_path):
    file = noted(tmp_path)
    told = run("leave", "--dry-run")
    assert f"removed from {file}: team.url" in told.output
    assert "s3cret" in file.read_text()
    done = run("leave", "--yes")
    assert f"removed from {file}: team.url" in done.output
    assert "s3cret" not in file.read_text() + done.output
    assert "port = 1" in file.read_text()
    assert daemon.agreed == [{"yes": True, "forget_url": True}]


def test_an_address_of_another_team_is_kept_when_one_is_left(daemon, monkeypatch, tmp_path):
    file = noted(tmp_path)
    answer = ANSWERS["team-leave"] | {"url_of_another": True}
    monkeypatch.setitem(ANSWERS, "team-leave", answer)
    done = run("leave", "--yes")
    assert f"team.url in {file} leads to another team, and is kept" in done.output
    assert "s3cret" in file.read_text()


def test_an_address_that_cannot_be_removed_is_told(daemon, monkeypatch, tmp_path):
    file = noted(tmp_path)

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(team, "remove_setting", refuse)
    done = run("leave", "--yes")
    assert f"remove team.url from {file} yourself: Read-only file system" in done.stderr
    assert "removed from {file}" not in done.output


def test_a_variable_that_still_names_the_server_is_told(daemon, monkeypatch):
    monkeypatch.setenv("SUBCOG_TEAM_URL", URL)
    done = run("leave", "--yes")
    assert "SUBCOG_TEAM_URL is still set here" in done.stderr
    assert "s3cret" not in done.output


# --- which project --------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["shop", "project:shop-1"])
def test_a_project_of_the_list_is_named_by_its_name_or_scope(named, daemon):
    assert run("unshare", named).exit_code == 0
    assert daemon.calls[-1] == ("team-unshare", {"scope": "project:shop-1"})


def test_a_directory_is_the_project_in_it(daemon, tmp_path):
    assert run("share", str(tmp_path), "--yes").exit_code == 0
    assert daemon.projects == [tmp_path]
    assert daemon.agreed == [{"scope": "", "yes": True}]


def test_a_name_that_no_project_has_is_refused(daemon):
    done = run("share", "shopp", "--yes")
    assert done.exit_code == 2
    assert "shopp is no project here" in done.stderr
    assert daemon.agreed == []


# --- searching on the server ----------------------------------------------------------------------


def test_what_is_searched_for_on_the_server_can_be_narrowed(daemon):
    done = run("recall", "how do we deploy", "--project", "shop", "--namespace", "Decisions")
    assert done.stdout == "from the team shop on db:5432/subcog:\nnothing found\n"
    asked = {"query": "how do we deploy", "project": "shop", "namespace": "decisions", "limit": 10}
    assert daemon.calls == [("team-recall", asked)]
    assert run("recall", "x", "--limit", "101").exit_code == 2


# --- the administrator ----------------------------------------------------------------------------


def test_without_psycopg_it_is_said_what_to_install():
    missing = ModuleNotFoundError("No module named 'psycopg'", name="psycopg")
    told = team.without_psycopg(missing)
    assert isinstance(told, click.ClickException)
    assert "pip install 'subcog[team]'" in told.message
    other = ModuleNotFoundError("No module named 'x'", name="x")
    assert team.without_psycopg(other) is other
