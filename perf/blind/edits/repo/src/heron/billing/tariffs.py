"""Prices of rides."""
from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

CURRENCY = "EUR"
NIGHT_HOURS = (22, 6)
FREE_MINUTES = 2

# cents
TARIFFS = {
    "standard": {"unlock": 100, "minute": 23},
    "night": {"unlock": 100, "minute": 29},
    "pass": {"unlock": 0, "minute": 19},
}

_audit_log: list[tuple[str, int]] = []


class UnknownTariff(KeyError):
    pass


@dataclass(frozen=True)
class RideQuote:
    tariff: str
    minutes: int
    cents: int

    def with_discount(self, percent: int) -> "RideQuote":
        reduced = self.cents - self.cents * percent // 100
        return RideQuote(self.tariff, self.minutes, max(reduced, 0))

    def __str__(self) -> str:
        return f"{self.cents / 100:.2f} {CURRENCY} ({self.tariff})"


def audited(label: str) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            quote = function(*args, **kwargs)
            _audit_log.append((label, quote.cents))
            return quote

        return wrapper  # type: ignore[return-value]

    return decorate


def pick_tariff(started: datetime, has_pass: bool) -> str:
    if has_pass:
        return "pass"
    begin, end = NIGHT_HOURS
    if started.hour >= begin or started.hour < end:
        return "night"
    return "standard"


def billable_minutes(seconds: float) -> int:
    # every begun minute counts
    minutes = math.ceil(seconds / 60)
    return max(minutes - FREE_MINUTES, 0)


@audited("ride")
def quote_ride(started: datetime, seconds: float, has_pass: bool = False) -> RideQuote:
    name = pick_tariff(started, has_pass)
    try:
        tariff = TARIFFS[name]
    except KeyError:
        raise UnknownTariff(name) from None
    minutes = billable_minutes(seconds)
    cents = tariff["unlock"] + tariff["minute"] * minutes
    return RideQuote(name, minutes, min(cents, daily_cap(has_pass)))


def daily_cap(has_pass: bool) -> int:
    return 1200 if has_pass else 2400


def refund(quote: RideQuote, reason: str) -> RideQuote:
    share = {"fault": 100, "zone-error": 50}.get(reason, 0)
    return quote.with_discount(share)
