"""Whose memory is read in which working tree: real processes, hand-made repositories.

The daemon is shared, and every test has servers of its own: ``srv`` and ``git.example.com`` in a
remote stand for them.
"""

import copy
import json
from uuid import uuid4

import pytest

FACT = "The payment gateway needs a certificate of its own"
QUESTION = "what does the payment gateway need?"


@pytest.fixture
def house(fresh):
    return fresh


def at(house, name, url=""):
    """The same daemon, in a repository with this remote."""
    for server in ("srv", "git.example.com"):
        url = url.replace(server, f"{house.root.name.replace('_', '')}.{server}")
    other = copy.copy(house)
    other.project = house.root / name
    other.env = house.env | {"CLAUDE_PROJECT_DIR": str(other.project)}
    git = other.project / ".git"
    git.mkdir(parents=True, exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n' if url else "[core]\n")
    return other


def asked(house):
    """What a new session there is told."""
    return house.context(QUESTION, str(uuid4()))


def restarted_as_after_an_update(house):
    """Earlier versions did not note which project goes on with a scope."""
    pid = house.pid()
    house.ask("daemon", "stop")
    house.wait_until_gone(pid)
    house.paths.earlier_scopes.unlink()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice@srv:proj.git", "bob@srv:proj.git"),
        ("ssh://git@srv:2222/proj.git", "ssh://git@srv:3333/proj.git"),
        ("git@srv:Proj.git", "git@srv:proj.git"),
    ],
)
def test_what_one_says_of_its_project_the_other_never_reads(house, one, other):
    at(house, "one", one).capture(FACT)
    assert FACT in asked(at(house, "one", one))
    assert FACT not in asked(at(house, "other", other))
    assert at(house, "other", other).ask("list")["memories"] == []


def test_one_repository_is_one_project_however_its_remote_is_written(house):
    at(house, "one", "https://git.example.com/o/r").capture(FACT)
    for url in ("git@git.example.com:o/r.git", "ssh://git@git.example.com:22/o/r.git/"):
        assert FACT in asked(at(house, "other", url))


def test_what_was_kept_before_a_remote_was_added_is_found_after_it(house):
    kept = at(house, "one").capture(FACT)
    later = at(house, "one", "https://git.example.com/o/r")
    assert FACT in asked(later)
    assert later.ask("forget", kept["id"])["id"] == kept["id"]


def test_what_was_kept_under_the_earlier_identity_is_found_by_the_first_alone(alone):
    at(alone, "plain", "git@srv:proj.git").capture(FACT)
    restarted_as_after_an_update(alone)
    assert FACT in asked(at(alone, "alice", "alice@srv:proj.git"))
    assert FACT not in asked(at(alone, "bob", "bob@srv:proj.git"))


def test_a_directory_that_only_names_the_remote_reads_nothing_until_the_user_says_so(house):
    url = "https://git.example.com/o/r"
    one = at(house, "one", url)
    (one.project / ".git" / "refs" / "heads").mkdir(parents=True)
    (one.project / ".git" / "refs" / "heads" / "main").write_text(f"{'1' * 40}\n")
    one.capture(FACT)
    claiming = at(house, "claiming", url)
    start = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}
    start["cwd"] = str(claiming.project)
    said = [claiming.hook("SessionStart", start | {"session_id": f"s{n}"}) for n in (1, 2)]
    assert "subcog project alias" in said[0]["systemMessage"]
    assert "systemMessage" not in said[1]
    assert FACT not in json.dumps(said)
    assert FACT not in asked(claiming)
    kept = claiming.capture("The claiming directory has a fact of its own")
    assert FACT in asked(one)
    shown = claiming.ask("project")
    assert shown["claimed"] == one.ask("project")["project"] != shown["project"]

    assert claiming.ask("project", "alias")["project"] == shown["claimed"]
    assert FACT in asked(claiming)
    assert claiming.ask("get", kept["id"])["id"] == kept["id"]
    assert claiming.ask("project", "split")["project"] == shown["project"]
    assert FACT not in asked(claiming)
    assert "names no project" in at(house, "bare").run("project", "alias").stderr


def test_a_directory_whose_remote_is_the_path_of_another_project_reads_nothing_of_it(house):
    kept = at(house, "victim").capture(FACT)
    hostile = at(house, "hostile", "../victim/.git")
    assert FACT not in asked(hostile)
    assert hostile.ask("list")["memories"] == []
    assert hostile.run("forget", kept["id"]).returncode != 0
    assert hostile.ask("project")["claimed"] == at(house, "victim").ask("project")["project"]


def test_a_token_at_the_end_of_the_remote_is_no_part_of_the_projects_name(house):
    token = "gh" + "p_3tBTOU7njPzQaQs1yCUuHMoveidQfscYstYI"
    shown = at(house, "one", f"https://git.example.com/a/{token}").ask("project")
    assert shown["project"].startswith("project-")
