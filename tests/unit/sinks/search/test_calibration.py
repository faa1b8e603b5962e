import numpy as np
import pytest
from msgspec import structs

from subcog.sinks.search.calibration import (
    FEATURES,
    RERANK_FEATURES,
    RERANK_WEIGHTS,
    TEXT_FEATURES,
    TEXT_WEIGHTS,
    WEIGHTS,
    Features,
    feature_matrix,
    load,
    relevance,
    reranked_relevance,
    text_feature_matrix,
    text_only,
    text_relevance,
)


def parts(*values: float, memories: int = 50) -> Features:
    """Candidates whose every part has the value given, of a question with 20 of word weight."""
    array = np.array(values, dtype=np.float32)
    return Features(array, array, array, array, array, array, array, array, 20.0, memories)


def test_there_is_a_weight_for_each_feature() -> None:
    assert feature_matrix(parts(0.1, 0.2)).shape == (2, len(FEATURES))
    assert text_feature_matrix(parts(0.1)).shape == (1, len(TEXT_FEATURES))
    for path, features in (
        (WEIGHTS, FEATURES),
        (TEXT_WEIGHTS, TEXT_FEATURES),
        (RERANK_WEIGHTS, RERANK_FEATURES),
    ):
        assert len(load(path, features).column()) == len(features)


def test_relevance_is_a_probability_and_rises_with_every_part() -> None:
    found = relevance(parts(0.0, 0.2, 0.4, 0.6, 0.8))
    assert ((found > 0) & (found < 1)).all()
    assert (np.diff(found) > 0).all()


def test_relevance_does_not_depend_on_worse_candidates() -> None:
    alone = relevance(parts(0.6, 0.1))[0]
    among = relevance(parts(0.6, 0.1, 0.05, 0.0))[0]
    assert among == pytest.approx(alone)


@pytest.mark.parametrize("see", [relevance, text_relevance])
def test_a_lead_is_never_longer_than_that_over_what_is_unrelated(see) -> None:
    """The second, if it is no better than an unrelated memory, does not matter at all."""
    near, far = see(parts(0.6, 0.14))[0], see(parts(0.6, 0.0))[0]
    assert near == far == pytest.approx(see(parts(0.6))[0])
    assert see(parts(0.6, 0.3))[0] < far


def test_leads_are_over_the_best_of_the_others_and_bounded() -> None:
    lead, vector_lead = FEATURES.index("lead"), FEATURES.index("vector lead")
    found = feature_matrix(parts(0.6, 0.18))
    assert found[:, lead].tolist() == pytest.approx([0.42, -0.42])
    assert found[:, vector_lead].tolist() == pytest.approx([0.4, -0.42])


def test_a_clear_lead_makes_a_candidate_more_relevant() -> None:
    assert relevance(parts(0.5, 0.2))[0] > relevance(parts(0.5, 0.5))[0]


def test_a_lone_candidate_must_be_ahead_of_what_unrelated_ones_reach() -> None:
    strong, weak = relevance(parts(0.6, memories=1))[0], relevance(parts(0.1, memories=1))[0]
    assert strong > 0.8
    assert weak < 0.3


def test_text_alone_says_less_about_a_smaller_share_of_the_question() -> None:
    text = np.array([6.0, 1.0], dtype=np.float32)
    share = np.array([0.9, 0.1], dtype=np.float32)
    found = text_relevance(text_only(text, share, 30))
    assert found[0] > 0.5 > found[1]


@pytest.mark.parametrize("see", [relevance, text_relevance])
def test_for_a_broad_question_it_does_not_matter_that_another_is_ahead(see) -> None:
    few, many = parts(0.5, 0.1), parts(0.5, 0.9)
    assert see(few)[0] > see(many)[0]
    few, many = structs.replace(few, broad=True), structs.replace(many, broad=True)
    assert see(few)[0] == pytest.approx(see(many)[0])


def test_reading_and_words_both_count() -> None:
    by_words = [0.0, 0.01, 0.3, 0.7, 0.99, 1.0]
    said = [-12.0, -2.0, -0.1, 0.0, 0.1, 2.0, 12.0]
    found = np.array([[reranked_relevance(words, read) for read in said] for words in by_words])
    assert ((found > 0) & (found < 1)).all()
    assert (np.diff(found, axis=0) > 0).all()
    assert (np.diff(found, axis=1) > 0).all()


def test_what_is_read_can_overrule_the_words_either_way() -> None:
    assert reranked_relevance(0.2, 5.0) > 0.5 > reranked_relevance(0.8, -5.0)
