"""What leaves the machine is encrypted, and of several servers the right one is asked."""

from __future__ import annotations

import os

import pytest
from psycopg.conninfo import conninfo_to_dict

from subcog.sinks.team.postgres.address import Address
from subcog.sinks.team.protocol import TeamUnavailable


@pytest.fixture
def surroundings(monkeypatch, tmp_path):
    """Sets variables of libpq, which has none before; PGSERVICE is that of a file."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    service_file = tmp_path / "pg_service.conf"
    service_file.write_text("[open]\nhost=team.example.org\nsslmode=disable\n[near]\nhost=::1\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service_file))

    def set_all(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_all


def tls_of(url):
    return conninfo_to_dict(Address(url).conninfo).get("sslmode", "")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("team.example.org", "require"),
        ("team.example.org/memory?sslmode=verify-full", "verify-full"),
        ("team.example.org/memory?sslmode=prefer", "require"),
        ("team.example.org/memory?sslmode=allow", "require"),
        ("team.example.org/memory?sslmode=disable", "require"),
        ("localhost.example.org", "require"),
        ("127.0.0.1,team.example.org", "require"),
        ("127.0.0.1,127.0.0.2", ""),
        ("team.example.org/memory?hostaddr=127.0.0.1", "require"),
        ("localhost/memory?hostaddr=192.0.2.1", "require"),
        ("127.0.0.1,localhost/memory?hostaddr=127.0.0.1,192.0.2.1", "require"),
        ("/memory?host=team.example.org&sslmode=disable", "require"),
        ("/memory?service=open", "require"),
        ("localhost/memory?service=open&sslmode=disable", "disable"),
        ("/memory?service=near", ""),
        ("/memory", ""),
        ("[::1]", ""),
        ("localhost", ""),
        ("127.0.0.1", ""),
        ("127.0.0.1/memory?hostaddr=127.0.0.1&sslmode=disable", "disable"),
        ("%2Fvar%2Frun%2Fpostgresql", ""),
    ],
)
def test_what_leaves_the_machine_is_encrypted_whatever_the_address_says(
    host, expected, surroundings
):
    assert tls_of(f"postgresql://alice@{host}") == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PGHOST": "team.example.org"}, "require"),
        ({"PGHOST": "team.example.org", "PGSSLMODE": "disable"}, "require"),
        ({"PGHOST": "team.example.org", "PGSSLMODE": "verify-full"}, "verify-full"),
        ({"PGHOST": "team.example.org", "PGHOSTADDR": "127.0.0.1"}, "require"),
        ({"PGHOSTADDR": "192.0.2.1"}, "require"),
        ({"PGSERVICE": "open"}, "require"),
        ({"PGSERVICE": "near"}, ""),
    ],
)
def test_the_environment_does_not_weaken_it(variables, expected, surroundings):
    surroundings(**variables)
    assert tls_of("postgresql:///memory") == expected


def test_the_environment_does_not_weaken_what_the_url_says(surroundings):
    surroundings(PGHOSTADDR="127.0.0.1", PGSSLMODE="disable")
    assert tls_of("postgresql://alice@team.example.org/memory") == "require"
    surroundings(PGHOSTADDR="192.0.2.1")
    assert tls_of("postgresql://alice@localhost/memory") == "require"


def test_a_service_that_is_not_there_is_told(surroundings):
    with pytest.raises(TeamUnavailable, match="service file"):
        Address("postgresql:///memory?service=none_such")


def test_of_several_servers_the_one_that_takes_changes_is_looked_for():
    both = Address("postgresql://ana@db1.example:5432,db2.example:6432/memory")
    assert both.server == "db1.example:5432,db2.example:6432/memory"
    assert conninfo_to_dict(both.conninfo)["target_session_attrs"] == "read-write"
    asked = "sslmode=verify-full&sslrootcert=%2Fca.pem"
    six = Address(f"postgresql://ana@[2001:db8::1]:5432,db2.example:6432/memory?{asked}")
    there = f"@[2001:db8::1]:5432,db2.example:6432/memory?{asked}"
    assert six.url("b@b", "p:w", "memory") == f"postgresql://b%40b:p%3Aw{there}"

    one = Address("postgresql://ana@db1.example/memory")
    assert "target_session_attrs" not in conninfo_to_dict(one.conninfo)
    any_ = Address("postgresql://ana@db1.example,db2.example/memory?target_session_attrs=any")
    assert conninfo_to_dict(any_.conninfo)["target_session_attrs"] == "any"
