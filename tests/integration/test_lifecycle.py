"""The life of memories, told by the installed command and by hooks."""

import json
from datetime import UTC, datetime, time, timedelta, timezone

import pytest

BCRYPT = "We use bcrypt for password hashing in the login service"
ARGON = "We use argon2id for password hashing in the login service"
QUESTION = "how do I hash passwords in the login service?"
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def house(fresh):
    """A project of its own; the daemon is shared."""
    return fresh


@pytest.fixture
def old(house):
    return house.capture(BCRYPT, "--namespace", "decisions", "--tags", "auth")["id"]


def found(house, query="password hashing login"):
    return [memory["id"] for memory in house.ask("recall", query)["memories"]]


def refused(house, *args):
    done = house.run(*args)
    assert done.returncode != 0
    return done.stderr


def test_a_contradiction_is_told_with_the_command_that_settles_it(house, old):
    answer = house.capture(ARGON, "--namespace", "decisions")
    assert answer["outcome"] == "stored"
    assert answer["contradicts"] == {"id": old, "content": BCRYPT}
    assert answer["offer"] == f"subcog supersede {old} {answer['id']}"
    assert house.ask("why", answer["id"])["contradicts"] == old
    settled = house.ask(*answer["offer"].split()[1:])
    assert settled["superseded_by"] == answer["id"]
    assert found(house) == [answer["id"]]
    assert BCRYPT not in house.context(QUESTION)
    assert house.ask("why", answer["id"])["contradicts"] is None


def test_a_hook_offers_the_same(house, old):
    said = house.prompt(f"[remember:decisions] {ARGON}")["systemMessage"]
    assert f"subcog supersede {old} mem_" in said


def test_a_greeting_does_not_bring_up_what_is_superseded(house, old):
    house.ask("supersede", old, "--text", ARGON)
    payload = {"session_id": "s9", "cwd": str(house.project), "source": "startup"}
    greeting = json.dumps(house.hook("SessionStart", payload))
    assert "argon2id" in greeting
    assert "bcrypt" not in greeting


def test_superseding_by_a_text_keeps_namespace_and_tags(house, old):
    new = house.ask("supersede", old, "--text", "Keycloak keeps the passwords")
    memory = house.ask("get", new["id"])
    assert (memory["namespace"], memory["tags"]) == ("decisions", ["auth"])
    assert memory["supersedes"] == old
    assert house.ask("get", old)["superseded_by"] == new["id"]


def test_superseding_by_the_same_words_in_another_case_updates_and_says_so(house, old):
    said = house.run("supersede", old, "--text", BCRYPT.upper()).stdout
    assert f"stored: decisions · {old}, version 2" in said
    assert "Nothing is superseded" in said
    assert house.ask("get", old)["content"] == BCRYPT.upper()
    [undone] = house.ask("undo")["undone"]
    assert (undone["what"], house.ask("get", old)["content"]) == ("update", BCRYPT)


def test_undoing_a_supersession_keeps_what_was_captured_again_or_changed_meanwhile(house, old):
    new = house.ask("supersede", old, "--text", ARGON)["id"]
    again = house.capture(ARGON, "--namespace", "decisions")
    assert (again["outcome"], again["id"]) == ("merged", new)

    [undone] = house.ask("undo")["undone"]

    assert (undone["id"], undone["kept"]) == (old, new)
    assert {memory["id"] for memory in house.ask("list")["memories"]} == {old, new}
    assert house.ask("get", old)["superseded_by"] is None
    assert house.ask("get", new)["supersedes"] is None

    newer = house.ask("supersede", new, "--text", "Keycloak keeps the passwords")["id"]
    house.ask("update", newer, "--tags", "sso")
    said = house.run("undo", new).stdout
    assert f"{newer} is kept as well: it was said again or changed since" in said
    assert house.ask("get", newer)["tags"] == ["sso"]


def test_undoing_a_small_update_takes_nothing_back_that_was_said_after_it(house, old):
    house.ask("update", old, "--tags", "sso")
    again = house.capture(BCRYPT, "--tags", "login")
    assert (again["outcome"], again["tags"]) == ("merged", ["login", "sso"])
    said = refused(house, "undo")
    assert f"{old} was changed since" in said
    assert f"subcog restore {old} --version 1" in said
    assert house.ask("get", old)["tags"] == ["login", "sso"]


@pytest.mark.parametrize("change", [("update", "--tags", "sso"), ("expire", "--at", "30d")])
def test_undoing_a_change_brings_nothing_back_that_was_replaced_since(house, change):
    verb, *how = change
    jest = house.capture("We use Jest for the unit tests of the web client")["id"]
    house.ask(verb, jest, *how)
    said = house.prompt(
        "[remember] We no longer use Jest for the unit tests of the web client, we use Vitest"
    )["systemMessage"]
    assert f"it replaces {jest}" in said

    assert f"{jest} was changed since" in refused(house, "undo", jest)
    assert house.ask("get", jest)["superseded_by"]


def test_one_change_after_the_other_is_undone(house, old):
    house.ask("update", old, "--tags", "sso")
    house.ask("update", old, "--tags", "sso,login")
    new = house.capture("Keycloak keeps the passwords")["id"]
    house.ask("supersede", old, new)
    undone = [house.ask("undo")["undone"][0]["what"] for _ in range(3)]
    assert undone == ["supersede", "update", "update"]
    assert house.ask("get", old)["tags"] == ["auth"]


