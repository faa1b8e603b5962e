"""Three machines, one server: through the hooks and commands that an agent and a person use."""

import itertools
import json
import subprocess
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.pooler import pooler, through
from tests.postgres import STRANGER, fresh_database
from tests.proxy import Proxy
from tests.thorough import times
from tests.waiting import eventually

from .house import House

ORIGIN = "git@git.example:acme/shop.git"
ARGON = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
QUESTION = "how do I hash passwords here?"
PORT = "The staging database listens on port 6543, since 5432 is taken by the old one"
ADDRESS = "maria.schmidt@customer.example"


class Machine(House):
    """A home with a clone of the team's project."""

    def __init__(self, root, *, installed=False):
        super().__init__(root, installed=installed)
        self._sessions = itertools.count()
        for command in (["init", "-q"], ["remote", "add", "origin", ORIGIN]):
            subprocess.run(["git", *command], cwd=self.project, check=True)

    def join(self, url):
        return self.ask("team", "join", url, "--yes")

    def asked(self, question):
        """What a prompt of a new session gets; an old one is not told the same twice."""
        return self.context(question, session=f"asks-{next(self._sessions)}")

    def has(self, memory_id):
        """Whether there is such a memory here; ``get`` says so where there is none."""
        try:
            self.ask("get", memory_id)
        except AssertionError as error:
            if f"no memory {memory_id} here" not in str(error):
                raise
            return False
        return True

    def settled(self):
        """Wait until it has sent everything, and received everything."""

        def is_settled():
            now = self.ask("team", "status")
            looked = now["connected"] and now["last_push"] and now["last_pull"]
            return looked and not now["outbox"] and not now["remaining"]

        return eventually(is_settled)


@contextmanager
def machine(root, url="", *, installed=False):
    made = Machine(root, installed=installed)
    try:
        if url:
            made.join(url)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def base(postgres):
    """The team's database."""
    with fresh_database(postgres) as database:
        yield database


@pytest.fixture(scope="module")
def three(base, tmp_path_factory):
    """The machines of alice, who shares the project, and of bob and carol, who join later.

    Carol's has a memory from before there was a rule, and a line that can be cut.
    """
    root = tmp_path_factory.mktemp("team")
    with ExitStack() as machines:
        alice = machines.enter_context(machine(root / "alice", base.url("alice")))
        alice.ask("team", "share", "--yes")
        bob = machines.enter_context(machine(root / "bob", base.url("bob")))
        carol = machines.enter_context(machine(root / "carol"))
        text = f"The pilot customer is {ADDRESS}, who tests every release"
        carol.capture(text, SUBCOG_REDACTION_PERSONAL="false")
        carol.run("daemon", "stop")
        carol.line = machines.enter_context(Proxy(("127.0.0.1", base.server.port)))
        carol.url = base.url("carol").replace(str(base.server.port), str(carol.line.port))
        carol.join(carol.url)
        yield alice, bob, carol


def libraries(house):
    """The files that its daemon has loaded."""
    return Path(f"/proc/{house.pid()}/maps").read_text()


def everything(base):
    """All that is in the database, as text."""
    return base.server.run("pg_dump", "--data-only", "--schema=subcog", base.owner_url)


def test_what_one_captures_the_others_prompts_get_and_a_stranger_nothing(three, base, tmp_path):
    alice, *others = three
    alice.prompt(f"[remember:decisions] {ARGON}")
    for other in others:
        told = eventually(lambda other=other: other.asked(QUESTION))
        assert ARGON in told
        assert "alice" in told
    assert "alice" not in alice.asked(QUESTION)
    with machine(tmp_path, installed=True) as mallory:
        assert mallory.asked(QUESTION) == ""
        assert "psycopg" not in libraries(mallory)
        refused = mallory.run("team", "join", base.url(STRANGER), "--yes")
        assert refused.returncode == 1
        assert "psycopg" in libraries(mallory)
        assert mallory.asked(QUESTION) == ""
    for table in ("versions", "memories", "changes", "projects", "members"):
        assert base.psql("alice", f"SELECT count(*) FROM subcog.{table}").strip() not in {"", "0"}
        seen = base.psql(STRANGER, f"SELECT * FROM subcog.{table}")
        assert "denied" in seen or seen.strip() == ""


def test_what_is_the_users_own_or_private_never_leaves(three, base):
    alice, bob, _ = three
    alice.capture("My own note: the cat is called Zebedee", "--scope", "user")
    alice.prompt("[remember:context] The build needs <private>Quetzal</private> and a token")
    alice.capture("Everybody writes British English", "--scope", "org")
    eventually(lambda: "British" in str(bob.ask("recall", "which English do we write")))
    alice.settled()
    there = everything(base)
    assert "British English" in there
    assert "The build needs" in there
    assert "Zebedee" not in there
    assert "Quetzal" not in there


