import sys

import pytest

from subcog.bus.prompts import IntentType
from subcog.stages.language.sentences import (
    HEAD_CHARS,
    PHRASES,
    TAIL_CHARS,
    WHY,
    addresses_agent,
    fold,
    follows_up,
    is_order,
    names_subject,
    phrase_at,
    read_phrases,
    reports_success,
    sentences,
    windows,
    word_spans,
)
from subcog.stages.text.lexicons import BadLexicon


def words(text: str) -> list[list[str]]:
    return [sentence.words for sentence in sentences(text)]


def test_folding_keeps_the_length_of_every_character():
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        assert len(fold(character)) == 1, hex(point)


def test_sentences_end_at_marks_and_lines_but_not_inside_names():
    assert words("Deploy v1.2 now. why?\nsrc/app.py broke") == [
        ["deploy", "v1.2", "now"],
        ["why"],
        ["src/app.py", "broke"],
    ]


def test_spans_point_at_the_words_in_the_original():
    text = "İstanbul: what’s `foo_bar` in ÖSTERREICH?"
    [sentence] = sentences(text)
    at = [text[start:end] for start, end in sentence.spans]
    assert at == ["İstanbul", "what’s", "`foo_bar`", "in", "ÖSTERREICH"]
    assert sentence.asks


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nwhere is the config?\n```",
        "> why did it fail",
        "2026-01-01 10:00:00 ERROR what is broken\n2026-01-01 10:00:01 INFO ok",
        'Traceback (most recent call last):\n  File "x.py", line 3\nValueError: why',
        "    how to indent code",
        "fix(api): crash when the list is empty",
    ],
)
def test_pasted_lines_are_not_what_a_person_wrote(pasted):
    assert words(f"look\n{pasted}") == [["look"]]


def test_an_unclosed_fence_hides_the_rest():
    assert words("look\n```\nwhere is it") == [["look"]]


def test_a_fence_that_began_before_the_tail_still_hides_it():
    text = "look\n```\n" + "x = 1\n" * 1000 + "where is it"
    assert words(text) == [["look"]]


def test_a_single_line_with_an_error_is_a_persons_line():
    assert words("ValueError: bad input") == [["valueerror", "bad", "input"]]


def test_the_start_and_the_end_of_a_long_prompt_are_read():
    text = "alpha " + "padding " * 5000 + "omega"
    read = [word for sentence in words(text) for word in sentence]
    assert (read[0], read[-1]) == ("alpha", "omega")
    assert len(read) < 400


def test_a_prompt_that_is_not_long_is_read_as_one():
    assert windows("x" * (HEAD_CHARS + TAIL_CHARS)) == ((0, HEAD_CHARS + TAIL_CHARS),)


def test_word_spans_count_pasted_lines_too():
    text = "see\n> ValueError in `a b`"
    assert [text[s:e] for s, e in word_spans(text)] == ["see", "ValueError", "in", "`a b`"]


@pytest.mark.parametrize(
    "text",
    [
        "fix the build",
        "ok, please rename foo to bar",
        "can you run the tests?",
        "could you please add a retry",
        "always run the linter",
        "don't touch the migrations",
        "let's go with option 2",
        "I want you to write tests first",
        "thanks",
        "can you",
    ],
)
def test_orders(text):
    assert is_order(sentences(text)[0])


@pytest.mark.parametrize(
    "text",
    [
        "where is the build",
        "can you explain the cache?",
        "can you tell me where it is?",
        "do we use redis?",
        "can I add a column?",
        "the build is red",
        "insert fails: data would be truncated",
        "push is slow",
        "upload aborts midway",
    ],
)
def test_no_orders(text):
    assert not is_order(sentences(text)[0])


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("did you run the tests?", True),
        ("what did you change?", True),
        ("are you sure?", True),
        ("who are you", True),
        ("what do you know about billing?", False),
        ("do you remember the outage", False),
        ("how do you seed the database?", False),
        ("did we decide?", False),
    ],
)
def test_questions_about_the_agent_itself(text, asked):
    assert addresses_agent(sentences(text)[0]) is asked


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("the crash is fixed", True),
        ("great, it works now", True),
        ("it is not fixed", False),
        ("is it fixed?", False),
        ("it works only on my machine", False),
        ("the app crashes", False),
    ],
)
def test_what_is_settled_is_no_trouble(text, settled):
    assert reports_success(sentences(text)[0]) is settled


