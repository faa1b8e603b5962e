import pytest

from subcog.pipeline.cli.log_tail import Tail, level_of, read_entry


def every(line):
    return True


class Enough(Exception):
    pass


class Pauses:
    """Does the next thing of a list whenever the reader waits, and ends the reading after that."""

    def __init__(self, *steps):
        self._steps = list(steps)

    def __call__(self, _):
        if not self._steps:
            raise Enough
        self._steps.pop(0)()


def until_enough(lines):
    try:
        yield from lines
    except Enough:
        return


def read_on(tail, *steps):
    return list(until_enough(tail.more(Pauses(*steps))))


@pytest.fixture
def log(tmp_path):
    return tmp_path / "daemon.log"


def rotate(log):
    for number in (2, 1):
        older = log.with_name(f"daemon.log.{number}")
        if older.exists():
            older.rename(log.with_name(f"daemon.log.{number + 1}"))
    log.rename(log.with_name("daemon.log.1"))


def append(log, text):
    with log.open("a") as stream:
        stream.write(text)


def test_the_last_lines_reach_back_into_what_was_rotated(log):
    log.with_name("daemon.log.2").write_text("1\n2\n")
    log.with_name("daemon.log.1").write_text("3\n4\n")
    log.write_text("5\n")
    assert Tail(log).last(4, every) == ["2", "3", "4", "5"]
    assert Tail(log).last(9, lambda line: line in "24") == ["2", "4"]
    assert Tail(log).last(0, every) == []


def test_following_goes_on_where_the_last_lines_ended(log):
    log.write_text("1\n2\n")
    tail = Tail(log)
    tail.last(1, every)
    append(log, "3\n")
    assert read_on(tail, lambda: append(log, "4\n")) == ["3", "4"]


def test_following_survives_two_rotations_between_two_looks(log):
    log.write_text("1\n")
    tail = Tail(log)
    tail.last(0, every)

    def two_rotations():
        append(log, "2\n")
        rotate(log)
        log.write_text("3\n")
        rotate(log)
        log.write_text("4\n")

    assert read_on(tail, two_rotations, lambda: append(log, "5\n")) == ["2", "3", "4", "5"]


def test_half_a_line_waits_for_its_end(log):
    log.write_text("1\nha")
    tail = Tail(log)
    assert tail.last(9, every) == ["1"]
    assert read_on(tail, lambda: append(log, "lf\n")) == ["half"]


def test_a_log_that_is_not_there_yet_is_waited_for(log):
    tail = Tail(log)
    assert tail.last(9, every) == []
    assert read_on(tail, lambda: log.write_text("1\n")) == ["1"]


def test_a_log_that_was_emptied_is_read_from_its_beginning(log):
    log.write_text("a long line\n")
    tail = Tail(log)
    tail.last(9, every)
    assert read_on(tail, lambda: log.write_text("new\n")) == ["new"]


def test_the_level_of_a_line_is_read_in_either_format():
    assert level_of('{"level":"warning","what":"x"}') == "warning"
    assert level_of("2026-01-01T00:00:00Z info    stages.x: something") == "info"
    assert level_of("Fatal Python error: Segmentation fault") == "error"
    assert level_of('{"level":["?"]}') == "error"
    assert read_entry("[1]") is None
