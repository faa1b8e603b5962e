from pathlib import PurePath

import pytest

from subcog.bus.results import StatusResult
from subcog.pipeline.doctor.finding import examine_sessions, examine_team
from tests.fakes import make_quoting, make_result

WELL = {
    "team": "house",
    "member": "alice",
    "server": "db.example:5432/memory",
    "connected": True,
    "lag_s": 0.0,
    "outbox": 0,
    "problem": None,
}


@pytest.mark.parametrize("status", [None, {"team": None}, {"team": WELL}])
def test_no_team_is_as_well_as_one_that_has_the_same(status):
    assert examine_team(status and make_result(StatusResult, status)).ok


def test_a_problem_is_told_with_what_to_do_about_it():
    problem = {"reason": "unreachable", "message": "nobody answers there: is it up?"}
    found = examine_team(
        make_result(StatusResult, {"team": WELL | {"connected": False, "problem": problem}})
    )
    assert not found.ok
    assert "alice, on db.example:5432/memory: unreachable" in found.seen
    assert problem["message"] in found.mend


def test_an_old_outbox_is_told_without_a_problem():
    found = examine_team(
        make_result(StatusResult, {"team": WELL | {"lag_s": 3 * 3600.0, "outbox": 12}})
    )
    assert not found.ok
    assert "behind for 3 h, and 12 changes wait" in found.seen


HERE = PurePath("/work/clients/acme/shop")
KEPT = {"sessions": 3, "passages": 41}


@pytest.mark.parametrize(
    ("status", "settings", "seen"),
    [
        (KEPT, {}, "3 sessions, 41 passages"),
        (KEPT, {"exclude": ("/work/clients/globex",)}, "3 sessions, 41 passages"),
        (KEPT, {"exclude": ("/work/clients/acme",)}, "nothing said in this project is kept"),
        (KEPT, {"enabled": False}, "switched off"),
        ({"sessions": None}, {}, "still being loaded"),
        (None, {}, "no daemon could be asked"),
    ],
)
def test_it_is_told_whether_what_is_said_here_is_kept(status, settings, seen):
    result = status and make_result(StatusResult, status)
    found = examine_sessions(result, make_quoting(**settings), HERE)
    assert found.ok
    assert seen in found.seen
