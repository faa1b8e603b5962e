import json

import pytest

from subcog.pipeline.agents.json_settings import JsonSettings
from subcog.pipeline.agents.wiring import Hook, Wiring

SERVER = {"command": "python3", "args": ["-I", "/x/hooks/mcp_pipe.py"]}
COMMAND = "python3 -I -S /x/hooks/client.py Stop /bin/subcog claude"
HOOK = Hook(event="Stop", entry={"type": "command", "command": COMMAND}, matcher="*")
WIRING = Wiring(hooks=(HOOK,), server=SERVER)
PROJECT = ("projects", "/p q", "mcpServers")


@pytest.mark.parametrize("path", [("mcpServers",), PROJECT])
@pytest.mark.parametrize("text", ["{}\n", '{\n  "a": 1\n}\n', '{"mcpServers": {"docs": {}}}'])
def test_hooks_and_server_are_added_found_and_taken_out(path, text):
    editor = JsonSettings(path)

    after = editor.add(text, WIRING)

    assert editor.find(after).same_as(WIRING)
    left = json.loads(editor.remove(after))
    assert not editor.find(json.dumps(left))
    assert {k: v for k, v in left.items() if k != "projects"} == json.loads(text)


def test_server_of_that_name_that_is_not_ours_stays():
    text = '{"mcpServers": {"subcog": {"command": "theirs"}}}'
    editor = JsonSettings()

    after = editor.add(text, Wiring(server=SERVER))

    assert after == text
    assert not editor.find(after)


def test_neighbours_of_our_server_stay_even_one_that_is_called_like_a_part_of_a_hook():
    editor = JsonSettings()
    text = json.dumps({"mcpServers": {"matcher": {"command": "m"}, "subcog": SERVER}})

    assert json.loads(editor.remove(text)) == {"mcpServers": {"matcher": {"command": "m"}}}


@pytest.mark.parametrize("text", ['{"mcpServers": []}', '{"mcpServers": 7}'])
def test_servers_of_another_shape_are_refused(text):
    with pytest.raises(ValueError, match="shape"):
        JsonSettings().find(text)
