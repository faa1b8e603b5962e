"""Whatever a client sends: valid hook output or nothing, exit 0, and the next one is served."""

import json
import socket
import subprocess
from pathlib import Path

import pytest

from .house import SUBCOG

SECRET = "do-not-log-this"
BODIES = {
    "not JSON": f"{SECRET} not json".encode(),
    "a number": b"42",
    "a list": json.dumps([SECRET]).encode(),
    "a prompt of the wrong shape": json.dumps({"prompt": {"text": SECRET}}).encode(),
    "10 MB": json.dumps({"prompt": SECRET + " x" * 5_000_000}).encode(),
    "10 MB of brackets": b"[" * 10_000_000,
    "NUL bytes": json.dumps({"prompt": f"how\0do\0I {SECRET}?"}).encode(),
    "a lone surrogate": b'{"prompt":"how do I \\ud800 ' + SECRET.encode() + b'?"}',
    "bytes that are not UTF-8": b'{"prompt":"\xff\xfe' + SECRET.encode() + b'"}',
    "an empty prompt": b'{"prompt":""}',
    "nothing": b"",
}


@pytest.mark.parametrize("name", BODIES)
def test_a_strange_payload_gets_valid_output_and_hurts_nobody(shared, name):
    shared.start()
    for event in ("UserPromptSubmit", "SessionStart"):
        answer = shared.hook(event, BODIES[name])
        assert answer is None or isinstance(answer, dict)
    assert shared.prompt("how do I deploy?") == {}
    assert SECRET not in shared.paths.log.read_text()


DEEP = b"[" * 100_000 + b"]" * 100_000
TOOLS = {
    "an input nested without end": b'"tool_name":"Write","tool_input":' + DEEP,
    "an answer nested without end": b'"tool_name":"Bash","tool_response":' + DEEP,
    "an answer that is not UTF-8": b'"tool_name":"Bash","tool_response":{"llmContent":"\xff"}',
    "an error of spaces": b'"tool_name":"Bash","error":"' + b" " * 5_000_000 + b'"',
}


@pytest.mark.parametrize(
    ("client", "event"), [("claude", "PostToolUse"), ("gemini", "AfterTool"), ("codex", "Stop")]
)
@pytest.mark.parametrize("name", TOOLS)
def test_whatever_a_tool_gave_its_hook_is_answered(shared, name, client, event):
    shared.start()
    body = b'{"session_id":"s1",' + TOOLS[name] + b"}"
    before = len(shared.log())
    assert shared.exchange("hook", event, body, client=client) == ("ok", b"{}")
    logged = [line["what"] for line in shared.log()[before:]]
    assert "a hook was answered without context after an error" not in logged


def test_a_malformed_payload_leaves_a_log_line(shared):
    shared.start()
    shared.hook("UserPromptSubmit", BODIES["not JSON"])
    assert shared.log()[-1]["what"] == "a hook sent a malformed payload"


def test_an_unknown_event_is_passed_through(shared):
    assert shared.hook("SomethingNew", {"session_id": "s"}) == {}


@pytest.mark.parametrize("event", ["", "Bad Name", "../../x", "É", "x" * 1000])
def test_an_event_that_is_no_name_is_ignored(shared, event):
    assert shared.hook(event, {"session_id": "s"}) is None


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\0" * 1000,
        b"subcog/1 hook UserPromptSubmit 0 999999999999\n",
        b"x" * 100_000,
        b"subcog/1 call recall 0 3\n{}}",
        b"subcog/1 call nonsense 0 2\n{}",
    ],
)
def test_what_is_no_request_is_answered_with_an_error_or_hung_up(shared, data):
    shared.start()
    with shared.connect() as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(4096)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
    assert answer == b"" or answer.startswith(b"subcog/1 error ")
    assert shared.prompt("how do I deploy?") == {}


def test_half_a_payload_and_silence_does_not_hold_up_the_others(shared):
    shared.start()
    with shared.connect() as silent:
        silent.sendall(b"subcog/1 hook UserPromptSubmit 0 500\n{")
        assert shared.prompt("how do I deploy?") == {}


def test_half_a_payload_on_standard_input_ends_with_the_budget(shared):
    shared.start()
    with shared.start_hook("UserPromptSubmit", SUBCOG_HOOK_TOTAL_MS="200") as hook:
        hook.stdin.write(b'{"prompt": "how')
        hook.stdin.flush()
        assert hook.wait(10) == 0
        assert hook.stdout.read() == b""


def test_a_client_that_hangs_up_is_forgotten(shared):
    shared.start()
    for _ in range(20):
        with shared.connect() as connection:
            connection.sendall(b'subcog/1 hook UserPromptSubmit 0 13\n{"prompt":""}')
    assert shared.prompt("how do I deploy?") == {}


def test_a_call_with_wrong_parameters_says_what_is_wrong(shared):
    shared.start()
    status, body = shared.exchange("call", "recall", b'{"query":"x","limit":"many"}')
    assert status == "error"
    assert "Expected `int`" in json.loads(body)["error"]


def test_a_reader_that_leaves_early_is_no_error(shared):
    shared.capture("Deploys go through ArgoCD")
    command = "subcog export | head -c 1"
    done = subprocess.run(
        ["bash", "-c", command],
        env=shared.env | {"PATH": f"{Path(SUBCOG).parent}:{shared.env['PATH']}"},
        capture_output=True,
        cwd=shared.project,
        check=True,
    )
    assert done.stderr == b""
