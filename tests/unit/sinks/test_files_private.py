import os
import stat

import pytest

from subcog.sinks.files import RotatingFile, free_name, replace_file


@pytest.fixture(autouse=True)
def open_mask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("durable", [False, True])
def test_what_is_written_is_for_its_owner_alone_and_nothing_stays_beside_it(tmp_path, durable):
    file = tmp_path / "folder" / "file"
    for text in (b"one", b"two"):
        replace_file(file, text, durable=durable)
    assert file.read_bytes() == b"two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_cannot_be_replaced_stays_and_leaves_nothing_half_made(tmp_path):
    target = tmp_path / "file"
    target.mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(target, b"text")
    assert list(tmp_path.iterdir()) == [target]


def test_what_an_earlier_process_left_half_made_is_no_hindrance(tmp_path):
    (tmp_path / "file.new").write_bytes(b"half")
    replace_file(tmp_path / "file", b"whole")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"whole"]


def test_a_name_that_is_taken_gets_a_number(tmp_path):
    names = []
    for _ in range(3):
        names.append(free_name(tmp_path / "copy"))
        names[-1].touch()
    assert [each.name for each in names] == ["copy", "copy-1", "copy-2"]


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
