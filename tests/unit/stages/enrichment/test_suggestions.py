import pytest

from subcog.bus.enrichment import ApplicablePattern, SimilarTask
from subcog.stages.enrichment.suggestions import in_one_sentence, suggest
from tests.fakes import make_hit, make_memory

TASK = SimilarTask(
    id="mem_1",
    input="Implement Google OAuth",
    similarity=0.87,
    outcome="success",
    approach=("NextAuth.js", "JWT in httpOnly cookies"),
    session="session-2024-12-15",
)
PATTERN = ApplicablePattern(
    id="mem_2", name="Hashing", approach="bcrypt", match_score=0.5, confidence=0.9
)


def made(*tasks, patterns=(), hits=()):
    return suggest(tasks, patterns, hits, str)


def test_what_worked_is_suggested_with_its_evidence():
    (one,) = made(TASK)
    assert one.approach == "Use NextAuth.js with JWT in httpOnly cookies"
    assert (one.confidence, one.source) == (0.87, "similar_task")
    assert one.evidence == "Worked in session-2024-12-15"


def test_what_failed_is_warned_of_and_what_is_open_says_nothing():
    failed = SimilarTask(
        id="mem_1", input="x", similarity=0.8, outcome="failure", approach=("polling",)
    )
    (one,) = made(failed)
    assert one.approach == "Not again: polling"
    assert one.evidence == "Failed in mem_1"
    for changes in ({"outcome": "unfinished", "approach": ("x",)}, {"outcome": "success"}):
        assert made(SimilarTask(id="mem_1", input="x", similarity=0.8, **changes)) == ()


def test_the_surest_comes_first_and_at_most_five_come():
    sure = make_hit(make_memory(1, "Use uv", namespace="preferences"), 0.95)
    unsure = make_hit(make_memory(2, "Use tabs", namespace="preferences"), 0.5)
    found = made(TASK, patterns=[PATTERN] * 6, hits=[sure, unsure])
    assert [one.source for one in found] == ["memory", "similar_task", *["pattern"] * 3]
    assert found[2].confidence == 0.45


@pytest.mark.parametrize(
    ("approach", "sentence"),
    [
        (("NextAuth.js",), "Use NextAuth.js"),
        (("A", "B", "C"), "Use A with B and C"),
        (("Added a login page", "stored tokens"), "Added a login page; stored tokens"),
    ],
)
def test_an_approach_becomes_a_sentence(approach, sentence):
    assert in_one_sentence(approach) == sentence
