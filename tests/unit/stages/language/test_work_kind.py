import pytest

from subcog.bus.prompts import WorkKind
from subcog.stages.language.work_kind import MAX_SIGNALS, primary, work_signals
from tests.waiting import ends_soon


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Add user authentication", "FEATURE"),
        ("please implement the export", "FEATURE"),
        ("we need to support OAuth", "FEATURE"),
        ("can you build a login page?", "FEATURE"),
        ("Fix the login crash on Safari", "BUGFIX"),
        ("The checkout is broken since yesterday", "BUGFIX"),
        ("tests fail with a KeyError", "BUGFIX"),
        ("rename foo to bar", "REFACTOR"),
        ("extract this into its own module", "REFACTOR"),
        ("add tests for the parser", "TEST"),
        ("write docs for the API", "DOCS"),
        ("update the README", "DOCS"),
        ("add a regression test for #123", "TEST"),
        ("I want to speed up the export", "PERFORMANCE"),
        ("review my last commit", "REVIEW"),
        ("bump the patch version in mix.exs", "CHORE"),
        ("update the dependencies", "CHORE"),
        ("how do I add a column?", "QUESTION"),
        ("why does it crash?", "QUESTION"),
        ("what is argon2id", "QUESTION"),
    ],
)
def test_the_kind_of_work_is_that_of_the_order(text, kind):
    assert primary(work_signals(text)) == WorkKind(kind)


@pytest.mark.parametrize(
    "text", ["thanks, looks good", "continue", "", "the crash is fixed, thanks"]
)
def test_what_asks_for_no_work_has_no_kind(text):
    assert primary(work_signals(text)) is None


def test_each_order_of_a_prompt_is_told_with_the_word_as_it_is_written():
    signals = work_signals("Refactor the auth module and add tests. Why was it slow?")
    assert [(one.keyword, one.kind) for one in signals] == [
        ("Refactor", WorkKind.REFACTOR),
        ("add", WorkKind.TEST),
        ("Why", WorkKind.QUESTION),
    ]
    assert primary(signals) is WorkKind.REFACTOR


def test_an_order_counts_before_the_question_in_front_of_it():
    assert primary(work_signals("Why is it so slow? Fix it.")) is WorkKind.BUGFIX


def test_what_is_pasted_tells_nothing():
    assert work_signals("```\nadd a column\n```\nthanks") == ()


def test_hostile_text_stays_small_and_fast():
    with ends_soon():
        for unit in ("add ", "fix the ", "why ", "add tests and ", "a" * 50 + "error "):
            assert len(work_signals(unit * 20_000)) <= MAX_SIGNALS
