"""The HTTP port: one that is picked once is kept, because clients are told it in their settings."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from ...sinks.http.credentials import keep_port, last_port
from .sockets import listen_on_loopback


def listen_on_the_same(port: int, file: Path) -> socket.socket:
    """A listening socket on ``port``; where that is 0, on the one in ``file`` if it is free.

    What is picked instead is written there. Raises ``OSError``.
    """
    if port:
        return listen_on_loopback(port)
    if before := last_port(file):
        with contextlib.suppress(OSError):
            return listen_on_loopback(before)
    listener = listen_on_loopback(0)
    with contextlib.suppress(OSError):  # it serves as well where it cannot be kept
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        keep_port(file, listener.getsockname()[1])
    return listener
