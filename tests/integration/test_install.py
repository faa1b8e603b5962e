"""`subcog install` and `uninstall` as a user runs them, with agents of any version on the PATH."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .house import PYTHON


@pytest.fixture
def claude(house):
    """Puts a program called claude on the PATH that says which version it is."""

    def put(version: str) -> None:
        folder = house.root / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "claude").write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        (folder / "claude").chmod(0o755)
        house.env["PATH"] = f"{folder}:{house.env['PATH']}"

    return put


def kinds(house) -> dict[str, str]:
    hooks = json.loads((house.root / ".claude/settings.json").read_text())["hooks"]
    return {event: groups[0]["hooks"][0]["type"] for event, groups in hooks.items()}


@pytest.mark.parametrize("way", ["http", "mcp"])
def test_old_version_falls_back_to_commands_and_is_told_why(house, claude, way):
    claude("2.0.14")

    answer = house.ask("install", "claude", "--transport", way)

    assert set(kinds(house).values()) == {"command"}
    assert "PostToolUseFailure" not in kinds(house)
    assert "2.0.14" in answer["notes"][0]


def test_new_version_gets_the_way_that_was_asked_for(house, claude):
    claude("2.1.330")

    house.ask("install", "claude", "--transport", "mcp")
    assert kinds(house)["PostToolUseFailure"] == "mcp_tool"

    house.ask("install", "claude")
    assert set(kinds(house).values()) == {"command"}


@pytest.mark.parametrize(
    ("agent", "files"),
    [
        ("claude", [".claude/settings.json", ".claude.json"]),
        ("codex", [".codex/hooks.json", ".codex/config.toml"]),
        ("gemini", [".gemini/settings.json"]),
    ],
)
def test_every_file_of_an_agent_is_restored_byte_for_byte(house, agent, files):
    before = {}
    for name in files:
        file = house.root / name
        file.parent.mkdir(exist_ok=True)
        text = "# mine\n[a]\nb = 1" if name.endswith("toml") else '{\n\t"theirs": {"a": 1.50}\n}'
        file.write_text(text)
        before[file] = file.read_bytes()

    house.ask("install", agent)
    assert all(file.read_bytes() != text for file, text in before.items())
    house.ask("install", agent, "--no-mcp")
    house.ask("install", agent)
    house.ask("uninstall", agent)

    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_dry_run_writes_nothing(house, agent):
    done = house.run("install", agent, "--dry-run")

    assert "would be installed" in done.stdout
    assert PYTHON in done.stdout
    assert [path.name for path in house.root.iterdir() if path.name.startswith(".")] == []


def test_settings_of_a_project_are_those_that_nobody_shares(house):
    answer = house.ask("install", "claude", "--project")

    files = [Path(each["file"]) for each in answer["files"]]
    assert files[0] == house.project / ".claude" / "settings.local.json"
    servers = json.loads(files[1].read_text())["projects"][str(house.project)]["mcpServers"]
    assert list(servers) == ["subcog"]
    house.ask("uninstall", "claude", "--project")
    assert [file for file in files if file.exists()] == []


def test_unreadable_file_stops_all_of_it(house):
    (house.root / ".codex").mkdir()
    (house.root / ".codex" / "config.toml").write_text("not = = toml")

    done = house.run("install", "codex")

    assert done.returncode == 1
    assert "config.toml is not TOML; nothing was changed" in done.stderr
    assert not (house.root / ".codex" / "hooks.json").exists()


def test_codex_is_told_where_we_keep_things_because_it_hides_its_environment(house):
    house.ask("install", "codex")

    text = (house.root / ".codex" / "config.toml").read_text()
    assert f'SUBCOG_HOME = "{house.env["SUBCOG_HOME"]}"' in text


def test_list_shows_what_is_here_and_what_is_wired(house, claude):
    claude("2.1.330")
    house.ask("install", "claude")

    found = {each["client"]: each for each in house.ask("install", "--list")}

    assert found["claude"]["version"] == "2.1.330"
    assert "PostToolUseFailure" in found["claude"]["files"][0]["wired"]
    assert found["claude"]["files"][1]["wired"] == ["MCP"]
    assert found["codex"]["files"][0]["wired"] == []
    assert "Claude Code: 2.1.330" in house.run("install", "--list").stdout


def test_dry_run_shows_neither_the_token_nor_what_is_not_changed(house, claude):
    claude("2.1.330")
    file = house.root / ".claude.json"
    file.write_text('{\n  "a": "their secret",\n  "b": 1,\n  "c": 2,\n  "d": 3\n}\n')

    done = house.run("install", "claude", "--transport", "http", "--dry-run")

    assert "Bearer …" in done.stdout
    assert (house.paths.data / "http-token").read_text().strip() not in done.stdout
    assert "their secret" not in done.stdout


def test_what_it_says_to_type_shows_an_injection(fresh):
    fresh.env = fresh.env | {"HOME": str(fresh.root)}
    marked, question = [
        line.strip()
        for line in fresh.run("install", "claude").stdout.splitlines()
        if line.startswith("  ") and "backup" not in line
    ]
    assert "kept as" in fresh.prompt(marked, "first")["systemMessage"]
    assert "never with kubectl" in fresh.context(question, "second")
