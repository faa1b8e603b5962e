"""A bare repository and a folder of its name: whose project that name is, and what is looked at."""

import shutil

import pytest

from subcog.sinks import files
from subcog.sinks.project.identity import Projects
from subcog.sinks.project.kinship import Kinship

from .test_identity import git, plant, run_git
from .test_kinship import scope, victim


@pytest.fixture
def projects(tmp_path):
    return Projects(kinship=Kinship(tmp_path / "projects.json"))


@pytest.fixture
def share(tmp_path):
    """A bare repository in which somebody works, by a worktree."""
    shutil.move(victim(tmp_path) / ".git", tmp_path / "shop.git")
    run_git(tmp_path / "shop.git", "config", "core.bare", "true")
    run_git(tmp_path / "shop.git", "worktree", "add", "-q", "-b", "work", "../tree")
    return tmp_path / "tree"


@git
@pytest.mark.parametrize("kind", ["folder", "hostile", "clone"])
def test_a_bare_repository_stays_its_project_when_a_folder_takes_its_name(
    projects, share, tmp_path, kind
):
    first, shop = scope(projects, share), tmp_path / "shop"
    if kind == "folder":
        shop.mkdir()
    elif kind == "hostile":
        plant(shop, config='[remote "origin"]\n\turl = ../shop.git\n')
    else:
        run_git(tmp_path, "clone", "-q", "shop.git", "shop")
    run_git(tmp_path, "clone", "-q", "shop.git", "one")
    for known in (projects, Projects(kinship=Kinship(tmp_path / "projects.json"))):
        assert scope(known, share) == scope(known, tmp_path / "one") == first
        here = known.place(project_dir=str(shop), cwd="", user="u")
        assert (first in here.readable) == (kind == "clone")
        assert known.standing(str(shop)).claimed == (None if kind == "clone" else first)
    if kind != "clone":
        assert projects.judge(str(shop), is_member=True).project == first
        assert here.project in projects.place(project_dir=str(shop), cwd="", user="u").before


@git
def test_a_bare_repository_beside_a_folder_is_told_and_can_be_joined(projects, share, tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    known = scope(projects, folder)
    alone = projects.standing(str(share))
    assert (alone.project != known, alone.claimed) == (True, known)
    assert projects.judge(str(share), is_member=True).project == known
    assert alone.project in projects.place(project_dir=str(share), cwd="", user="u").before
    assert projects.judge(str(share), is_member=False).project == alone.project


@git
def test_a_bare_repository_takes_no_name_of_another_that_is_away(projects, share, tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main")
    (folder / "new").touch()
    run_git(folder, "add", "new")
    run_git(folder, "commit", "-q", "-m", "another beginning")
    known = scope(projects, folder)
    assert scope(projects, share) != known
    shutil.move(folder, tmp_path / "away")
    assert scope(projects, share) != known
    shutil.move(tmp_path / "away", folder)
    assert scope(projects, folder) == known


@git
def test_of_a_clone_that_is_kin_the_path_is_not_looked_at_again(projects, tmp_path, monkeypatch):
    shop = victim(tmp_path)
    run_git(tmp_path, "clone", "-q", str(shop), "copy")
    first = scope(projects, tmp_path / "copy")
    looked_at = []

    plain = files.stamp

    def stamp(path):
        looked_at.append(path)
        return plain(path)

    monkeypatch.setattr(files, "stamp", stamp)
    assert scope(projects, tmp_path / "copy") == first
    assert looked_at
    assert not [path for path in looked_at if path.is_relative_to(shop)]
