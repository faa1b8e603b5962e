import errno
import os
import stat

import pytest
from msgspec.structs import replace

from subcog.sinks.indexes.key_cache import KeyCache
from tests.fakes import make_memory

ONE, TWO = make_memory(1, "write .env"), make_memory(2, "nothing")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "keys.jsonl"


def words(memory):
    """The words of a memory are its keys."""
    return [] if memory.content == "nothing" else [*memory.content.split(), "write"]


def opened(file, reader="build"):
    cache = KeyCache(words, file, reader)
    cache.open()
    return cache


def saved(file, *memories):
    """A cache that has saved ``memories``, each of which it knew or read."""
    cache = opened(file)
    for memory in memories:
        if cache.known(memory) is None:
            cache.read_unknown(memory)
    cache.save()
    return cache


def test_keys_are_known_at_the_next_start_with_those_that_are_none(file):
    assert saved(file, ONE, TWO).read(ONE) == ("write", ".env")
    later = opened(file)
    assert (later.known(ONE), later.known(TWO)) == (("write", ".env"), ())
    assert later.known(make_memory(3, "write .env")) is None
    assert later.known(replace(ONE, version=2)) is None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_not_asked_for_any_more_is_left_out_and_else_nothing_is_written(file):
    saved(file, ONE, TWO)
    before = file.stat().st_mtime_ns
    saved(file, TWO, ONE)
    assert file.stat().st_mtime_ns == before
    saved(file, TWO)
    assert opened(file).known(ONE) is None
    assert opened(file).known(TWO) == ()


def test_a_start_that_is_broken_off_leaves_the_file_as_it_is(file):
    saved(file, ONE)
    before = file.read_bytes()
    cache = opened(file)
    cache.known(ONE)
    cache.read_unknown(TWO)
    cache.close()
    cache.save()
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b'"another build"\n["m","a",[]]\n',
        b'"build"\n["m","a",["b"]]\n["c',
        b'"build"\n["a",[]]\n',
        b"[]",
    ],
)
def test_what_is_not_its_own_or_torn_is_written_anew(file, content):
    file.write_bytes(content)
    saved(file, ONE)
    assert file.read_bytes().startswith(b'"build"\n')
    assert opened(file).known(ONE) == ("write", ".env")


def test_a_memory_that_is_forgotten_leaves_the_file(file):
    cache = saved(file, ONE, TWO)
    cache.forget(ONE.id)
    assert b".env" not in file.read_bytes()
    assert opened(file).known(TWO) == ()


def test_where_the_file_cannot_be_written_it_goes(file, monkeypatch):
    cache = saved(file, ONE, TWO)
    with monkeypatch.context() as full:
        full.setattr("subcog.sinks.indexes.key_cache.replace_file", disk_is_full)
        cache.forget(ONE.id)
    assert not file.exists()


def disk_is_full(*_):
    raise OSError(errno.ENOSPC, "no space left on device")


def test_and_is_not_saved_whenever_it_is_forgotten(file):
    cache = opened(file)
    cache.forget(ONE.id)
    cache.read_unknown(ONE)
    cache.read_unknown(TWO)
    file.with_name("keys.jsonl.new").write_text(".env")
    cache.save()
    assert b".env" not in file.read_bytes()
    assert opened(file).known(TWO) == ()
    file.with_name("keys.jsonl.new").write_text(".env")
    opened(file)
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_without_a_file_or_a_place_for_it_keys_are_read(tmp_path):
    (tmp_path / "a-file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    places = (tmp_path / "a-file/keys", tmp_path / "nowhere/keys", tmp_path, tmp_path / "pipe")
    for cache in (KeyCache(words), *map(opened, places)):
        assert cache.read(ONE) == cache.read_unknown(ONE) == ("write", ".env")
        assert cache.known(ONE) is None
    for cache in (KeyCache(words), *map(opened, places[:3])):
        cache.read_unknown(ONE)
        cache.save()
        cache.forget(ONE.id)
    assert not (tmp_path / "nowhere").exists()
