import pytest

from subcog.stages.text.lexicons import BadLexicon, load_wordings


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
