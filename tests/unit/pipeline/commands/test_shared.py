from contextlib import suppress
from datetime import UTC, datetime, timedelta

import click
import pytest
from click.testing import CliRunner

from subcog.pipeline.commands.lifecycle import _moment
from subcog.pipeline.commands.shared import confirm, day, span, standard_input


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


def test_where_nobody_can_answer_it_is_said_how_to_go_on():
    done = CliRunner().invoke(delete, input="")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "confirm with --yes" in done.stderr


@click.command()
def take():
    click.echo(standard_input())


@pytest.mark.parametrize(
    ("given", "code", "out", "err"),
    [
        (b"\xef\xbb\xbfna\xc3\xafve\tor\r\nnot\x0c", 0, "na\u00efve\tor\nnot\x0c\n", ""),
        (b"Caf\xe9 is a name", 0, "Caf\ufffd is a name\n", ""),
        (b"\xf4\x8f\xde\xad", 1, "", "it is not UTF-8"),
        (b"\x7fELF\x02\x01\x00", 1, "", "it has control characters"),
    ],
)
def test_what_is_no_text_is_not_taken_for_one(given, code, out, err):
    done = CliRunner().invoke(take, input=given)
    assert (done.exit_code, done.stdout_bytes.decode()) == (code, out)
    assert err in done.stderr


def test_a_span_that_ends_before_it_begins_is_refused():
    one = span("2026-12-31", "2026-12-31")
    assert one["until"] - one["since"] == timedelta(days=1, microseconds=-1)
    assert span(None, "2026-01-01")["since"] is None
    with pytest.raises(click.UsageError, match="--until is before --since"):
        span("2026-12-31", "2026-01-01")


def test_ctrl_c_at_a_question_is_no_missing_terminal(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("click.termui.visible_prompt_func", interrupted)
    with pytest.raises(click.Abort):
        confirm("Delete everything?")


@pytest.mark.parametrize(
    ("date", "hours"), [("2026-03-28", 24), ("2026-03-29", 23), ("2026-10-25", 25)]
)
def test_a_day_is_as_long_as_the_clocks_make_it(date, hours, set_zone):
    set_zone("Europe/Berlin")
    first, last = day(date, "--since"), day(date, "--until", last=True)
    assert (first.isoformat()[:16], last.isoformat()[:16]) == (f"{date}T00:00", f"{date}T23:59")
    assert last - first == timedelta(hours=hours, microseconds=-1)


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "UTC"])
@pytest.mark.parametrize("text", ["9999-12-31", "0001-01-01"])
def test_the_first_and_the_last_day_of_all_years_are_days_or_refused(text, zone, set_zone):
    set_zone(zone)
    for last in (False, True):
        with suppress(click.BadParameter):
            assert f"{day(text, '--until', last=last):%Y-%m-%d}".endswith(text.lstrip("0"))
        with suppress(click.BadParameter):
            _moment(text, datetime.now(UTC))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2027-01-31", "2027-01-31T22:59:59.999999+00:00"),
        ("2027-07-31T18:00", "2027-07-31T16:00:00+00:00"),
        ("2027-01-31T18:00+00:00", "2027-01-31T18:00:00+00:00"),
        ("2d", "2026-01-03T00:00:00+00:00"),
    ],
)
def test_a_moment_is_named_in_several_ways(text, moment, set_zone):
    set_zone("Europe/Berlin")
    assert _moment(text, datetime(2026, 1, 1, tzinfo=UTC)).isoformat() == moment


@pytest.mark.parametrize("text", ["9999-12-31T23:00-12:00", "999999999d", "soon", ""])
def test_a_moment_beyond_all_years_is_refused(text):
    with pytest.raises(click.BadParameter, match="neither a date"):
        _moment(text, datetime(2026, 1, 1, tzinfo=UTC))
