import pytest

from subcog.stages.statements.open_work import is_open
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