@pytest.mark.parametrize("text", ["", " ", "\n", "?", "```", "``", "'", "…", "\x00", "\ud800"])
def test_nothing_much_is_no_sentence_with_words(text):
    assert all(sentence.words for sentence in sentences(text))


def test_every_type_has_signals_of_every_strength_it_needs():
    for kind in IntentType:
        assert any(one.intent is kind and one.weight == 3 for one in PHRASES.values())


def test_phrases_are_written_as_they_are_read():
    written = [" ".join(words) for words in PHRASES]
    assert all(phrase == phrase.strip().lower() and phrase for phrase in written)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[howto]\nstrong = ["how to", "^how to"]', "'how to' is empty or stands in it twice"),
        ('[howto]\nstrong = [""]', "'' is empty or stands in it twice"),
        ('[recipe]\nstrong = ["how to"]', "recipe"),
        ('[howto]\nloud = ["how to"]', "loud"),
        ("[howto", "Expected"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_is_wrong(tmp_path, text, why):
    file = tmp_path / "phrases.toml"
    file.write_text(text)
    with pytest.raises(BadLexicon, match=r"the lexicon phrases\.toml cannot be used") as refused:
        read_phrases(file)
    assert why in str(refused.value)


def test_the_longest_phrase_wins():
    words = ["what", "is", "the", "process", "for", "releases"]
    found = phrase_at(words, 0)
    assert found is not None
    assert found.words == ("what", "is", "the", "process", "for")


def test_a_named_exception_is_a_signal():
    found = phrase_at(["attributeerror"], 0)
    assert found is not None
    assert found.intent is IntentType.TROUBLESHOOT
    assert phrase_at(["mirror"], 0) is None


def test_the_why_phrases_are_in_the_table():
    assert {tuple(why.split()) for why in WHY} <= set(PHRASES)


@pytest.mark.parametrize(
    "prompt",
    [
        "why?",
        "and on staging?",
        "how do we fix it then",
        "so which of them won?",
        "is that still the case?",
        "but why not in the worker?",
        "where is it?",
        "what about the other depot?",
        "back to that one: is it served?",
        "on staging, is it the same?",
    ],
)
def test_it_asks_on(prompt):
    assert follows_up(sentences(prompt))


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "thanks",
        "now fix it",
        "and rename it to Lease",
        "How long does a worker of the tram depot hold its lease on the platform?",
        "Why did we choose etcd over Consul for the leases of the depot workers?",
        "The worker loses its lease. Why is that? It did not happen before.",
        "back to the model: do we serve the latest one?",
        "ok, as for the leases, are they renewed then?",
    ],
)
def test_it_stands_for_itself_or_asks_nothing(prompt):
    assert not follows_up(sentences(prompt))


@pytest.mark.parametrize(
    "prompt",
    [
        "what about the database?",
        "and on staging?",
        "ok, and how about VAT?",
        "but in a container?",
    ],
)
def test_it_asks_the_same_of_a_subject_that_it_names(prompt):
    assert names_subject(sentences(prompt))


@pytest.mark.parametrize(
    "prompt",
    ["why?", "and on the other one?", "and how do we renew it?", "so Kafka or NATS?", "and then?"],
)
def test_it_asks_on_about_the_same_or_asks_something_else(prompt):
    assert follows_up(sentences(prompt))
    assert not names_subject(sentences(prompt))
