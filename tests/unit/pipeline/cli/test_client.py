import sys

from subcog.config.paths import find_paths
from subcog.pipeline.cli.client import spawn


def test_a_daemon_keeps_things_where_a_relative_home_was_for_whoever_started_it(
    tmp_path, monkeypatch
):
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\necho "$SUBCOG_HOME $CLAUDE_CODE_SESSION_ID." >&2\n')
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("SUBCOG_HOME", "here")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    monkeypatch.chdir(tmp_path)
    with spawn(find_paths({"SUBCOG_HOME": "here"})) as daemon:
        assert daemon.stderr.read().decode() == f"{tmp_path}/here .\n"
