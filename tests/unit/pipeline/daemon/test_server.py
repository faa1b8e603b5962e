import socket

import anyio
import msgspec
import pytest
from anyio.abc import SocketStream, UNIXSocketStream

from subcog.bus.frames import read_reply_head, reply_frame, request_frame
from subcog.pipeline.daemon.server import Server, parse_version
from subcog.pipeline.entrance.handler import HookAnswer
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize(
    ("older", "newer"),
    [("0.1.0", "0.1.1"), ("0.9.0", "0.10.0"), ("", "0.0.1"), ("nonsense", "0.0.1")],
)
def test_versions_compare_as_numbers(older, newer):
    assert parse_version(older) < parse_version(newer)


class Parts:
    """A server with answers that the test chooses."""

    def __init__(self, hook=None, more_time_ms=0):
        async def answer(event, fields, body):
            said = f"{event}:{fields.get('cwd')}:".encode() + body
            return HookAnswer(said, "answered", is_settled=event != "Unsettled")

        async def call(name, fields, body):
            if name == "defect":
                raise RuntimeError
            return name != "bad", body

        async def mcp(inbox, stream, fields):
            await stream.send(reply_frame("ok", fields["cwd"], await inbox.receive()))

        self.server = Server(
            version="1.2.3",
            build="b1",
            hook=hook or answer,
            call=call,
            mcp=mcp,
            more_time_ms=lambda: more_time_ms,
        )


async def _talk(server, *frames, replies):
    """Send ``frames`` over one connection and return so many (status, detail, body)."""
    ours, theirs = socket.socketpair()
    heard = []
    async with anyio.create_task_group() as tasks:
        stream: SocketStream = await UNIXSocketStream.from_socket(theirs)
        tasks.start_soon(server.serve, stream)
        async with await UNIXSocketStream.from_socket(ours) as client:
            data = b""
            for frame in frames:
                await client.send(frame)
            while len(heard) < replies:
                while b"\n" not in data:
                    data += await client.receive()
                line, _, data = data.partition(b"\n")
                head = read_reply_head(line)
                while len(data) < head.body:
                    data += await client.receive()
                heard.append((head.status, head.detail, data[: head.body]))
                data = data[head.body :]
    return heard


async def test_a_hook_is_answered_with_the_version():
    frame = request_frame("hook", "Stop", {"cwd": "/w"}, b"{}")
    with anyio.fail_after(PATIENCE_S):
        assert await _talk(Parts().server, frame, replies=1) == [("ok", "1.2.3", b"Stop:/w:{}")]


async def test_what_is_not_committed_yet_is_told_to_the_client():
    frame = request_frame("hook", "Unsettled", {}, b"{}")
    with anyio.fail_after(PATIENCE_S):
        [(status, _, _)] = await _talk(Parts().server, frame, replies=1)
    assert status == "unsettled"


async def test_a_hook_that_may_wait_longer_is_told_so_first():
    frame = request_frame("hook", "Stop", {}, b"")
    with anyio.fail_after(PATIENCE_S):
        replies = await _talk(Parts(more_time_ms=900).server, frame, replies=2)
    assert replies[0] == ("wait", "900", b"")
    assert replies[1][0] == "ok"


async def test_one_connection_may_call_many_times():
    frames = [request_frame("call", name, {}, b"1") for name in ("a", "bad", "b")]
    with anyio.fail_after(PATIENCE_S):
        replies = await _talk(Parts().server, *frames, replies=3)
    assert [status for status, _, _ in replies] == ["ok", "error", "ok"]


async def test_a_client_that_hangs_up_cancels_its_hook():
    cancelled = anyio.Event()

    async def slow(event, fields, body):
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    ours, theirs = socket.socketpair()
    server = Parts(hook=slow).server
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, await UNIXSocketStream.from_socket(theirs))
            ours.sendall(request_frame("hook", "Stop", {}, b""))
            await anyio.wait_all_tasks_blocked()
            ours.close()
            await cancelled.wait()
    assert server.connections == 0


@pytest.mark.parametrize("kind", [UNIXSocketStream, SocketStream])
async def test_an_answer_that_nobody_takes_is_taken_back(kind):
    taken_back = anyio.Event()

    async def answer(event, fields, body):
        ours.shutdown(socket.SHUT_RD)  # it has not hung up
        return HookAnswer(b"{}", "answered", take_back=taken_back.set)

    ours, theirs = socket.socketpair()
    with ours, anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Parts(hook=answer).server.serve, await kind.from_socket(theirs))
            ours.sendall(request_frame("hook", "Stop", {}, b""))
            await taken_back.wait()


async def test_a_newer_client_is_noticed_and_an_older_one_is_not():
    for version, noticed in (("1.2.2", False), ("1.2.3", False), ("1.3.0", True)):
        server = Parts().server
        with anyio.fail_after(PATIENCE_S):
            frame = request_frame("call", "a", {"version": version}, b"")
            await _talk(server, frame, replies=1)
        assert server.other_client.is_set() is server.newer_command.is_set() is noticed


async def test_a_newer_hook_is_no_command_line():
    server = Parts().server
    with anyio.fail_after(PATIENCE_S):
        await _talk(server, request_frame("hook", "a", {"version": "1.3.0"}, b""), replies=1)
    assert server.other_client.is_set()
    assert not server.newer_command.is_set()


async def test_a_request_that_breaks_is_logged_without_text_and_ends_nothing_else(caplog):
    async def broken(event, fields, body):
        raise AttributeError("private words")

    ours, theirs = socket.socketpair()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            server = Parts(hook=broken).server
            tasks.start_soon(server.serve, await UNIXSocketStream.from_socket(theirs))
            ours.sendall(request_frame("hook", "Stop", {}, b""))
            await anyio.to_thread.run_sync(ours.recv, 1)
    ours.close()
    assert [record.message for record in caplog.records] == ["a request failed unexpectedly"]
    assert "private words" not in caplog.text


async def test_after_its_head_an_mcp_connection_is_handed_over_with_what_came_behind():
    frame = request_frame("mcp", "stdio", {"cwd": "/w"}, b"") + b"lines"
    with anyio.fail_after(PATIENCE_S):
        assert await _talk(Parts().server, frame, replies=1) == [("ok", "/w", b"lines")]


async def test_a_command_of_another_build_of_the_same_version_is_noticed():
    for build, noticed in ({}, False), ({"build": "b1"}, False), ({"build": "b2"}, True):
        server = Parts().server
        with anyio.fail_after(PATIENCE_S):
            frame = request_frame("call", "a", {"version": "1.2.3", **build}, b"")
            await _talk(server, frame, replies=1)
        assert server.other_client.is_set() is noticed
        assert not server.newer_command.is_set()


async def test_a_call_that_fails_unexpectedly_is_answered_with_an_error():
    with anyio.fail_after(PATIENCE_S):
        frame = request_frame("call", "defect", {}, b"")
        [(status, _, body)] = await _talk(Parts().server, frame, replies=1)
    assert status == "error"
    assert "unexpected error" in msgspec.json.decode(body)["error"]
