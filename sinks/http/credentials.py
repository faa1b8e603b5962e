"""What a client of the daemon's HTTP side has to know, kept over restarts: the token, the port.

Both are files of their owner alone (0600) in the data directory.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from ..files import replace_file

TOKEN_BYTES = 32
_MIN_TOKEN_CHARS = 32
_MAX_BYTES = 256


def http_token(file: Path) -> str:
    """The token in ``file``; a new one where there is none that can be used.

    One that others could read is replaced: it is no secret any more. Raises ``OSError``.
    """
    token = _read(file)
    if len(token) >= _MIN_TOKEN_CHARS and token.isascii() and token.isprintable():
        return token
    token = secrets.token_urlsafe(TOKEN_BYTES)
    replace_file(file, f"{token}\n".encode("ascii"))
    return token


def last_port(file: Path) -> int:
    """The port in ``file``, or 0."""
    try:
        port = int(_read(file))
    except ValueError:
        return 0
    return port if 1024 <= port < 65536 else 0


def keep_port(file: Path, port: int) -> None:
    """Write the port that a client is told. Raises ``OSError``."""
    replace_file(file, f"{port}\n".encode("ascii"))


def _read(file: Path) -> str:
    """What is in ``file``, if it is a file of ours that nobody else can read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(descriptor)
        private = found.st_uid == os.getuid() and not found.st_mode & 0o077
        if not (stat.S_ISREG(found.st_mode) and private):
            return ""
        return opened.read(_MAX_BYTES).decode("ascii", "replace").strip()
