from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from subcog.bus.prompts import TimeExpression
from subcog.stages.enrichment.time_spans import day_stated, is_of_another_date, span_of
from subcog.stages.language.time_expressions import canonical, find_dates, find_times

# A Wednesday.
NOW = datetime(2026, 4, 15, 14, 30, tzinfo=UTC)


def span(text, now=NOW, zone=UTC):
    times, _ = find_times(canonical(text))
    assert times
    return span_of(times, now, zone)


def days(text, **more):
    """The first day, and the last one that is included."""
    found = span(text, **more)
    last = found.until - timedelta(microseconds=1)
    return f"{found.since:%m-%d}", f"{last:%m-%d}"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", "04-14", "04-14"),
        ("the day before yesterday", "04-13", "04-13"),
        ("today", "04-15", "04-15"),
        ("this morning", "04-15", "04-15"),
        ("this week", "04-13", "04-16"),
        ("last week", "04-06", "04-12"),
        ("last month", "03-01", "03-31"),
        ("in March", "03-01", "03-31"),
        ("on Monday", "04-13", "04-13"),
        ("on Wednesday", "04-08", "04-08"),
        ("last Friday", "04-10", "04-10"),
        ("Tuesday last week's", "04-07", "04-07"),
        ("over the weekend", "04-11", "04-12"),
        ("since Monday", "04-13", "04-16"),
        ("after Monday", "04-14", "04-16"),
        ("three days ago", "04-12", "04-12"),
        ("two weeks ago", "03-30", "04-05"),
        ("the past two weeks", "04-01", "04-15"),
        ("the last 3 days", "04-12", "04-15"),
        ("lately", "04-01", "04-15"),
        ("on 3 April", "04-03", "04-03"),
        ("on April 3rd", "04-03", "04-03"),
        ("2026-04-03", "04-03", "04-03"),
        ("am 3.4.2026", "04-03", "04-03"),
        ("between Monday and Tuesday", "04-13", "04-14"),
        ("in q1", "01-01", "03-31"),
        ("this year", "01-01", "04-16"),
        ("vor drei Tagen", "04-12", "04-12"),
        ("la semaine dernière", "04-06", "04-12"),
        ("hace dos semanas", "03-30", "04-05"),
    ],
)
def test_an_expression_names_whole_days(text, first, last):
    assert days(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("in october", 2025),
        ("in october 2024", 2024),
        ("in may", 2025),
        ("in march last year", 2025),
        ("a year ago in february", 2025),
        ("last summer", 2025),
        ("in 2024", 2024),
    ],
)
def test_a_month_is_the_last_that_has_begun_unless_a_year_is_named(text, year):
    assert span(text).since.year == year


def test_several_expressions_are_all_met():
    times, _ = find_times(canonical("in march before 10 march"))
    assert span_of(times, NOW, UTC).until == datetime(2026, 3, 10, tzinfo=UTC)


def test_the_day_is_that_of_the_user():
    late = datetime(2026, 4, 15, 23, 30, tzinfo=UTC)
    auckland = ZoneInfo("Pacific/Auckland")
    assert span("yesterday", now=late, zone=auckland).since.isoformat() == (
        "2026-04-15T00:00:00+12:00"
    )
    assert span("yesterday", now=late).since.isoformat() == "2026-04-14T00:00:00+00:00"


def test_a_day_on_which_the_clocks_change_begins_at_midnight():
    berlin = ZoneInfo("Europe/Berlin")
    found = span("on 29 March", zone=berlin)
    assert found.until.astimezone(UTC) - found.since.astimezone(UTC) == timedelta(hours=23)


def test_without_a_zone_it_is_the_systems_own():
    assert span("yesterday", zone=None).since.tzinfo is not None


def test_what_is_told_since_an_event_begins_the_day_after():
    happened = datetime(2026, 4, 1, 18, tzinfo=UTC)
    since = span_of([TimeExpression("event", "release", "after")], NOW, UTC, {"release": happened})
    before = span_of(
        [TimeExpression("event", "release", "before")], NOW, UTC, {"release": happened}
    )
    assert since.since == datetime(2026, 4, 2, tzinfo=UTC)
    assert before.until == datetime(2026, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["on 31 June", "on 2026-02-30", "since the release", "in march before 2 february"]
)
def test_what_is_no_time_has_no_span(text):
    assert span(text) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Live since 17 August 2026, and well.", "2026-08-17"),
        ("August 17, 2026: live", "2026-08-17"),
        ("2026-08-17 went out", "2026-08-17"),
        ("on 31 June 2026", None),
        ("on 17 August", None),
    ],
)
def test_a_day_is_read_where_its_year_is_given(text, day):
    found = day_stated(text)
    assert (found and f"{found:%Y-%m-%d}") == day


@pytest.mark.parametrize(
    ("text", "asked", "another"),
    [
        ("On 14 February the loads stood still", "on 14 February", False),
        ("On 14 February the loads stood still", "in February", False),
        ("In February the loads stood still", "on 14 February", False),
        ("On 14 February the loads stood still", "on 15 February", True),
        ("On 14 February the loads stood still", "in January", True),
        ("Night of 2 to 3 March: mails went out twice", "on 3 March", False),
        ("Night of 2 to 3 March: mails went out twice", "on 4 March", True),
        ("Since 14 February the loads are watched", "in March", False),
        ("The loads stood still", "on 15 February", False),
        ("On 14 February the loads stood still", "in April", False),  # it was noted in April
        ("On 14 February the loads stood still", "on 31 June", False),
    ],
)
def test_what_names_only_other_dates_is_of_another(text, asked, another):
    made = datetime(2026, 4, 2, tzinfo=UTC)
    assert is_of_another_date(text, made, find_dates(asked), NOW) is another
