import os

import pytest

from subcog.sinks.files import Look, unchanged


def test_a_file_is_read_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_text("größe")
    assert Look().text(path, 7) == "größe"
    assert Look().text(path, 6) is None


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe"])
def test_what_is_not_text_is_not_there(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    assert Look().text(path, 100) is None


def test_a_file_that_becomes_a_pipe_does_not_hang(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    look = Look()
    assert look.exists(path)
    path.unlink()
    os.mkfifo(path)
    assert not look.text(path, 100)


def test_appearing_changing_and_vanishing_are_noticed(tmp_path):
    path = tmp_path / "file"
    look = Look()
    assert not look.exists(path)
    assert unchanged(look.stamps)
    path.write_text("x")
    assert not unchanged(look.stamps)
    look = Look()
    assert look.text(path, 10) == "x"
    path.write_text("xy")
    assert not unchanged(look.stamps)
    look = Look()
    assert look.owner(path) == os.geteuid()
    path.unlink()
    assert not unchanged(look.stamps)
