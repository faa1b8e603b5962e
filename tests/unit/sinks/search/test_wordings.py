from subcog.sinks.models.analyzer import Analyzer
from subcog.sinks.search.wordings import _activities, reworded


def questions(asked: str) -> list[str]:
    return [other.question for other in reworded(asked, asked)]


def said(asked: str, memory: str) -> list[str]:
    """The questions in the words of ``memory``."""
    return [other.question for other in reworded(asked, asked) if other.is_said_in(memory)]


def test_a_question_is_asked_in_the_words_of_the_memory():
    memory = "Everything gets rolled out by ArgoCD when main is tagged"
    assert said("how do we deploy?", memory) == ["how do we roll out?"]


def test_irregular_forms_and_words_in_between_are_known():
    assert said("how do we deploy?", "The site went quietly live in May") == ["how do we go live?"]
    assert "how do we deploy that?" in questions("how do we roll the release out that?")


def test_an_abbreviation_is_spelled_out():
    memory = "Row-level security was turned off in favour of a schema per customer"
    assert said("why did we drop RLS?", memory) == [
        "why did we turn off RLS?",
        "why did we drop row level security?",
    ]


def test_a_memory_that_has_the_word_of_the_question_says_nothing_in_others():
    assert not said("how do we deploy?", "We deploy by rolling out the tag")


def test_what_is_searched_for_has_the_other_words_instead():
    texts = {other.text for other in reworded("how do we deploy the API?", "deploy API")}
    assert " API roll out" in texts
    assert not any("deploy" in text for text in texts)


def test_what_names_no_activity_is_left_as_it_is():
    assert questions("why is the sky blue?") == []


def test_the_wordings_of_an_activity_differ_in_their_stems():
    for wordings in _activities().values():
        assert len({wording.stems for wording in wordings}) == len(wordings)


def test_of_each_activity_most_wordings_have_a_word_that_is_searched_for():
    words = Analyzer()
    for wordings in _activities().values():
        found = [one for one in wordings if len(words.terms(one.text))]
        assert len(found) >= len(wordings) - 1
