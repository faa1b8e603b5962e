import pytest

from subcog.sinks.models.analyzer import Analyzer
from subcog.sinks.models.spelling import corrected

MEMORIES = (
    "release freeze restart worker sprite exported scale tiers integration React source sync"
    " calendar"
)


def meant(question: str, memories: str = MEMORIES) -> dict[str, str]:
    stem = Analyzer().stem
    stems = {stem(word) for word in memories.lower().split()}
    return corrected(question.split(), stem, stems.intersection)


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("hwo long is the demo", {"hwo": "how"}),
        ("how logn is teh demo", {"logn": "long", "teh": "the"}),
        ("wich machine", {"wich": "which"}),
        ("whihc machine", {"whihc": "which"}),
        ("how shuld branches be named", {"shuld": "should"}),
        ("what is thier scale", {"thier": "their"}),
    ],
)
def test_a_word_that_makes_a_sentence_is_told_by_one_letter(question: str, read: object) -> None:
    assert meant(question) == read


@pytest.mark.parametrize(
    ("word", "read"),
    [
        ("relase", "release"),  # a letter is missing
        ("sprrites", "sprites"),  # or too much
        ("scake", "scale"),  # or another
        ("restrat", "restart"),  # or changed places
        ("integraton", "integration"),  # in the ending
        ("calender", "calendar"),  # or sounds alike
    ],
)
def test_a_word_that_only_memories_have_is_told_by_one_letter(word: str, read: str) -> None:
    assert meant(f"the {word}") == {word: read}


@pytest.mark.parametrize(
    "word",
    "trail exporter formatter synced preact async aws jwt dont doesnt tier decode seach".split(),
)
def test_other_words_stay_as_they_are(word: str) -> None:
    assert meant(f"do we use {word}", f"{MEMORIES} trial was do not format decide") == {}


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("unpack", "unpick"),
        ("pinot", "pivot"),
        ("marten", "martin"),
        ("pallet", "pellet"),
        ("merino", "marino"),
        ("gannet", "garnet"),
        ("kubecost", "kubecast"),
    ],
)
def test_a_word_that_is_not_known_is_not_taken_for_another(word: str, other: str) -> None:
    assert meant(f"the {word}", other) == {}


def test_what_is_too_long_for_a_word_is_not_read() -> None:
    assert meant(f"how is it {'q' * 380}", f"{'q' * 379}") == {}
    assert meant(f"the {'q' * 21}", "q" * 20) == {}


def test_what_memories_have_is_no_mistake() -> None:
    assert meant("teh relase", "Teh Relase release") == {}


def test_what_may_be_either_of_two_words_is_left_alone() -> None:
    assert meant("the wolker", "walker worker") == {}


def test_memories_are_not_asked_about_english_words() -> None:
    def never(stems: object) -> list[str]:
        raise AssertionError(stems)

    assert corrected("how do we restart the broken worker".split(), Analyzer().stem, never) == {}
