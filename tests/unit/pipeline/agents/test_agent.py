import json

import pytest

from subcog.pipeline.agents.agent import is_our_server, read_payload


def test_a_payload_is_read_and_the_rest_of_it_is_the_agents_business():
    payload = read_payload(b'{"session_id":"s","prompt":"hi","tool_input":{"deep":[1]},"new":1}')
    assert (payload.session_id, payload.prompt) == ("s", "hi")
    assert bytes(payload.tool_input) == b'{"deep":[1]}'


def test_half_a_character_is_replaced_and_the_rest_is_read():
    assert read_payload(b'{"prompt":"caf\\u00e9 \\ud83d end"}').prompt == "café ? end"


@pytest.mark.parametrize(
    "body", [b"", b"no", b"[]", b"42", b'{"prompt":7}', b'{"prompt":"\xff"}', b"[" * 100_000]
)
def test_what_is_no_payload_is_refused_without_repeating_it(body):
    with pytest.raises(ValueError, match=r"^\w+$"):
        read_payload(body)


@pytest.mark.parametrize(
    "deep", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000]
)
@pytest.mark.parametrize("field", [b"tool_input", b"tool_response", b"unknown"])
def test_what_is_nested_without_end_is_refused(field, deep):
    with pytest.raises(ValueError, match="RecursionError"):
        read_payload(b'{"session_id":"s","%s":%s}' % (field, deep))


@pytest.mark.parametrize(
    "field", ["session_id", "agent_id", "cwd", "transcript_path", "agent_transcript_path"]
)
def test_a_name_or_path_longer_than_any_is_not_there(field):
    payload = read_payload(json.dumps({field: "/a" * 500_000, "prompt": "hi"}).encode())
    assert (getattr(payload, field), payload.prompt) == ("", "hi")


def test_a_path_that_is_null_is_no_trouble():
    assert read_payload(b'{"transcript_path":null}').transcript_path is None


def test_a_text_in_the_place_of_a_name_is_not_written_down_as_it_is():
    text = "the token is ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    named = [read_payload(json.dumps({"session_id": one}).encode()) for one in (text, text + "!")]
    assert "token" not in named[0].session_id
    assert named[0].session_id != named[1].session_id
    assert named[0].session_id == read_payload(json.dumps({"session_id": text}).encode()).session_id
    for name in ("0b5f1a52-6a0e-4a52-9d3e-0e5a0d6d8c11", "s1/agent", "", "ses_9:x=y@z"):
        assert read_payload(json.dumps({"session_id": name}).encode()).session_id == name


@pytest.mark.parametrize(
    ("entry", "is_ours"),
    [
        ({"command": "python3", "args": ["-I", "/x/hooks/mcp_pipe.py"]}, True),
        ({"type": "stdio", "command": "subcog", "args": ["mcp"], "env": {}}, True),
        ({"command": "/home/ana/.local/bin/subcog", "args": ["mcp"]}, True),
        ({"command": "theirs", "args": ["mcp"]}, False),
        ({"command": "subcog", "args": ["mcp", "--http"]}, False),
        ({"command": 7, "args": ["mcp"]}, False),
        ({"command": "subcog"}, False),
        ("subcog mcp", False),
    ],
)
def test_our_server_is_recognised_as_we_and_as_the_documents_write_it(entry, is_ours):
    assert is_our_server(entry) is is_ours
