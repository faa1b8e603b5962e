import json

import anyio
import mcp_types as types
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from subcog.sinks.mcp import stdio as mcp_stream
from subcog.sinks.mcp.stdio import MAX_OPEN, BadMessage, LineTransport, lines, read_message
from tests.waiting import PATIENCE_S


class Source:
    """Gives chunks, then the end."""

    def __init__(self, *chunks):
        self._chunks = list(chunks)

    async def receive(self, max_bytes=65536):
        if not self._chunks:
            raise anyio.EndOfStream
        return self._chunks.pop(0)


class Target:
    """Takes what is sent; ``deaf`` takes nothing."""

    def __init__(self, *, deaf=False):
        self.sent = []
        self._deaf = deaf

    async def send(self, data):
        if self._deaf:
            await anyio.sleep_forever()
        self.sent.append(json.loads(data))


def wire(*chunks, target=None):
    return LineTransport(BufferedByteReceiveStream(Source(*chunks)), target or Target())


def request(number):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode() + b"\n"


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
async def test_lines_are_whole_however_they_arrive(size):
    data = b'{"a": 1}\r\n\n  \n\xff\nlast without end'
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    found = [line async for line in lines(BufferedByteReceiveStream(Source(*chunks)))]
    assert found == [b'{"a": 1}\r', b"\xff"]


async def test_of_a_line_that_is_too_long_only_the_beginning_is_held():
    source = Source(*[b"x" * 1000] * 50, b"\nnext\n")
    found = [line async for line in lines(BufferedByteReceiveStream(source), 100)]
    assert [len(line) for line in found] == [101, 4]


def test_half_a_character_becomes_a_question_mark():
    message = read_message(b'{"jsonrpc": "2.0", "id": 1, "method": "a\\ud800b"}')
    assert message.method == "a?b"


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        (b"{", types.PARSE_ERROR, None),
        (b"[]", types.INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": 5}', types.INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', types.INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": 5}', types.INVALID_REQUEST, "?"),
    ],
)
def test_what_is_no_message_is_refused_by_its_id(line, code, identity):
    with pytest.raises(BadMessage) as caught:
        read_message(line)
    assert (caught.value.code, caught.value.request_id) == (code, identity)


async def test_no_more_is_read_while_so_many_requests_are_open():
    target = Target()
    served = wire(*[request(number) for number in range(MAX_OPEN + 1)], target=target)
    incoming, received = anyio.create_memory_object_stream(1000)
    sent, outgoing = anyio.create_memory_object_stream(1000)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks, received, sent:
            tasks.start_soon(served.read, incoming)
            tasks.start_soon(served.write, outgoing)
            await anyio.wait_all_tasks_blocked()
            assert received.statistics().current_buffer_used == MAX_OPEN
            await sent.send(
                mcp_stream.SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=0, result={}))
            )
            await anyio.wait_all_tasks_blocked()
            assert received.statistics().current_buffer_used == MAX_OPEN + 1
            await (await received.receive()).metadata.on_request_unanswered()
            tasks.cancel_scope.cancel()
    assert target.sent == [{"jsonrpc": "2.0", "id": 0, "result": {}}]


async def test_who_does_not_read_is_left(monkeypatch):
    monkeypatch.setattr(mcp_stream, "WRITE_S", 0.01)
    sent, outgoing = anyio.create_memory_object_stream(1)
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=0, result={})
    with anyio.fail_after(PATIENCE_S):
        async with sent:
            await sent.send(mcp_stream.SessionMessage(answer))
            with pytest.raises(TimeoutError):
                await wire(target=Target(deaf=True)).write(outgoing)
