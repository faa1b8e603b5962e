import pytest

from subcog.pipeline.cli.team_progress import GOES_ON, PATIENCE_S, POLL_S, follow, left_of

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

    def call(self, name):
        assert name == "team-status"
        self.asked += 1
        return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


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
    assert left_of(status) == left


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
