"""What the doctor says of what is installed in agents."""

from pathlib import Path

import pytest

from subcog.config.paths import find_paths
from subcog.pipeline.agents.install import AGENTS, Http, Mcp, install, our_parts, uninstall, wired
from subcog.pipeline.doctor.agents import WIRED_ONCE, examine, hook_commands


@pytest.fixture
def env(tmp_path):
    return {"HOME": str(tmp_path), "SUBCOG_HOME": str(tmp_path / "subcog"), "PATH": ""}


def findings(env):
    project = Path(env["HOME"]) / "shop"
    return {each.check: each for each in examine(find_paths(env), env, project)}


def test_hooks_that_run_twice_by_two_ways_are_told(env, tmp_path):
    project, claude = tmp_path / "shop", AGENTS["claude"]
    install(claude, our_parts(), env)
    install(claude, our_parts(), env, project=project)
    assert WIRED_ONCE not in findings(env), "Claude Code runs one of two equal commands"

    way = Http(client="claude", port=4711, token="t")
    install(claude, our_parts(), env, project=project, transport=way)
    assert "run twice" in findings(env)[WIRED_ONCE].seen


def test_hooks_beside_a_plugin_of_the_project_are_told(env, tmp_path):
    install(AGENTS["claude"], our_parts(), env)
    assert WIRED_ONCE not in findings(env)
    folder = tmp_path / "shop" / ".claude"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text('{"enabledPlugins": {"subcog@subcog": true}}')
    assert "as a plugin and in its settings" in findings(env)[WIRED_ONCE].seen


@pytest.mark.parametrize("name", [".claude/settings.json", ".claude.json"])
def test_settings_that_cannot_be_opened_are_told(env, tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    found = findings(env)["Claude Code"]
    assert (found.ok, found.mend) == (False, "correct that file")
    assert "cannot be read (Is a directory)" in found.seen
    assert list(hook_commands(env, our_parts())) == ["the pipe"]


@pytest.mark.parametrize(("text", "ok"), [("// mine\n{}", True), ('// subcog hook\n{"a":', False)])
def test_settings_of_an_agent_that_is_not_here_need_not_be_readable(env, tmp_path, text, ok):
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "settings.json").write_text(text)
    assert findings(env)["Gemini CLI"].ok is ok


@pytest.fixture
def known_late(env, tmp_path):
    """A Claude Code that takes hooks of every kind."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.1.330 (Claude Code)'\n")
    program.chmod(0o755)
    env["PATH"] = f"{program.parent}:/usr/bin:/bin"


def kinds(env):
    """How the hooks of Claude Code are run now."""
    hooks = (hook for each in wired(AGENTS["claude"], env).values() for hook in each.hooks)
    return {hook.entry["type"] for hook in hooks}


@pytest.mark.usefixtures("known_late")
def test_hooks_over_http_that_is_switched_off_become_commands(env):
    way = Http(client="claude", port=4711, token="t")
    install(AGENTS["claude"], our_parts(), env, version=(2, 1, 330), transport=way)
    env |= {"SUBCOG_HTTP_ENABLED": "false", "SUBCOG_HTTP_PORT": "4711"}

    found = findings(env)["Claude Code"]
    assert "serves no HTTP (http.enabled)" in found.seen
    found.repair()

    assert kinds(env) == {"command"}
    assert findings(env)["Claude Code"].ok


@pytest.mark.usefixtures("known_late")
def test_hooks_that_call_a_server_which_is_not_there_get_it_again(env, tmp_path):
    install(AGENTS["claude"], our_parts(), env, version=(2, 1, 330), transport=Mcp(client="claude"))
    (tmp_path / ".claude.json").unlink()

    found = findings(env)["Claude Code"]
    assert "the MCP server that they call is not installed" in found.seen
    found.repair()

    assert kinds(env) == {"mcp_tool", "command"}
    assert findings(env)["Claude Code"].ok


@pytest.mark.parametrize("name", AGENTS)
def test_what_is_installed_in_the_project_alone_is_told(env, tmp_path, name):
    agent, shop = AGENTS[name], tmp_path / "shop"
    install(agent, our_parts(), env, project=shop)

    found = findings(env)
    assert agent.title not in found
    here = found[f"{agent.title} in this project"]
    assert here.ok
    assert here.seen.startswith("installed for ")

    uninstall(agent, env, project=shop)
    assert "not on this machine" in findings(env)[agent.title].seen


def test_what_is_astray_in_the_project_is_mended_there(env, tmp_path):
    shop = tmp_path / "shop"
    install(AGENTS["gemini"], our_parts(), env, project=shop)
    file = shop / ".gemini" / "settings.json"
    text = file.read_text()
    file.write_text(text.replace(str(our_parts().hooks), "/gone/hooks"))

    found = findings(env)["Gemini CLI in this project"]
    assert (found.ok, found.mend[:32]) == (False, "`subcog install gemini --project`"[:32])
    found.repair()

    assert file.read_text() == text


def test_where_the_home_is_the_project_one_file_is_told_once(env, tmp_path):
    install(AGENTS["gemini"], our_parts(), env)
    found = [each.check for each in examine(find_paths(env), env, tmp_path)]
    assert [check for check in found if "Gemini" in check] == ["Gemini CLI"]
