import pytest

from subcog.bus.values import Action
from subcog.stages.actions.attempts import MAX_EDITS, MAX_FAILED, MAX_USES, Attempts

ERROR = "OperationalError: database is locked"


def failing(attempts, line):
    attempts.failed(line, (ERROR,), ERROR)


def test_only_the_latest_failures_are_remembered():
    attempts = Attempts()
    for number in range(10 * MAX_FAILED):
        failing(attempts, f"make dev{number}")
    assert len(attempts) == MAX_FAILED
    assert attempts.passed(f"make dev{10 * MAX_FAILED - 1} --fast")


@pytest.mark.parametrize(("uses", "count"), [(MAX_USES - 1, 1), (MAX_USES, 0)])
def test_a_failure_of_long_ago_is_forgotten(uses, count):
    attempts = Attempts()
    failing(attempts, "make dev")
    for _ in range(uses):
        attempts.passed("ls")
    assert len(attempts.passed("make dev --fast")) == count


def test_of_many_edits_nothing_is_concluded():
    attempts = Attempts()
    failing(attempts, "make dev")
    for _ in range(MAX_EDITS + 1):
        attempts.edited(Action(tool="Edit", paths=("a.toml",), written="locked", replaced="x"))
    assert attempts.passed("make dev") == ()


def test_a_huge_edit_is_kept_small():
    attempts = Attempts()
    failing(attempts, "make dev")
    big = "word " * 1_000_000
    attempts.edited(Action(tool="Edit", paths=("a.toml",), written=big, replaced="x"))
    assert attempts.passed("make dev") == ()


@pytest.mark.parametrize("line", ["", "\0", "'", "x" * 100_000, "make dev | tail", "a && b"])
def test_a_line_of_which_nothing_is_certain_is_not_remembered(line):
    attempts = Attempts()
    failing(attempts, line)
    assert len(attempts) == 0


def test_what_may_have_made_the_difference_leaves_doubt():
    attempts = Attempts()
    failing(attempts, "make dev")
    attempts.disturb()
    assert attempts.passed("make dev --fast") == ()
