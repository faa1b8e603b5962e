"""The pipe writes and reads the wire format by itself; it must be the one of ``bus/frames.py``."""

from __future__ import annotations

import signal
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.bus.frames import (
    MAX_BODY,
    MAX_LINE,
    read_fields,
    read_head,
    reply_frame,
    request_frame,
)
from subcog.hooks import client

events = st.text("abcXYZ019", min_size=1, max_size=64)
values = st.binary(max_size=200).filter(lambda value: b"\0" not in value)
keys = st.sampled_from([b"version", b"id", b"project", b"cwd", b"client", b"session"])


@given(events, st.dictionaries(keys, values), st.binary(max_size=300))
def test_pipe_writes_the_same_bytes(event, fields, body):
    written = client.pack(f"hook {event}", fields, body) + body

    decoded = {
        key.decode(): value.decode("utf-8", "surrogateescape") for key, value in fields.items()
    }
    assert written == request_frame("hook", event, decoded, body)


@given(events, st.dictionaries(keys, values), st.binary(max_size=300))
def test_daemon_reads_what_the_pipe_writes(event, fields, body):
    line, _, rest = client.pack(f"hook {event}", fields, body).partition(b"\n")
    head = read_head(line + b"\n")

    assert len(line) < MAX_LINE
    assert (head.kind, head.name, head.fields, head.body) == ("hook", event, len(rest), len(body))
    assert set(read_fields(rest)) == {key.decode() for key in fields}


@pytest.mark.parametrize("status", ["ok", "unsettled"])
@pytest.mark.parametrize("body", [b"", b"{}", b"x\ny" * 1000, b"\0" * 70_000])
def test_pipe_reads_what_the_daemon_writes(body, status):
    here, there = socket.socketpair()
    with here, there:
        before = signal.getsignal(signal.SIGALRM)
        there.sendall(reply_frame("wait", "4000") + reply_frame(status, "0.1.0", body))
        try:
            assert client.read_reply(here) == (body, status == "ok")
        finally:
            client.disarm()
            signal.signal(signal.SIGALRM, before)


def test_limits_are_the_same():
    assert (client.MAX_BODY, client.MAX_LINE) == (MAX_BODY, MAX_LINE)
