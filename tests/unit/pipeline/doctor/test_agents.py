"""What the doctor says of what is installed in agents."""

import pytest

from subcog.config.paths import find_paths
from subcog.pipeline.agents.install import our_parts
from subcog.pipeline.doctor.agents import examine, hook_commands


@pytest.fixture
def env(tmp_path):
    return {"HOME": str(tmp_path), "SUBCOG_HOME": str(tmp_path / "subcog"), "PATH": ""}


def findings(env):
    return {each.check: each for each in examine(find_paths(env), env)}


@pytest.mark.parametrize("name", [".claude/settings.json", ".claude.json"])
def test_settings_that_cannot_be_opened_are_told(env, tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    found = findings(env)["Claude Code"]
    assert (found.ok, found.mend) == (False, "correct that file")
    assert "cannot be read (Is a directory)" in found.seen
    assert list(hook_commands(env, our_parts())) == ["the pipe"]
