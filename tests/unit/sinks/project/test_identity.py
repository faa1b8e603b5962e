import json
import os
import shutil
import subprocess

import pytest

from subcog.sinks.project.identity import Projects, Succession

git = pytest.mark.skipif(shutil.which("git") is None, reason="git makes these repositories")


def run_git(directory, *arguments):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    subprocess.run(
        ["git", *arguments], cwd=directory, env=environment, check=True, capture_output=True
    )


def make_repository(path, origin=""):
    path.mkdir(parents=True, exist_ok=True)
    run_git(path, "init", "-q", "-b", "main")
    run_git(path, "commit", "-q", "--allow-empty", "-m", "first")
    if origin:
        run_git(path, "remote", "add", "origin", origin)
    return path


def place(directory="", cwd=""):
    return Projects().place(project_dir=str(directory), cwd=str(cwd), user="u")


def plant(path, **files):
    """A hand-made .git directory."""
    (path / ".git").mkdir(parents=True)
    content = {"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tbare = false\n"} | files
    for name, text in content.items():
        (path / ".git" / name).write_text(text)
    return path


ORIGIN = '[remote "origin"]\n\turl = https://github.com/acme/shop.git\n'


@git
def test_worktrees_share_and_have_their_own_branch(tmp_path):
    main = make_repository(tmp_path / "shop")
    run_git(main, "worktree", "add", "-q", "-b", "feature/x", "../other")
    here, there = place(main), place(tmp_path / "other")
    assert here.project == there.project
    assert (here.branch, there.branch) == ("main", "feature/x")
    assert there.root == str(tmp_path / "other")


@git
def test_a_moved_worktree_of_another_repository_does_not_share(tmp_path):
    main = make_repository(tmp_path / "shop")
    run_git(main, "worktree", "add", "-q", "../other")
    shutil.copytree(tmp_path / "other", tmp_path / "planted")
    assert place(tmp_path / "planted").project != place(main).project


@git
def test_clones_share_and_forks_do_not(tmp_path):
    one = make_repository(tmp_path / "one", "git@github.com:acme/shop.git")
    two = make_repository(tmp_path / "two", "https://user:pw@github.com/Acme/shop")
    fork = make_repository(tmp_path / "fork", "git@github.com:someone/shop.git")
    assert place(one).project == place(two).project
    assert place(one).project != place(fork).project
    assert place(one).project.id.startswith("shop-")


@git
def test_a_clone_from_a_path_shares_with_what_it_was_cloned_from(tmp_path):
    main = make_repository(tmp_path / "shop")
    run_git(tmp_path, "clone", "-q", str(main), "copy")
    assert place(tmp_path / "copy").project == place(main).project


@git
def test_a_submodule_is_a_project_of_its_own(tmp_path):
    library = make_repository(tmp_path / "library")
    main = make_repository(tmp_path / "shop")
    run_git(
        main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendor"
    )
    assert place(main / "vendor").project == place(library).project
    assert place(main / "vendor").project != place(main).project
    assert place(main / "vendor").branch == "main"


@git
def test_git_init_does_not_make_a_new_project_of_a_directory(tmp_path):
    (tmp_path / "shop").mkdir()
    before = place(tmp_path / "shop").project
    assert place(make_repository(tmp_path / "shop")).project == before


@git
def test_a_detached_head_has_no_branch(tmp_path):
    main = make_repository(tmp_path / "shop")
    run_git(main, "checkout", "-q", "--detach")
    assert place(main).branch is None


@git
def test_a_separate_git_directory_is_followed(tmp_path):
    main = tmp_path / "shop"
    main.mkdir()
    run_git(main, "init", "-q", "-b", "trunk", "--separate-git-dir", str(tmp_path / "store"))
    assert place(main).branch == "trunk"


def test_the_directory_the_agent_names_counts_and_not_where_it_went(tmp_path):
    shop, other = plant(tmp_path / "shop", config=ORIGIN), plant(tmp_path / "other")
    moved = place(shop, cwd=other)
    assert (moved.project, moved.root) == (place(shop).project, str(shop))


