import os
import stat

import pytest

from subcog.sinks.http.credentials import http_token, keep_port, last_port


def test_a_token_is_made_once_and_is_for_its_owner_alone(tmp_path):
    file = tmp_path / "token"
    token = http_token(file)
    assert len(token) >= 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert http_token(file) == token
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_a_token_that_others_could_read_is_replaced(tmp_path):
    file = tmp_path / "token"
    token = http_token(file)
    file.chmod(0o644)
    assert http_token(file) != token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("found", [b"", b"short", b"\xff" * 44, b"a\x00b" * 20, b"a\nb" * 20])
def test_what_is_no_token_is_replaced(tmp_path, found):
    file = tmp_path / "token"
    file.write_bytes(found)
    file.chmod(0o600)
    assert len(http_token(file)) == 43


def test_a_link_or_a_pipe_in_its_place_is_replaced_and_not_followed(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.write_text("x" * 43)
    theirs.chmod(0o600)
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(theirs)
    os.mkfifo(pipe, 0o600)
    for file in (link, pipe):
        assert http_token(file) != "x" * 43
        assert file.is_file()
        assert not file.is_symlink()
    assert theirs.read_text() == "x" * 43


def test_the_last_port_is_known_again(tmp_path):
    file = tmp_path / "port"
    assert last_port(file) == 0
    keep_port(file, 40123)
    assert last_port(file) == 40123
    for wrong in ("80", "65536", "-1", "x", "40123 40124"):
        file.write_text(wrong)
        assert last_port(file) == 0
