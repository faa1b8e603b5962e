import logging

import pytest

from subcog.bus.signals import degraded, emit
from subcog.sinks.telemetry.logs import MAX_KINDS, DegradationLog


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def setbacks(clock, caplog):
    caplog.set_level(logging.WARNING)
    watching = DegradationLog(now=clock)
    watching.watch()
    yield watching
    watching.unwatch()


def said(caplog):
    return [(r.stage, r.reason, r.times) for r in caplog.records if hasattr(r, "times")]


def test_the_first_of_a_kind_is_logged_at_once_and_the_rest_once_a_minute(setbacks, clock, caplog):
    for _ in range(5):
        emit(degraded, "classify", reason="model.timeout")
    assert said(caplog) == [("classify", "model.timeout", 1)]
    clock.now = 61.0
    emit(degraded, "classify", reason="model.timeout")
    assert said(caplog)[1:] == [("classify", "model.timeout", 5)]


def test_kinds_are_counted_apart(setbacks, caplog):
    emit(degraded, "classify", reason="model.timeout")
    emit(degraded, "enrich", reason="search.unavailable")
    assert [reason for _, reason, _ in said(caplog)] == ["model.timeout", "search.unavailable"]


def test_what_was_counted_is_said_at_the_end(setbacks, caplog):
    for _ in range(3):
        emit(degraded, "classify", reason="model.timeout")
    setbacks.unwatch()
    assert said(caplog)[-1] == ("classify", "model.timeout", 2)
    emit(degraded, "classify", reason="model.timeout")
    assert len(said(caplog)) == 2


def test_kinds_without_end_do_not_fill_the_memory(setbacks, caplog):
    for number in range(MAX_KINDS + 50):
        emit(degraded, "x", reason=f"r{number}")
    assert len(said(caplog)) == MAX_KINDS