def test_without_a_named_directory_the_top_of_the_working_tree_counts(tmp_path):
    shop = plant(tmp_path / "shop", config=ORIGIN)
    (shop / "src" / "deep").mkdir(parents=True)
    inside = place(cwd=shop / "src" / "deep")
    assert (inside.project, inside.root, inside.branch) == (place(shop).project, str(shop), "main")


def test_a_named_directory_inside_a_repository_is_the_same_project(tmp_path):
    shop = plant(tmp_path / "shop", config=ORIGIN)
    (shop / "web").mkdir()
    web = place(shop / "web")
    assert (web.project, web.root) == (place(shop).project, str(shop / "web"))


def test_without_git_the_directory_is_the_project(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert place(tmp_path / "a").project == place(tmp_path / "a" / ".." / "a").project
    assert place(tmp_path / "a").project != place(tmp_path / "b").project
    assert place(tmp_path / "a").branch is None


def test_the_id_is_short_and_tells_no_path(tmp_path):
    shop = tmp_path / "secret customer" / "My Shop (ü)"
    shop.mkdir(parents=True)
    id_ = place(shop).project.id
    assert id_.startswith("my-shop-")
    assert "secret" not in id_
    assert len(place(tmp_path / ("x" * 200)).project.id) <= 53


def test_links_to_one_directory_are_one_project(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "shop")
    assert place(tmp_path / "link").project == place(tmp_path / "shop").project


@pytest.mark.parametrize(
    "directory",
    [
        "",
        "relative/path",
        "/nowhere/at/all",
        "/a\0b",
        "/" + "x" * 5000,
        "/" + chr(0xD800),
        "/\udc80",
        "~",
    ],
)
def test_any_string_is_a_place(directory):
    here = place(directory)
    assert here.project.kind == "project"
    assert here.root.startswith("/")
    here.root.encode()


def test_a_place_reads_its_project_its_user_and_the_organisation(tmp_path):
    here = place(tmp_path)
    assert here.user.id == "u"
    assert here.project in here.readable
    assert here.user in here.readable


def test_a_change_is_seen_at_once(tmp_path):
    projects = Projects()
    shop = tmp_path / "shop"
    shop.mkdir()

    def now():
        return projects.place(project_dir=str(shop), cwd="", user="u")

    assert now().branch is None
    plant(shop)
    assert now().branch == "main"
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/feature\n")
    assert now().branch == "feature"
    before = now().project
    (shop / ".git" / "config").write_text(ORIGIN)
    assert now().project != before


def test_what_did_not_change_is_not_read_again(tmp_path, monkeypatch):
    projects = Projects()
    shop = plant(tmp_path / "shop", config=ORIGIN)
    first = projects.place(project_dir=str(shop), cwd="", user="u")

    def no_reading(*arguments):
        raise AssertionError("read again")

    monkeypatch.setattr("subcog.sinks.files.os.open", no_reading)
    assert projects.place(project_dir=str(shop), cwd="", user="u") == first


def test_places_are_forgotten_when_there_are_many(tmp_path):
    projects = Projects()
    for number in range(600):
        projects.place(project_dir=f"{tmp_path}/{number}", cwd="", user="u")
    assert len(projects._places._kept) <= 256


# --- what it was known by before -----------------------------------------------------------------


def seen(projects, path, url):
    (path / ".git").mkdir(parents=True, exist_ok=True)
    (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (path / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')
    return projects.place(project_dir=str(path), cwd="", user="u")


def test_a_remote_that_is_added_keeps_what_was_there(tmp_path):
    shop = plant(tmp_path / "shop")
    before = place(shop)
    (shop / ".git" / "config").write_text(ORIGIN)
    after = place(shop)
    assert after.project != before.project
    assert after.before == (before.project,)
    assert before.project in after.readable
    assert place(plant(tmp_path / "clone", config=ORIGIN)).project == after.project
    assert before.project not in place(tmp_path / "clone").readable


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice@srv:proj.git", "bob@srv:proj.git"),
        ("ssh://git@srv:2222/proj.git", "ssh://git@srv:3333/proj.git"),
        ("git@srv:team/Proj.git", "git@srv:team/PROJ.git"),
    ],
)
def test_what_several_had_in_common_goes_on_with_the_first_that_is_seen(tmp_path, one, other):
    file = tmp_path / "earlier-scopes.json"

    def started_anew():
        return Projects(Succession(file))

    first = seen(started_anew(), tmp_path / "one", one)
    second = seen(started_anew(), tmp_path / "other", other)
    common, _ = first.before
    assert common.id.startswith("proj-")
    assert first.project not in second.readable
    assert second.project not in first.readable
    assert common not in second.readable
    assert common in seen(started_anew(), tmp_path / "one", one).readable


def test_whose_scope_it_is_today_takes_it_back(tmp_path):
    projects = Projects()
    alices = seen(projects, tmp_path / "alice", "alice@srv:proj.git")
    plain = seen(projects, tmp_path / "plain", "git@srv:proj.git")
    assert plain.project in alices.before
    for who in ("alice", "bob"):
        again = seen(projects, tmp_path / who, f"{who}@srv:proj.git")
        assert plain.project not in again.readable


def test_a_file_of_successions_that_cannot_be_read_is_begun_anew(tmp_path):
    file = tmp_path / "earlier-scopes.json"
    file.write_text("{ broken")
    here = seen(Projects(Succession(file)), tmp_path / "shop", "alice@srv:proj.git")
    assert len(here.before) == 2
    assert json.loads(file.read_text()) == {here.before[0].id: here.project.id}
    assert file.stat().st_mode & 0o777 == 0o600


def test_on_a_well_known_forge_nothing_needs_to_be_noted(tmp_path):
    file = tmp_path / "earlier-scopes.json"
    projects = Projects(Succession(file))
    assert len(seen(projects, tmp_path / "shop", "ana@github.com:Acme/Shop.git").before) == 1
    assert not file.exists()


# --- planted -------------------------------------------------------------------------------------


def victim(tmp_path):
    shop = plant(tmp_path / "victim", config=ORIGIN)
    return shop, place(shop).project


def test_a_git_file_that_points_at_another_repository_lends_nothing(tmp_path):
    shop, project = victim(tmp_path)
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / ".git").write_text(f"gitdir: {shop}/.git\n")
    assert place(evil).project != project


