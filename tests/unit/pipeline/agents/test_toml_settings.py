import stat
import tomllib

import pytest

from subcog.pipeline.agents.agent import Wiring
from subcog.pipeline.agents.settings_file import SettingsUnreadable
from subcog.pipeline.agents.toml_settings import (
    TomlSettings,
    remove_setting,
    with_setting,
    without_setting,
    write_setting,
)

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


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\n",
        "a = 1\n[mcp_servers]\n",
        "[mcp_servers] # those that I trust\n",
        "[mcp_servers]\n\n[x]\ny = 1\n",
        '[a]\nb = 1\r\n[mcp_servers.z]\ncommand = "z"\r\n',
    ],
)
def test_tables_and_ends_of_lines_of_the_user_stay(text):
    after = EDITOR.add(text, OURS)
    assert EDITOR.find(after) == OURS
    assert EDITOR.remove(after).rstrip() == text.rstrip()


def test_what_comes_after_the_table_stays_and_its_sub_tables_go():
    text = EDITOR.add("a = 1\n", OURS)
    text += '[mcp_servers.subcog.tools.recall]\napproval = "always"\n\n[later]\nb = 2\n'

    assert EDITOR.find(text).server == SERVER | {"tools": {"recall": {"approval": "always"}}}
    assert EDITOR.remove(text) == "a = 1\n\n[later]\nb = 2\n"


@pytest.mark.parametrize(
    "behind",
    [
        '\n# mine: keep this note\n[projects."/x"]\ntrust_level = "trusted"\n',
        "# the end\n\n# really",
        "# a\n[mcp_servers.z]\nx = 1\n",
        "# a\r\n\r\n[y] # b\r\nx = 1\r\n",
    ],
)
@pytest.mark.parametrize("before", ["", 'model = "x"\n', "[mcp_servers.a]\nb = 1\n"])
def test_comments_behind_the_table_stay(before, behind):
    left = EDITOR.remove(EDITOR.add(before, OURS) + behind)
    assert [*filter(None, left.splitlines())] == [*filter(None, (before + behind).splitlines())]
    assert EDITOR.remove(left) == left


def test_a_number_that_equals_nothing_hinders_nothing():
    text = "x = nan\n[y]\nz = [nan, inf]\n"
    assert EDITOR.remove(EDITOR.add(text, OURS)).rstrip() == text.rstrip()


def test_server_of_that_name_that_is_not_ours_stays():
    text = '[mcp_servers.subcog]\ncommand = "theirs"\n'

    assert not EDITOR.find(text)
    assert EDITOR.add(text, OURS) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = \n", "not TOML"),
        ("mcp_servers = 1\n", "no table"),
        ("\ufeffa = 1\n", "byte order mark"),
        ("a = 1\na = 2\n", "not TOML"),
    ],
)
def test_settings_that_cannot_be_changed_that_way_are_refused(text, why):
    with pytest.raises(ValueError, match=why):
        EDITOR.add(text, OURS)


URL = "postgresql://ana:s3cret@db/x"
ENTRY = f'url = "{URL}"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"[team]\n{ENTRY}"),
        ("[http]\nport = 1\n", f"[http]\nport = 1\n\n[team]\n{ENTRY}"),
        ("[http]\nport = 1", f"[http]\nport = 1\n[team]\n{ENTRY}"),
        ("[team]\n\n[http]\nport = 1\n", f"[team]\n{ENTRY}\n[http]\nport = 1\n"),
        ("[team]", f"[team]\n{ENTRY}"),
        ("[team]\nurl = 'old' # ours\n", f'[team]\nurl = "{URL}" # ours\n'),
        ('# mine\n[ "team" ] # x\n"url"="a\\"b"\n', f'# mine\n[ "team" ] # x\n"url"="{URL}"\n'),
        ('team = { url = "old", x = 1 } # ours\n', f'team = {{ url = "{URL}", x = 1 }} # ours\n'),
        ('team.url = "old"\n', f'team.url = "{URL}"\n'),
        ('[team]\nurl = """\nold"""\n', f"[team]\n{ENTRY}"),
        ('x = """\n[team]\n"""\n', f'x = """\n[team]\n"""\n\n[team]\n{ENTRY}'),
        ("[http]\r\nport = 1\r\n", f'[http]\r\nport = 1\r\n\r\n[team]\r\nurl = "{URL}"\r\n'),
    ],
)
def test_the_text_is_set_and_everything_else_stays(before, after):
    assert with_setting(before, "team", "url", URL) == after
    assert with_setting(after, "team", "url", URL) == after
    assert tomllib.loads(after)["team"]["url"] == URL


@pytest.mark.parametrize(
    "text",
    [
        "team = 1\n",
        "not toml",
    ],
)
def test_what_cannot_be_edited_is_left_as_it_is(text, tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(SettingsUnreadable, match=r"config.toml .*; nothing was changed"):
        write_setting(file, "team", "url", URL)
    assert file.read_text() == text


def test_a_quote_or_a_backslash_in_a_password_is_kept():
    odd = 'postgresql://ana:"\\é@db/x'
    assert tomllib.loads(with_setting("", "team", "url", odd)) == {"team": {"url": odd}}


def test_the_file_becomes_its_owners_alone_even_behind_a_link(tmp_path):
    target = tmp_path / "dotfiles.toml"
    target.write_text("[http]\nport = 1\n")
    target.chmod(0o644)
    link = tmp_path / "config.toml"
    link.symlink_to(target)
    assert write_setting(link, "team", "url", URL)
    assert not write_setting(link, "team", "url", URL)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".bak"] == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[team]\nurl = 'x'\n", ""),
        (
            "# mine\n[team] # ours\nurl = 'x' # secret\nretries = 1\n",
            "# mine\n[team] # ours\nretries = 1\n",
        ),
        ("team.url = 'x'\na = 1\n", "a = 1\n"),
        ("team = {url = 'x'}\n", "team = {}\n"),
        ("[a]\nb = 1\n", "[a]\nb = 1\n"),
    ],
)
def test_a_setting_is_taken_out_and_all_else_stays(text, left):
    assert tomllib.loads(without_setting(text, "team", "url")) == tomllib.loads(left)
    assert "'x'" not in without_setting(text, "team", "url")


def test_a_file_without_the_setting_is_its_owners_alone_and_another_is_not_touched(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(with_setting("[a]\nb = 1\n", "team", "url", URL))
    assert remove_setting(file, "team", "url")
    assert file.read_text().strip() == "[a]\nb = 1"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not remove_setting(file, "team", "url")
    assert not remove_setting(tmp_path / "none.toml", "team", "url")
    assert [each.name for each in tmp_path.iterdir()] == ["config.toml"]


def test_a_folder_that_is_not_there_is_made_for_its_owner_alone(tmp_path):
    file = tmp_path / "config" / "config.toml"
    assert write_setting(file, "team", "url", URL)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_comments_and_order_of_the_users_file_survive():
    text = (
        '# top\nz = 1 # last letter\n\n[b] # second\n# why\nx = [1, # one\n  2]\n\n[a]\ny = "é"\n'
    )

    after = EDITOR.add(text, OURS)

    assert after.startswith(text)
    assert EDITOR.remove(after).rstrip("\n") == text.rstrip("\n")
