import numpy as np
import pytest

from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.ranking import (
    MOST_WORDS,
    Coverage,
    coverage,
    weighted_words,
    word_weights,
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


def words_of(embedder: Embedder, text: str) -> np.ndarray:
    return np.frombuffer(embedder.encode(text).words, dtype="<u2")


def covered(embedder: Embedder, question: str, texts: list[list[str]]) -> Coverage:
    """Each text is a list of passages."""
    asked = embedder.encode_query(question).words
    assert asked is not None
    document_frequency = np.zeros(len(asked), dtype=np.float32)
    parts = [words_of(embedder, passage) for text in texts for passage in text]
    return coverage(
        weighted_words(asked, document_frequency, len(texts), embedder),
        np.concatenate(parts),
        np.array([len(part) for part in parts]),
        np.array([len(text) for text in texts]),
        embedder,
    )


def test_the_very_words_cover_a_question_whole(embedder: Embedder) -> None:
    found = covered(embedder, "rotate the signing key", [["rotate the signing key"], ["cheese"]])
    assert found.coverage_p2[0] == pytest.approx(1, abs=1e-3)
    assert found.reverse_coverage[0] == pytest.approx(1, abs=1e-3)
    assert found.coverage_p2[1] < 0.2


def test_similar_words_cover_better_than_unrelated_ones(embedder: Embedder) -> None:
    found = covered(embedder, "log in", [["sign on with a password"], ["bake bread in the oven"]])
    assert found.coverage_p2[0] > found.coverage_p2[1]
    assert found.score[0] > found.score[1]


def test_similar_words_count_little_where_the_cover_is_to_be_sharp(embedder: Embedder) -> None:
    found = covered(embedder, "log in", [["log in"], ["sign on with a password"]])
    assert found.coverage_p4[0] == pytest.approx(found.coverage_p2[0], abs=1e-3)
    assert found.coverage_p4[1] < 0.8 * found.coverage_p2[1]


def test_a_text_counts_as_its_best_passage(embedder: Embedder) -> None:
    good, bad = "kafka consumer offsets", "bread and butter"
    found = covered(embedder, "kafka offsets", [[bad, good], [good], [bad]])
    assert found.score[0] == pytest.approx(found.score[1])
    assert found.score[2] < found.score[1]


def test_a_long_passage_with_the_same_words_scores_less(embedder: Embedder) -> None:
    long = "kafka offsets " + "and then some more about the weather " * 20
    found = covered(embedder, "kafka offsets", [["kafka offsets"], [long]])
    assert found.score[0] > found.score[1]
    assert found.reverse_coverage[0] > found.reverse_coverage[1]


def test_nothing_covers_a_question_without_words(embedder: Embedder) -> None:
    found = covered(embedder, "☃", [["snow"]])
    assert found.coverage_p2.tolist() == [0]


def test_a_text_without_words_covers_nothing(embedder: Embedder) -> None:
    found = covered(embedder, "kafka", [["☃"], ["kafka"], []])
    assert found.coverage_p2.tolist() == pytest.approx([0, 1, 0], abs=1e-3)
    assert found.reverse_coverage.tolist() == pytest.approx([0, 1, 0], abs=1e-3)


def test_a_text_without_passages_takes_nothing_from_the_next_one(embedder: Embedder) -> None:
    said = "rotate the key"
    for texts, expected in (([[], [said], []], [0, 1, 0]), ([[], [], [said, said]], [0, 0, 1])):
        found = covered(embedder, said, texts)
        assert found.reverse_coverage.tolist() == pytest.approx(expected, abs=1e-3)
        assert found.coverage_p2.tolist() == pytest.approx(expected, abs=1e-3)


def test_only_the_rarest_words_of_a_long_question_count(embedder: Embedder) -> None:
    words = np.arange(1000, 1200, dtype=np.uint16)
    asked = weighted_words(words, np.zeros(200, dtype=np.float32), 10, embedder)
    assert len(asked.weights) == MOST_WORDS == len(asked.vectors)


def test_in_a_small_store_the_model_says_which_words_are_rare(embedder: Embedder) -> None:
    (the, bcrypt) = (embedder.encode_query(word).words for word in ("the", "bcrypt"))
    assert the is not None
    assert bcrypt is not None
    words = np.concatenate((the, bcrypt))
    weights = word_weights(words, np.ones(len(words), dtype=np.float32), 1, embedder)
    assert weights[1:].min() > 3 * weights[0]


def test_in_a_large_store_its_own_counts_say_so(embedder: Embedder) -> None:
    words = embedder.encode_query("kafka").words
    assert words is not None
    everywhere = np.full(len(words), 100_000, dtype=np.float32)
    nowhere = np.zeros(len(words), dtype=np.float32)
    assert word_weights(words, everywhere, 100_000, embedder).max() < 0.1
    assert word_weights(words, nowhere, 100_000, embedder).min() > 5
