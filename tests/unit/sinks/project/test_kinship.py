"""A directory that names a project's remote is that project only if it shows that it is kin."""

import hashlib
import os
import shutil

import pytest

from subcog.sinks.files import Look
from subcog.sinks.project import kinship
from subcog.sinks.project.git import find_repository
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


# --- a remote that is a path ----------------------------------------------------------------------


def victim(tmp_path):
    path = tmp_path / "victim"
    path.mkdir()
    run_git(path, "init", "-q", "-b", "main")
    commit(path, "first")
    return path


@git
@pytest.mark.parametrize("url", ["../victim/.git", "../victim", "{}", "file://{}/.git"])
def test_who_only_names_the_path_gets_an_identity_of_its_own(projects, tmp_path, url):
    shop = victim(tmp_path)
    config = f'[remote "origin"]\n\turl = {url.format(shop)}\n'
    hostile = plant(tmp_path / "hostile", config=config)
    linked = plant(tmp_path / "linked", config=config)
    (linked / ".git/HEAD").unlink()
    (linked / ".git/HEAD").symlink_to(shop / ".git/refs/heads/main")
    for path in (hostile, linked):
        here = projects.place(project_dir=str(path), cwd="", user="u")
        assert scope(projects, shop) not in here.readable
    assert projects.standing(str(hostile)).claimed == scope(projects, shop)
    assert projects.is_refused(str(hostile))
    assert projects.judge(str(hostile), is_member=True).project == scope(projects, shop)


@git
def test_a_folder_without_git_or_commits_is_read_by_no_other(projects, tmp_path):
    (tmp_path / "folder").mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    run_git(empty, "init", "-q")
    for name in ("folder", "empty", "gone"):
        url = f'[remote "origin"]\n\turl = ../{name}\n'
        hostile = plant(tmp_path / f"hostile-{name}", config=url)
        assert scope(projects, hostile) != scope(projects, tmp_path / name), name
        claimed = scope(projects, tmp_path / name)
        assert projects.judge(str(hostile), is_member=True).project == claimed
        assert projects.judge(str(hostile), is_member=False).project != claimed


@git
@pytest.mark.parametrize("options", [(), ("--no-hardlinks",), ("--bare",)])
def test_clones_of_a_path_are_kin_wherever_they_are_moved(projects, tmp_path, options):
    shop = victim(tmp_path)
    if "--bare" in options:
        run_git(tmp_path, "clone", "-q", "--bare", "victim", "share.git")
        shop = tmp_path / "share.git"
        shutil.rmtree(tmp_path / "victim")
        options = ()
    for name in ("one", "other"):
        run_git(tmp_path, "clone", "-q", *options, str(shop), name)
    commit(tmp_path / "one", "not pushed")
    first = scope(projects, tmp_path / "one")
    assert first == scope(projects, tmp_path / "other")
    shutil.move(tmp_path / "other", tmp_path / "moved")
    run_git(tmp_path / "moved", "worktree", "add", "-q", "../tree")
    shutil.move(shop, tmp_path / "away")
    for name in ("one", "moved", "tree"):
        assert scope(projects, tmp_path / name) == first


@git
def test_a_clone_that_borrows_the_objects_of_a_path_is_kin(projects, tmp_path):
    shop = victim(tmp_path)
    run_git(tmp_path, "clone", "-q", "--shared", str(shop), "copy")
    assert scope(projects, tmp_path / "copy") == scope(projects, shop)


@git
def test_clones_of_an_empty_share_are_one_project_from_the_start(projects, tmp_path):
    run_git(tmp_path, "init", "-q", "--bare", "-b", "main", "share.git")
    for name in ("one", "share", "other"):
        run_git(tmp_path, "clone", "-q", "share.git", name)
    one, beside = (scope(projects, tmp_path / name) for name in ("one", "share"))
    assert one != beside, "who works beside the share has not pushed yet"
    commit(tmp_path / "share", "first")
    run_git(tmp_path / "share", "push", "-q", "origin", "main")
    run_git(tmp_path / "one", "fetch", "-q")
    assert scope(projects, tmp_path / "one") == scope(projects, tmp_path / "share") == beside


@git
def test_another_repository_at_the_path_counts_from_when_it_is_there(projects, tmp_path):
    shop = victim(tmp_path)
    run_git(tmp_path, "clone", "-q", str(shop), "older")
    first = scope(projects, tmp_path / "older")
    shutil.rmtree(shop)
    shop.mkdir()
    run_git(shop, "init", "-q", "-b", "main")
    (shop / "new").touch()
    run_git(shop, "add", "new")
    run_git(shop, "commit", "-q", "-m", "another beginning")
    run_git(tmp_path, "clone", "-q", str(shop), "newer")
    shutil.copytree(tmp_path / "older", tmp_path / "copied")
    assert scope(projects, tmp_path / "newer") == first == scope(projects, shop)
    assert scope(projects, tmp_path / "copied") != first


