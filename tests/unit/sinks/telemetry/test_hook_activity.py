import stat
from datetime import UTC, datetime, timedelta

import pytest

from subcog.sinks.telemetry.hook_activity import MAX_PAIRS, HookActivity

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pairs(heard):
    return [(each.client, each.event, each.count) for each in heard.list()]


def test_each_hook_is_counted_and_the_latest_is_last(tmp_path):
    heard = HookActivity(tmp_path / "heard.json")
    for second, event in enumerate(("Stop", "UserPromptSubmit", "Stop")):
        heard.note("claude", event, NOW + timedelta(seconds=second))

    assert pairs(heard) == [("claude", "UserPromptSubmit", 1), ("claude", "Stop", 2)]
    assert heard.list()[-1].at == NOW + timedelta(seconds=2)


def test_it_is_known_after_a_restart(tmp_path):
    file = tmp_path / "state" / "heard.json"
    heard = HookActivity(file)
    heard.note("codex", "Stop", NOW)
    heard.save()

    assert HookActivity(file).list() == heard.list()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_names_that_no_agent_has_are_not_noted(tmp_path):
    heard = HookActivity(tmp_path / "heard.json")
    for client, event in (("", "Stop"), ("claude", "a b"), ("x" * 65, "Stop"), ("c", "../x")):
        heard.note(client, event, NOW)

    assert heard.list() == ()


def test_memory_is_bounded(tmp_path):
    heard = HookActivity(tmp_path / "heard.json")
    for number in range(MAX_PAIRS + 9):
        heard.note("claude", f"Event{number}", NOW)

    assert len(heard.list()) == MAX_PAIRS


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff"])
def test_damaged_file_is_begun_anew(tmp_path, text):
    file = tmp_path / "heard.json"
    file.write_bytes(text)
    assert HookActivity(file).list() == ()


def test_disk_that_takes_nothing_harms_nobody(tmp_path):
    (tmp_path / "state").write_text("a file in the way")
    heard = HookActivity(tmp_path / "state" / "heard.json")
    heard.note("claude", "Stop", NOW)
    heard.save()
