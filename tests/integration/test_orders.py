"""Orders through the real hook: what bears on the work comes, and nothing for a word in common."""

import pytest

NOTES = (
    ("Run `make reset-db` after you pulled a migration, or the app does not start", "gotchas"),
    ("Run the formatter through pre-commit, never by hand", "patterns"),
    ("Tests build their data with factories, not with SQL", "patterns"),
    ("pytest 8 hides warnings of the plugins unless -W is given", "gotchas"),
    ("Deploy notes live in the wiki under Operations", "context"),
    ("Start the worker before the web server when you debug the queue", "gotchas"),
    ("Fix typos in the German texts only after the translator agreed", "preferences"),
)


@pytest.fixture(scope="module")
def knowing(shared):
    for text, namespace in NOTES:
        shared.capture(text, "--namespace", namespace)
    return shared


@pytest.mark.parametrize(
    "order",
    [
        "run the tests",
        "run pytest",
        "ok run the whole suite again",
        "deploy it",
        "run the linter and fix what it finds",
        "start the dev server",
        "commit this and push",
    ],
)
def test_an_order_that_shares_a_word_with_a_note_gets_nothing(knowing, order):
    assert knowing.context(order, f"order {order}") == ""


def test_an_order_gets_the_note_that_names_its_subject(knowing):
    assert "pre-commit" in knowing.context("run the formatter", "order to format")
