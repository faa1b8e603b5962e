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


def test_only_what_says_otherwise_is_listed_and_names_the_other(house):
    assert "no memories" in house.run("list", "--contradicting").stdout
    old = house.capture("We use bcrypt for password hashing", "--namespace", "decisions")
    new = house.capture("We use argon2id for password hashing", "--namespace", "decisions")
    assert new["contradicts"]["id"] == old["id"]
    [listed] = house.ask("list", "--contradicting")["memories"]
    assert (listed["id"], listed["contradicts"]) == (new["id"], old["id"])
    assert f"contradicts {old['id']}" in house.run("list", "--contradicting").stdout
    assert f"contradicts {old['id']}" in house.run("get", new["id"]).stdout
    house.ask("supersede", old["id"], new["id"])
    house.ask("expire", new["id"])
    assert house.ask("list", "--contradicting")["memories"] == []


def test_what_was_written_here_is_by_nobody_of_a_team(house):
    assert {one["author"] for one in house.ask("list")["memories"]} == {""}
    assert house.ask("list", "--by", "ana")["memories"] == []
