"""The span of days that expressions of time name, as seen from a moment.

Spans are whole days of the user's time zone: "last week" is Monday to Sunday, "since Monday"
includes that Monday, what is told "since the release" begins the day after it.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time, timedelta, tzinfo

from ...bus.prompts import Span, TimeExpression
from ...config.patterns import regex
from ..language.time_expressions import MONTHS, SEASONS, UNITS, WEEKDAYS, find_dates

LATELY_DAYS = 14
_READ_CHARS = 2000

# The first month of each; winter is the one that begins in December.
_LONG_AGO, _FAR_AHEAD = datetime.fromisoformat("2000-01-01"), datetime.fromisoformat("2099-12-31")
_MONTH = "|".join(MONTHS)
_DAY = regex(r"\b(\d{1,2})(?:st|nd|rd|th|\b)")
_STATED = regex(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}\.? (?:{_MONTH}) 20\d\d\b"
    rf"|\b(?:{_MONTH}) \d{{1,2}},? 20\d\d\b"
)

# Naive local times; the second is exclusive.
_Days = tuple[datetime, datetime]


def span_of(
    expressions: Sequence[TimeExpression],
    now: datetime,
    zone: tzinfo | None = None,
    events: Mapping[str, datetime] | None = None,
) -> Span | None:
    """What all of ``expressions`` have in common, as seen ``now`` (aware).

    In ``zone``, or the system's own where that is None. ``events`` tells when happened what an
    expression of the kind "event" names. None where one is unknown or no day, or nothing is left.
    """
    local = now.astimezone(zone).replace(tzinfo=None)
    since, until = _LONG_AGO, local + timedelta(days=1)
    for one in expressions:
        days = _resolved(one, local, zone, events or {})
        if days is None:
            return None
        if one.side in {"since", "in"}:
            since = max(since, days[0])
        if one.side == "after":
            since = max(since, days[1])
        if one.side in {"in", "until"}:
            until = min(until, days[1])
        if one.side == "before":
            until = min(until, days[0])
    if since >= until:
        return None
    return Span(since=_aware(since, zone), until=_aware(until, zone))


def spans_stated(text: str, made: datetime, zone: tzinfo | None = None) -> tuple[Span, ...]:
    """The days and months that ``text`` names, as seen when it was ``made`` (aware)."""
    dates = list(find_dates(text[:_READ_CHARS]))
    found: list[Span | None] = []
    while dates:
        one = [dates.pop(0)]
        if one[0].side == "since" and dates and dates[0].side == "until":
            one.append(dates.pop(0))
        found.append(span_of(one, made, zone))
    return tuple(span for span in found if span is not None)


def is_of_another_date(
    text: str, made: datetime, dates: Sequence[TimeExpression], now: datetime
) -> bool:
    """Whether ``text`` names dates and none of ``dates``, on which it was not ``made`` either."""
    span = span_of(dates, now)
    if span is None or span.since <= made < span.until:
        return False
    stated = spans_stated(text, made)
    return bool(stated) and all(
        one.until <= span.since or span.until <= one.since for one in stated
    )


def _aware(moment: datetime, zone: tzinfo | None) -> datetime:
    return moment.astimezone() if zone is None else moment.replace(tzinfo=zone)


def _resolved(
    one: TimeExpression, local: datetime, zone: tzinfo | None, events: Mapping[str, datetime]
) -> _Days | None:
    today = datetime.combine(local.date(), time())
    if one.kind == "event":
        happened = events.get(one.text)
        if happened is None:
            return None
        day = datetime.combine(happened.astimezone(zone).date(), time())
        return day, _day_after(day)
    if one.kind == "rolling" and "hour" in one.text:
        return local - timedelta(hours=_number(one.text)), _day_after(today)
    try:
        return _RESOLVERS[one.kind](one.text, today)
    except (ValueError, OverflowError):  # the 31st of June
        return None


def _day_after(day: datetime, days: int = 1) -> datetime:
    return day + timedelta(days=days)


def _one_day(day: datetime) -> _Days:
    return day, _day_after(day)


def _number(text: str) -> int:
    found = re.search(r"\d+", text)
    return int(found[0]) if found else 1


def _unit(text: str) -> str:
    return next(unit for unit in UNITS if unit in text)


def _month(year: int, month: int, months: int = 1) -> _Days:
    """``months`` calendar months from that one on; ``month`` may lie outside of 1 to 12."""
    return _first_of(year * 12 + month - 1), _first_of(year * 12 + month - 1 + months)


def _first_of(month: int) -> datetime:
    """The first day of the month that many months after the year 0."""
    return _LONG_AGO.replace(year=month // 12, month=month % 12 + 1)


def _period(unit: str, back: int, today: datetime) -> _Days:
    """The calendar unit that lies ``back`` units before the one of ``today``."""
    if unit == "day":
        return _one_day(_day_after(today, -back))
    if unit == "week":
        monday = _day_after(today, -today.weekday() - 7 * back)
        return monday, _day_after(monday, 7)
    if unit == "month":
        return _month(today.year, today.month - back)
    if unit == "quarter":
        return _month(today.year, (today.month - 1) // 3 * 3 + 1 - 3 * back, 3)
    return _month(today.year - back, 1, 12)


def _rolling(text: str, today: datetime) -> _Days:
    number, unit = _number(text), _unit(text)
    if unit in {"day", "week"}:
        first = _day_after(today, -number * (7 if unit == "week" else 1))
    else:
        months = number * {"month": 1, "quarter": 3, "year": 12}[unit]
        start, _ = _month(today.year, today.month - months)
        last_day = calendar.monthrange(start.year, start.month)[1]
        first = start.replace(day=min(today.day, last_day))
    return first, _day_after(today)


def _ago(text: str, today: datetime) -> _Days:
    unit = _unit(text)
    return _one_day(today) if unit == "hour" else _period(unit, _number(text), today)


def _weekday(text: str, today: datetime) -> _Days:
    """The last such day before ``today``."""
    number = next(at for at, name in enumerate(WEEKDAYS) if name in text)
    return _one_day(_day_after(today, -((today.weekday() - number - 1) % 7 + 1)))


def _weekday_last_week(text: str, today: datetime) -> _Days:
    number = next(at for at, name in enumerate(WEEKDAYS) if name in text)
    return _one_day(_day_after(_period("week", 1, today)[0], number))


def _weekend(text: str, today: datetime) -> _Days:
    """The last one; on a Saturday or Sunday this one, unless the last is asked for."""
    saturday = _day_after(today, -((today.weekday() - 5) % 7))
    if today.weekday() >= 5 and "last" in text:
        saturday = _day_after(saturday, -7)
    return saturday, _day_after(saturday, 2)


def _year_said(text: str, today: datetime) -> int | None:
    if found := re.search(r"20\d\d", text):
        return int(found[0])
    if "this year" in text:
        return today.year
    if "year" in text:
        back = re.search(r"\b(\d+) year ago", text)
        return today.year - (int(back[1]) if back else 1)
    return None


def _month_said(text: str, today: datetime) -> _Days:
    """The last such month that has begun, or that of the year that is named."""
    number = next(at for at, name in enumerate(MONTHS, 1) if name in text)
    year = _year_said(text, today)
    if year is None:
        year = today.year if number <= today.month else today.year - 1
        if "last" in text and number == today.month:
            year -= 1
    return _month(year, number)


def _day_of_month(text: str, today: datetime) -> _Days:
    start, _ = _month_said(text, today)
    said = _DAY.search(text)
    day = start.replace(day=int(said[1]) if said else 1)
    if _year_said(text, today) is None and day > today:
        day = day.replace(year=day.year - 1)
    return _one_day(day)


def _quarter(text: str, today: datetime) -> _Days:
    """The last such quarter that has begun, or that of the year that is named."""
    first = 3 * int(text[1]) - 2
    year = _year_said(text, today) or (today.year if first <= today.month else today.year - 1)
    return _month(year, first, 3)


def _season(text: str, today: datetime) -> _Days:
    name = text.rsplit(maxsplit=1)[-1]
    year = today.year if (today.month >= SEASONS[name]) else today.year - 1
    days = _month(year, SEASONS[name], 3)
    if "last" in text and days[1] > today:
        days = _month(year - 1, SEASONS[name], 3)
    return days


def _dated(text: str, today: datetime) -> _Days:
    if "." in text:
        text = "-".join(part.zfill(2) for part in reversed(text.split(".")))
    return _one_day(datetime.fromisoformat(text))


def _last_night(text: str, today: datetime) -> _Days:
    return today - timedelta(hours=7), today + timedelta(hours=6)


_RESOLVERS: Mapping[str, Callable[[str, datetime], _Days]] = {
    "iso": _dated,
    "dotted": _dated,
    "iso_month": lambda text, _: _month(int(text[:4]), int(text[5:])),
    "today": lambda _, today: _one_day(today),
    "last_night": _last_night,
    "yesterday": lambda _, today: _one_day(_day_after(today, -1)),
    "two_days_ago": lambda _, today: _one_day(_day_after(today, -2)),
    "rolling": _rolling,
    "ago": _ago,
    "weekday_last_week": _weekday_last_week,
    "last_unit": lambda text, today: _period(_unit(text), 1, today),
    "this_unit": lambda text, today: _period(_unit(text), 0, today),
    "weekend": _weekend,
    "season": _season,
    "day_month": _day_of_month,
    "month": _month_said,
    "weekday": _weekday,
    "quarter": _quarter,
    "year": lambda text, _: _month(int(text), 1, 12),
    "lately": lambda _, today: (_day_after(today, -LATELY_DAYS), _day_after(today)),
}


def day_stated(text: str) -> datetime | None:
    """The first day, naive, that ``text`` names with its year ("17 August 2026", "2026-08-17")."""
    for match in _STATED.finditer(text.lower()):
        kind = "iso" if match[0][:4].isdigit() else "day_month"
        try:
            return _RESOLVERS[kind](match[0].replace(",", ""), _FAR_AHEAD)[0]
        except ValueError:
            continue
    return None
