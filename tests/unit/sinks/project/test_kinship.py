"""A directory that names a project's remote is that project only if it shows that it is kin."""

import hashlib
import os
import shutil

import pytest

from subcog.sinks.project import kinship
from subcog.sinks.project.identity import Projects
from subcog.sinks.project.kinship import Kinship

from .test_identity import ORIGIN, git, plant, run_git

LICENCE = b"a text that everybody knows\n"
URL = "git@srv:acme/shop.git"


@pytest.fixture
def projects(tmp_path):
    return Projects(kinship=Kinship(tmp_path / "projects.json"))


@pytest.fixture
def server(tmp_path):
    """A repository that others are cloned from, with two commits in a pack."""
    path = tmp_path / "server"
    path.mkdir()
    run_git(path, "init", "-q", "-b", "main")
    commit(path, "first")
    commit(path, "second")
    return path


def commit(path, message):
    (path / "LICENSE").write_bytes(LICENCE)
    run_git(path, "add", "LICENSE")
    run_git(path, "commit", "-q", "--allow-empty", "-m", message)


def clone(server, name, *options):
    """A clone that packed everything, as one over the network does."""
    path = server.parent / name
    run_git(server.parent, "clone", "-q", *options, f"file://{server}", name)
    run_git(path, "remote", "set-url", "origin", URL)
    return path


def scope(projects, path):
    return projects.place(project_dir=str(path), cwd="", user="u").project


@git
def test_clones_of_any_age_and_kind_are_kin(projects, server):
    older = clone(server, "older")
    commit(server, "third")
    one = clone(server, "one")
    commit(server, "fourth")
    newer = clone(server, "newer")
    loose = clone(server, "loose")
    commit(loose, "not pushed")
    tip = clone(server, "tip", "--depth", "1", "--branch", "main")
    run_git(one, "fetch", "-q", f"file://{server}", "main:refs/remotes/origin/main")
    first = scope(projects, one)
    run_git(one, "worktree", "add", "-q", "../tree")
    for other in (older, newer, loose, tip, server.parent / "tree"):
        assert scope(projects, other) == first, other
    shutil.rmtree(one)
    moved = clone(server, "moved")
    assert scope(projects, moved) == first


@git
def test_who_only_claims_the_remote_gets_an_identity_of_its_own(projects, server, tmp_path):
    one = clone(server, "one")
    first = scope(projects, one)
    licence = hashlib.sha1(b"blob %d\0" % len(LICENCE) + LICENCE).hexdigest()
    own = tmp_path / "own"
    own.mkdir()
    run_git(own, "init", "-q")
    commit(own, "another beginning")
    run_git(own, "remote", "add", "origin", URL)
    (own / ".git/refs/heads/licence").write_text(f"{licence}\n")
    config = f'[remote "origin"]\n\turl = {URL}\n'
    empty = plant(tmp_path / "empty", config=config)
    linked = plant(tmp_path / "linked", config=config)
    for name in ("objects", "refs", "packed-refs"):
        (linked / ".git" / name).symlink_to(one / ".git" / name)
    borrowed = plant(tmp_path / "borrowed", config=config)
    (borrowed / ".git/objects/info").mkdir(parents=True)
    (borrowed / ".git/objects/info/alternates").write_text(f"{one}/.git/objects\n")
    seen = {scope(projects, path) for path in (own, empty, linked, borrowed)}
    assert len(seen) == 4
    assert first not in seen
    place = projects.place(project_dir=str(empty), cwd="", user="u")
    assert first not in place.readable
    assert projects.standing(str(empty)).claimed == first
    assert [projects.is_refused(str(path)) for path in (empty, empty, one)] == [True, False, False]


@git
def test_what_is_fetched_later_shows_that_it_is_kin(projects, server, tmp_path):
    first = scope(projects, clone(server, "one"))
    later = tmp_path / "later"
    later.mkdir()
    run_git(later, "init", "-q")
    run_git(later, "remote", "add", "origin", URL)
    assert scope(projects, later) != first
    run_git(later, "fetch", "-q", f"file://{server}", "main:refs/remotes/origin/main")
    assert scope(projects, later) == first


def test_where_there_is_nothing_to_compare_the_same_owner_is_enough(tmp_path):
    kinship = Kinship(tmp_path / "projects.json")
    one, other = (plant(tmp_path / name, config=ORIGIN) / ".git" for name in ("one", "other"))
    assert kinship.admits("shop", one, 1000)
    assert not kinship.admits("shop", other, 1001)
    assert not kinship.admits("shop", other, None)
    assert kinship.admits("shop", other, 1000)


@git
def test_the_users_word_counts_and_is_remembered(projects, server, tmp_path):
    one = clone(server, "one")
    first = scope(projects, one)
    claiming = plant(tmp_path / "claiming", config=f'[remote "origin"]\n\turl = {URL}\n')
    own = scope(projects, claiming)
    assert projects.judge(str(claiming), is_member=True).project == first
    again = Projects(kinship=Kinship(tmp_path / "projects.json"))
    assert scope(again, claiming) == first
    assert own in again.place(project_dir=str(claiming), cwd="", user="u").before
    assert again.judge(str(one), is_member=False).claimed is None
    assert scope(again, one) != first
    assert again.judge(str(one), is_member=True).project == first
    with pytest.raises(ValueError, match="names no project"):
        projects.judge(str(tmp_path), is_member=True)


@pytest.mark.parametrize("content", [b"", b"{", b'{"projects": {"a": 7}}', b"\xff" * 100])
def test_a_file_of_projects_that_cannot_be_read_is_begun_anew(tmp_path, content):
    (tmp_path / "projects.json").write_bytes(content)
    one = plant(tmp_path / "one", config=ORIGIN) / ".git"
    assert Kinship(tmp_path / "projects.json").admits("shop", one, 1)
    assert (tmp_path / "projects.json").stat().st_mode & 0o777 == 0o600


@git
@pytest.mark.parametrize("damage", [b"", b"\xfftOc\0\0\0\2", b"\xfftOc\0\0\0\2" + b"\xff" * 9000])
def test_odd_packs_show_nothing_and_neither_hang_nor_raise(projects, server, damage):
    scope(projects, clone(server, "one"))
    odd = clone(server, "odd")
    shutil.rmtree(odd / ".git/refs")
    (odd / ".git/packed-refs").unlink()
    for file in (odd / ".git/objects/pack").iterdir():
        file.chmod(0o600)
        file.write_bytes(damage)
    os.mkfifo(odd / ".git/objects/pack/pack-0.idx")
    (odd / ".git/refs/heads").mkdir(parents=True)
    assert projects.standing(str(odd)).claimed


def test_the_users_word_is_noted_however_many_clones_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(kinship, "_MOST_DIRECTORIES", 3)
    noted = Kinship(tmp_path / "projects.json")
    clones = [plant(tmp_path / f"c{number}", config=ORIGIN) / ".git" for number in range(6)]
    assert all(noted.admits("shop", common, 1000) for common in clones)
    for common in clones[3:]:
        noted.judge("shop", common, is_member=False)
    again = Kinship(tmp_path / "projects.json")
    assert again.was_parted("shop", clones[5])
    assert not again.admits("shop", clones[4], 1000)
    assert again.admits("shop", clones[0], None), "the first one is what the project is bound to"
