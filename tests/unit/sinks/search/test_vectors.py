import numpy as np
import pytest

from subcog.bus.values import Encoding
from subcog.sinks.search import vectors as module
from subcog.sinks.search.vectors import Column, Passages


def encoding(vectors: np.ndarray, words: list[list[int]]) -> Encoding:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return Encoding(
        model="m",
        vectors=unit.astype("<f2").tobytes(),
        words=np.array([w for part in words for w in part], dtype="<u2").tobytes(),
        lengths=np.array([len(part) for part in words], dtype="<u2").tobytes(),
    )


def random_vectors(count: int, dimensions: int = 256) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, dimensions)).astype(np.float32)


def filled(count: int) -> tuple[Passages, np.ndarray]:
    vectors = random_vectors(count)
    passages = Passages(256)
    passages.extend(0, [encoding(vector[None, :], [[1]]) for vector in vectors])
    return passages, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("count", [3, 300, 5000])
def test_the_nearest_rows_are_those_with_the_largest_cosine(count: int) -> None:
    passages, vectors = filled(count)
    query = vectors[1] + 0.5 * vectors[0] + 0.25 * vectors[2]
    assert passages.nearest(query, 2, count, None).tolist() == [1, 0]
    exact = np.argsort(-(vectors @ query))[: min(10, count)]
    found = passages.nearest(query, 10, count, None)
    assert len(set(found.tolist()) & set(exact.tolist())) >= min(9, count)


def test_rows_that_are_not_allowed_are_never_proposed_and_the_next_take_their_place() -> None:
    passages, vectors = filled(5000)
    allowed = np.zeros(5000, dtype=bool)
    allowed[[7, 4999]] = True
    assert set(passages.nearest(vectors[1], 10, 5000, allowed).tolist()) == {7, 4999}


def test_rows_beyond_what_the_reader_saw_are_left_out() -> None:
    passages, vectors = filled(50)
    assert 40 not in passages.nearest(vectors[40], 50, 40, None).tolist()


def test_a_row_has_its_own_passages_and_words() -> None:
    vectors = random_vectors(3)
    passages = Passages(256)
    passages.extend(
        0, [encoding(vectors[:2], [[5, 6], [7]]), None, encoding(vectors[2:], [[8, 8]])]
    )
    rows = np.array([2, 0, 1])
    words, counts = passages.words(passages.of(rows))
    assert passages.numbers(rows).tolist() == [1, 2, 0]
    assert words.tolist() == [8, 8, 5, 6, 7]
    assert counts.tolist() == [2, 2, 1]


def test_words_are_counted_once_a_memory_and_forgotten_with_it() -> None:
    vectors = random_vectors(2)
    passages = Passages(256)
    passages.extend(0, [encoding(vectors, [[5, 5], [5, 9]]), encoding(vectors[:1], [[5]])])
    words = np.array([5, 9, 60_000], dtype=np.uint16)
    assert passages.document_frequency(words).tolist() == [2, 1, 0]
    passages.forget(0)
    assert passages.document_frequency(words).tolist() == [1, 0, 0]


def test_a_copy_of_the_living_answers_as_before() -> None:
    passages, vectors = filled(100)
    alive = np.ones(100, dtype=bool)
    alive[::2] = False
    compacted = passages.compacted(alive)
    assert len(compacted) == 50
    assert compacted.nearest(vectors[51], 1, 50, None).tolist() == [25]
    assert compacted.document_frequency(np.array([1], dtype=np.uint16)).tolist() == [50]


def test_similarity_survives_a_byte_a_component() -> None:
    passages, vectors = filled(200)
    found = passages.similarities(vectors[0], np.arange(200))
    np.testing.assert_allclose(found, vectors @ vectors[0], atol=0.01)


def test_the_mean_of_a_memory_weighs_its_passages_by_words() -> None:
    vectors = np.eye(256, dtype=np.float32)[:2]
    passages = Passages(256)
    passages.extend(0, [encoding(vectors, [[1, 2, 3], [4]])])
    (mean,) = passages.means(np.array([0]))
    assert mean[0] == pytest.approx(3 / np.sqrt(10), abs=0.01)
    assert np.linalg.norm(mean) == pytest.approx(1)


def test_signs_are_found_by_any_number_of_components() -> None:
    signs = module._signs(random_vectors(4, 70))
    assert signs.shape == (2, 4)


def test_rows_come_back_in_the_order_they_were_added() -> None:
    column = Column(np.int64)
    for start in range(0, 100, 10):
        column.extend(range(start, start + 10))
    assert column.view.tolist() == list(range(100))
    assert len(column) == 100


def test_a_wide_column_keeps_its_width() -> None:
    column = Column(np.int8, 3)
    column.extend([[1, 2, 3]] * 40)
    assert column.view.shape == (40, 3)
    assert column.nbytes >= 120


def test_what_a_reader_holds_never_moves() -> None:
    column = Column(np.int64)
    column.extend([1, 2, 3])
    held = column.view
    column.extend(range(1000))
    assert held.tolist() == [1, 2, 3]