def test_what_todays_rules_know_is_taken_out_before_it_leaves_and_here_too(three, base):
    *_, carol = three
    carol.settled()
    assert "The pilot customer is [redacted:email]" in everything(base)
    assert ADDRESS not in everything(base)
    here = carol.ask("recall", "who is the pilot customer?")["memories"]
    assert any("[redacted:email]" in memory["content"] for memory in here)
    assert ADDRESS not in json.dumps(here)


def test_no_hook_waits_for_a_server_that_hangs(three):
    *_, carol = three
    carol.line.freeze()
    try:
        kept = carol.prompt(f"[remember:context] {PORT}")["systemMessage"]
        assert "kept as context" in kept
        assert PORT in carol.asked("which port does the staging database listen on?")
        now = carol.ask("team", "status")
        assert now["outbox"] == 1
        assert carol.line.frozen  # so none of these answers came after one of the server
        pid = carol.pid()
        carol.run("daemon", "stop")
        carol.wait_until_gone(pid)
    finally:
        carol.line.thaw()
    carol.start()
    carol.settled()


@pytest.mark.slow
def test_a_server_that_answers_after_five_seconds_slows_no_hook_and_gets_all_in_the_end(
    three, base
):
    *_, carol = three
    carol.settled()
    carol.line.delay_s = 5.0  # each way, so an answer takes ten
    try:
        took = []
        for number in range(3):
            started = time.monotonic()
            text = f"The valve of tank {number} sticks in frost"
            assert "kept as" in carol.prompt(f"[remember:context] {text}")["systemMessage"]
            took.append(time.monotonic() - started)
        assert max(took) < carol.line.delay_s / 2
        assert eventually(lambda: "answers      slowly" in carol.run("team", "status").stdout)
        assert carol.ask("team", "status")["connected"]
    finally:
        carol.line.delay_s = 0.0
    carol.settled()
    stored = "SELECT count(*) FROM subcog.versions WHERE body LIKE '%sticks in frost%'"
    assert base.psql("alice", stored).strip() == "3"
    carol.prompt("[remember:context] The valves are made of brass")
    assert eventually(lambda: "slowly" not in carol.run("team", "status").stdout)


@pytest.mark.slow
def test_what_is_over_the_days_quota_is_told_and_goes_the_next_day(team, tmp_path):
    team.server.execute("UPDATE subcog.teams SET daily_versions = 2", database=team.name)
    with machine(tmp_path / "dora", team.url("alice")) as dora:
        for number in (1, 2, 3):
            text = f"The printer number {number} of the office needs its own driver"
            dora.capture(text, "--scope", "org")
        told = eventually(lambda: (now := dora.ask("team", "status"))["problem"] and now)
        assert (told["problem"]["reason"], told["connected"], told["outbox"]) == ("quota", True, 1)
        assert "after 00:00 UTC" in dora.run("team", "status").stdout
        assert sum("quota of the day" in json.dumps(line) for line in dora.log()) == 1
        team.server.execute("UPDATE subcog.spent SET day = day - 1", database=team.name)
        dora.run("daemon", "stop")
        dora.settled()
        assert dora.ask("team", "status")["problem"] is None


@pytest.mark.slow
def test_behind_a_pool_in_transaction_mode_a_member_polls_and_says_so(team, tmp_path):
    with (
        pooler(team.server) as port,
        machine(tmp_path / "finn", team.url("bob")) as direct,
        machine(tmp_path / "emma") as pooled,
    ):
        there = direct.capture("The spare keys hang behind the copier", "--scope", "org")["id"]
        direct.settled()
        pooled.join(through(port, team.url("alice")))
        eventually(lambda: pooled.has(there))
        back = pooled.capture("The pager of the night shift rings twice", "--scope", "org")["id"]
        eventually(lambda: direct.has(back))
        pooled.settled()
        now = pooled.ask("team", "status")
        assert (now["polling"], now["connected"], now["problem"]) == (True, True, None)
        assert "asked every few seconds" in pooled.run("team", "status").stdout
        assert not direct.ask("team", "status")["polling"]


@pytest.mark.slow
def test_two_who_supersede_one_memory_both_keep_theirs_and_it_is_flagged(three):
    alice, _, carol = three
    old = alice.capture("We deploy on Fridays at noon", "--namespace", "decisions")["id"]
    eventually(lambda: carol.has(old))
    carol.line.cut()
    first = alice.ask("supersede", old, "--text", "We deploy on Mondays at nine")["id"]
    alice.settled()
    second = carol.ask("supersede", old, "--text", "We deploy every evening by the robot")["id"]
    carol.line.mend()

    def flagged(who):
        shown = {memory["id"]: memory for memory in who.ask("list")["memories"]}
        return {first, second} <= shown.keys() and shown[second]["contradicts"] == first

    for who in three:
        eventually(lambda who=who: flagged(who))
        assert who.ask("get", old)["superseded_by"] == first
        assert who.ask("why", second)["contradicts"] == first


