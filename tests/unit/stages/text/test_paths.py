import pytest

from subcog.stages.text.paths import concerns, directories, seen_from, shortened, way_out
from tests.fakes import make_memory
from tests.waiting import ends_soon

TOPS = ("/src/shop", "/src/shop-fix", "/src/shop/.trees/new")


@pytest.mark.parametrize(
    ("path", "folder", "seen"),
    [
        ("/src/shop/a/b.py", "", "a/b.py"),
        ("./a/b.py", "", "a/b.py"),
        ("a\\b.py", "web", "web/a/b.py"),
        ("../api//b.py", "web", "api/b.py"),
        ("/src/shop", "web", ""),
        ("/src/shop-fix/a/b.py", "", "a/b.py"),
        ("../shop-fix/a/b.py", "", "a/b.py"),
        ("/src/shop/.trees/new/a.py", "", "a.py"),
        ("/src/shopping/a.py", "", "../shopping/a.py"),
        ("/tmp/a.py", "", "../../tmp/a.py"),
        ("../infra/main.tf", "", "../infra/main.tf"),
        ("main.tf", "../infra", "../infra/main.tf"),
        ("~/.aws/config", "web", "~/.aws/config"),
        ("$ROOT/a.py", "", "$ROOT/a.py"),
        ("C:\\work\\x\\a\\b.py", "web", "C:/work/x/a/b.py"),
    ],
)
def test_a_path_is_seen_from_the_top_of_the_working_tree_that_it_lies_in(path, folder, seen):
    assert seen_from(TOPS, path, folder) == seen


def test_where_no_project_is_known_a_path_stays_as_it_is():
    assert seen_from((), "a/../b.py", "") == seen_from(("",), "b.py") == "b.py"
    assert seen_from((), "/a/b.py", "") == seen_from(("",), "/a/b.py") == "/a/b.py"
    assert seen_from(("/",), "/a/b.py", "") == "a/b.py"


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("../infra/main.tf", "infra"),
        ("../../etc/hosts", "etc"),
        ("../..", ".."),
        ("/etc/hosts", "etc"),
        ("web/a.ts", ""),
        ("..config/a.ts", ""),
        ("~/a.ts", ""),
        ("", ""),
    ],
)
def test_the_way_out_of_the_project_is_its_first_folder_outside(path, folder):
    assert way_out(path) == folder


def test_of_a_path_outside_of_the_project_only_the_end_is_kept():
    assert shortened("../../home/u/deep/a/b.py") == "deep/a/b.py"
    assert shortened("C:/work/x/a/b.py") == "x/a/b.py"
    assert shortened("very/deep/in/it/b.py") == "very/deep/in/it/b.py"


def test_a_memory_of_a_project_is_about_what_it_names_outside():
    rule = make_memory(1, "No terraform apply by hand in ../infra.")
    assert concerns(rule, "")
    assert concerns(rule, "infra")
    assert not concerns(rule, "infrared")
    assert concerns(make_memory(1, "Never edit ~/.aws/config."), ".aws")


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (["cd web", "make", "cd src", "make"], ["web", "web", "web/src", "web/src"]),
        (["cd web", "make", "cd ..", "make"], ["web", "web", "", ""]),
        (["cd ../infra", "make", "cd -", "make"], ["../infra", "../infra", "", ""]),
        (["pushd 'web'", "make", "popd", "make"], ["web", "web", "", ""]),
        (["(cd web", "make $(date))", "make"], ["web", "web", ""]),
        (["cd /src/shop/web", "make"], ["web", "web"]),
        (["git -C ../infra push", "git push"], ["../infra", ""]),
        (["terraform -chdir=infra apply", "make -j4 -C web"], ["infra", "web"]),
        (["npm install --prefix web", "yarn --cwd web add x"], ["web", "web"]),
        (["git commit -m 'see -C ../infra'", "grep -C 3 x"], ["", ""]),
    ],
)
def test_each_command_is_run_where_the_line_went_before(line, where):
    assert list(directories(line, "", TOPS)) == where


def test_a_line_begins_where_the_agent_is():
    where = list(directories(["make", "cd ..", "make"], "web/src", TOPS))
    assert where == ["web/src", "web", "web"]


def test_a_long_line_is_read_quickly():
    with ends_soon():
        list(directories(["git " + "a " * 5_000, "(" * 5_000, "X=1 " * 5_000], "", TOPS))
