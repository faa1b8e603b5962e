from datetime import UTC, datetime, timedelta

from subcog.sinks.passages.ages import Ages

NOW = datetime(2026, 11, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def looked(file, *clocks):
    for clock in clocks:
        ages = Ages(file)
        ages.look(clock)
    return ages.now


def test_a_moment_counts_once_the_clock_is_a_day_beyond_it(tmp_path):
    assert looked(tmp_path / "c", NOW, NOW + 23 * HOUR) is None
    assert looked(tmp_path / "c", NOW + DAY) == NOW
    assert looked(tmp_path / "c", NOW + 30 * DAY, NOW + 30 * DAY + HOUR) == NOW + DAY


def test_a_clock_that_goes_back_takes_back_what_it_said(tmp_path):
    assert looked(tmp_path / "c", NOW, NOW + 400 * DAY) == NOW
    assert looked(tmp_path / "c", NOW + DAY, NOW + 2 * DAY) == NOW + DAY
    assert looked(tmp_path / "c", NOW + 400 * DAY, NOW + 401 * DAY, NOW + 3 * DAY) == NOW + 3 * DAY


def test_without_its_file_nothing_is_known(tmp_path):
    (tmp_path / "c").write_text("odd")
    assert looked(tmp_path / "c", NOW) is None
    (tmp_path / "c").write_text("2026-10-30T00:00:00 2026-10-29T00:00:00")  # of no time zone
    assert looked(tmp_path / "c", NOW) is None
    assert looked(tmp_path / "no" / "folder" / "c", NOW) is None
