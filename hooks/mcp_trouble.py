"""What the MCP pipe tells its client, and finds out, where the daemon has left or hangs.

Loaded by ``mcp_pipe.py`` when it is needed.
"""

from __future__ import annotations

import json
import select
import socket
import sys
from collections.abc import Callable


def updated(uri: str) -> bytes:
    """What tells a client to read a resource again."""
    said = {"method": "notifications/resources/updated", "params": {"uri": uri}}
    return json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n"


def refusal(request_id: str | int | None, why: str) -> bytes:
    """An error in answer to a request."""
    error = {"code": -32603, "message": why}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode() + b"\n"


def is_alive(
    dial: Callable[[], socket.socket],
    connection: socket.socket,
    asking: bytes,
    within_s: float,
) -> bool:
    """Whether the daemon at the end of ``connection`` says anything there, or to ``asking``."""
    try:
        another = dial()
    except BlockingIOError:  # so many wait for it that nobody more can
        return False
    except OSError:  # it lets nobody in while it leaves, and finishes what it has begun
        return True
    try:
        another.sendall(asking)
        return bool(select.select([another, connection], [], [], within_s)[0])
    except OSError:  # it has just left
        return True
    finally:
        another.close()


def hung(connection: socket.socket) -> str:
    """What to do about the daemon at the end of ``connection``, which does not answer."""
    told, end = "", "End it"
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        process = int.from_bytes(raw[:4], sys.byteorder)
        told = f" (process {process})"
        end = f"`kill -CONT {process}` wakes it, `kill -9 {process}` ends it"
    return (
        f"subcog's daemon{told} does not answer: it is suspended or hangs. {end}. Nothing "
        "acknowledged is lost; what was asked may still be done if it wakes."
    )
