"""What is typed after an option is checked before the daemon is asked."""

import click
import msgspec
import pytest
from click.testing import CliRunner

from subcog.pipeline.api.params import ListParams, SearchSessionsParams, SessionsParams
from subcog.pipeline.cli.command_line import cli
from subcog.pipeline.commands.memory import MAX_SESSIONS_FOUND
from subcog.pipeline.commands.shared import (
    MAX_LISTED,
    daemon_options,
    is_json,
    project_option,
)


def commands(command, path=()):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))
    yield " ".join(path), command


COMMANDS = dict(commands(cli))
OPTIONS = {
    f"{name} {option.opts[-1]}": option
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option.type, (click.types.IntParamType, click.types.FloatParamType))
}


def test_every_command_that_answers_has_json():
    """A hook prints what its agent reads, and ``daemon run`` is the daemon."""
    silent = {name for name, one in COMMANDS.items() if getattr(one, "no_args_is_help", False)}
    for name in COMMANDS.keys() - silent - {"hook", "daemon run"}:
        assert "as_json" in {option.name for option in COMMANDS[name].params}, name


@pytest.mark.parametrize(
    "arguments", [["--json", "--project", ".", "one"], ["one", "--json", "--project", "."]]
)
def test_what_a_group_is_given_counts_for_its_command(arguments):
    @click.group()
    @daemon_options
    def group():
        pass

    @group.command()
    @daemon_options
    def one():
        click.echo(f"{is_json()} {project_option()}")

    assert CliRunner().invoke(group, arguments).stdout == "True .\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_fits_a_terminal(name):
    path = name.split()
    told = CliRunner().invoke(cli, [*path, "--help"], terminal_width=80).stdout
    assert [line for line in told.splitlines() if len(line) > 80] == []


def test_every_number_has_a_range():
    assert {"list --limit", "recall --limit", "restore --version"} <= OPTIONS.keys()
    for name, option in OPTIONS.items():
        assert option.type.min is not None, name
        assert option.type.max is not None, name


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list", "--limit", "1001"], "1<=x<=1000"),
        (["list", "--limit", "0"], "1<=x<=1000"),
        (["recall", "x", "--limit", "9" * 30], "1<=x<=1000"),
        (["recall", "x", "--sessions", "--limit", "101"], "1<=x<=100 with --sessions"),
        (["topics", "--limit", "-1"], "1<=x<=100000"),
        (["sessions", "list", "--limit", "1001"], "1<=x<=1000"),
        (["restore", "mem_x", "--version", "9" * 30], "1<=x<="),
        (["logs", "--lines", "9" * 30], "0<=x<="),
    ],
)
def test_a_number_out_of_its_range_is_answered_with_the_range(arguments, says, tmp_path):
    done = CliRunner(env={"SUBCOG_HOME": str(tmp_path)}).invoke(cli, arguments)
    assert done.exit_code == 2
    assert says in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("params", "most", "more"),
    [
        (ListParams, MAX_LISTED, {}),
        (SessionsParams, MAX_LISTED, {}),
        (SearchSessionsParams, MAX_SESSIONS_FOUND, {"query": "x"}),
    ],
)
def test_the_daemon_takes_what_the_command_line_lets_through(params, most, more):
    assert msgspec.convert({"limit": most, **more}, params).limit == most
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"limit": most + 1, **more}, params)
