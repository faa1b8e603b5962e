"""A team's server that fails in a way of its own: what a member's hooks and commands have of it."""

import pytest

from tests.postgres import Database, standby_of
from tests.proxy import HOST, Proxy
from tests.waiting import eventually

from .test_team import machine

DOCK = "The dock at gate seven takes no lorries above twelve tonnes"
CRANE = "The crane in hall three needs a licence of class B"


def behind(line, team, role="alice"):
    return team.url(role).replace(str(team.server.port), str(line.port))


def told(house):
    """The reason of the team's problem, once there is one."""
    return eventually(lambda: house.ask("team", "status")["problem"])["reason"]


@pytest.mark.slow
def test_a_server_that_is_replaced_by_its_standby_gets_what_it_had_not(team, tmp_path):
    """The address stays the same, as that of a managed server does."""
    with (
        standby_of(team.server) as (standby, wire),
        Proxy((HOST, team.server.port)) as line,
        machine(tmp_path / "gina", behind(line, team)) as gina,
    ):
        try:
            wire.freeze()
            gina.capture(DOCK, "--scope", "org")
            gina.settled()  # the primary has it, and the standby never gets it
            team.server.kill()
            line.target = (HOST, standby.port)
            gina.capture(CRANE, "--scope", "org")
            assert eventually(lambda: told(gina) == "read_only")
            assert "is a read-only standby" in gina.run("team", "status").stdout
            assert gina.ask("team", "status")["outbox"] == 1

            standby.promote()

            found = "SELECT count(*) FROM subcog.versions"
            there = Database(standby, team.name)
            assert eventually(lambda: there.psql("alice", found).strip() == "2")
            gina.settled()
            assert eventually(lambda: gina.ask("team", "status")["problem"] is None)
        finally:
            team.server.start()
