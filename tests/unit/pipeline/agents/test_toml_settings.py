import tomllib

import pytest

from subcog.pipeline.agents.toml_settings import TomlSettings
from subcog.pipeline.agents.wiring import Wiring

EDITOR = TomlSettings()
SERVER = {
    "command": "/usr/bin/python3.11",
    "args": ["-I", "-S", '/o "p" t/hooks/mcp_pipe.py', "/é/subcog"],
    "env": {"SUBCOG_HOME": "/h"},
}
OURS = Wiring(server=SERVER)
TEXTS = {
    "nothing": "",
    "keys": '# mine\nmodel = "x"\n',
    "no end of line": 'model = "x"',
    "another server": '[mcp_servers.docs]\ncommand = "d"\n',
    "windows": "[a]\r\nb = 1\r\n",
    "blank lines": "[a]\nb = 1\n\n\n",
    "a header in a text": 'x = """\n[mcp_servers.other]\n"""\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_table_is_added_and_taken_out_again(text):
    after = EDITOR.add(text, OURS)

    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["subcog"] == SERVER
    assert EDITOR.find(after) == OURS
    assert tomllib.loads(EDITOR.remove(after)) == tomllib.loads(text)


def test_what_comes_after_the_table_stays_and_its_sub_tables_go():
    text = EDITOR.add("a = 1\n", OURS)
    text += '[mcp_servers.subcog.tools.recall]\napproval = "always"\n\n[later]\nb = 2\n'

    assert EDITOR.find(text) == OURS
    assert EDITOR.remove(text) == "a = 1\n[later]\nb = 2\n"


def test_server_of_that_name_that_is_not_ours_stays():
    text = '[mcp_servers.subcog]\ncommand = "theirs"\n'

    assert not EDITOR.find(text)
    assert EDITOR.add(text, OURS) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = \n", "not TOML"),
        ("mcp_servers = 1\n", "shape"),
        ("mcp_servers = { docs = { command = 'd' } }\n", "not TOML|by hand"),
    ],
)
def test_settings_that_cannot_be_changed_that_way_are_refused(text, why):
    with pytest.raises(ValueError, match=why):
        EDITOR.add(text, OURS)
