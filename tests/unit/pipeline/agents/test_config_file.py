import stat
import tomllib

import pytest

from subcog.pipeline.agents.config_file import with_setting, write_setting
from subcog.pipeline.agents.settings_file import SettingsUnreadable

URL = "postgresql://ana:s3cret@db/x"
ENTRY = f'url = "{URL}"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"[team]\n{ENTRY}"),
        ("[http]\nport = 1\n", f"[http]\nport = 1\n\n[team]\n{ENTRY}"),
        ("[http]\nport = 1", f"[http]\nport = 1\n\n[team]\n{ENTRY}"),
        ("[team]\n\n[http]\nport = 1\n", f"[team]\n{ENTRY}\n[http]\nport = 1\n"),
        ("[team]", f"[team]\n{ENTRY}"),
        ("[team]\nurl = 'old' # ours\n", f'[team]\nurl = "{URL}" # ours\n'),
        ('# mine\n[ "team" ] # x\n"url"="a\\"b"\n', f'# mine\n[ "team" ] # x\n"url"="{URL}"\n'),
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
        'team = { url = "old" }\n',
        'team.url = "old"\n',
        '[team]\nurl = """\nold"""\n',
        "team = 1\n",
        "not toml",
        'x = """\n[team]\n"""\n',
    ],
)
def test_what_is_kept_in_another_way_is_left_to_its_owner(text, tmp_path):
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


def test_a_folder_that_is_not_there_is_made_for_its_owner_alone(tmp_path):
    file = tmp_path / "config" / "config.toml"
    assert write_setting(file, "team", "url", URL)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
