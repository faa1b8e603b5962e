import json

import pytest

from subcog.pipeline.agents.agent import Hook, Wiring
from subcog.pipeline.agents.json_settings import JsonSettings, add_key, append, remove

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


SPREAD = '{\n    "a": [\n        1,\n        2\n    ],\n    "b": {}\n}\n'


def test_new_member_takes_the_indentation_of_its_neighbours():
    assert append(SPREAD, ("a",), 3) == SPREAD.replace("2\n", "2,\n        3\n")
    assert add_key(SPREAD, (), "c", None) == SPREAD.replace("{}\n", '{},\n    "c": null\n')


def test_empty_container_is_opened_below_its_line():
    assert add_key(SPREAD, ("b",), "c", 1) == SPREAD.replace("{}", '{\n        "c": 1\n    }')


def test_what_stands_in_one_line_stays_in_one_line():
    assert append('{"a":[1]}', ("a",), {"b": 2}) == '{"a":[1, {"b": 2}]}'


def test_key_that_is_there_is_left_alone():
    assert add_key(SPREAD, (), "b", 1) == SPREAD


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (("a", 0), {"a": [2], "b": {}}),
        (("a", 1), {"a": [1], "b": {}}),
        (("a",), {"b": {}}),
        (("b",), {"a": [1, 2]}),
    ],
)
def test_removed_member_takes_its_comma_along(path, left):
    assert json.loads(remove(SPREAD, path)) == left


def test_brackets_and_quotes_in_strings_are_not_structure():
    text = '{"x\\"]": "}],{", "a": ["]"]}'

    assert json.loads(append(text, ("a",), 1)) == {'x"]': "}],{", "a": ["]", 1]}
    assert json.loads(remove(text, ('x"]',))) == {"a": ["]"]}


def test_the_last_of_equal_keys_is_meant():
    assert append('{"a": [], "a": [1]}', ("a",), 2) == '{"a": [], "a": [1, 2]}'


@pytest.mark.parametrize(
    ("text", "commented"),
    [
        ('{"a": 1} // why', True),
        ('{\n/* why */\n"a": 1}', True),
        ('{"a": "https://x.y/*"', False),
        ('{"a": "\\"//"', False),
        ('{"a": "http://x', False),
    ],
)
def test_comments_are_named_where_they_are_the_matter(text, commented):
    with pytest.raises(ValueError, match="is not JSON") as refused:
        JsonSettings().find(text)
    assert ("comments" in str(refused.value)) is commented
