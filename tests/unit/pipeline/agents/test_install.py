from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from subcog.pipeline.agents.agent import is_our_command
from subcog.pipeline.agents.install import (
    AGENTS,
    Change,
    Parts,
    SettingsUnreadable,
    hook_command,
    hooks_for,
    our_parts,
    real_interpreter,
    wired_events,
)
from subcog.pipeline.agents.install import install as install_agent
from subcog.pipeline.agents.install import uninstall as uninstall_agent
from tests.thorough import times

CLAUDE = AGENTS["claude"]
NEW = (2, 1, 330)
PARTS = msgspec.structs.replace(
    our_parts(),
    interpreter=Path("/usr/bin/python3.11"),
    launcher=Path("/opt/sub cog/bin/subcog"),
)
EVENTS = tuple(wired_events(PARTS))
PROMPT_COMMAND = (
    f"/usr/bin/python3.11 -I -S {shlex.quote(str(PARTS.hooks / 'client.py'))} UserPromptSubmit "
    "'/opt/sub cog/bin/subcog' claude || true"
)
THEIRS = {"type": "command", "command": "python3 -I -S /other/hooks/client.py Stop"}
TEXTS = {
    "two blanks": '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(ls)"]}\n}\n',
    "tabs, no end of line": '{\n\t"a": 1.50e3,\n\t"é": "\\u00e9"\n}',
    "minified": '{"a":1,"b":[1,2]}',
    "one line": '{ "a": 1 }\n',
    "windows": '{\r\n    "a": 1\r\n}\r\n',
    "empty object": "{}",
    "empty object, spread": "{\n}\n",
    "empty hooks": '{\n  "hooks": {},\n  "z": null\n}\n',
    "empty event": '{\n  "hooks": {"UserPromptSubmit": []},\n  "z": null\n}\n',
    "equal keys": '{\n  "a": 1,\n  "a": 2\n}\n',
    "their hooks": json.dumps(
        {"hooks": {"UserPromptSubmit": [{"hooks": [THEIRS]}], "Stop": [{"hooks": [THEIRS]}]}},
        indent=4,
    ),
}


def install(file: Path, *, dry_run: bool = False, **changes: Path) -> Change:
    """Wire Claude Code without the MCP server, which is in another file."""
    parts = msgspec.structs.replace(PARTS, **changes)
    env = {"CLAUDE_CONFIG_DIR": str(file.parent)}
    changed = install_agent(CLAUDE, parts, env, version=NEW, server=False, dry_run=dry_run)
    return changed[0]


def uninstall_claude(file: Path) -> Change:
    return uninstall_agent(CLAUDE, {"CLAUDE_CONFIG_DIR": str(file.parent)})[0]


