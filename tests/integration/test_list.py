"""``subcog list``: what is there, without a search."""

from __future__ import annotations

import pytest

from .house import House


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("list"))
    house.capture("We deploy with ArgoCD", "--namespace", "decisions")
    house.capture("Staging is reset every night", "--namespace", "learnings")
    yield house
    house.close()


def test_the_newest_come_first_and_only_so_many(house):
    everything = house.ask("list")["memories"]
    assert [one["content"][:7] for one in everything] == ["Staging", "We depl"]
    assert house.ask("list", "--limit", "1")["memories"] == everything[:1]
    assert house.ask("list", "--namespace", "decisions")["memories"] == everything[1:]


def test_a_closed_blocker_is_listed_as_closed(fresh):
    for tag in ("legal", "Resolved"):
        fresh.capture(f"Waiting for the {tag} team", "--namespace", "blockers", "--tags", tag)
    told = fresh.run("list", "--namespace", "blockers").stdout.splitlines()
    assert [line.endswith("  closed") for line in told] == [True, False, False, False]


def test_only_a_page_that_others_follow_names_where_they_begin(house):
    first = house.ask("list", "--limit", "1")
    assert first["next"] == first["memories"][0]["id"]
    assert house.ask("list", "--limit", "1", "--after", first["next"])["next"] is None
    assert house.ask("list", "--limit", "2")["next"] is None


def test_a_page_goes_on_after_an_id_in_every_form_and_after_a_forgotten_one(fresh):
    first, second = (fresh.capture(f"Lamp {n} stands in the hall")["id"] for n in (1, 2))
    bare = second.removeprefix("mem_")
    for given in (second, bare, bare[:20], bare.upper(), f"subcog://memory/{second}"):
        assert [one["id"] for one in fresh.ask("list", "--after", given)["memories"]] == [first]
    fresh.ask("forget", second)
    assert [one["id"] for one in fresh.ask("list", "--after", second)["memories"]] == [first]
    refused = fresh.run("list", "--after", "mem_never")
    assert (refused.returncode, "no memory mem_never" in refused.stderr) == (1, True)


def test_only_what_says_otherwise_is_listed_and_names_the_other(house):
    assert "no memories" in house.run("list", "--contradicting").stdout
    old = house.capture("We use bcrypt for password hashing", "--namespace", "decisions")
    new = house.capture("We use argon2id for password hashing", "--namespace", "decisions")
    assert new["contradicts"]["id"] == old["id"]
    [listed] = house.ask("list", "--contradicting")["memories"]
    assert (listed["id"], listed["contradicts"]) == (new["id"], old["id"])
    assert f"contradicts {old['id']}" in house.run("list", "--contradicting").stdout
    assert f"contradicts {old['id']}" in house.run("get", new["id"]).stdout
    told = f"contradicted by {new['id']}, which is newer"
    assert told in house.run("get", old["id"]).stdout
    assert told not in house.run("get", new["id"]).stdout
    for settled in (("expire", old["id"]), ("supersede", old["id"], "--text", "Okta checks them")):
        house.ask(*settled)
        assert house.ask("list", "--contradicting")["memories"] == []
        house.ask("undo")
        assert len(house.ask("list", "--contradicting")["memories"]) == 1
    house.ask("supersede", old["id"], new["id"])
    house.ask("expire", new["id"])
    assert house.ask("list", "--contradicting")["memories"] == []


def test_what_was_written_here_is_by_nobody_of_a_team(house):
    assert {one["author"] for one in house.ask("list")["memories"]} == {""}
    assert house.ask("list", "--by", "ana")["memories"] == []