@pytest.mark.slow
def test_where_only_authors_forget_another_is_refused_before_it_is_gone_here(three, base):
    alice, bob, _ = three
    theirs = alice.capture("The lift of the west wing stops at the third floor")["id"]
    eventually(lambda: bob.has(theirs))
    setting = "UPDATE subcog.teams SET forgetting = '{}'"
    base.server.execute(setting.format("authors"), database=base.name)
    try:
        bob.run("daemon", "stop")
        eventually(lambda: bob.ask("team", "status")["authors_alone"])
        refused = bob.run("forget", theirs)
        assert (refused.returncode, "is by alice" in refused.stderr) == (1, True)
        assert bob.has(theirs)
        assert alice.run("forget", theirs).returncode == 0
        assert eventually(lambda: not bob.has(theirs))
    finally:
        base.server.execute(setting.format("anyone"), database=base.name)


@pytest.mark.slow
def test_leaving_takes_off_what_others_wrote_and_leaves_ones_own(three):
    alice, bob, carol = three
    theirs = alice.capture("The mirror of the packages is behind the proxy of the office")["id"]
    own = carol.capture("The office proxy wants a certificate of ours")["id"]
    eventually(lambda: carol.has(theirs))
    eventually(lambda: bob.has(own))
    carol.ask("team", "leave", "--yes")
    left = {memory["id"] for memory in carol.ask("list")["memories"]}
    assert own in left
    assert theirs not in left
    assert not any(memory["author"] for memory in carol.ask("list")["memories"])
    assert carol.asked("where is the mirror of the packages?") == ""
    assert bob.has(own)

    carol.join(carol.url)
    eventually(lambda: carol.has(theirs))


@pytest.mark.slow
def test_leaving_ends_an_own_edit_that_was_out_of_date_and_takes_the_address_along(three):
    alice, _, carol = three
    theirs = alice.capture("The kettle of the office takes three minutes to boil")["id"]
    eventually(lambda: carol.has(theirs))
    edit = "The kettle of the office takes four minutes to boil"
    carol.ask("update", theirs, edit)
    eventually(lambda: alice.ask("get", theirs)["content"] == edit)
    newer = "The kettle of the office takes five minutes to boil"
    alice.ask("update", theirs, newer)
    eventually(lambda: carol.ask("get", theirs)["content"] == newer)
    settings = carol.paths.config_file
    assert "postgresql://" in settings.read_text()

    told = carol.run("team", "leave", "--yes").stdout

    assert f"removed from {settings}: team.url" in told
    assert "postgresql://" not in settings.read_text()
    assert carol.ask("team", "status") == {"joined": False, "url": False}
    assert theirs not in json.dumps(carol.ask("list"))
    assert carol.asked("how long does the kettle of the office take?") == ""
    left = carol.ask("get", theirs)
    assert (left["content"], bool(left["valid_to"])) == (edit, True)
    carol.join(carol.url)
    eventually(lambda: carol.ask("get", theirs)["content"] == newer)
    carol.settled()
    assert not carol.ask("get", theirs)["valid_to"]
    assert not alice.ask("get", theirs)["valid_to"]


EACH = times(18, 334)
THINGS = (
    "parser queue ledger invoice router cursor schema shard broker replica token banner".split()
)


def rule(number):
    """A text unlike the others, so that each is a memory of its own."""
    thing = THINGS[number % len(THINGS)]
    return f"Rule {number}: {thing} {number * 7919 % 100_003} answers to handler {number * 104_729}"


def rules_of(machine):
    lines = machine.run("export").stdout.splitlines()
    texts = (json.loads(line)["content"] for line in lines)
    return Counter(text for text in texts if text.startswith("Rule "))


def keep(machine, numbers, events):
    """Capture through the hook one after the other; ``events`` happen before some of them."""
    for number in numbers:
        events.get(number, str)()
        machine.prompt(f"[remember:decisions] {rule(number)}", session=f"keeps-{number}")


@pytest.mark.slow
def test_a_server_killed_in_the_middle_of_captures_costs_nothing(three, base):
    events = {EACH // 3: base.server.kill, EACH // 2: base.server.start}
    work = [
        threading.Thread(target=keep, args=(machine, range(at, at + EACH), events))
        for machine, at in zip(three, itertools.count(0, EACH), strict=False)
    ]
    for each in work:
        each.start()
    for each in work:
        each.join()

    wanted = Counter(rule(number) for number in range(3 * EACH))
    for machine in (*three, *three):  # what one sends, another may have received before it settled
        machine.settled()
    for machine in three:
        assert eventually(lambda machine=machine: rules_of(machine) == wanted)
    stored = "SELECT count(*), count(DISTINCT id) FROM subcog.versions WHERE body LIKE '%Rule %'"
    assert base.psql("alice", stored).strip() == f"{3 * EACH}|{3 * EACH}"
