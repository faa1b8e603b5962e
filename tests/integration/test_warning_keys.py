"""A daemon that starts again warns at once: what memories warn of is not read anew."""

from __future__ import annotations

import time

import pytest

from tests.waiting import eventually

from .house import House

RULE = "Never edit gen/schema.py by hand: run make gen"


def warning(house: House, session: str) -> str:
    """What the agent reads before it edits the generated file."""
    payload = {
        "session_id": session,
        "cwd": str(house.project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {
            "file_path": str(house.project / "gen/schema.py"),
            "old_string": "a",
            "new_string": "b",
        },
    }
    answer = house.hook("PreToolUse", payload) or {}
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def restart(house: House) -> None:
    pid = house.pid()
    house.ask("daemon", "stop")
    house.wait_until_gone(pid)
    house.start()


def kept(house: House) -> str:
    """What is kept for the next start; empty as long as nothing is."""
    file = house.paths.warning_keys
    return file.read_text() if file.exists() else ""


@pytest.mark.slow
def test_what_was_read_is_kept_for_the_next_start_but_nothing_that_is_forgotten(fresh):
    memory = fresh.capture(RULE)
    fresh.capture("Feature flags are read from a file at start")
    assert RULE in warning(fresh, "before")

    restart(fresh)
    eventually(lambda: RULE in warning(fresh, "read"))
    eventually(lambda: "schema.py" in kept(fresh))
    restart(fresh)
    eventually(lambda: RULE in warning(fresh, "known"))

    fresh.ask("forget", memory["id"])
    assert "schema.py" not in kept(fresh)
    restart(fresh)
    assert warning(fresh, "forgotten") == ""
    assert "schema.py" not in kept(fresh)


@pytest.mark.slow
def test_what_another_build_kept_is_read_anew(fresh):
    fresh.capture(RULE)
    restart(fresh)
    eventually(lambda: "schema.py" in kept(fresh))
    fresh.ask("daemon", "stop")
    reader, lines = kept(fresh).split("\n", 1)
    fresh.paths.warning_keys.write_text('"another"\n' + lines.replace("schema.py", "other.py"))
    fresh.start()
    eventually(lambda: kept(fresh).startswith(reader))
    assert RULE in warning(fresh, "anew")
    assert "other.py" not in kept(fresh)


@pytest.mark.slow
def test_what_a_restored_backup_says_is_read_again(fresh):
    fresh.capture(RULE)
    other = fresh.capture("Feature flags are read from a file at start")
    backup = fresh.root / "backup.duckdb"
    fresh.ask("backup", str(backup))
    fresh.ask("forget", other["id"])
    fresh.ask("restore", str(backup), "--yes")
    eventually(lambda: RULE in warning(fresh, str(time.monotonic())))