def test_a_session_may_be_given_by_its_beginning(fresh):
    for session in ("0f3e-one", "0f3e-two", "77aa"):
        fresh.prompt(f"[remember] The lamp {session} stands in the hall", session)

    def listed(session):
        return [memory["content"] for memory in fresh.ask("list", "--session", session)["memories"]]

    assert listed("77aa") == ["The lamp 77aa stands in the hall"]
    assert listed("77") == listed("ses_77") == listed("subcog://session/77") == listed("77aa")
    assert listed("0f3e-o") == ["The lamp 0f3e-one stands in the hall"]
    assert listed("unknown") == []
    refused = fresh.run("list", "--session", "0f3e")
    assert refused.returncode == 1
    assert "2 sessions begin with 0f3e: " in refused.stderr


# --- undo ----------------------------------------------------------------------------------------


def test_what_was_forgotten_comes_back_with_all_that_it_had(fresh):
    text = "The release train leaves on Thursdays at noon"
    old = fresh.capture(text, "--namespace", "decisions", "--tags", "release,train")["id"]
    fresh.ask("bury", old)
    fresh.ask("forget", old)
    assert fresh.ask("recall", "release train")["memories"] == []
    [undone] = fresh.ask("undo")["undone"]
    assert (undone["id"], undone["what"]) == (old, "forget")
    assert undone["now"] != old
    [found] = fresh.ask("recall", "release train")["memories"]
    assert (found["id"], found["content"]) == (undone["now"], text)
    assert (found["namespace"], found["tags"]) == ("decisions", ["release", "train"])
    # The vote before it went with the memory; it is not there to be taken back.
    assert "nothing was changed" in fresh.run("undo", old).stderr


def test_what_one_command_did_to_several_is_undone_as_a_whole(fresh):
    texts = {"The intercom runs on PoE", "Badges are printed on Mondays"}
    ids = [fresh.capture(text)["id"] for text in sorted(texts)]
    fresh.ask("bury", *ids)
    assert len(fresh.ask("undo")["undone"]) == 2
    assert [fresh.ask("why", one)["use"]["vote"] for one in ids] == [None, None]
    fresh.ask("forget", *ids)
    assert {one["id"] for one in fresh.ask("undo")["undone"]} == {*ids}
    assert {memory["content"] for memory in fresh.ask("list")["memories"]} == texts


def test_an_update_that_changes_nothing_is_not_what_undo_takes_back(fresh):
    before = "Feature flags go through Unleash"
    one = fresh.capture(before, "--namespace", "patterns")["id"]
    fresh.ask("update", one, "Feature flags go through ConfigCat")
    fresh.ask("update", one, "--namespace", "patterns")
    fresh.ask("undo")
    assert fresh.ask("get", one)["content"] == before


def test_each_change_is_taken_back_to_what_was_before(fresh):
    first = fresh.capture("The cache holds entries for ten minutes")["id"]
    fresh.ask("update", first, "The cache holds entries for two minutes", "--tags", "cache")
    fresh.ask("undo")
    shown = fresh.ask("get", first)
    assert (shown["content"], shown["tags"]) == ("The cache holds entries for ten minutes", [])
    fresh.ask("supersede", first, "--text", "Valkey replaces the cache of the shop entirely")
    fresh.ask("undo", first)
    assert fresh.ask("get", first)["superseded_by"] is None
    assert fresh.ask("list")["total"] == 1
    fresh.ask("expire", first)
    fresh.ask("restore", first)
    fresh.ask("undo")
    assert fresh.ask("list")["total"] == 0
    fresh.ask("undo")
    assert fresh.ask("list")["total"] == 1
    fresh.ask("keep", first)
    fresh.ask("bury", first)
    fresh.ask("undo", first)
    assert fresh.ask("why", first)["use"]["vote"] == "kept"
    fresh.ask("undo", first)
    assert fresh.ask("why", first)["use"]["vote"] is None


def test_what_was_to_leave_the_disk_at_once_cannot_be_undone(alone):
    one = alone.capture("The key lies under the mat")["id"]
    alone.ask("forget", one, "--now")
    done = alone.run("undo")
    assert (done.returncode, f"{one} was erased from the disk" in done.stderr) == (1, True)
