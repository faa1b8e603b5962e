"""Prompts are answered where there is no index in memory: SQL searches, and says so."""

import json

import duckdb
import pytest

from tests.integration.house import House

DEPLOY = "Deployments go through ArgoCD; never kubectl apply by hand in production"
ASKED = "how do I deploy to production here?"
OFF = {"SUBCOG_STORE_WARM_INDEX": "false"}


@pytest.fixture
def house(tmp_path):
    house = House(tmp_path)
    house.capture(DEPLOY, "--namespace", "decisions")
    house.capture("Invoices are rounded per line, half up, in integer cents")
    house.ask("sql", "SELECT 1")  # so that SQL knows both
    yield house
    house.close()


def stopped(house):
    pid = house.pid()
    house.run("daemon", "stop")
    house.wait_until_gone(pid)


def damage(house):
    """Words of a memory that are no words any more: the index cannot be filled with them."""
    stopped(house)
    with duckdb.connect(str(house.paths.database)) as connection:
        connection.execute("UPDATE versions SET terms = 'abc'::BLOB WHERE body LIKE '%Invoices%'")


def doctor(house):
    return {one["check"]: one for one in json.loads(house.run("doctor", "--json").stdout)}


@pytest.mark.slow
def test_the_first_prompt_after_the_index_was_damaged_gets_the_memory(house):
    damage(house)

    assert DEPLOY in house.context(ASKED)
    explained = house.ask("explain", ASKED)
    assert explained["enrich"]["degraded"] == ["index.failed"]
    assert house.ask("recall", "argocd deployments")["memories"][0]["content"] == DEPLOY
    assert house.ask("status")["index"]["missing"] == "index.failed"
    assert 'subcog_degraded_total{reason="index.failed",stage="search"}' in house.metrics()
    finding = doctor(house)["index"]
    assert not finding["ok"]
    assert "searched by SQL" in finding["seen"]


def test_what_is_captured_without_an_index_is_found_at_once(house):
    damage(house)
    kept = house.capture("The quartzite key rotates on the first Monday")

    assert house.ask("recall", "quartzite key")["memories"][0]["id"] == kept["id"]
    house.ask("forget", kept["id"])
    assert "quartzite" not in str(house.ask("recall", "quartzite key")["memories"])


@pytest.mark.slow
def test_an_index_that_is_switched_off_is_done_without(house):
    stopped(house)
    house.env |= OFF

    assert DEPLOY in house.context(ASKED)
    assert house.ask("explain", ASKED)["enrich"]["degraded"] == ["index.off"]
    assert doctor(house)["index"]["ok"]
    assert "SQL searches" in house.run("status").stdout
    assert house.ask("topics")["topics"]