@git
def test_a_separate_git_directory_belongs_to_the_tree_that_is_seen_first(projects, tmp_path):
    (tmp_path / "shop").mkdir()
    run_git(tmp_path / "shop", "init", "-q", "--separate-git-dir", str(tmp_path / "store"))
    first = scope(projects, tmp_path / "shop")
    (tmp_path / "hostile").mkdir()
    (tmp_path / "hostile/.git").write_text("gitdir: ../store\n")
    assert scope(projects, tmp_path / "hostile") != first
    assert projects.standing(str(tmp_path / "hostile")).claimed == first
    shutil.move(tmp_path / "shop", tmp_path / "moved")
    assert projects.judge(str(tmp_path / "moved"), is_member=True).project == first


@git
def test_a_separate_git_directory_is_not_the_folder_beside_it(projects, tmp_path):
    for name in ("shop", "plain"):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}-other").mkdir()
        folder = scope(projects, tmp_path / name)
        store = str(tmp_path / f"{name}.git")
        run_git(tmp_path / f"{name}-other", "init", "-q", "--separate-git-dir", store)
        assert scope(projects, tmp_path / f"{name}-other") != folder
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    before = scope(projects, dotfiles)
    run_git(dotfiles, "init", "-q", "--separate-git-dir", str(tmp_path / "dotfiles.git"))
    assert scope(projects, dotfiles) == before


def put_back(path):
    """As from a backup: the same path and content, another inode."""
    shutil.copytree(path, f"{path}-copy")
    shutil.move(path, f"{path}-old")
    shutil.move(f"{path}-copy", path)
    shutil.rmtree(f"{path}-old")


@git
@pytest.mark.parametrize("store", ["s.git", "store"])
def test_a_separate_git_directory_keeps_its_tree_when_that_is_put_back(projects, tmp_path, store):
    shop = tmp_path / "s"
    shop.mkdir()
    run_git(shop, "init", "-q", "--separate-git-dir", str(tmp_path / store))
    run_git(shop, "remote", "add", "origin", "https://git.example.com/acme/shop.git")
    first = projects.place(project_dir=str(shop), cwd="", user="u")
    put_back(shop)
    assert projects.place(project_dir=str(shop), cwd="", user="u") == first
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: ../{store}\n")
    assert projects.standing(str(hostile)).claimed == first.project
    assert projects.judge(str(shop), is_member=False).claimed is None
    put_back(shop)
    assert scope(projects, shop) != first.project, "the user's word holds for what is put back"


@git
def test_who_names_the_separate_git_directory_beside_it_is_not_its_project(projects, tmp_path):
    (tmp_path / "first").mkdir()
    run_git(tmp_path / "first", "init", "-q", "--separate-git-dir", str(tmp_path / "s.git"))
    first = scope(projects, tmp_path / "first")
    (tmp_path / "s").mkdir()
    (tmp_path / "s/.git").write_text("gitdir: ../s.git\n")
    assert projects.standing(str(tmp_path / "s")).claimed == first
    assert scope(projects, tmp_path / "s") != first


@git
def test_a_sparse_submodule_still_names_its_working_tree(projects, server, tmp_path):
    main = victim(tmp_path)
    add = ("submodule", "add", "-q", str(server), "vendor")
    run_git(main, "-c", "protocol.file.allow=always", *add)
    run_git(main / "vendor", "sparse-checkout", "set", "--cone", "docs")
    assert (main / ".git/modules/vendor/config.worktree").exists()
    repository = find_repository(main / "vendor", Look())
    assert repository is not None
    assert not repository.is_separate


@git
@pytest.mark.parametrize("was_secret", [True, False])
def test_a_project_keeps_its_memory_when_its_name_becomes_a_secret_or_none(
    server, tmp_path, was_secret
):
    file, one = tmp_path / "projects.json", clone(server, "one")
    claiming = plant(tmp_path / "claiming", config=f'[remote "origin"]\n\turl = {URL}\n')
    earlier = Projects(kinship=Kinship(file), is_secret=lambda name: was_secret)
    first = scope(earlier, one)
    for _ in range(2):
        later = Projects(kinship=Kinship(file), is_secret=lambda name: not was_secret)
        assert first not in later.place(project_dir=str(claiming), cwd="", user="u").readable
        here = later.place(project_dir=str(one), cwd="", user="u")
        assert here.project != first
        assert first in here.before
