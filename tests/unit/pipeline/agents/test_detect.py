import json

import pytest

from subcog.pipeline.agents.detect import find_agent, plugin_enabled, read_version
from subcog.pipeline.agents.install import AGENTS

CLAUDE = AGENTS["claude"]


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
    assert plugin_enabled({"CLAUDE_CONFIG_DIR": str(tmp_path)}) is enabled