def test_what_was_changed_since_is_named_beside_what_was_undone(house, old):
    other = house.capture("Releases are cut on Thursdays by the robot")["id"]
    for memory in (old, other):
        house.ask("update", memory, "--tags", "sso")
    house.ask("update", other, "--tags", "cut")
    house.capture("Releases are cut on Thursdays by the robot", "--tags", "new")
    answer = json.loads(house.run("undo", old, other, "--json").stdout)
    assert [one["id"] for one in answer["undone"]] == [old]
    assert [(one["id"], "was changed since" in one["reason"]) for one in answer["failed"]] == [
        (other, True)
    ]


def test_undoing_a_supersession_forgets_what_came_with_it(house, old):
    new = house.ask("supersede", old, "--text", ARGON)["id"]
    [undone] = house.ask("undo")["undone"]
    assert undone == {"id": old, "what": "supersede", "now": old}
    assert found(house) == [old]
    assert "no memory" in refused(house, "get", new)


def test_an_update_is_a_new_version_and_its_text_is_redacted(house, old):
    answer = house.ask("update", old, f"Keycloak has it, token {TOKEN}", "--tags", "sso, auth")
    assert (answer["version"], answer["tags"]) == (2, ["sso", "auth"])
    assert answer["redactions"] == ["github-token"]
    assert TOKEN not in json.dumps(house.ask("history", old))
    assert found(house, "keycloak")[0] == old
    moved = house.ask("update", old, "--namespace", "context")
    assert moved["version"] == 3
    memory = house.ask("get", old)
    assert (memory["namespace"], memory["tags"]) == ("context", ["sso", "auth"])
    assert house.ask("topics", "sso")["total_count"] == 1


def test_what_expires_is_found_until_then_and_again_when_restored(house, old):
    house.ask("expire", old, "--at", "30d")
    assert found(house) == [old]
    assert house.ask("expire", old)["valid_to"] is not None
    assert found(house) == []
    assert "valid only until" in house.ask("why", old)["hidden_because"]
    assert house.ask("restore", old)["valid_to"] is None
    assert found(house) == [old]


def test_a_date_is_the_last_day_and_a_time_is_a_time(house, old):
    zone = {"TZ": "Pacific/Kiritimati"}  # 14 hours ahead, so that its day is not that of UTC
    today = (datetime.now(UTC) + timedelta(hours=14)).date()
    end = datetime.combine(today, time.max, timezone(timedelta(hours=14)))
    done = house.run("expire", old, "--at", f"{today}", "--json", **zone)
    assert datetime.fromisoformat(json.loads(done.stdout)["valid_to"]) == end
    assert found(house) == [old]
    house.run("expire", old, "--at", f"{today}T00:00", **zone)
    assert found(house) == []


def test_an_older_version_can_be_restored(house, old):
    house.ask("update", old, "Keycloak has it now")
    restored = house.ask("restore", old, "--version", "1")
    assert (restored["version"], restored["content"]) == (3, BCRYPT)
    reasons = [version["reason"] for version in house.ask("history", old)["versions"]]
    assert reasons == ["explicit", "updated", "restored version 1"]


def test_why_tells_where_a_memory_came_from_and_how_often_it_was_used(house, old):
    assert BCRYPT in house.context(QUESTION, "s1")
    assert BCRYPT in house.context(QUESTION, "s2")
    house.ask("explain", QUESTION)
    why = house.ask("why", old)
    assert why["decision"] == "explicit"
    assert why["captured_by"]["hook"] == "cli"
    assert why["times_injected"] == 2
    assert why["last_used"].endswith("Z")
    assert why["found_by_search"] is True
    page = house.run("why", old).stdout
    assert "injected  2 times" in page


def test_what_cannot_be_done_is_refused_in_words(house, old):
    other = house.root / "other"
    other.mkdir()
    for command in (
        ("update", old, "x"),
        ("supersede", old, "--text", "some other words"),
        ("expire", old),
        ("restore", old),
        ("history", old),
        ("why", old),
    ):
        assert "no memory" in refused(house, *command, "--project", str(other))
    assert "nothing to update" in refused(house, "update", old)
    assert "itself" in refused(house, "supersede", old, old)
    assert "either" in refused(house, "supersede", old)
    assert "no version 9" in refused(house, "restore", old, "--version", "9")
    assert "neither a date" in refused(house, "expire", old, "--at", "soon")
    assert "neither the id" in refused(house, "restore", "no-such-thing")
    assert house.ask("restore", old.removeprefix("mem_")[:12])["id"] == old
    assert "not done" in refused(house, "update", old, "<private>all of it</private>")
    assert house.ask("get", old)["content"] == BCRYPT


def test_a_forgotten_text_is_in_no_file_any_more(alone):
    old = alone.capture(BCRYPT, "--namespace", "decisions", "--tags", "auth")["id"]
    alone.ask("update", old, f"{BCRYPT}, with quartzite pepper")
    kept = alone.capture("Alembic migrations are written by hand")["id"]
    assert alone.ask("forget", old, "--now")["forgotten"] is True
    for file in alone.root.rglob("*"):
        if file.is_file():
            assert b"bcrypt" not in file.read_bytes(), file
    assert alone.ask("get", kept)["id"] == kept


def test_commands_say_what_they_did_to_people_too(house, old):
    assert "updated: decisions" in house.run("update", old, "Keycloak has it").stdout
    new = house.capture(ARGON)["id"]
    assert f"superseded by {new}" in house.run("supersede", old, new).stdout
    assert "superseded by" in house.run("get", old).stdout
    assert "restored as version 4" in house.run("restore", old).stdout
    assert "valid until" in house.run("expire", old, "--at", "2099-01-31").stdout
    assert "restored" in house.run("history", old).stdout
