import json
import math
from contextlib import nullcontext

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from starlette.datastructures import Headers

from subcog.sinks.mcp.http import IDLE_S, MAX_BODY, McpHttp, Refusal, Served, is_stateless
from subcog.sinks.mcp.http import _make_room as make_room
from subcog.sinks.mcp.http import _mended as mended
from subcog.sinks.mcp.http import _whole_body as whole_body
from subcog.sinks.mcp.lazy_app import LazyApp
from subcog.sinks.mcp.port import Refused
from tests.waiting import PATIENCE_S


def _receiving(*messages):
    waiting = list(messages)

    async def receive():
        return waiting.pop(0)

    return receive


def _part(body, *, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


# --- one request ---------------------------------------------------------------------------------


async def test_a_body_comes_in_parts():
    assert await whole_body(_receiving(_part(b"a", more=True), _part(b"b"))) == b"ab"


async def test_of_a_body_that_is_too_large_no_more_is_read():
    half = b"x" * (MAX_BODY // 2 + 1)
    with pytest.raises(Refusal, match="too large"):
        await whole_body(_receiving(_part(half, more=True), _part(half, more=True)))


async def test_a_client_that_leaves_before_its_body_has_come_leaves_nothing_waiting():
    assert await whole_body(_receiving(_part(b"a", more=True), {"type": "http.disconnect"})) == b"a"


def test_halves_of_characters_become_question_marks_and_all_else_stays():
    assert mended(b'{"a": "x\\ud800y"}') == b'{"a": "x?y"}'
    assert mended(b'{"a": "\\ud83d\\udd11"}') == '{"a": "🔑"}'.encode()
    for same in (b'{"a":  1}', b"\\ud800 {", b'"\\ud800' + b"[" * 100_000):
        assert mended(same) == same


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, False),
        ("2025-06-18", False),
        ("2025-11-25", False),
        ("2026-07-28", True),
        ("x", True),
    ],
)
def test_the_version_decides_whether_a_request_stands_for_itself(version, expected):
    headers = Headers({} if version is None else {"mcp-protocol-version": version})
    assert is_stateless(headers) is expected


# --- what is kept --------------------------------------------------------------------------------


async def test_the_time_of_being_idle_begins_when_the_last_request_ends():
    gate = anyio.Event()

    async def answer(scope, receive, send):
        await gate.wait()

    served = Served("", answer)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(served.serve, {}, None, None)
            await wait_all_tasks_blocked()
            assert (served.in_flight, served.scope.deadline) == (2, math.inf)
            gate.set()
    assert served.scope.deadline == served.last_used + IDLE_S


async def test_room_is_made_by_the_one_that_was_idle_for_longest():
    kept = {}
    for name, last_used, in_flight in (("busy", 1.0, 1), ("old", 2.0, 0), ("new", 3.0, 0)):
        kept[name] = Served("", None)
        kept[name].last_used, kept[name].in_flight = last_used, in_flight
    old = kept["old"]
    make_room(kept, 4)
    assert len(kept) == 3
    make_room(kept, 3)
    assert list(kept) == ["busy", "new"]
    assert old.scope.cancel_called
    kept["new"].in_flight = 1
    with pytest.raises(Refusal, match="Too many"):
        make_room(kept, 2)


class Broken:
    """A session that ends as soon as somebody speaks."""

    async def converse(self, received, sent):
        async for _ in received:
            raise RuntimeError


async def test_a_session_that_breaks_ends_its_own_requests_and_nothing_else(caplog):
    told = []
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    headers = {"accept": "application/json", "content-type": "application/json"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "headers": raw}

    async def send(message):
        told.append(message)

    async def opened(project, max_listeners):
        return nullcontext(Broken())

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            http = McpHttp(tasks, opened, new_id=lambda: "id")
            for _ in range(2):
                await http.answer("", scope, _receiving(_part(json.dumps(opening).encode())), send)
    assert [each["status"] for each in told if "status" in each] == [500, 500]
    assert [record.message for record in caplog.records].count("an MCP session failed") == 2


@pytest.mark.parametrize("era", [{}, {"mcp-protocol-version": "2026-07-28"}])
async def test_a_project_whose_disk_does_not_answer_is_refused_and_leaves_nothing(era):
    headers = [(name.encode(), value.encode()) for name, value in era.items()]
    told = []

    async def send(message):
        told.append(message)

    async def opened(project, max_listeners):
        raise Refused("the directory of the project does not answer")

    async with anyio.create_task_group() as tasks:
        http = McpHttp(tasks, opened, new_id=lambda: "id")
        scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
        await http.answer("/stale", scope, _receiving(_part(b"{}")), send)
    assert told[0]["status"] == 503
    assert (http._sessions, http._projects) == ({}, {})


@pytest.mark.parametrize(("disk", "expected"), [(TimeoutError, 503), (None, 400)])
async def test_before_anything_is_loaded_the_disk_says_whether_there_is_a_project(disk, expected):
    told, asked = [], []

    async def send(message):
        told.append(message)

    async def is_directory(path):
        asked.append(path)
        if disk:
            raise disk
        return False

    app = LazyApp(None, None, is_directory=is_directory, seen=None)
    scope = {"type": "http", "method": "POST", "query_string": b"project=/stale"}
    await app(scope, _receiving(_part(b"{}")), send)
    assert told[0]["status"] == expected
    assert asked == ["/stale"]
