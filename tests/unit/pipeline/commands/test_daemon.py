import subprocess
import sys

import click
import pytest

from subcog.pipeline.commands import daemon
from subcog.pipeline.commands.daemon import last_lines, level_of, read_entry


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process


def test_a_process_that_has_ended_is_not_waited_for_although_nobody_reaped_it(child, monkeypatch):
    monkeypatch.setattr(daemon, "STOP_S", 10.0)
    child.stdin.close()
    daemon._wait_for_exit(child.pid)
    assert child.returncode is None


def test_a_process_that_stays_is_told(child, monkeypatch):
    monkeypatch.setattr(daemon, "STOP_S", 0.0)
    with pytest.raises(click.ClickException, match=f"{child.pid} did not exit"):
        daemon._wait_for_exit(child.pid)


def every(line):
    return True


@pytest.fixture
def files(tmp_path):
    return [tmp_path / name for name in ("daemon.log.2", "daemon.log.1", "daemon.log")]


def test_the_last_lines_reach_back_into_what_was_rotated(files):
    for file, text in zip(files, ("1\n2\n", "3\n4\n", "5\n"), strict=True):
        file.write_text(text)
    assert last_lines(files, 4, every) == ["2", "3", "4", "5"]
    assert last_lines(files, 9, lambda line: line in "24") == ["2", "4"]
    assert last_lines(files, 0, every) == []


def test_a_rotation_that_does_not_exist_is_skipped(files):
    assert last_lines(files, 9, every) == []
    files[2].write_text("1\n")
    assert last_lines(files, 9, every) == ["1"]


def test_a_line_that_is_still_being_written_is_left_out(files):
    files[2].write_text("1\nha")
    assert last_lines(files, 9, every) == ["1"]


def test_the_level_of_a_line_is_read_in_either_format():
    assert level_of('{"level":"warning","what":"x"}') == "warning"
    assert level_of("2026-01-01T00:00:00Z info    stages.x: something") == "info"
    assert level_of("Fatal Python error: Segmentation fault") == "error"
    assert level_of('{"level":["?"]}') == "error"
    assert read_entry("[1]") is None
