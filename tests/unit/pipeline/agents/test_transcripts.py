"""The transcripts that agents left: whose they are, and in which project."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from subcog.pipeline.agents.transcripts import _opened, count_transcripts, find_transcripts


def write(file, *lines, modified=0):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(file, (modified, modified))


def test_each_agents_transcripts_are_found_newest_first(tmp_path):
    env = {"HOME": str(tmp_path)}
    claude = tmp_path / ".claude/projects/-x/11.jsonl"
    codex = tmp_path / ".codex/sessions/2026/10/rollout.jsonl"
    gemini = tmp_path / ".gemini/tmp" / hashlib.sha256(b"/x").hexdigest() / "chats/s.jsonl"
    named = tmp_path / ".gemini/tmp/y/chats/s.jsonl"
    write(claude, {"type": "summary"}, {"cwd": "/x", "sessionId": "11"}, modified=1)
    write(codex, {"type": "session_meta", "payload": {"id": "22", "cwd": "/y"}}, modified=4)
    write(gemini, {"sessionId": "33"}, modified=3)
    write(named, {"sessionId": "44"}, modified=2)
    (tmp_path / ".gemini/tmp/y/.project_root").write_text("/y\n")

    found = find_transcripts(env, near="/x")

    assert [(one.client, one.session, one.cwd) for one in found] == [
        ("codex", "22", "/y"),
        ("gemini", "33", "/x"),
        ("gemini", "44", "/y"),
        ("claude", "11", "/x"),
    ]
    assert count_transcripts(env) == (4, sum(one.bytes for one in found))


def test_a_sub_agents_transcript_belongs_to_the_session_that_sent_it(tmp_path):
    env = {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(tmp_path)}
    line = {"cwd": "/x", "sessionId": "11", "isSidechain": True, "agentId": "a7"}
    write(tmp_path / "projects/-x/11/subagents/agent-a7.jsonl", line)

    (one,) = find_transcripts(env)

    assert (one.session, one.agent) == ("11", "a7")


SPAWNED = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "11", "depth": 1}}}}


@pytest.mark.parametrize(
    ("told", "session", "agent"),
    [
        (SPAWNED, "11", "22"),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": None}}}}, "22", "22"),
        ({"source": {"subagent": "review"}}, "22", "22"),
        ({"thread_source": "subagent", "source": 7}, "22", "22"),
        ({"thread_source": "cli", "source": "cli"}, "22", ""),
        ({"source": {}}, "22", ""),
    ],
)
def test_a_thread_that_codex_started_for_another_is_a_sub_agents(tmp_path, told, session, agent):
    env = {"HOME": "/nowhere", "CODEX_HOME": str(tmp_path)}
    head = {"type": "session_meta", "payload": {"id": "22", "cwd": "/y"} | told}
    write(tmp_path / "sessions/x.jsonl", head)

    (one,) = find_transcripts(env)

    assert (one.session, one.agent) == (session, agent)


def test_what_is_no_transcript_is_passed_over(tmp_path):
    env = {"HOME": "/nowhere", "CODEX_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    folder = tmp_path / "projects/-x"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(b"\xff\x00 no json\n")
    (folder / "b.jsonl").symlink_to(folder / "a.jsonl")
    os.mkfifo(folder / "c.jsonl")
    write(tmp_path / "sessions/x.jsonl", {"type": "session_meta"})

    assert find_transcripts(env) == []


def test_what_the_daemon_cannot_be_told_of_is_passed_over(tmp_path):
    env = {"HOME": str(tmp_path)}
    near = os.fsdecode(b"/caf\xe9")
    hashed = hashlib.sha256(b"/caf\xe9").hexdigest()
    write(tmp_path / os.fsdecode(b".claude/projects/-x/\xe9.jsonl"), {"cwd": "/x"})
    write(tmp_path / ".claude/projects/-x/11.jsonl", {"cwd": "/x"})
    write(tmp_path / ".gemini/tmp" / hashed / "chats/s.jsonl", {"sessionId": "33"})

    assert [one.session for one in find_transcripts(env, near=near)] == ["11"]


def test_a_transcript_that_fails_to_be_read_is_passed_over():
    assert list(_opened([Path("/proc/self/mem")])) == []  # it opens, and fails at its beginning


def test_a_moved_home_of_gemini_is_looked_through(tmp_path):
    env = {"HOME": "/nowhere", "GEMINI_CLI_HOME": str(tmp_path)}
    write(tmp_path / ".gemini/tmp/y/chats/s.jsonl", {"sessionId": "44"})
    assert [one.session for one in find_transcripts(env, near="/x")] == ["44"]
