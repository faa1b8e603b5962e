"""A real PgBouncer in transaction mode on a loopback port, in front of a test's PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .postgres import MEMBERS, OWNER, PASSWORD, Server, free_port
from .proxy import Proxy
from .waiting import PATIENCE_S

# One connection of the server for all of a role's: whatever somebody leaves on it, others meet.
_SETTINGS = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 1
server_login_retry = 0.1
"""


@contextmanager
def pooler(server: Server | Proxy) -> Iterator[int]:
    """The port of a pool before ``server``; skips where PgBouncer is not installed."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None and os.environ.get("CI") != "true":
        pytest.skip("pgbouncer is not installed (Debian's package: pgbouncer)")
    assert program, "pgbouncer is not installed"
    folder = Path(tempfile.mkdtemp(prefix="subcog-pool-", dir="/tmp"))
    port = free_port()
    settings = folder / "pgbouncer.ini"
    settings.write_text(_SETTINGS.format(server=server.port, port=port, folder=folder))
    users = (f'"{role}" "{PASSWORD}"\n' for role in (OWNER, *MEMBERS))
    (folder / "users").write_text("".join(users))
    user: dict[str, object] = {}
    if os.geteuid() == 0:  # it refuses root
        nobody = pwd.getpwnam("nobody")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        subprocess.run(["chown", "-R", "nobody", folder], check=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, settings], stdout=log, stderr=log, **user)
    try:
        _wait_for(port, process, folder / "log")
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        shutil.rmtree(folder)


def through(port: int, url: str) -> str:
    """The address of the same database behind the pool."""
    before, _, database = url.rpartition("/")
    return f"{before.rpartition(':')[0]}:{port}/{database}"


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.01)
