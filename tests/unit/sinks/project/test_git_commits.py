from __future__ import annotations

import subprocess

import pytest

from subcog.sinks.project.git import head_commit

GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"]


@pytest.fixture
def repository(tmp_path):
    root = tmp_path.resolve() / "project"
    root.mkdir()

    def git(*arguments):
        done = subprocess.run(
            [*GIT, *arguments], cwd=root, capture_output=True, text=True, check=True
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