def test_a_link_to_another_repository_lends_nothing(tmp_path):
    shop, project = victim(tmp_path)
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / ".git").symlink_to(shop / ".git")
    assert place(evil).project != project


def test_a_common_directory_elsewhere_lends_nothing(tmp_path):
    shop, project = victim(tmp_path)
    evil = plant(tmp_path / "evil", commondir=f"{shop}/.git\n", gitdir=f"{tmp_path}/evil/.git\n")
    assert place(evil).project != project
    pointed = tmp_path / "pointed"
    plant(pointed / "store", commondir=f"{shop}/.git", gitdir=f"{pointed}/.git")
    (pointed / ".git").write_text("gitdir: store/.git\n")
    assert place(pointed).project != project


def test_an_include_lends_nothing(tmp_path):
    shop, project = victim(tmp_path)
    evil = plant(tmp_path / "evil", config=f"[include]\n\tpath = {shop}/.git/config\n")
    assert place(evil).project != project


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_somebody_else_above_lends_nothing(tmp_path):
    above = plant(tmp_path / "shared", config=ORIGIN)
    (above / "mine").mkdir()
    for path in (above, above / ".git"):
        os.chown(path, 12345, 12345)
    assert place(above / "mine").branch is None
    assert place(above).branch == "main"


@pytest.mark.parametrize(
    "pointer",
    ["", "gitdir:", "gitdir: /dev", "gitdir: ../..", "nonsense", "gitdir: \0", "x" * 99_999],
)
def test_a_git_file_of_nonsense_leaves_the_directory(tmp_path, pointer):
    (tmp_path / "shop").mkdir()
    expected = place(tmp_path / "shop")
    (tmp_path / "shop" / ".git").write_text(pointer)
    assert place(tmp_path / "shop") == expected


@pytest.mark.parametrize("name", ["HEAD", "config", "commondir"])
@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "directory", "huge", "binary"])
def test_odd_files_neither_hang_nor_raise(tmp_path, name, kind):
    shop = plant(tmp_path / "shop")
    path = shop / ".git" / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(5_000_000_000)
    else:
        path.write_bytes(os.urandom(3000))
    assert place(shop).project.id.startswith("shop-")


def test_links_that_go_round_are_no_trouble(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert place(tmp_path / "a").project.kind == "project"
