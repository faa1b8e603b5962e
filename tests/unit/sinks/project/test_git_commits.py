from __future__ import annotations

import os
import subprocess
import threading
from datetime import UTC, datetime, timedelta

import pytest

from subcog.sinks.project import reflog
from subcog.sinks.project.git import head_commit
from subcog.sinks.project.reflog import Checkout, HeadLogs
from tests.waiting import PATIENCE_S

GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"]


MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def repository(tmp_path):
    root = tmp_path.resolve() / "project"
    root.mkdir()

    def git(*arguments, at=MONDAY):
        done = subprocess.run(
            [*GIT, *arguments],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"GIT_COMMITTER_DATE": f"{at.timestamp():.0f} +0100"},
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    return root, git


def test_the_commit_of_the_branch_that_is_checked_out(repository):
    root, git = repository
    git("checkout", "-q", "-b", "feat/login")
    git("commit", "-q", "--allow-empty", "-m", "second")

    assert head_commit(str(root)) == git("rev-parse", "HEAD")


def test_packed_detached_and_in_a_worktree(repository, tmp_path):
    root, git = repository
    first = git("rev-parse", "HEAD")
    git("pack-refs", "--all")
    assert head_commit(str(root)) == first

    git("worktree", "add", "-q", "-b", "other", str(root.parent / "tree"))
    assert head_commit(str(root.parent / "tree")) == first

    git("checkout", "-q", "--detach")
    assert head_commit(str(root)) == first
    git("worktree", "add", "-q", "--detach", str(root.parent / "detached"))
    assert head_commit(str(root.parent / "detached")) == first


def test_no_repository_no_commit_and_no_nonsense(repository, tmp_path):
    root, _ = repository
    assert head_commit(str(tmp_path)) == ""
    assert head_commit("/nowhere/at/all") == ""
    assert head_commit("") == ""

    secret = root / ".git" / "refs" / "secret"
    secret.write_text("a" * 40)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/../secret\n")
    assert head_commit(str(root)) == ""

    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "refs" / "heads" / "main").write_text("password: hunter2\n")
    assert head_commit(str(root)) == ""


def commit_at(root, moment):
    found = HeadLogs().at(root, moment)
    return None if found is None else found.commit


def test_what_was_checked_out_at_a_moment(repository):
    root, git = repository
    first = git("rev-parse", "HEAD")
    message = "second\n\nby n <e@example.com> 1 +0000"
    git("commit", "-q", "--allow-empty", "-m", message, at=MONDAY + DAY)
    second = git("rev-parse", "HEAD")
    git("checkout", "-q", "--detach", first, at=MONDAY + 2 * DAY)
    found = [commit_at(str(root), MONDAY + hours * DAY / 24) for hours in (-1, 0, 23, 24, 47, 48)]
    assert found == ["", first, first, second, second, first]

    git("worktree", "add", "-q", "-b", "other", str(root.parent / "tree"), second, at=MONDAY + DAY)
    tree = str(root.parent / "tree")
    assert [commit_at(tree, MONDAY + day * DAY) for day in (0, 3)] == ["", second]


def test_without_a_log_what_was_checked_out_is_not_known(repository, tmp_path):
    root, _ = repository
    assert commit_at(str(tmp_path), MONDAY) is None
    (root / ".git" / "logs" / "HEAD").write_text("no log of git's\n")
    assert commit_at(str(root), MONDAY) == ""
    (root / ".git" / "logs" / "HEAD").unlink()
    assert commit_at(str(root), MONDAY) is None


def test_which_branch_was_checked_out_at_a_moment(repository):
    root, git = repository
    git("checkout", "-q", "-b", "feat/login", at=MONDAY + DAY)
    git("commit", "-q", "--allow-empty", "-m", "moving from here to there", at=MONDAY + 2 * DAY)
    git("checkout", "-q", "--detach", at=MONDAY + 3 * DAY)
    git("checkout", "-q", "main", at=MONDAY + 4 * DAY)
    git("branch", "-q", "-m", "main", "trunk", at=MONDAY + 5 * DAY)
    git("branch", "-q", "-D", "feat/login")
    logs = HeadLogs()

    found = [logs.at(str(root), MONDAY + day * DAY).branch for day in range(-1, 6)]

    assert found == ["", "main", "feat/login", "feat/login", "", "main", "trunk"]


def test_a_log_is_read_once_for_all_that_was_said_before(repository):
    root, git = repository
    now = [(MONDAY + DAY).timestamp()]
    logs = HeadLogs(now=lambda: now[0])
    first = Checkout(git("rev-parse", "HEAD"), "main")
    assert logs.at(str(root), MONDAY) == first
    log = root / ".git" / "logs" / "HEAD"
    kept = log.read_text()
    log.unlink()
    assert logs.at(str(root), MONDAY + DAY / 2) == first

    log.write_text(kept)
    git("checkout", "-q", "-b", "topic", at=MONDAY + DAY)
    assert logs.at(str(root), MONDAY + DAY).branch == "topic", "what was said since is looked up"
    log.unlink()
    now[0] += 3600
    assert logs.at(str(root), MONDAY) is None, "another repository may lie there by now"


def test_a_log_on_a_disk_that_hangs_holds_up_no_other_project(repository, monkeypatch):
    root, _ = repository
    hangs, goes_on = threading.Event(), threading.Event()
    read = reflog._read

    def slow(asked):
        if asked == "/hung":
            hangs.set()
            goes_on.wait(PATIENCE_S)
        return read(asked)

    monkeypatch.setattr(reflog, "_read", slow)
    logs = HeadLogs()
    hung = threading.Thread(target=logs.at, args=("/hung", MONDAY))
    hung.start()
    try:
        assert hangs.wait(PATIENCE_S)
        assert logs.at(str(root), MONDAY).branch == "main"
        assert hung.is_alive()
    finally:
        goes_on.set()
        hung.join()
