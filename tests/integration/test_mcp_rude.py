"""MCP clients that do wrong: each gets the protocol's error, and the others are served."""

import contextlib
import json
import threading

import pytest

from .mcp_client import ERAS, INITIALIZE, META, Lines

pytestmark = pytest.mark.parametrize("era", ERAS)


def _error(answer):
    return answer["error"]["code"]


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        (b"this is no JSON", -32700, None),
        (b"{", -32700, None),
        (b"\xff\xfe\x00", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"7", -32600, None),
        (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": "x", "method": 5}', -32600, "x"),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": 5}', -32600, 7),
    ],
)
def test_a_line_that_is_no_message_is_refused_and_the_next_is_answered(
    shared, era, line, code, identity
):
    with Lines(shared, era=era) as client:
        client.write(line + b"\n\n")
        answer = client.read()
        assert (_error(answer), answer["id"]) == (code, identity)
        assert client.tool("status")["structuredContent"]


def test_unknown_methods_and_wrong_types_are_refused(shared, era):
    with Lines(shared, era=era) as client:
        assert _error(client.ask("nope/nope")) == -32601
        assert _error(client.ask("tools/call", {"name": 5})) == -32602
        assert _error(client.ask("tools/call", {"name": "recall", "arguments": []})) == -32602
        assert _error(client.ask("resources/read", {})) == -32602
        assert _error(client.ask("prompts/get", {"name": "recall_context", "arguments": [1]})) == (
            -32602
        )
        assert _error(client.ask("tools/list", {"cursor": "nope"})) == -32602
        client.send({"jsonrpc": "2.0", "method": "notifications/nope"})
        client.send({"jsonrpc": "2.0", "id": 99, "result": {}})
        assert client.tool("status")["structuredContent"]


def test_halves_of_characters_and_controls_do_no_harm(shared, era):
    with Lines(shared, era=era) as client:
        for text in ("half \ud800 of one", "nul \x00 inside", "bell \x07", "\u202e reversed"):
            assert client.tool("recall", query=text)["structuredContent"]["memories"] == []
            answer = client.ask("resources/read", {"uri": f"subcog://search/{text}"})
            assert json.loads(answer["result"]["contents"][0]["text"])["memories"] == []


def test_ten_megabytes_are_refused_and_more_than_sixteen_never_held(shared, era):
    with Lines(shared, era=era) as client:
        answer = client.tool("capture", text="x" * 10_000_000)
        assert answer["isError"]
        assert "1 to 20000 characters" in answer["content"][0]["text"]
        client.write(b'{"jsonrpc": "2.0", "id": 7, "method": "' + b"x" * 17_000_000 + b'"}\n')
        answer = client.read()
        assert (_error(answer), answer["id"]) == (-32600, None)
        assert client.tool("status")["structuredContent"]


def test_a_client_that_dies_in_the_middle_of_a_call_harms_nobody(shared, era):
    with Lines(shared, era=era) as other:
        for _ in range(5):
            with Lines(shared, era=era) as client:
                client.request("tools/call", {"name": "recall", "arguments": {"query": "x"}})
                client.write(b'{"jsonrpc": "2.0", "id"')
        assert other.tool("status")["structuredContent"]


def test_a_client_that_never_reads_is_served_no_more_than_fits_and_others_are(shared, era):
    asked = {"jsonrpc": "2.0", "method": "resources/read", "params": {"uri": "subcog://help"}}
    if era != "legacy":
        asked["params"]["_meta"] = META
    with Lines(shared, era=era) as deaf, Lines(shared, era=era) as other:
        lines = b"".join(json.dumps({**asked, "id": i}).encode() + b"\n" for i in range(20_000))
        writer = threading.Thread(target=_write_until_closed, args=(deaf, lines))
        writer.start()
        for _ in range(5):
            assert other.tool("status")["structuredContent"]
        deaf.process.kill()
        writer.join(10)
        assert not writer.is_alive()


def _write_until_closed(client, lines):
    with contextlib.suppress(BrokenPipeError):
        client.write(lines)


def test_who_does_not_introduce_itself_is_told_so(shared, era):
    with Lines(shared, era="2026-07-28") as client:
        if era == "legacy":
            client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            assert _error(client.read()) == -32602
        else:
            client.request("tools/list")
            assert client.read()["result"]["tools"]
            client.send({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": INITIALIZE})
            answer = client.read()
            assert _error(answer) == -32022
            assert answer["error"]["data"]["supported"] == ["2026-07-28"]


def test_what_is_asked_last_is_answered_before_the_pipe_ends(shared, era):
    with Lines(shared, era=era) as client:
        asked = client.request("tools/call", {"name": "recall", "arguments": {"query": "x"}})
        client.process.stdin.close()
        assert client.read()["id"] == asked
        assert client.process.wait(10) == 0
