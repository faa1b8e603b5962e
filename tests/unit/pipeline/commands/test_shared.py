import click
import pytest
from click.testing import CliRunner

from subcog.pipeline.commands.shared import confirm


@click.command()
def delete():
    confirm("Delete everything?")
    click.echo("deleted")


@pytest.mark.parametrize(
    ("answer", "code", "out", "err"),
    [("y", 0, "deleted\n", ""), ("n", 1, "", "nothing was changed")],
)
def test_who_says_no_reads_that_nothing_was_changed(answer, code, out, err):
    done = CliRunner().invoke(delete, input=f"{answer}\n")
    assert (done.exit_code, done.stdout) == (code, out)
    assert err in done.stderr
