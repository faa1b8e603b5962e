from __future__ import annotations

import time

import pytest

from subcog.sinks.store.wording import wording_of
from tests.forms import FORMS, statements


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_text_makes_no_difference(form):
    for text in statements(60):
        assert wording_of(FORMS[form](text)) == wording_of(text)


def test_marks_of_lines_and_links_make_no_difference():
    plain = wording_of("Use argon2id, see the guide. It is slow")
    assert wording_of("> 1. Use argon2id, see the [guide](http://a/b).\n> - It is slow") == plain
    assert wording_of("# Use argon2id; see the guide\n\n* It is — slow…") == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use C++", "use C"),
        ("C# only", "C only"),
        ("a != b", "a == b"),
        ("the limit is 1,000", "the limit is 1 000"),
        ("the limit is 10", "the limit is 100"),
        ("set it to -5", "set it to 5"),
        ("never commit .env", "never commit env"),
        ("use tabs", "never use tabs"),
        ("argon2id over bcrypt", "bcrypt over argon2id"),
        ("don't use tabs", "do use tabs"),
        ("x_y", "xy"),
    ],
)
def test_what_changes_the_meaning_makes_one(one, other):
    assert wording_of(one) != wording_of(other)


def test_a_text_of_nothing_but_punctuation_is_itself():
    assert wording_of(" !!! ") == "!!!"
    assert wording_of("--") != wording_of("…")
    assert wording_of("\ud800 half a pair")


@pytest.mark.parametrize("part", ["*", "[", "[a](", "# ", "a,", ")", "1. ", " \n", ".", "`", "é**"])
def test_it_takes_time_linear_in_the_text(part):
    began = time.process_time()
    wording_of(part * 200_000 + "x")
    assert time.process_time() - began < 5
