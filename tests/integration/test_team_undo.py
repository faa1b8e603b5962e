"""What was forgotten in a team and taken back is back for everybody, in whatever order they sync.

And what nobody took back stays forgotten.
"""

import itertools
import json
from contextlib import ExitStack, contextmanager

import pytest

from tests.postgres import fresh_database
from tests.proxy import Proxy
from tests.waiting import eventually

from .test_team import machine

NUMBERS = itertools.count(100)


@pytest.fixture(scope="module")
def base(postgres):
    with fresh_database(postgres) as database:
        yield database


@pytest.fixture(scope="module")
def three(base, tmp_path_factory):
    """Alice, who shares the project, bob, and carol, whose line can be cut."""
    root = tmp_path_factory.mktemp("undo")
    with ExitStack() as machines:
        alice = machines.enter_context(machine(root / "alice", base.url("alice")))
        alice.ask("team", "share", "--yes")
        bob = machines.enter_context(machine(root / "bob", base.url("bob")))
        line = machines.enter_context(Proxy(("127.0.0.1", base.server.port)))
        url = base.url("carol").replace(str(base.server.port), str(line.port))
        carol = machines.enter_context(machine(root / "carol", url))
        carol.line = line
        for who in (bob, carol):
            who.ask("team", "share", "--yes")
        yield alice, bob, carol


def everywhere(people, memory_id):
    """Wait until everybody has it."""
    for who in people:
        assert eventually(lambda who=who: who.has(memory_id)), who.root.name


def gone(people, memory_id):
    for who in people:
        assert eventually(lambda who=who: not who.has(memory_id)), who.root.name


def undo(who):
    [undone] = who.ask("undo")["undone"]
    return undone["now"]


def author(who, memory_id):
    return who.ask("get", memory_id)["provenance"].get("author", "")


def text():
    return f"The gate number {next(NUMBERS)} of the yard opens to the south"


def test_what_its_author_forgot_and_took_back_is_back_where_that_was_applied(three):
    alice, bob, carol = three
    said = text()
    old = alice.capture(said)["id"]
    everywhere(three, old)
    alice.ask("forget", old)
    gone((bob, carol), old)
    now = undo(alice)
    everywhere(three, now)
    assert [author(who, now) for who in three] == ["", "alice", "alice"]


@pytest.mark.slow
def test_what_was_taken_back_before_anybody_heard_of_it_is_there(three):
    alice, bob, carol = three
    old = carol.capture(text())["id"]
    everywhere(three, old)
    carol.line.cut()
    carol.ask("forget", old)
    now = undo(carol)
    carol.line.mend()
    everywhere(three, now)
    gone((alice, bob), old)
    assert [author(who, now) for who in three] == ["carol", "carol", ""]


@pytest.mark.slow
def test_what_a_colleague_forgot_and_took_back_has_its_first_author(three, base):
    alice, bob, carol = three
    old = alice.capture(text())["id"]
    everywhere(three, old)
    bob.ask("forget", old)
    gone((alice, carol), old)
    now = undo(bob)
    everywhere(three, now)
    assert [author(who, now) for who in three] == ["", "alice", "alice"]
    assert base.psql("alice", f"SELECT author FROM subcog.versions WHERE id = '{now}'").split() == [
        "alice"
    ]
    assert not any(who.ask("team", "status")["conflicts"] for who in three)


@pytest.mark.slow
def test_what_somebody_away_forgot_and_took_back_is_there_for_all_of_them(three):
    alice, bob, carol = three
    old = alice.capture(text())["id"]
    everywhere(three, old)
    carol.line.cut()
    bob.ask("forget", old)
    gone((alice,), old)
    now = undo(bob)
    everywhere((alice, bob), now)
    carol.line.mend()
    everywhere((carol,), now)
    gone((carol,), old)
    assert author(carol, now) == "alice"


@pytest.mark.slow
def test_it_can_be_forgotten_again_and_taken_back_again(three):
    alice, bob, _ = three
    old = alice.capture(text())["id"]
    everywhere(three, old)
    for who in (bob, alice):
        who.ask("forget", old)
        gone(three, old)
        old = undo(who)
        everywhere(three, old)
    alice.ask("forget", old)
    gone(three, old)
    assert all(old not in json.dumps(who.ask("list")) for who in three)


def says(who, said):
    return said in json.dumps(who.ask("list"))


