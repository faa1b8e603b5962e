import stat

from subcog.sinks.files.rotating_file import Journal


def test_lines_come_back_newest_first_across_a_rotation(tmp_path):
    file = tmp_path / "state" / "log.jsonl"
    journal = Journal(file, max_bytes=30, backups=2)
    for number in range(12):
        journal.append(b"line %02d" % number)
    lines = list(journal.lines())
    assert lines == sorted(lines, reverse=True)
    assert lines[0] == b"line 11"
    assert sorted(one.name for one in file.parent.iterdir())[-2:] == ["log.jsonl.1", "log.jsonl.2"]
    assert sum(one.stat().st_size for one in file.parent.iterdir()) <= 3 * 40


def test_it_is_for_its_owner_alone(tmp_path):
    journal = Journal(tmp_path / "log", max_bytes=100, backups=1)
    journal.append(b"x")
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_half_a_line_is_no_line(tmp_path):
    (tmp_path / "log").write_bytes(b"whole\nhal")
    assert list(Journal(tmp_path / "log", max_bytes=100, backups=1).lines()) == [b"whole"]


def test_without_a_file_there_are_no_lines(tmp_path):
    assert list(Journal(tmp_path / "log", max_bytes=100, backups=1).lines()) == []
