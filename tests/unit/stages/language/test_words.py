import pytest

from subcog.stages.language.words import domains_of, technology, words_of


@pytest.mark.parametrize("name", ["Next.js 14", "nextjs", "next.js", "Next", "nextjs@14"])
def test_a_technology_has_one_spelling(name):
    assert technology(name) == "nextjs"


def test_different_technologies_stay_different():
    names = {
        technology(name) for name in ("Java", "JavaScript", "C", "C++", "C#", "Go", "Postgres")
    }
    assert names == {"java", "javascript", "c", "c++", "c#", "go", "postgresql"}


def test_words_of_one_field_are_of_one_domain():
    for word in ("oauth", "login", "jwt", "authentication", "bcrypt"):
        assert domains_of([word]) == ("authentication",)
    assert domains_of(["oauth", "migration", "login"]) == ("authentication", "migration")
    assert domains_of(["banana"]) == ()


def test_words_are_plain_and_without_what_says_nothing():
    assert words_of("How do the Sessions of nextjs work?") == ["session", "nextjs", "work"]
