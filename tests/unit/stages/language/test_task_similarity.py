import pytest

from subcog.stages.language.task_similarity import task_similarity, traits
from subcog.stages.language.work_kind import primary, work_signals


def asked(text):
    return traits(text, primary(work_signals(text)))


def test_likeness_is_a_probability_that_grows_with_each_part():
    prompt = asked("Add user authentication")
    far = task_similarity(prompt, asked("Rename foo to bar"), 0.0)
    field = task_similarity(prompt, asked("Fix a test of the login"), 0.0)
    work = task_similarity(prompt, asked("Implement Google OAuth"), 0.0)
    near = task_similarity(prompt, asked("Implement Google OAuth"), 0.5)
    assert 0 < far < field < work < near < 1


@pytest.mark.parametrize("cosine", [0.3, None])
def test_the_same_field_and_work_are_alike_without_a_common_word(cosine):
    alike = task_similarity(
        asked("Add user authentication"), asked("Implement Google OAuth"), cosine
    )
    assert alike > 0.7


def test_a_common_word_alone_is_not_alike():
    assert task_similarity(asked("add a user table"), asked("let a user sing"), 0.2) < 0.5


def test_nothing_is_compared_to_nothing():
    assert 0 <= task_similarity(asked(""), asked(""), None) < 0.5