def commands(file: Path, event: str = "UserPromptSubmit") -> list[str]:
    groups = json.loads(file.read_text())["hooks"].get(event, [])
    return [hook["command"] for group in groups for hook in group["hooks"]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "claude" / "settings.json"


@pytest.fixture(params=TEXTS.values(), ids=TEXTS.keys())
def existing(file: Path, request: pytest.FixtureRequest) -> Path:
    file.parent.mkdir()
    file.write_bytes(request.param.encode())
    return file


def test_every_event_gets_its_command(file):
    change = install(file)

    assert change.action == "installed"
    assert commands(file) == [PROMPT_COMMAND]
    assert set(json.loads(file.read_text())["hooks"]) == set(EVENTS)
    assert change.after == file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_events_are_those_of_the_plugin_and_one_that_old_versions_do_not_know(file):
    hooks = json.loads((PARTS.hooks / "hooks.json").read_text())["hooks"]
    env = {"CLAUDE_CONFIG_DIR": str(file.parent)}
    for version in ((), (2, 0, 14)):
        install_agent(CLAUDE, PARTS, env, version=version)
        assert set(json.loads(file.read_text())["hooks"]) == set(hooks) - {"PostToolUseFailure"}

    install_agent(CLAUDE, PARTS, env, version=NEW)
    assert set(json.loads(file.read_text())["hooks"]) == {*hooks, "PostToolUseFailure"}


def test_a_tools_hook_is_for_the_tools_that_it_has_something_to_say_of():
    by_event = {
        agent.name: {hook.event: hook.matcher for hook in hooks_for(agent, PARTS, NEW)}
        for agent in AGENTS.values()
    }
    assert by_event["claude"]["PreToolUse"] == "Bash|Write|Edit|MultiEdit|NotebookEdit"
    assert by_event["claude"]["PostToolUse"] == by_event["claude"]["PreToolUse"]
    assert by_event["codex"]["PreToolUse"] == "Bash|apply_patch"
    assert by_event["gemini"]["AfterTool"] == "run_shell_command|write_file|replace"
    assert by_event["claude"]["UserPromptSubmit"] is None


def test_what_the_user_wrote_stays(existing):
    before = json.loads(existing.read_text())
    install(existing)
    after = json.loads(existing.read_text())

    theirs = before.pop("hooks", {})
    assert {key: after[key] for key in before} == before
    for event, groups in theirs.items():
        assert after["hooks"][event][: len(groups)] == groups
    assert commands(existing)[-1] == PROMPT_COMMAND


def test_every_line_of_the_user_stays_as_it_is(file):
    file.parent.mkdir()
    file.write_text(TEXTS["two blanks"])

    install(file)

    lines = file.read_text().splitlines()
    assert lines[:3] == [
        "{",
        '  "model": "opus",',
        '  "permissions": {"allow": ["Bash(ls)"]},',
    ]
    assert lines[3:6] == ['  "hooks": {', '    "SessionStart": [', "      {"]


def test_installing_again_changes_nothing(existing):
    install(existing)
    before = existing.read_bytes(), sorted(existing.parent.iterdir())

    change = install(existing)

    assert (change.action, change.backup) == ("unchanged", None)
    assert (existing.read_bytes(), sorted(existing.parent.iterdir())) == before


def test_uninstalling_restores_every_byte(existing):
    before = existing.read_bytes()
    install(existing)
    assert existing.read_bytes() != before

    change = uninstall_claude(existing)

    assert change.action == "removed"
    assert existing.read_bytes() == before


def test_uninstalling_removes_a_file_that_was_not_there(file):
    install(file)

    uninstall_claude(file)

    assert not file.exists()


def test_uninstalling_keeps_what_was_changed_in_between(existing):
    before = json.loads(existing.read_text())
    install(existing)
    changed = json.loads(existing.read_text())
    changed["added"] = True
    changed["hooks"].setdefault("Stop", []).append({"hooks": [THEIRS]})
    existing.write_text(json.dumps(changed))

    uninstall_claude(existing)

    after = json.loads(existing.read_text())
    assert after["added"] is True
    assert after["hooks"]["Stop"][-1] == {"hooks": [THEIRS]}
    assert not any(
        is_our_command(command) for event in EVENTS for command in commands(existing, event)
    )
    assert {k: v for k, v in after.items() if k not in {"hooks", "added"}} == {
        k: v for k, v in before.items() if k != "hooks"
    }


def test_uninstalling_without_an_installation_touches_nothing(existing):
    before = existing.read_bytes()

    assert uninstall_claude(existing).action == "unchanged"
    assert existing.read_bytes() == before
    assert list(existing.parent.iterdir()) == [existing]


def test_an_older_installation_is_replaced(existing):
    install(existing, interpreter=Path("/old/python"), launcher=Path("/old/bin/subcog"))

    change = install(existing)

    assert change.action == "updated"
    assert [command for command in commands(existing) if is_our_command(command)] == [
        PROMPT_COMMAND
    ]


def test_our_hook_in_a_group_of_the_user_is_taken_out_alone(file):
    file.parent.mkdir()
    ours = {"type": "command", "command": PROMPT_COMMAND}
    text = {"hooks": {"UserPromptSubmit": [{"matcher": "", "hooks": [THEIRS, ours, THEIRS]}]}}
    file.write_text(json.dumps(text))

    uninstall_claude(file)

    group = {"matcher": "", "hooks": [THEIRS, THEIRS]}
    assert json.loads(file.read_text()) == {"hooks": {"UserPromptSubmit": [group]}}


def test_each_change_leaves_a_backup_of_what_was_there(existing):
    before = existing.read_bytes()
    existing.chmod(0o640)

    change = install(existing)

    assert change.backup.parent == existing.parent
    assert change.backup.read_bytes() == before
    assert change.backup.stat().st_mode & 0o777 == 0o640
    assert existing.stat().st_mode & 0o777 == 0o640


def test_backups_do_not_pile_up(existing):
    for _ in range(4):
        install(existing)
        uninstall_claude(existing)

    assert len(list(existing.parent.iterdir())) == 3


def test_dry_run_says_what_would_be_done_and_writes_nothing(existing):
    before = existing.read_text()

    change = install(existing, dry_run=True)

    assert change.action == "installed"
    assert PROMPT_COMMAND in change.after
    assert existing.read_text() == before
    assert list(existing.parent.iterdir()) == [existing]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"a": 1,}', "line 1"),
        (b'{\n"a": 1\n', "line 3"),
        (b"// comment\n{}", "comments"),
        (b"[1]", "shape"),
        (b'{"hooks": []}', "shape"),
        (b'{"hooks": {"Stop": {}}}', "shape"),
        (b'{"hooks": {"Stop": [1]}}', "shape"),
        (b'{"hooks": {"Stop": [{"hooks": 1}]}}', "shape"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"[" * 100_000, "JSON"),
    ],
)
def test_settings_that_cannot_be_read_are_not_touched(file, text, words):
    file.parent.mkdir()
    file.write_bytes(text)

    for change in (install, uninstall_claude):
        with pytest.raises(SettingsUnreadable, match=words) as caught:
            change(file)
        assert str(file) in str(caught.value)
    assert file.read_bytes() == text
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("text", ["", " \n"])
def test_empty_file_is_taken_for_no_settings(file, text):
    file.parent.mkdir()
    file.write_text(text)

    install(file)
    assert commands(file) == [PROMPT_COMMAND]

    uninstall_claude(file)
    assert file.read_text() == text


