import sys
from datetime import UTC, datetime

import pytest

from subcog.pipeline.cli.wording import counted, degraded_search, fitted, local_time, memories


def test_counts_are_words():
    numbers = (1, 0, 12345)
    assert [memories(number) for number in numbers] == ["1 memory", "0 memories", "12,345 memories"]
    assert [counted(number, "row") for number in numbers] == ["1 row", "0 rows", "12,345 rows"]


def test_a_time_is_that_of_this_machine_and_says_so(set_zone):
    set_zone("Asia/Tokyo")
    assert local_time(datetime(2026, 10, 2, 20, tzinfo=UTC)) == "2026-10-03 05:00 +0900"


@pytest.mark.parametrize(
    ("day", "zone"), [((9999, 12, 31, 23, 59), "Europe/Berlin"), ((1, 1, 1), "America/New_York")]
)
def test_the_ends_of_time_are_told_as_they_were_given(set_zone, day, zone):
    set_zone(zone)
    assert local_time(datetime(*day, tzinfo=UTC)).endswith("+0000")


def test_a_line_is_broken_between_words_in_a_terminal_alone(monkeypatch):
    line = f"ok   backups: 3 in /home/me/{'d' * 70}, the newest of today"
    assert fitted(line, 5) == line
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    first, path, last = fitted(line, 5).splitlines()
    assert (first, last) == ("ok   backups: 3 in", "     the newest of today")
    assert path.startswith("     /home/me/d")


def test_why_a_search_found_less_is_said_in_words_with_its_name():
    assert "still being loaded" in degraded_search("index.loading", "hybrid")
    assert degraded_search("of.tomorrow", "text") == "only text search answered; of.tomorrow"
