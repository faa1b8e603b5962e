import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.bus.prompts import DetectionSource, IntentType, SearchIntent
from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.sentences import PHRASES
from subcog.stages.language.words import fold
from subcog.stages.language.work_kind import work_signals


def found(text: str) -> SearchIntent:
    intent = detect_search_intent(text)
    assert intent is not None
    return intent


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("how do I implement authentication?", "howto"),
        ("how to rotate the keys", "howto"),
        ("what's the best way to test the cache?", "howto"),
        ("where is the database config?", "location"),
        ("find the retry handler", "location"),
        ("which file defines Settings", "location"),
        ("what's the path of the compose file", "location"),
        ("who calls flush?", "location"),
        ("what is a lease", "explanation"),
        ("explain the auth flow", "explanation"),
        ("why is the TTL 15 minutes", "explanation"),
        ("why did we drop celery", "explanation"),
        ("does the importer support csv", "explanation"),
        ("what is the difference between build and buildx", "comparison"),
        ("redis vs memcached", "comparison"),
        ("poetry or uv?", "comparison"),
        ("how is merge different from add", "comparison"),
        ("is polars faster than pandas", "comparison"),
        ("why is the build throwing an error?", "troubleshoot"),
        ("why is the test failing?", "troubleshoot"),
        ("how do I fix the broken import?", "troubleshoot"),
        ("what's wrong with this query", "troubleshoot"),
        ("I'm getting a KeyError when I save", "troubleshoot"),
        ("the export crashes on empty tables", "troubleshoot"),
        ("debug the failing job", "troubleshoot"),
        ("the nightly sync dies", "troubleshoot"),
        ("I touched the card, and 12 snapshots are red on my mac", "troubleshoot"),
        ("the list was stale this morning", "troubleshoot"),
        ("I changed the dashboard and today it's back to the old one", "troubleshoot"),
        ("what do you know about the billing module", "general"),
        ("search the memories for caching", "general"),
        ("any notes on the importer?", "general"),
        ("stripe: everything that bit us", "general"),
        ("android traps that we know", "general"),
        ("the runtime: traps", "general"),
        ("scanner problems we had", "general"),
    ],
)
def test_the_type_of_a_question(text, kind):
    assert found(text).intent_type == kind


@pytest.mark.parametrize(
    "text",
    [
        "fix the build, then add a test",
        "rename foo to bar",
        "add a retry to the client",
        "add a section on how to deploy to the readme",
        "add a comment that explains why the lock is needed",
        "handle the error when the file is missing",
        "open the PR against main",
        "document how to run the tests",
        "can you fix the typo?",
        "please commit",
        "fixed the crash, thanks",
        "the error is gone and the build is green",
        "I added error handling to the upload",
        "fix: crash when the list is empty",
        "feat(auth): explain how to log in",
        "2026-01-01 10:00:00 ERROR what is broken\n2026-01-01 10:00:01 INFO why",
        'Traceback (most recent call last):\n  File "x.py", line 3\nValueError: where is it',
        "```\nwhere is the config?\n```",
        "always mention errors when I ask about logs",
        "thanks, that works",
        "ok",
        "what do you think?",
        "what next?",
        "did you run the failing tests?",
        "somehow nowhere elsewhere",
        "the script traps SIGTERM",
        "add the known problems and traps to the readme",
        "I did everything that you asked for",
        "where_is the_error vs.json",
        "",
        "\ud800\x00",
    ],
)
def test_what_is_no_search(text):
    assert detect_search_intent(text) is None


def test_a_question_in_a_clause_of_its_own_counts_inside_an_order():
    intent = found("add a retry to the client, and where is the timeout set?")
    assert intent.intent_type is IntentType.LOCATION
    assert intent.keywords == ("where is",)


def test_more_evidence_beats_what_was_said_first():
    intent = found("how do I stop this? it crashes, it hangs and it throws an exception")
    assert intent.intent_type is IntentType.TROUBLESHOOT


def test_an_error_that_is_only_a_noun_before_another_is_no_trouble():
    assert found("where is the error handler?").keywords == ("where is",)


def test_one_signal_gives_fifty():
    intent = found("where is the config")
    assert intent.confidence_percent == 50
    assert intent.arithmetic == ("first signal 50",)
    assert intent.source is DetectionSource.KEYWORD


def test_each_step_of_the_confidence_is_told():
    intent = found("why is the build failing with an error? It was green when I left yesterday.")
    assert intent.confidence_percent == 85
    assert intent.arithmetic == (
        "first signal 50",
        "+10 second signal",
        "+5 third signal",
        "+10 more than 50 characters",
        "+10 several sentences",
    )


def test_a_fourth_signal_adds_nothing():
    three = found("why is it failing with an error")
    four = found("why is it failing, stuck, an error")
    assert three.confidence_percent == four.confidence_percent == 65


def test_the_same_signal_twice_counts_once():
    assert found("where is a and where is b").confidence_percent == 50


@pytest.mark.parametrize(("text", "percent"), [("x" * 50, 50), ("x" * 51, 60)])
def test_the_bonus_for_length_begins_above_fifty_characters(text, percent):
    text = "where is " + text[9:]
    assert found(text).confidence_percent == percent


def test_case_and_curly_apostrophes_do_not_matter():
    assert found("WHAT’S WRONG with it").keywords == ("what's wrong",)


def test_topics_come_after_the_signal():
    assert found("how do I implement authentication?").topics == ("authentication",)
    assert found("where is the database config?").topics == ("database", "config")


def test_both_sides_of_a_comparison_are_topics():
    assert found("redis vs memcached").topics == ("redis", "memcached")


def test_every_phrase_of_the_table_is_found_in_a_question():
    questions = {words: f"the thing: {' '.join(words)} the widget?" for words in PHRASES}
    missing = [words for words, text in questions.items() if detect_search_intent(text) is None]
    assert missing == []


@given(st.text(max_size=400))
def test_evidence_points_at_the_signal_whatever_the_text(text):
    prompt = f"{text}\nwhat’s the İ difference between a and b"
    intent = detect_search_intent(prompt)
    for evidence in intent.evidence if intent else ():
        said = fold(prompt[evidence.start : evidence.end])
        assert said.startswith(evidence.signal.split()[0])
        assert said.endswith(evidence.signal.split()[-1])


@pytest.mark.parametrize(
    ("text", "alone", "kind"),
    [
        ("Fix the login. How can I see what goes wrong?", "howto", "troubleshoot"),
        ("Implement paging. Where is the cursor, how do I encode it?", "location", "howto"),
        ("Implement paging. Where is the cursor?", "location", "location"),
        ("I'm trying to set up a rollback on a failed deployment", "howto", "howto"),
    ],
)
def test_the_kind_of_work_decides_between_types_of_equal_evidence(text, alone, kind):
    assert detect_search_intent(text).intent_type == alone
    assert detect_search_intent(text, None, work_signals(text)).intent_type == kind


def test_work_alone_is_no_search():
    assert detect_search_intent("Fix the login.", None, work_signals("Fix the login.")) is None