def test_read_only_settings_are_left_as_they_are(file, monkeypatch):
    install(file)
    before = file.read_bytes()
    file.chmod(0o400)
    # As it is for everybody but root, who may write all.
    monkeypatch.setattr(os, "access", lambda path, mode: bool(path.stat().st_mode & 0o200))
    assert install(file).action == "unchanged"
    for change in (
        lambda: install(file, launcher=Path("/new/subcog")),
        lambda: uninstall_claude(file),
    ):
        with pytest.raises(SettingsUnreadable, match="is read-only; nothing was changed"):
            change()
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


def test_linked_settings_are_changed_where_they_are(file, tmp_path):
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}")
    file.parent.mkdir()
    file.symlink_to(real)

    install(file)
    assert file.is_symlink()
    assert commands(real) == [PROMPT_COMMAND]

    uninstall_claude(file)
    assert real.read_text() == "{}"
    assert file.is_symlink()


@pytest.mark.parametrize(
    "command",
    [
        None,
        7,
        "echo hello",
        THEIRS["command"],
        "python3 -I -S /x/hooks/client.py Stop /bin/other",
        "python3 -I -S /x/hooks/client.py 'a b' /bin/subcog",
        "python3 -I -S /x/client.py Stop /bin/subcog",
        PROMPT_COMMAND + " && echo more",
        "'never closed",
    ],
)
def test_hooks_of_others_are_not_ours(command):
    assert not is_our_command(command)


def test_a_command_whose_pipe_or_interpreter_is_gone_does_not_fail(tmp_path):
    for interpreter in (Path(sys.executable), tmp_path / "gone" / "python"):
        parts = Parts(interpreter=interpreter, hooks=tmp_path / "hooks", launcher=PARTS.launcher)
        line = hook_command("UserPromptSubmit", "claude", parts)
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, b"")


def test_our_commands_are_recognised_wherever_they_point():
    assert is_our_command(PROMPT_COMMAND)
    assert is_our_command(PROMPT_COMMAND.removesuffix(" || true"))
    assert is_our_command(PROMPT_COMMAND.removesuffix(" claude || true"))
    assert is_our_command(hook_command("Stop", "gemini", PARTS))


def test_older_installation_does_not_come_back_with_the_next_ones_uninstallation(existing):
    before = existing.read_bytes()
    install(existing, launcher=Path("/old/subcog"))
    install(existing)

    uninstall_claude(existing)

    assert existing.read_bytes() == before


def test_interpreter_is_no_shim():
    interpreter = real_interpreter()

    assert interpreter == Path(os.path.realpath(interpreter))
    assert Path(sys.prefix) not in interpreter.parents
    assert interpreter.read_bytes()[:4] in {b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}


words = st.text(st.characters(codec="utf-8"), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
hook = st.fixed_dictionaries({"type": st.just("command"), "command": words})
group = st.fixed_dictionaries({"hooks": st.lists(hook, max_size=2)})
hooks = st.dictionaries(
    st.sampled_from([*EVENTS, "Stop", "Other"]), st.lists(group, max_size=2), max_size=4
)
documents = st.builds(
    lambda extra, found: extra if found is None else {**extra, "hooks": found},
    st.dictionaries(words.filter(lambda key: key != "hooks"), values, max_size=4),
    st.none() | hooks,
)


@given(documents, st.sampled_from([None, 1, 2, "\t"]), st.booleans())
@hypothesis_settings(
    max_examples=times(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_settings_survive_installing_and_uninstalling(
    tmp_path_factory, document, indent, escaped
):
    file = tmp_path_factory.mktemp("settings") / "settings.json"
    text = json.dumps(document, indent=indent, ensure_ascii=escaped)
    file.write_bytes(text.encode())
    before = file.read_bytes()

    install(file)

    assert commands(file)[-1] == PROMPT_COMMAND
    uninstall_claude(file)
    assert file.read_bytes() == before
