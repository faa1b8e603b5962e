from datetime import UTC, datetime

import pytest

from subcog.bus.service_results import (
    JoinResult,
    LeaveResult,
    ShareResult,
    TeamRecallResult,
    TeamStatusResult,
    TeamSummary,
    UnshareResult,
)
from subcog.pipeline.cli.team_view import (
    GOES_ON,
    MAX_FOUND_CHARS,
    PATIENCE_S,
    POLL_S,
    follow,
    found,
    in_a_line,
    joined,
    joining,
    leaving,
    left,
    left_of,
    prepared,
    sharing,
    standing,
    unshared,
)
from subcog.sinks.team.postgres.admin import Initialised
from tests.fakes import make_result

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
WHO = {"team": "shop", "member": "Ana", "server": "db.example:5432/subcog"}
PROJECT = {"scope": "project:shop-1", "name": "shop", "here": 1204, "shared_by": "Ben"}
PREVIEW = WHO | {
    "joined": False,
    "members": ["Ana", "Ben"],
    "organisation": 3,
    "leaves": 1207,
    "projects": [PROJECT],
}
STATUS = WHO | {
    "joined": True,
    "url": True,
    "members": ["Ana", "Ben"],
    "connected": True,
    "problem": None,
    "last_push": "2026-11-22T11:00:00Z",
    "last_pull": "2026-11-22T11:59:59.5Z",
    "lag_s": 0.0,
    "outbox": 0,
    "oldest": None,
    "sent": 1207,
    "received": 40,
    "conflicts": 0,
    "skipped": 0,
    "remaining": 0,
    "organisation": {"here": 5, "received": 2},
    "projects": [PROJECT | {"sends": True}],
}


MEMORY = {
    "urn": "",
    "summary": "",
    "scope": "",
    "tags": [],
    "cosine": 0.5,
    "created_at": "2026-11-22T11:00:00Z",
    "id": "mem_1",
    "version": 1,
    "namespace": "decisions",
    "content": "We deploy\n\tby hand",
    "author": "Ben",
    "project": "shop",
}
SAID = ("content", "author", "project")
FOUND = WHO | {"memories": [MEMORY], "skipped": 0, "mode": "hybrid", "degraded": None}


def lines(told):
    return "\n".join(told)


def stands(**changed):
    return lines(standing(make_result(TeamStatusResult, STATUS | changed), NOW))


def test_who_may_forget_what_is_told_where_it_is_not_anyone():
    assert "forgetting   each member only what they wrote" in stands(authors_alone=True)
    assert "forgetting" not in stands()


def test_a_server_that_answers_slowly_is_told():
    assert "answers      slowly: the server takes 10 s" in stands(answer_s=10.2)
    assert "slowly" not in stands(answer_s=1.9)


def test_behind_a_pool_it_is_said_that_the_server_is_polled():
    assert "wake-ups     none: a connection pool is between" in stands(polling=True)
    assert "wake-ups" not in stands()


def test_before_joining_it_is_said_what_leaves_and_who_will_read_it():
    said = lines(joining(make_result(JoinResult, PREVIEW)))
    assert "members, who will read what you send: Ana, Ben" in said
    assert "      3  memories of the organisation" in said
    assert "  1,204  of shop (shared by Ben)" in said
    assert "  1,207  in all" in said
    assert "never leaves: other projects, your own memories" in said


def test_what_colleagues_named_moves_no_cursor():
    hostile = "\x1b[2Jshop\r\nyou agreed"
    who = {"team": hostile, "member": hostile, "members": [hostile], "server": hostile}
    project = PROJECT | {"name": hostile, "shared_by": hostile, "sends": True}
    listed = who | {"projects": [project]}
    said = [
        *joining(make_result(JoinResult, PREVIEW | listed)),
        *joined(make_result(JoinResult, PREVIEW | listed)),
        *standing(make_result(TeamStatusResult, STATUS | listed), NOW),
        in_a_line(make_result(TeamSummary, STATUS | listed)),
        *sharing(
            make_result(
                ShareResult,
                who | project | {"leaves": 1, "warning": "", "scope": f"project:{hostile}"},
            )
        ),
        *unshared(
            make_result(
                UnshareResult, who | {"name": hostile, "removed": 0, "kept": 0, "listed": True}
            )
        ),
        *leaving(make_result(LeaveResult, who | {"removed": 0, "kept": 0, "unsent": 0})),
        *left(make_result(LeaveResult, who)),
        *found(
            make_result(
                TeamRecallResult,
                FOUND | who | {"memories": [MEMORY | dict.fromkeys(SAID, hostile)]},
            )
        ),
    ]
    assert not {"\x1b", "\r", "\n"} & set("".join(said))


