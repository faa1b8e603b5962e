"""MCP over HTTP: who may come in, whose memories they reach, and what they cannot break."""

import contextlib
import json
import os
import stat
from pathlib import Path

import pytest

from .mcp_client import ERAS, INITIALIZE, call, session_of_the_user
from .mcp_http_client import Raw, message

SECRET = "The launch code of this project is swordfish"

in_both_eras = pytest.mark.parametrize("era", ERAS)


def _code(answer):
    return answer["error"]["code"]


# --- who may come in -----------------------------------------------------------------------------


@in_both_eras
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer nope", "Basic {}", "{}", "bearer {}"]
)
def test_nobody_comes_in_without_the_token(shared, era, method, given):
    client = Raw(shared, era)
    body = client.request("tools/list") if method == "POST" else None
    token = given and given.format(client.token)
    status, headers, _ = client.send(method, body, Authorization=token)
    assert (status, headers["www-authenticate"]) == (401, "Bearer")


@in_both_eras
def test_the_token_is_for_its_owner_alone(shared, era):
    assert Raw(shared, era).tool("status")
    mode = shared.paths.http_token.stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert len(shared.paths.http_token.read_text().strip()) >= 32


@in_both_eras
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Host": "evil.example"}, 400),
        ({"Host": "127.0.0.1.evil.example"}, 400),
        ({"Origin": "http://localhost:6274"}, 200),
        ({"Host": "localhost:1"}, 200),
    ],
)
def test_a_web_page_does_not_come_in_even_with_the_token(shared, era, headers, expected):
    client = Raw(shared, era)
    assert client.post(client.request("tools/list"), **headers)[0] == expected


# --- whose memories ------------------------------------------------------------------------------


@in_both_eras
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?project=relative/path", "one absolute path"),
        ("?project=", "one absolute path"),
        ("?project=/a%00b", "one absolute path"),
        ("?project=/" + "x" * 5000, "one absolute path"),
        ("?project=/tmp&project=/", "one absolute path"),
        ("?project=/no/such/directory", "no directory"),
        ("?project=/etc/passwd", "no directory"),
        ("?projekt=/tmp", "known: project"),
        ("?" + "&".join(f"a{i}=1" for i in range(1000)), "cannot be read"),
    ],
)
def test_a_project_that_cannot_be_one_is_refused(shared, era, query, told):
    client = Raw(shared, era)
    client.target = client.address.path + query
    status, _, answer = client.post(client.request("tools/list"))
    assert status == 400
    assert told in answer["error"]["message"]


@in_both_eras
async def test_without_a_project_only_the_users_own_memories_are_there(fresh, era):
    secret = fresh.capture(SECRET)["id"]
    mine = fresh.capture("I like my tests as sentences", "--scope", "user")["id"]
    team = fresh.capture("Our team deploys on Tuesdays", "--scope", "org")["id"]

    async with session_of_the_user(fresh, era) as client:
        assert len((await call(client, "status"))["scopes"]) == 1
        found = await call(client, "recall", query="launch code swordfish")
        assert secret not in [hit["id"] for hit in found["memories"]]
        for other in (secret, team):
            assert (await client.call_tool("get", {"id": other})).is_error
            assert (await client.call_tool("forget", {"id": other})).is_error
        assert (await call(client, "get", id=mine))["id"] == mine
        refused = await client.call_tool("capture", {"text": "Where would this go?"})
        assert "only user" in refused.content[0].text
        kept = await call(client, "capture", text="I prefer tabs", scope="user")
    assert fresh.ask("get", kept["id"])["scope"].startswith("user:")
    for each in (kept["id"], mine, team):  # which every project of this daemon would see
        fresh.ask("forget", each)


def test_a_session_of_one_project_does_not_exist_for_another(fresh):
    client = Raw(fresh, "legacy")
    for query in ("", "?project=/"):
        stray = Raw(fresh, "legacy", query=query)
        stray.session = client.session
        for method in ("POST", "GET", "DELETE"):
            body = stray.request("tools/list") if method == "POST" else None
            assert stray.send(method, body)[0] == 404
    assert client.tool("status")
    assert client.send("DELETE")[0] == 200
    assert client.post(client.request("tools/list"))[0] == 404


def test_of_too_many_sessions_the_one_idle_for_longest_leaves(fresh):
    first, second = Raw(fresh, "legacy"), Raw(fresh, "legacy")
    assert first.tool("status")
    sessions = [Raw(fresh, "legacy").session for _ in range(63)]
    assert len(set(sessions)) == 63
    assert second.post(second.request("tools/list"))[0] == 404
    assert first.post(first.request("tools/list"))[0] == 200


