from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from subcog.sinks.search import postings as module
from subcog.sinks.search.postings import Postings

ROWS = st.lists(st.lists(st.integers(0, 12), max_size=8), max_size=40)


def expected(rows: list[list[int]], term: int) -> list[tuple[int, int]]:
    counts = [(row, Counter(terms)[term]) for row, terms in enumerate(rows)]
    return [(row, count) for row, count in counts if count]


def found(postings: Postings, term: int) -> list[tuple[int, int]]:
    rows, counts = postings.lookup(term)
    return list(zip(rows.tolist(), counts.tolist(), strict=True))


def terms_of(row: list[int]) -> np.ndarray:
    return np.array(row, dtype=np.uint32)


@given(rows=ROWS, loaded=st.integers(0, 40), fold=st.integers(1, 9))
def test_every_term_leads_to_the_rows_that_have_it(
    rows: list[list[int]], loaded: int, fold: int
) -> None:
    postings = Postings()
    first = rows[:loaded]
    flat = [term for row in first for term in row]
    owners = [number for number, row in enumerate(first) for _ in row]
    postings.load(np.array(owners, dtype=np.uint32), terms_of(flat))
    for number, row in enumerate(rows[loaded:], len(first)):
        postings.add(number, terms_of(row))
        if number % fold == 0:
            postings.fold()
    for term in range(14):
        assert found(postings, term) == expected(rows, term)


@given(rows=ROWS, dead=st.sets(st.integers(0, 39)))
def test_a_copy_of_the_living_numbers_them_anew(rows: list[list[int]], dead: set[int]) -> None:
    postings = Postings()
    for number, row in enumerate(rows):
        postings.add(number, terms_of(row))
    alive = np.array([number not in dead for number in range(len(rows))], dtype=bool)
    compacted = postings.compacted(alive)
    living = [row for number, row in enumerate(rows) if number not in dead]
    for term in range(14):
        assert found(compacted, term) == expected(living, term)


def test_a_count_beyond_a_byte_is_the_largest_byte() -> None:
    postings = Postings()
    postings.add(0, terms_of([7] * 300))
    assert found(postings, 7) == [(0, 255)]
    postings.fold()
    assert found(postings, 7) == [(0, 255)]


def test_recent_rows_are_packed_by_themselves_and_what_is_large_is_left_as_it_is() -> None:
    postings, loaded = Postings(), 10 * module._PACK_ROWS
    postings.load(np.arange(loaded, dtype=np.uint32), np.ones(loaded, dtype=np.uint32))
    [large] = postings._parts
    for number in range(loaded, loaded + 3 * module._PACK_ROWS):
        postings.add(number, terms_of([1]))
    assert not postings._recent
    assert postings._parts[0] is large
    assert len(postings._parts) == 2
    assert len(found(postings, 1)) == loaded + 3 * module._PACK_ROWS
    assert postings.nbytes < 40_000


def test_what_is_loaded_in_many_parts_is_found_as_if_it_were_loaded_at_once() -> None:
    postings, whole = Postings(), Postings()
    rows = np.arange(40, dtype=np.uint32)
    terms = (rows % 7).astype(np.uint32)
    whole.load(rows, terms)
    for start, end in ((0, 16), (16, 24), (24, 28), (28, 30), (30, 39), (39, 40)):
        postings.load(rows[start:end], terms[start:end])
        assert [len(part.rows) for part in postings._parts] == sorted(
            (len(part.rows) for part in postings._parts), reverse=True
        )
    assert len(postings._parts) > 1
    postings.add(40, np.array([3, 3], dtype=np.uint32))
    whole.add(40, np.array([3, 3], dtype=np.uint32))
    for _ in range(2):
        for term in range(8):
            for ours, theirs in zip(postings.lookup(term), whole.lookup(term), strict=True):
                assert ours.tolist() == theirs.tolist()
        postings.fold()
    assert len(postings._parts) == 1
