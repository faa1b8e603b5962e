"""Whatever is sent through the hook pipe, the real daemon serves the next client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .claude import CHECKOUT, Agent, a_home_of

PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
SECRET = "Never-In-A-Log-7391"
GOOD = json.dumps({"session_id": "s", "prompt": "how do I hash passwords here?"}).encode()
BAD = {
    "nothing": b"",
    "not JSON": f"{SECRET} {{".encode(),
    "wrong shape": json.dumps([SECRET, 7]).encode(),
    "wrong types": json.dumps({"prompt": {"text": SECRET}, "session_id": 7}).encode(),
    "NUL bytes": b'{"prompt": "a\0b"}\0\0' + SECRET.encode(),
    "escaped NUL": json.dumps({"prompt": f"[remember] a\0b {SECRET}", "session_id": "\0"}).encode(),
    "lone surrogate": b'{"session_id": "\\udfff", "prompt": "\\ud800 where is it?"}',
    "not UTF-8": b'{"prompt": "\xff\xfe where is it?"}',
    "empty prompt": b'{"session_id": "s", "prompt": ""}',
    "deep": b"[" * 200_000,
    "ten megabytes": b'{"prompt": "' + b"x y? " * 2_000_000 + b'"}',
}


@pytest.fixture(scope="module")
def machine() -> Iterator[Agent]:
    with a_home_of(Path("/nowhere")) as machine:
        where = str(machine.project("P"))
        machine.subcog("capture", "We use argon2id for password hashing", "--project", where)
        yield machine


def hook(machine: Agent, payload: bytes, event: str = "UserPromptSubmit") -> bytes:
    done = subprocess.run(
        [PYTHON, "-I", "-S", str(CHECKOUT / "hooks" / "client.py"), event],
        input=payload,
        capture_output=True,
        env=machine.env | {"CLAUDE_PROJECT_DIR": str(machine.root / "P")},
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.mark.parametrize("payload", BAD.values(), ids=BAD.keys())
def test_bad_payload_is_answered_with_valid_output_or_nothing(machine, payload):
    pid = machine.subcog("status")["pid"]
    for event in ("UserPromptSubmit", "SessionStart", "NoSuchEvent"):
        answer = hook(machine, payload, event)
        assert answer == b"" or isinstance(json.loads(answer), dict)

    fresh = GOOD.replace(b'"s"', f'"after {hash(payload)}"'.encode())
    assert b"argon2id" in hook(machine, fresh)
    assert machine.subcog("status")["pid"] == pid


def test_no_log_holds_what_was_sent(machine):
    for payload in BAD.values():
        hook(machine, payload)

    for log in (machine.root / "s" / "state").rglob("*"):
        if log.is_file():
            assert SECRET not in log.read_text()


def test_client_that_hangs_up_in_the_middle_harms_nobody(machine):
    import socket

    place = machine.subcog("status")["socket"]
    for sent in (b"", b"subcog/1 ho", b"subcog/1 hook UserPromptSubmit 0 500\n{", b"GET /\n\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(place)
            client.sendall(sent)

    fresh = GOOD.replace(b'"s"', b'"after the hang-up"')
    assert b"argon2id" in hook(machine, fresh)
