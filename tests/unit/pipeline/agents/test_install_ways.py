from __future__ import annotations

import json
import tomllib
from pathlib import Path

import msgspec
import pytest

from subcog.pipeline.agents.agent import Place, is_our_hook
from subcog.pipeline.agents.install import (
    AGENTS,
    Http,
    Mcp,
    SettingsUnreadable,
    find_agent,
    hooks_for,
    install,
    our_parts,
    plugin_enabled,
    read_version,
    uninstall,
    why_not,
)
from subcog.pipeline.agents.json_settings import JsonSettings

CLAUDE = AGENTS["claude"]
NEW = (2, 1, 330)
HTTP = Http(client="claude", port=4711, token="t")
MCP = Mcp(client="claude")


@pytest.mark.parametrize(
    ("agent", "version", "why"),
    [
        ("claude", NEW, ""),
        ("claude", (2, 0, 14), "may drop all hooks"),
        ("claude", (), "could not be found out"),
        ("codex", (0, 169, 0), "no other hooks"),
        ("gemini", (0, 61, 0), "no other hooks"),
    ],
)
def test_other_ways_are_for_versions_that_were_seen_to_take_them(agent, version, why):
    assert why in why_not(AGENTS[agent], version)
    assert bool(why_not(AGENTS[agent], version)) == bool(why)


@pytest.mark.parametrize("way", [HTTP, MCP])
def test_what_a_way_cannot_carry_stays_a_command(way):
    kinds = {hook.event: hook.entry["type"] for hook in hooks_for(CLAUDE, our_parts(), NEW, way)}

    assert kinds["SessionStart"] == kinds["PreCompact"] == "command"
    assert kinds["UserPromptSubmit"] == way.entry("UserPromptSubmit", 1)["type"] != "command"
    assert kinds["SessionEnd"] == ("http" if way is HTTP else "command")


@pytest.mark.parametrize("way", [HTTP, MCP])
def test_our_hooks_are_recognised_and_those_of_others_are_not(way):
    entry = way.entry("UserPromptSubmit", 10)

    assert is_our_hook(entry)
    assert not is_our_hook({**entry, "server": "docs", "headers": {"Authorization": "x"}})
    assert not is_our_hook({**entry, "tool": "recall", "url": "http://elsewhere/hooks/Stop"})


def test_hook_of_codex_asks_for_no_more_time_than_it_grants():
    timeouts = {h.event: h.entry["timeout"] for h in hooks_for(AGENTS["codex"], our_parts(), ())}
    assert timeouts["SessionEnd"] <= 3


def program(folder, body: str):
    file = folder / "claude"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.330 (Claude Code)", (2, 1, 330)),
        ("codex-cli 0.169.0", (0, 169, 0)),
        ("v1.2", ()),
        ("", ()),
    ],
)
def test_version_is_read_from_what_a_program_says(said, version):
    assert read_version(said) == version


def test_program_is_found_on_the_path_and_asked(tmp_path):
    file = program(tmp_path, "echo '2.1.330 (Claude Code)'")
    found_agent = find_agent(CLAUDE, {"PATH": str(tmp_path)})
    assert (found_agent.program, found_agent.version) == (str(file), (2, 1, 330))


def test_program_that_fails_has_no_known_version(tmp_path):
    program(tmp_path, "exit 1")
    assert find_agent(CLAUDE, {"PATH": str(tmp_path)}).version == ()


def test_agent_that_is_not_here_is_not_found(tmp_path):
    assert find_agent(CLAUDE, {"PATH": str(tmp_path)}).program is None


@pytest.mark.parametrize(
    ("settings", "enabled"),
    [
        ({"enabledPlugins": {"subcog@market": True}}, True),
        ({"enabledPlugins": {"subcog@market": False, "other@subcog": True}}, False),
        ({"enabledPlugins": [1]}, False),
        ([], False),
    ],
)
def test_plugin_is_found_in_the_users_settings(tmp_path, settings, enabled):
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    assert plugin_enabled({"CLAUDE_CONFIG_DIR": str(tmp_path)}, tmp_path / "project") is enabled