def test_sharing_says_how_much_leaves_and_warns():
    answer = WHO | {"scope": "project:tree", "name": "x", "leaves": 1, "shared_by": ""}
    said = lines(sharing(make_result(ShareResult, answer | {"warning": "it has no git remote"})))
    assert "what leaves this machine: 1 memory, and every later one of it" in said
    assert "warning: it has no git remote" in said
    assert "already shares it" not in said
    assert "Ben already shares it" in lines(
        sharing(make_result(ShareResult, answer | {"shared_by": "Ben", "warning": ""}))
    )


def test_leaving_says_what_goes_what_stays_and_what_was_never_sent():
    answer = WHO | {"removed": 40, "kept": 1207, "unsent": 0}
    assert "removed from this machine: 40 memories that others wrote" in lines(
        leaving(make_result(LeaveResult, answer))
    )
    assert "never sent" not in lines(leaving(make_result(LeaveResult, answer)))
    assert "never sent: 1 change" in lines(
        leaving(make_result(LeaveResult, answer | {"unsent": 1}))
    )


def test_a_machine_in_step_says_so():
    said = stands()
    assert "members      Ana, Ben" in said
    assert "connected, in step" in said
    assert "to send      nothing" in said
    assert "sent         1,207 since the daemon started; last contact 60 minutes ago" in said
    assert "received     40 since the daemon started; last contact just now" in said
    assert "organisation 5 memories, 2 of them by others" in said
    assert "project      shop: 1,204 memories, shared by Ben" in said
    assert "conflicts" not in said
    assert "skipped" not in said


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"lag_s": 12.4}, "connected, 12 s behind"),
        ({"connected": False}, "not connected; what you keep is sent later"),
        ({"connected": False, "url": False}, "no server is named; `subcog team join URL`"),
        (
            {"connected": False, "problem": {"reason": "refused", "message": "see to it"}},
            "               see to it",
        ),
        (
            {"problem": {"reason": "refused", "message": "see to it"}},
            "connected in part",
        ),
        ({"outbox": 1, "oldest": "2026-11-20T11:00:00Z"}, "1 change, the oldest 2 days ago"),
        ({"remaining": 5}, "to receive   5 changes"),
        ({"remaining": None}, "to receive   unknown"),
        ({"last_push": None}, "last contact never"),
        ({"conflicts": 2}, "conflicts    2: two members changed the same memory"),
        ({"refused": 1}, "refused      1: the team's server does not take what you changed"),
        ({"fetching": 3}, "to receive   3 projects"),
        ({"skipped": 1}, "skipped      1: could not be used here, or may not be sent"),
        ({"projects": [PROJECT | {"sends": False}]}, "received only, `subcog team share` sends"),
    ],
)
def test_what_is_not_as_it_should_be_is_told(changed, told):
    assert told in stands(**changed)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, "shop as Ana: connected, in step"),
        ({"lag_s": 12.4, "outbox": 2}, "shop as Ana: connected, 12 s behind, to send 2 changes"),
        ({"connected": False, "lag_s": None}, "shop as Ana: not connected"),
        (
            {"connected": False, "problem": {"reason": "refused", "message": "x"}},
            "shop as Ana: not connected (refused)",
        ),
        (
            {"problem": {"reason": "locked", "message": "x"}},
            "shop as Ana: connected in part (locked)",
        ),
    ],
)
def test_the_status_of_the_daemon_has_a_line_of_it(changed, told):
    assert in_a_line(make_result(TeamSummary, STATUS | changed)) == told


def test_a_machine_in_no_team_says_so():
    assert (
        lines(standing(make_result(TeamStatusResult, {"joined": False, "url": False}), NOW))
        == "this machine is in no team"
    )
    assert "`subcog team join` joins" in lines(
        standing(make_result(TeamStatusResult, {"joined": False, "url": True}), NOW)
    )


