"""What the URL of a team's server means to libpq: where it is, who asks, and how safely."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from ipaddress import ip_address
from itertools import cycle
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import ConnectionTimeout
from psycopg.pq import PGconn

from .errors import unavailable

CONNECT_S = 5
MAX_CONNECT_S = 40
STATEMENT_S = 30

_SESSION = {
    "application_name": "subcog",
    "connect_timeout": CONNECT_S,
    # A dead peer is noticed within 25 s, be it between two questions or during one.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_LIMITS = (
    f"-c statement_timeout={STATEMENT_S}s -c lock_timeout=20s "
    "-c idle_in_transaction_session_timeout=60s"
)

_quoted = partial(quote, safe="")

# Modes of TLS that an attacker on the way, or the server, may turn into none.
_OPEN = ("disable", "allow", "prefer", "")
_HOSTS = ("host", "hostaddr")
_TLS = ("sslmode", "sslrootcert")
_PLACE = ("host", "hostaddr", "port", "sslmode")
# Words of a connection pool that takes no settings of a session.
_NO_OPTIONS = "unsupported startup parameter"


class Address:
    """Where the server is, and who asks. Raises TeamUnavailable for a URL that is none.

    ``limits`` bound what one statement may take; whoever upgrades large tables goes without.
    ``is_plain``: a pool refused ``options``, so they are left out.
    ``connect_s`` is what connecting may take: five round trips, and more after each time-out.
    """

    def __init__(self, url: str, *, limits: str = _LIMITS) -> None:
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:
            raise unavailable("bad_address", "") from None
        reached = _resolved(url)
        places = _places(reached, "localhost")
        self.server = f"{','.join(places)}/{parts.get('dbname') or ''}"
        hosts = {name: ",".join(map(_in_url, reached[name].split(","))) for name in _HOSTS}
        self._authority = ",".join(_places(reached | hosts, ""))
        self._tls = {name: parts[name] for name in _TLS if name in parts}
        settings: dict[str, Any] = _SESSION | {"options": f"{limits} -c timezone=UTC"}
        if len(places) > 1:  # of a primary and its standbys, whichever is which now
            settings["target_session_attrs"] = "read-write"
        settings |= parts
        if not _is_here(reached):  # a password and memories do not travel in the open
            mode = reached.pop("sslmode")
            settings |= {name: value for name, value in reached.items() if value}
            settings["sslmode"] = "require" if mode in _OPEN else mode
        self._conninfo = make_conninfo("", **settings)
        self._plain = make_conninfo("", **(settings | {"options": ""}))
        self.is_plain = False
        self.connect_s = CONNECT_S
        # Of several servers one may be dead, and is waited for before each try of the next.
        self._is_patient = len(places) == 1 and "connect_timeout" not in parts

    def url(self, role: str, password: str, database: str) -> str:
        """By which another role gets to ``database`` there, with the TLS asked for here."""
        who = f"{_quoted(role)}:{_quoted(password)}"
        how = "&".join(f"{name}={_quoted(str(value))}" for name, value in self._tls.items())
        return f"postgresql://{who}@{self._authority}/{_quoted(database)}{how and '?'}{how}"

    @property
    def conninfo(self) -> str:
        """What to connect with."""
        info = self._plain if self.is_plain else self._conninfo
        if not self._is_patient:
            return info
        return make_conninfo(info, connect_timeout=self.connect_s)

    def failed(self, error: psycopg.Error, *, was_plain: bool) -> bool:
        """Note why connecting failed; returns whether to try again at once, without ``options``."""
        if self._is_patient and isinstance(error, ConnectionTimeout):
            self.connect_s = min(2 * self.connect_s, MAX_CONNECT_S)
        refused = _NO_OPTIONS in str(error)
        self.is_plain |= refused
        return refused and not was_plain


def _resolved(url: str) -> dict[str, str]:
    """Where libpq would connect for ``url``, with its environment and service file.

    libpq refuses the last setting, having looked up all others and connected to nothing. Raises
    TeamUnavailable for a service that is not there.
    """
    refused = PGconn.connect_start(make_conninfo(url, target_session_attrs="none").encode())
    try:
        found = {option.keyword.decode(): option.val for option in refused.info}
    finally:
        refused.finish()
    if found["port"] is None:  # it stopped at the service
        raise unavailable("bad_address", "")
    return {name: (found[name] or b"").decode() for name in _PLACE}


def _places(reached: Mapping[str, str], default: str) -> list[str]:
    """host:port of each server; one port may be that of all."""
    hosts = (reached["host"] or reached["hostaddr"] or default).split(",")
    ports = reached["port"].split(",")
    return [f"{host}:{port}" for host, port in zip(hosts, cycle(ports), strict=False)]


def _in_url(host: str) -> str:
    """A name, an address, or the folder of a socket, which libpq takes quoted."""
    return f"[{host}]" if ":" in host else _quoted(host)


def _is_here(reached: Mapping[str, str]) -> bool:
    """Whether every host is this machine, by name and by address; none is libpq's socket."""
    hosts = [*reached["host"].split(","), *reached["hostaddr"].split(",")]
    return all(_is_local(host) for host in hosts if host)


def _is_local(host: str) -> bool:
    """Whether ``host`` is this machine: by its name, a loopback address, or a socket's folder."""
    if host == "localhost" or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