@pytest.mark.parametrize(
    ("files", "enabled"),
    [
        ({"settings.json": True}, True),
        ({"settings.local.json": True}, True),
        ({"settings.json": True, "settings.local.json": False}, False),
        ({}, False),
    ],
)
def test_plugin_is_found_in_the_settings_of_a_project(tmp_path, files, enabled):
    folder = tmp_path / "project" / ".claude"
    folder.mkdir(parents=True)
    for name, on in files.items():
        (folder / name).write_text(json.dumps({"enabledPlugins": {"subcog@subcog": on}}))
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert plugin_enabled(env, tmp_path / "project") is enabled


class Meddled(JsonSettings):
    """Of an agent that writes its settings while they are changed, so often."""

    def __init__(self, file, times):
        super().__init__()
        self.file = file
        self.left = times

    def find(self, text):
        if self.left:
            self.left -= 1
            self.file.write_text(json.dumps({"cost": self.left}))
        return super().find(text)


def meddled(file, times):
    place = Place(file=file, editor=Meddled(file, times), hooks=True)
    return msgspec.structs.replace(CLAUDE, places=lambda env, project: (place,))


def test_what_the_agent_wrote_meanwhile_stays(tmp_path):
    file = tmp_path / "settings.json"
    file.write_text("{}")
    [change] = install(meddled(file, 1), our_parts(), {})
    written = json.loads(file.read_text())
    assert (change.action, written["cost"], bool(written["hooks"])) == ("installed", 0, True)

    uninstall(meddled(file, 1), {})
    assert json.loads(file.read_text()) == {"cost": 0}


def test_settings_that_the_agent_writes_all_the_time_are_left(tmp_path):
    file = tmp_path / "settings.json"
    file.write_text("{}")
    with pytest.raises(SettingsUnreadable, match="changed meanwhile; run it again"):
        install(meddled(file, 1000), our_parts(), {})
    assert json.loads(file.read_text()).keys() == {"cost"}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_server_that_was_added_by_hand_is_replaced_and_one_of_another_maker_is_told(tmp_path):
    file = tmp_path / ".claude.json"
    for entry, is_theirs in (
        ({"type": "stdio", "command": "subcog", "args": ["mcp"], "env": {}}, False),
        ({"command": "theirs", "args": []}, True),
    ):
        file.write_text(json.dumps({"mcpServers": {"subcog": entry}}))
        changes = install(CLAUDE, our_parts(), {"CLAUDE_CONFIG_DIR": str(tmp_path)})
        assert [change.is_name_taken for change in changes if change.file == file] == [is_theirs]
        assert (json.loads(file.read_text())["mcpServers"]["subcog"] == entry) is is_theirs


def entry_in(file):
    """The entry of our server in a settings file."""
    if file.suffix == ".toml":
        return tomllib.loads(file.read_text())["mcp_servers"]["subcog"]
    return json.loads(file.read_text())["mcpServers"]["subcog"]


@pytest.mark.parametrize("agent", ["gemini", "codex"])
def test_what_others_wrote_into_our_servers_entry_stays(agent, tmp_path):
    agent, parts = AGENTS[agent], our_parts()
    env = {"HOME": str(tmp_path), "SUBCOG_HOME": "/old"}
    file = install(agent, parts, env)[-1].file
    before = entry_in(file)
    others = {"timeout": 5000, "tools": {"recall": {"approval_mode": "auto"}}, "env": {"A": "1"}}
    if agent.name == "codex":
        others["env"] = before["env"] | others["env"]
        server, env_table = file.read_text().split("[mcp_servers.subcog.env]")
        text = f'{server}timeout = 5000\n[mcp_servers.subcog.env]{env_table}A = "1"\n'
        file.write_text(f'{text}[mcp_servers.subcog.tools.recall]\napproval_mode = "auto"\n')
    else:
        settings = json.loads(file.read_text())
        settings["mcpServers"]["subcog"] |= others
        file.write_text(json.dumps(settings, indent=4))
    assert entry_in(file) == before | others

    assert install(agent, parts, env)[-1].action == "unchanged"
    newer = msgspec.structs.replace(parts, interpreter=Path("/opt/python3.14"))
    assert install(agent, newer, env | {"SUBCOG_HOME": ""})[-1].action == "updated"
    moved = {"command": "/opt/python3.14", "env": {"A": "1"}}
    assert entry_in(file) == before | others | moved
    uninstall(agent, env)
    assert not file.exists() or "subcog" not in file.read_text()