def test_a_new_member_is_told_how_to_join_and_an_old_one_is_left_alone():
    new = {"name": "Ana", "role": "ana", "url": "postgresql://ana:pw&x@db/subcog"}
    old = {"name": "Ben", "role": "ben", "url": ""}
    done = {"team": "shop", "server": "db:5432/subcog", "version": 1, "epoch": 1}
    done |= {"upgraded_from": 0, "text_search": "native", "members": [new, old]}
    said = lines(prepared(make_result(Initialised, done)))
    assert "prepared, schema version 1" in said
    assert "subcog team join 'postgresql://ana:pw&x@db/subcog'" in said
    assert "Ben is in, with the login ben as it was" in said
    assert "up to date" in lines(prepared(make_result(Initialised, done | {"upgraded_from": 1})))
    assert "upgraded from version 1" in lines(
        prepared(make_result(Initialised, done | {"upgraded_from": 1, "version": 2}))
    )


def test_what_the_server_found_says_whose_it_is_and_that_the_team_has_it():
    assert lines(found(make_result(TeamRecallResult, FOUND))).split("\n") == [
        "from the team shop on db.example:5432/subcog:",
        "decisions   mem_1  by Ben  of shop",
        "      We deploy by hand",
    ]
    long = MEMORY | {"content": "by hand " * 1000, "project": ""}
    *_, whose, text = found(make_result(TeamRecallResult, FOUND | {"memories": [long]}))
    assert whose.endswith("by Ben  of the organisation")
    assert len(text.strip()) <= MAX_FOUND_CHARS
    less = {"memories": [], "skipped": 2, "mode": "text", "degraded": "embedder.unavailable"}
    said = lines(found(make_result(TeamRecallResult, FOUND | less)))
    assert "nothing found\n(2 more could not be shown as memories)" in said
    assert said.endswith("; embedder.unavailable)")

    assert "1,207 memories" in lines(joined(make_result(JoinResult, PREVIEW)))


START = {
    "connected": False,
    "problem": None,
    "last_pull": None,
    "remaining": 0,
    "outbox": 0,
}
AT_WORK = START | {"connected": True, "last_pull": "2026-11-22T12:00:00Z"}


class FakeClient:
    """Answers ``team-status`` with one of ``steps`` after the other; the last one stays."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.asked = 0

    def call(self, name, kind):
        assert name == "team-status"
        self.asked += 1
        return make_result(kind, self.steps.pop(0) if len(self.steps) > 1 else self.steps[0])


def test_it_watches_until_nothing_is_left_in_either_direction():
    client = FakeClient(
        START,
        START | {"connected": True},  # nothing is known yet, which is not the same as nothing to do
        START | {"connected": True, "remaining": 100, "outbox": 5},
        AT_WORK | {"remaining": 0, "outbox": 5},
        AT_WORK,
    )
    waited = []
    follow(client, wait=waited.append)
    assert client.asked == 5
    assert waited == [POLL_S] * 4


@pytest.mark.parametrize(
    ("status", "left"),
    [
        (START, None),
        (START | {"connected": True, "remaining": None}, None),
        (START | {"connected": True}, None),  # it has not looked yet
        (START | {"connected": True, "remaining": 60, "outbox": 5}, 65),  # the first pull
        (AT_WORK | {"outbox": 5}, 5),
        (AT_WORK, 0),
    ],
)
def test_what_is_left_is_known_as_soon_as_the_server_was_seen(status, left):
    assert left_of(make_result(TeamStatusResult, status)) == left


def test_more_that_comes_meanwhile_is_waited_for_too(capsys):
    client = FakeClient(AT_WORK | {"remaining": 5}, AT_WORK | {"remaining": 50}, AT_WORK)
    follow(client, wait=lambda _: None)
    assert GOES_ON not in capsys.readouterr().err


@pytest.mark.parametrize("stuck", [START, AT_WORK | {"remaining": 7}])
def test_where_nothing_moves_it_stops_watching_and_says_that_it_goes_on(stuck, capsys):
    client = FakeClient(stuck)
    follow(client, wait=lambda _: None)
    assert client.asked == pytest.approx(PATIENCE_S / POLL_S, abs=3)
    assert GOES_ON in capsys.readouterr().err


def test_trouble_is_told_at_once(capsys):
    client = FakeClient(START | {"problem": {"reason": "refused", "message": "see to it"}})
    follow(client, wait=lambda _: None)
    assert client.asked == 1
    assert f"see to it\n{GOES_ON}" in capsys.readouterr().err


def test_who_watches_may_leave(capsys):
    def leave(_):
        raise KeyboardInterrupt

    follow(FakeClient(AT_WORK | {"remaining": 7}), wait=leave)
    assert GOES_ON in capsys.readouterr().err
