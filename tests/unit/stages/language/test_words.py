import pytest

from subcog.stages.language.words import (
    BadLexicon,
    domains_of,
    load_wordings,
    technology,
    words_of,
)


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


def test_a_form_is_made_of_the_parts_of_its_section_and_of_those_that_all_share(tmp_path):
    file = tmp_path / "forms.toml"
    file.write_text(
        "[shared.parts]\nNOT = 'never|<NO>'\nNO = 'no'\n[rules.parts]\nNO = \"don't\"\n"
        "[rules.forms]\nrun = '''\n(?i)(?:<NOT>)\n run'''\n[rules.words]\nits = 'a b'\n"
    )

    forms, words = load_wordings(file)["rules"]

    assert forms["run"].pattern == "(?i)(?:never|don't) run"
    assert forms["run"].search("DON'T RUN")
    assert words == {"its": frozenset("ab")}


def test_a_part_that_is_missing_is_named(tmp_path):
    file = tmp_path / "forms.toml"
    file.write_text("[rules.forms]\nrun = '<NOT> run'")

    with pytest.raises(BadLexicon, match="NOT"):
        load_wordings(file)
