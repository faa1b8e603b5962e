import pytest

from subcog.stages.actions.commands import MAX_CHARS, command_shape, commands_run, read_line
from tests.waiting import ends_soon


@pytest.mark.parametrize(
    ("command", "shape"),
    [
        ("pytest -n 8 tests/integration", "pytest * -n *"),
        ("pytest tests/a.py -n8", "pytest * -n *"),
        ("cd /src/shop && pytest -n 8 tests/a.py --tb=short -q", "pytest * -n *"),
        ("CI=1 sudo -u me timeout -k 5 30 time pytest tests/a.py", "pytest *"),
        ("env A=b nohup make dev > out.log 2>&1 &", "make dev"),
        ("/usr/local/bin/npm install --save-dev foo@1.2.3", "npm install foo@0 --save-dev"),
        ("git show 0a1b2c3d4e5f 'a b'", "git show *"),
        ("python -m pytest", "python -m pytest"),
        ("uv run --extra dev pytest", "uv run --extra dev pytest"),
        ("python3 scripts/load.py --rows=10 'a text'", "python load.py * --rows *"),
        ("npm test 2>&1 | tail -20", "npm test"),
        ("# first\nnpm test # then\n", "npm test"),
        ("echo hi; ls", "ls"),
        ("bash -euo pipefail -c 'cd api && make dev'", "make dev"),
        ("op run -- make dev", "op run -- make dev"),
        ("npm ci && npm test", ""),
        ("", ""),
    ],
)
def test_a_shape_has_what_a_command_does_and_no_values(command, shape):
    assert command_shape(command) == shape


@pytest.mark.parametrize(
    "command", ["npm test", "cd a && npm test", "ls && npm test && echo ok", "npm test > a.log"]
)
def test_a_line_may_pass_just_where_its_command_does(command):
    assert read_line(command).decisive


@pytest.mark.parametrize(
    "command",
    [
        "npm test | tail",
        "npm test || true",
        "npm test; ls",
        "npm test\nls",
        "a && b",
        "a &",
        "ls |",
    ],
)
def test_a_line_may_pass_although_its_command_fails(command):
    assert not read_line(command).decisive


@pytest.mark.parametrize(
    "command",
    [
        "echo 'never closed",
        'a "b',
        "a\0b",
        "x " * MAX_CHARS,
        "y" * 100_000,
        "cat <<EOF\nrm -rf /\nEOF",
        "a $(b)",
        "a `b`",
        "for x in a; do b; done",
        "\\",
        "\ud800 '",
    ],
)
def test_what_cannot_be_read_has_no_commands_and_may_do_anything(command):
    read = read_line(command)
    assert (read.commands, read.decisive, read.prepares) == ((), False, True)


@pytest.mark.parametrize(
    "unit", ["'", '"', "a;", "-x ", "$ ", "sudo ", "A=b ", "cd a;", "(", '"$(']
)
def test_a_line_of_any_kind_is_read_at_once(unit):
    with ends_soon():
        read_line((unit * MAX_CHARS)[:MAX_CHARS])
        commands_run((unit * MAX_CHARS)[:MAX_CHARS])


@pytest.mark.parametrize("command", ["export A=b", "echo a > b", "source x", "a >> b"])
def test_a_line_may_change_what_later_commands_find(command):
    assert read_line(command).prepares


def test_a_command_can_be_read_again_from_how_it_is_written():
    line = "source .venv/bin/activate && A='b c' uv run pytest -n 8 'a b' --x='c d'"
    (command,) = read_line(line).commands
    assert read_line(command.text).commands == (command,)


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("for i in 1 2; do make dev; done", ["make dev"]),
        ("if true; then make dev; else make x; fi", ["make dev", "make x"]),
        ("out=$(make dev); echo $out", ["make dev"]),
        ('cd "$(git rev-parse --show-toplevel)" && gradle', ["gradle"]),
        ('x="$(make dev)"; echo "$x"', ["make dev"]),
        ('cd "$(make where)/api" && make dev', ["make where", "make dev"]),
        ("bash <<'EOF'\nmake dev\nEOF", ["bash", "make dev"]),
        ("cat > a.md <<'EOF'\nmake dev\nEOF", ["cat"]),
        ("A=1 bash -c 'make dev'", ["A=1 make dev"]),
        ("docker compose exec web make dev", ["docker compose exec web make dev"]),
        ("'", []),
        ("x " * MAX_CHARS, []),
    ],
)
def test_what_is_run_is_told_also_where_nobody_knows_whether_it_passes(line, texts):
    assert [one.text for one in commands_run(line)] == texts


@pytest.mark.parametrize(("line", "decisive"), [("make a", True), ("make a; ls", False)])
def test_a_line_handed_to_a_shell_decides_as_it_does_alone(line, decisive):
    assert read_line(f"bash -c '{line}'").decisive is decisive
