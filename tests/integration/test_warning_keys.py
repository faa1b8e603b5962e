"""A daemon that starts again warns at once: what memories warn of is not read anew."""

from __future__ import annotations

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


def test_what_was_read_is_kept_for_the_next_start_until_a_memory_is_forgotten(fresh):
    kept = fresh.capture(RULE)
    fresh.capture("Feature flags are read from a file at start")
    assert RULE in warning(fresh, "before")

    restart(fresh)
    assert "schema.py" in fresh.paths.warning_keys.read_text()
    eventually(lambda: RULE in warning(fresh, "after"))

    fresh.ask("forget", kept["id"])
    eventually(lambda: not fresh.paths.warning_keys.exists())
    restart(fresh)
    assert warning(fresh, "forgotten") == ""
    file = fresh.paths.warning_keys
    assert not file.exists() or "schema.py" not in file.read_text()


@pytest.mark.slow
def test_what_another_build_kept_is_read_anew(fresh):
    fresh.capture(RULE)
    pid = fresh.pid()
    fresh.ask("daemon", "stop")
    fresh.wait_until_gone(pid)
    file = fresh.paths.warning_keys
    reader, lines = file.read_text().split("\n", 1)
    file.write_text('"another"\n' + lines.replace("schema.py", "other.py"))
    fresh.start()
    eventually(lambda: RULE in warning(fresh, "anew"))
    eventually(lambda: file.read_text().startswith(reader))
    assert "other.py" not in file.read_text()
