import stat

import pytest
from msgspec.structs import replace

from subcog.sinks.indexes.key_cache import KeyCache
from tests.fakes import make_memory

ONE, TWO = make_memory(1, "write .env"), make_memory(2, "nothing")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "keys.jsonl"


class Reader:
    """Takes the words of a memory for its keys, and counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, memory):
        self.asked += 1
        return [] if memory.content == "nothing" else [*memory.content.split(), "write"]


def opened(file, reader="build"):
    cache = KeyCache(Reader(), file, reader)
    cache.open()
    return cache


def filled(file, *memories):
    cache = opened(file)
    for memory in memories:
        cache.read(memory)
    cache.replace()
    return cache


def test_keys_are_known_at_the_next_start_with_those_that_are_none(file):
    assert filled(file, ONE, TWO).read(ONE) == ("write", ".env")
    later = opened(file)
    assert (later.known(ONE), later.known(TWO)) == (("write", ".env"), ())
    assert later.known(make_memory(3, "write .env")) is None
    assert later.known(replace(ONE, version=2)) is None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_read_later_is_added_and_what_is_not_asked_for_is_left_out(file):
    cache = filled(file, ONE)
    cache.read(TWO)
    cache.append()
    later = opened(file)
    assert (later.known(ONE), later.known(TWO)) == (("write", ".env"), ())
    third = opened(file)
    third.known(TWO)
    third.replace()
    assert opened(file).known(ONE) is None
    assert opened(file).known(TWO) == ()


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b'"another build"\n["a",[]]\n', b'"build"\n["a",["b"]]\n["c', b"[]"]
)
def test_what_is_not_its_own_or_torn_is_written_anew(file, content):
    file.write_bytes(content)
    cache = opened(file)
    assert cache.known(ONE) is None
    cache.read(ONE)
    cache.append()
    assert file.read_bytes().startswith(b'"build"\n')
    assert opened(file).known(ONE) == ("write", ".env")


def test_nothing_stays_of_what_is_forgotten(file):
    cache = filled(file, ONE)
    cache.read(TWO)
    cache.forget()
    cache.append()
    assert not file.exists()
    cache.read(TWO)
    cache.append()
    assert opened(file).known(ONE) is None
    assert opened(file).known(TWO) == ()


def test_without_a_file_or_a_place_for_it_keys_are_read(tmp_path):
    for cache in (KeyCache(Reader()), opened(tmp_path / "a-file" / "keys"), opened(tmp_path)):
        (tmp_path / "a-file").write_text("")
        assert cache.read(ONE) == ("write", ".env")
        assert cache.known(ONE) is None
        cache.replace()
        cache.append()
        cache.forget()
