"""Who talks to the HTTP port, or says nothing there, cannot end the daemon or its log."""

import contextlib
import os
import resource
import socket
import urllib.parse
import urllib.request

import pytest

from subcog.pipeline.daemon.log_setup import MOST_OF_A_CAUSE
from subcog.sinks.http.server import MAX_OPEN
from tests.waiting import eventually

SILENT = 1100


@pytest.fixture
def address(alone):
    pid = alone.start()
    alone.metrics()
    url = urllib.parse.urlsplit(alone.ask("status")["metrics_url"])
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (1024, 1024))  # as most systems have it
    return url.hostname, url.port


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.slow
def test_silent_connections_neither_end_the_daemon_nor_stay(alone, address):
    pid = alone.pid()
    before = descriptors(pid)
    with contextlib.ExitStack() as stack:
        for _ in range(SILENT):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_connection(address, timeout=5))
        assert alone.prompt("how do I deploy?") in (None, {})
        eventually(lambda: descriptors(pid) <= before + MAX_OPEN + 50)
        # Nothing was asked: they are closed from the other side.
        eventually(lambda: descriptors(pid) <= before + 50)
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/healthz", timeout=10) as answer:
        assert answer.status == 200


def test_senseless_requests_do_not_rotate_the_log_away(alone, address):
    for _ in range(3 * MOST_OF_A_CAUSE):
        with socket.create_connection(address, timeout=5) as client:
            client.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
            client.recv(64)
    lines = alone.paths.log.read_text().splitlines()
    assert 0 < sum("Invalid HTTP request" in line for line in lines) <= MOST_OF_A_CAUSE
