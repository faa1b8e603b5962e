import platform
import sys

import pytest

from subcog.bus.results import ProjectResult
from subcog.bus.service_results import StatusResult
from subcog.config.settings import HttpSettings
from subcog.pipeline.doctor.findings import (
    examine_http,
    examine_project,
    examine_reranker,
    examine_sessions,
    examine_team,
    examine_time,
)
from subcog.sinks.models.cross_encoder import CrossEncoder
from tests.fakes import make_quoting, make_result


def test_prompts_that_got_nothing_for_want_of_time_are_told():
    assert list(examine_time(make_result(StatusResult, {}))) == []
    (found,) = examine_time(make_result(StatusResult, {"late_prompts": 3}))
    assert found.ok
    assert "3 prompts got nothing" in found.seen
    assert "hook.total_ms" in found.mend


def test_where_candidates_can_be_read_it_is_well():
    found = examine_reranker(None)
    assert (found.ok, found.seen) == (True, "the reranker is available")


def test_where_the_runtime_is_missing_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    found = examine_reranker(None)
    assert not found.ok
    assert "pip install onnxruntime" in found.mend


def test_where_there_is_no_runtime_for_the_machine_nothing_is_wrong(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(sys, "platform", "darwin")
    for machine, well in (("x86_64", True), ("arm64", False)):
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        assert examine_reranker(None).ok is well
    assert "not reranked" in examine_reranker(None).seen


def test_a_damaged_model_is_named(monkeypatch):
    def load():
        raise ValueError("tables.safetensors is damaged")

    monkeypatch.setattr(CrossEncoder, "load", load)
    found = examine_reranker(None)
    assert (found.ok, found.seen) == (False, "tables.safetensors is damaged")
    assert "reinstall subcog" in found.mend


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


def test_what_waits_for_somebodys_transaction_is_well_until_it_waits_for_long():
    team = WELL | {"problem": {"reason": "locked", "message": "a colleague holds it"}}
    found = examine_team(make_result(StatusResult, {"team": team}))
    assert found.ok
    assert "a colleague holds it" in found.seen
    assert not examine_team(make_result(StatusResult, {"team": team | {"lag_s": 3 * 3600.0}})).ok


def test_what_the_teams_server_says_moves_no_cursor():
    hostile = "\x1b]0;x\x07shop"
    problem = {"reason": "other_team", "message": f"[team] url leads to the team {hostile}"}
    found = examine_team(
        make_result(StatusResult, {"team": WELL | {"team": hostile, "problem": problem}})
    )
    assert "\x1b" not in found.seen + found.mend


def test_an_old_outbox_is_told_without_a_problem():
    found = examine_team(
        make_result(StatusResult, {"team": WELL | {"lag_s": 3 * 3600.0, "outbox": 12}})
    )
    assert not found.ok
    assert "behind for 3 h, and 12 changes wait" in found.seen


HERE = "/work/clients/acme/shop"
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


@pytest.mark.parametrize(
    ("claimed", "ok", "told"),
    [("", True, "own-1"), ("shop-2", False, "the name of shop-2")],
)
def test_a_directory_that_names_the_remote_of_another_project_is_told(claimed, ok, told):
    answer = ProjectResult(directory="/d", project="own-1", claimed=claimed)
    found = examine_project(answer)
    assert (found.ok, told in found.seen) == (ok, True)
    assert ("project alias" in found.mend) == bool(claimed)
    assert examine_project(None).ok


@pytest.mark.parametrize(
    ("url", "enabled", "refusal", "ok", "told"),
    [
        ("http://127.0.0.1:9464/metrics", True, "", True, "http://127.0.0.1:9464/"),
        (None, False, "", True, "http.enabled"),
        (None, True, "", False, "does not serve it"),
        (None, True, "address already in use", False, "port 9464 cannot be used (address already"),
    ],
)
def test_it_is_told_whether_http_is_served(url, enabled, refusal, ok, told):
    status = make_result(StatusResult, {"metrics_url": url})
    found = examine_http(status, HttpSettings(enabled=enabled, port=9464), refusal)
    assert found.ok is ok
    assert told in found.seen
    assert ("http.port" in found.mend) is bool(refusal)
