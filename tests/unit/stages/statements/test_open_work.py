import pytest

from subcog.stages.statements.open_work import is_finished_later, is_open
from tests.fakes import NOW, make_memory
from tests.waiting import ends_soon


@pytest.mark.parametrize(
    ("content", "is_still_open"),
    [
        ("Resolved: the runner has Node 22", False),
        ("The runner has no Node 22\n\n- **Status**: fixed today", False),
        ("The runner has no Node 22\n\nStatus: waiting", True),
        ("Fixed IPs are needed", True),
    ],
)
def test_a_blocker_is_open_until_its_text_says_otherwise(content, is_still_open):
    assert is_open(make_memory(1, content, namespace="blockers"), NOW) == is_still_open


def test_a_text_of_blank_lines_is_read_soon():
    with ends_soon():
        assert is_open(make_memory(1, "x" + "\n" * 100_000 + "x", namespace="blockers"), NOW)


def record(number, asked, outcome, files="api/export.py"):
    said = f"{asked}\nOutcome: {outcome}\nFiles: {files}"
    return make_memory(number, said, namespace="tasks")


LEFT = record(5, "The CSV export for the auditor", "unfinished (the user left it for later)")


@pytest.mark.parametrize(
    ("other", "is_finished"),
    [
        (record(2, "Finish the export", "success (tests passed)", "api/export.py, x.py"), True),
        (record(8, "Finish the export", "success (tests passed)"), False),
        (record(2, "Finish the export", "unfinished (tests failed)"), False),
        (record(2, "Finish the export", "success (tests passed)", "x.py"), False),
        (record(2, "Rename the columns", "success (tests passed)"), False),
        (make_memory(2, "The export has a BOM"), False),
    ],
)
def test_a_task_is_finished_by_a_later_one_about_the_same_files(other, is_finished):
    assert is_finished_later(LEFT, [LEFT, other]) is is_finished


@pytest.mark.parametrize(
    ("asked", "is_finished"),
    [
        ("Fix the typo in the footer", False),
        ("Make the page header sticky", False),
        ("Fix the page title", False),
        ("Finish the login page", True),
        ("Fix the timeout of the login page", True),
    ],
)
def test_a_task_is_finished_by_no_other_one_that_shares_a_word_with_it(asked, is_finished):
    failed = record(5, "Fix the login page timeout", "failure (tests failed)", "src/app.py")
    other = record(2, asked, "success (tests passed)", "src/app.py, src/b.py")
    assert is_finished_later(failed, [failed, other]) is is_finished