# --- what they send ------------------------------------------------------------------------------


@in_both_eras
@pytest.mark.parametrize(
    "body",
    [b"this is no JSON", b"{", b"\xff\xfe\x00", b"[" * 100_000, b"[]", b"7", b'{"id": 7}', b"{}"],
)
def test_what_is_no_message_is_refused(shared, era, body):
    client = Raw(shared, era)
    status, _, answer = client.post(body)
    assert status == 400
    assert _code(answer) in {-32700, -32600, -32602}
    assert client.tool("status")


@in_both_eras
def test_unknown_methods_and_wrong_types_are_refused(shared, era):
    client = Raw(shared, era)
    assert _code(client.ask("nope/nope")) == -32601
    assert _code(client.ask("tools/call", {"name": "nope"})) == -32602
    assert _code(client.ask("tools/call", {"name": "recall", "arguments": []})) == -32602
    assert _code(client.ask("resources/read", {"uri": "subcog://nope"})) == -32602
    assert _code(client.ask("prompts/get", {"name": "nope"})) == -32602
    assert _code(client.ask("tools/list", {"cursor": "nope"})) == -32602
    assert client.send("PUT", client.request("tools/list"))[0] == 405
    assert client.tool("recall", query=5)["isError"]


@in_both_eras
def test_long_and_odd_texts_do_no_harm(shared, era):
    client = Raw(shared, era)
    for text in ("half \ud800 of one", "nul \x00 inside", "../../etc/passwd", "\u202e reversed"):
        assert not client.tool("recall", query=text)["isError"]
    for text in ("../topics", "a%00b", "%ED%A0%80"):
        answer = client.ask("resources/read", {"uri": f"subcog://search/{text}"})
        assert "memories" in json.loads(answer["result"]["contents"][0]["text"])
    long = {"uri": "subcog://search/" + "x" * 100_000}
    assert "at most" in client.ask("resources/read", long)["error"]["message"]


@in_both_eras
def test_ten_megabytes_are_a_wrong_argument_and_more_than_sixteen_are_not_read(shared, era):
    client = Raw(shared, era)
    answer = client.tool("capture", text="x" * 10_000_000)
    assert "1 to 20000 characters" in answer["content"][0]["text"]
    try:
        status = client.post(
            client.request("tools/call", {"name": "x" * 17_000_000}), Mcp_Name="x"
        )[0]
    except (BrokenPipeError, ConnectionResetError):  # it was answered before all was sent
        status = 413
    assert status == 413
    assert client.tool("status")


@in_both_eras
def test_who_does_not_introduce_itself_is_told_so(shared, era):
    client = Raw(shared, era)
    client.session, client.era = "", "legacy"
    status, _, answer = client.post(message("tools/list", {}))
    assert (status, _code(answer)) == (400, -32600)
    assert client.post(message("initialize", INITIALIZE), Mcp_Session_Id="nope")[0] == 404


@in_both_eras
def test_clients_that_die_or_never_read_harm_nobody(shared, era):
    client = Raw(shared, era)
    asked = client.request("tools/call", {"name": "recall", "arguments": {"query": "x"}})
    for _ in range(20):
        client.leave_hanging(asked).close()
    with contextlib.ExitStack() as deaf:
        for _ in range(20):
            deaf.enter_context(client.leave_hanging(client.request("resources/list")))
        for _ in range(5):
            assert client.tool("status")["structuredContent"]


# --- the daemon ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_protocols_library_is_loaded_by_the_first_request_and_no_sooner(installed):
    maps = Path(f"/proc/{installed.start()}/maps")
    if not os.access(maps, os.R_OK):
        pytest.skip("this system does not tell what a process has loaded")
    installed.capture(SECRET)
    assert installed.mcp_url
    assert "pydantic_core" not in maps.read_text()
    assert Raw(installed, "legacy").tool("status")
    assert "pydantic_core" in maps.read_text()


def test_a_client_finds_the_daemon_again_after_a_restart(house):
    client = Raw(house, "legacy")
    assert client.tool("status")
    house.run("daemon", "stop")
    house.start()
    assert client.post(client.request("tools/list"))[0] == 404
    client.session = ""  # a client begins anew then, as the protocol says
    client.open()
    assert client.tool("status")
