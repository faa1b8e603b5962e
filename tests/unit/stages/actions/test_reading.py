import pytest

from subcog.bus.values import Action
from subcog.stages.actions.reading import MAX_LINES, read_action, without_messages
from tests.waiting import ends_soon

TOPS = ("/work/shop",)


def test_of_an_edit_only_the_lines_that_change_are_read():
    edit = Action(
        tool="Edit",
        paths=("/work/shop/src/db.py",),
        replaced="def load(s):\n    s.begin()\n    return s.all()",
        written="def load(s):\n    s.commit()\n    return s.all()",
    )
    read = read_action(edit, tops=TOPS)
    assert (read.path, read.removed, read.added) == ("src/db.py", ("s.begin()",), ("s.commit()",))
    assert not read.looks_only


def test_a_new_file_is_read_as_added():
    read = read_action(Action(tool="Write", paths=("a.py",), written="x = 1\n\ny = 2\n"))
    assert (read.path, read.added, read.removed) == ("a.py", ("x = 1", "y = 2"), ())


def test_a_line_of_the_shell_is_read_as_its_commands():
    run = Action(tool="Bash", command="cd api && make lint; make test | tail -5", purpose="Check")
    read = read_action(run)
    assert read.commands == ("cd api", "make lint", "make test", "tail -5")
    assert read.purpose == "Check"


def test_what_is_only_said_of_a_change_is_left_out():
    commit = "git commit -am 'remove GlobalScope.launch' -q"
    assert without_messages(commit) == "git commit -q"
    assert "old_call" not in without_messages("sed -i 's/old_call/new_call/' a.py")


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn 'alembic upgrade' scripts",
        "cd api && rg TODO | head -20",
        "git log --oneline -5; git diff HEAD~1",
        "kubectl -n prod get pods",
        "LC_ALL=C sort names.txt | uniq -c",
        "terraform --version",
        "npm ls react",
        "command -v terraform",
        "RAILS_ENV=production bin/rails db:migrate:status",
        "bundle exec rake routes",
    ],
)
def test_a_command_that_only_looks_is_known(command):
    assert read_action(Action(tool="Bash", command=command)).looks_only


@pytest.mark.parametrize(
    "command",
    [
        "make deploy",
        "bin/rails db:migrate",
        "grep -l foo src | xargs sed -i s/foo/bar/",
        "cat a > b",
        "git branch -D main",
        "git push --force",
        "kubectl -n prod delete pod api-1",
        "ls && rm -rf build",
        "",
    ],
)
def test_a_command_that_may_change_something_does_not_only_look(command):
    assert not read_action(Action(tool="Bash", command=command)).looks_only


def test_a_huge_change_is_read_at_its_beginning():
    lines = "\n".join(f"value_{n} = {n}" for n in range(50_000))
    with ends_soon():
        read = read_action(Action(tool="Edit", paths=("a",), replaced=lines[::-1], written=lines))
    assert len(read.added) <= MAX_LINES


@pytest.mark.parametrize(
    "command", ["a='" * 6_000 + "|" * 2_000 + "\0 \\x", "a" + " " * 5_990 + "b"]
)
def test_a_hostile_command_line_ends_soon(command):
    with ends_soon(cpu_s=0.2):
        read_action(Action(tool="Bash", command=command))


def test_blank_lines_count_for_nothing():
    command = "\n \n".join(f"touch {number}" for number in range(MAX_LINES))
    assert len(read_action(Action(tool="Bash", command=command)).commands) == MAX_LINES
