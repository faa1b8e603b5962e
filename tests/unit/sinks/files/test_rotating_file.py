import stat

import pytest

from subcog.sinks.files.rotating_file import RotatingFile


def test_lines_come_back_newest_first_across_a_rotation(tmp_path):
    file = tmp_path / "state" / "log.jsonl"
    log = RotatingFile(file, max_bytes=30, backups=2)
    for number in range(12):
        log.append(b"line %02d" % number)
    lines = list(log.lines())
    assert lines == sorted(lines, reverse=True)
    assert lines[0] == b"line 11"
    assert sorted(one.name for one in file.parent.iterdir())[-2:] == ["log.jsonl.1", "log.jsonl.2"]
    assert sum(one.stat().st_size for one in file.parent.iterdir()) <= 3 * 40


def test_it_is_for_its_owner_alone(tmp_path):
    log = RotatingFile(tmp_path / "log", max_bytes=100, backups=1)
    log.append(b"x")
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_half_a_line_is_no_line(tmp_path):
    (tmp_path / "log").write_bytes(b"whole\nhal")
    assert list(RotatingFile(tmp_path / "log", max_bytes=100, backups=1).lines()) == [b"whole"]


def test_without_a_file_there_are_no_lines(tmp_path):
    assert list(RotatingFile(tmp_path / "log", max_bytes=100, backups=1).lines()) == []


def test_an_error_of_the_disk_reaches_whoever_writes(tmp_path):
    (tmp_path / "log").mkdir()
    with pytest.raises(IsADirectoryError):
        RotatingFile(tmp_path / "log", max_bytes=100, backups=1).append(b"x")


def test_a_file_that_somebody_deleted_is_begun_anew(tmp_path):
    log = RotatingFile(tmp_path / "log", max_bytes=100, backups=1)
    log.append(b"one")
    (tmp_path / "log").unlink()
    log.append("zwei \u00fc %s".encode())
    assert list(log.lines()) == ["zwei \u00fc %s".encode()]