def forgotten_by_two(three, *, is_first_back=False):
    """What alice and carol forgot, each without having heard of the other; alice was first.

    ``is_first_back``: she has taken hers back before the team heard of carol's.
    """
    alice, bob, carol = three
    said = text()
    old = alice.capture(said)["id"]
    everywhere(three, old)
    carol.line.cut()
    alice.ask("forget", old)
    carol.ask("forget", old)
    gone((bob,), old)
    if is_first_back:
        everywhere((bob,), undo(alice))
    carol.line.mend()
    carol.settled()
    return said


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 2), (2, 0)])
def test_what_two_forgot_is_back_for_the_others_with_the_second_undo(three, order):
    first, second = (three[number] for number in order)
    others = [who for who in three if who is not first]
    said = forgotten_by_two(three)

    undo(first)
    first.settled()
    latest = first.capture(text())["id"]
    everywhere(three, latest)  # and with it all that came before

    assert [says(who, said) for who in others] == [False, False]
    everywhere([who for who in three if who is not second], undo(second))
    assert all(says(who, said) for who in three)


@pytest.mark.slow
def test_what_one_took_back_before_the_other_was_heard_of_stays_where_it_is(three):
    alice, _, carol = three
    said = forgotten_by_two(three, is_first_back=True)
    latest = alice.capture(text())["id"]
    everywhere(three, latest)

    assert [says(who, said) for who in three] == [True, True, False]
    everywhere(three, undo(carol))
    assert all(says(who, said) for who in three)


@pytest.mark.slow
def test_what_two_forgot_and_took_back_apart_is_back_for_all(three):
    alice, _, carol = three
    said = text()
    old = alice.capture(said)["id"]
    everywhere(three, old)
    carol.line.cut()
    for who in (carol, alice):
        who.ask("forget", old)
        undo(who)
    carol.line.mend()

    assert all(eventually(lambda who=who: says(who, said) and not who.has(old)) for who in three)


@pytest.mark.slow
def test_what_nobody_took_back_stays_forgotten(three):
    alice, bob, carol = three
    said = text()
    old = alice.capture(said)["id"]
    everywhere(three, old)
    copy = bob.run("export").stdout
    carol.line.cut()
    again = carol.capture(said, "--namespace", "context")["id"]  # asked for, where nobody forgot it
    alice.ask("forget", old)
    gone((alice, bob), old)
    carol.line.mend()
    gone((carol,), old)
    carol.settled()
    for who in (alice, bob):
        who.settled()
        assert not who.has(again)
        assert said not in json.dumps(who.ask("list"))
    line = next(line for line in copy.splitlines() if old in line)
    (bob.root / "old.jsonl").write_text(line + "\n")
    bob.run("import", str(bob.root / "old.jsonl"))
    assert said not in json.dumps(bob.ask("list"))


# --- who may forget ------------------------------------------------------------------------------


@contextmanager
def authors_alone(base):
    setting = "UPDATE subcog.teams SET forgetting = '{}'"
    base.server.execute(setting.format("authors"), database=base.name)
    yield
    base.server.execute(setting.format("anyone"), database=base.name)


@pytest.mark.slow
def test_what_forget_says_is_true_before_the_server_was_asked(three, base):
    alice, bob, carol = three
    said = text()
    theirs, own = alice.capture(said)["id"], carol.capture(text())["id"]
    everywhere(three, theirs)
    everywhere(three, own)
    carol.line.cut()
    with authors_alone(base):
        told = carol.run("forget", own).stdout
        assert "with the next sync also deleted for all members of the team house\n" in told
        told = carol.run("forget", theirs).stdout
        assert "team house, if it lets you forget what alice wrote\n" in told
        now = undo(carol)
        carol.line.mend()
        gone((alice, bob), own)
        carol.settled()
        alice.settled()
        assert alice.has(theirs), "the team keeps it"
        assert bob.has(theirs)
        assert carol.has(now)
        assert not alice.has(now), "where the first one is, there is no second"
        assert carol.ask("team", "status")["refused"]


@pytest.mark.slow
def test_who_may_forget_is_known_to_a_machine_that_was_told_once(three, base):
    alice, _, carol = three
    theirs = alice.capture(text())["id"]
    everywhere(three, theirs)
    with authors_alone(base):
        carol.run("daemon", "stop")
        eventually(lambda: carol.ask("team", "status")["authors_alone"])
        pid = carol.pid()
        carol.line.cut()
        carol.run("daemon", "stop")
        carol.wait_until_gone(pid)
        try:
            refused = carol.run("forget", theirs)
            assert (refused.returncode, "is by alice" in refused.stderr) == (1, True)
            assert carol.has(theirs)
        finally:
            carol.line.mend()
    carol.run("daemon", "stop")
    eventually(lambda: not carol.ask("team", "status")["authors_alone"])
