from datetime import timedelta

import click
import pytest
from click.testing import CliRunner

from subcog.pipeline.commands.shared import confirm, day


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


@pytest.mark.parametrize(
    ("date", "hours"), [("2026-03-28", 24), ("2026-03-29", 23), ("2026-10-25", 25)]
)
def test_a_day_is_as_long_as_the_clocks_make_it(date, hours, set_zone):
    set_zone("Europe/Berlin")
    first, last = day(date, "--since"), day(date, "--until", last=True)
    assert (first.isoformat()[:16], last.isoformat()[:16]) == (f"{date}T00:00", f"{date}T23:59")
    assert last - first == timedelta(hours=hours, microseconds=-1)
