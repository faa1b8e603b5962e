import pytest

from subcog.config.ids import full_id, next_ulid, ulid, ulid_of, ulid_of_hex


def test_a_ulid_has_26_characters_of_the_published_alphabet():
    # The largest ULID of the specification (github.com/ulid/spec, "Overflow Errors").
    assert ulid((1 << 128) - 1) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ".lower()
    assert ulid(0) == "0" * 26


def test_ulids_sort_by_time():
    made = [ulid_of(time_ms, b"\xff" * 10) for time_ms in (1, 2, 1_700_000_000_000)]
    assert made == sorted(made)


def test_an_identity_in_hexadecimal_gives_the_same_ulid_every_time():
    assert ulid_of_hex("0" * 31 + "f") == ulid(15)
    for bad in ("", "zz", "0" * 31, "F" * 32, "-" + "0" * 31):
        with pytest.raises(ValueError, match="hexadecimal"):
            ulid_of_hex(bad)


def test_the_parts_of_one_identity_are_distinct_and_repeatable():
    first = ulid(12345)
    assert next_ulid(first, 0) == first
    assert next_ulid(first, 3) == ulid(12348)


def test_a_number_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="128 bits"):
        ulid(1 << 128)


def test_a_memorys_id_is_the_same_with_or_without_its_prefix_and_uri():
    assert full_id("1") == full_id(" mem_1 ") == full_id("subcog://memory/mem_1") == "mem_1"
