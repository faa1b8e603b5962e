import pytest

from subcog.bus.values import NAMESPACES
from subcog.stages.capture.statement_classifier import (
    FLOOR_PERCENT,
    detect_namespace,
    find_all,
    find_noteworthy,
)
from subcog.stages.text.envelope import PREAMBLE
from tests.waiting import ends_soon

DECISION = "We decided to use argon2id instead of bcrypt, because bcrypt truncates at 72 bytes."
KINDS = {
    "decision",
    "learning",
    "blocker",
    "resolution",
    "preference",
    "progress",
    "pattern",
}


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        ("user", DECISION, "decision"),
        ("user", "no MongoDB here, we stay with Postgres since ops knows only that", "decision"),
        ("assistant", "Done.\n\nWe keep one queue per tenant instead of one for all, because a "
         "large import blocked the small ones.", "decision"),
        ("user", "turns out the vendor's API silently drops fields it doesn't know", "learning"),
        ("assistant", "The upload fails for files above 2 GB without any error, because the size "
         "is kept in a 32 bit integer.", "learning"),
        ("user", "we're blocked until the customer sends the new certificate", "blocker"),
        ("assistant", "I can't run the device tests: the board is with the vendor until Friday "
         "and there's no second one.", "blocker"),
        ("assistant", "The timeouts are gone: the pool was too small, and raising it to 40 "
         "connections fixed it.", "resolution"),
        ("user", "always write the tests before the code in this repo", "preference"),
        ("user", "i prefer composition to inheritance, don't build class trees here", "preference"),
        ("assistant", "The migration is complete: all 14 services run on the new cluster and the "
         "old one is shut down.", "progress"),
        ("assistant", "Every new handler should validate first, then lock, then write; all of "
         "them follow this order now.", "pattern"),
    ],
)  # fmt: skip
def test_what_is_worth_keeping_is_found_with_its_kind(role, text, kind):
    assert [noted.kind for noted in find_noteworthy(text, role=role)] == [kind]


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("user", "What have we decided about caching?"),
        ("user", "should we go with Kafka or RabbitMQ because of the volume?"),
        ("user", "we haven't decided between Kafka and RabbitMQ yet, don't start"),
        ("user", "If we decided to use Kafka, ops would object."),
        ("user", "maybe we should move to Kafka some day, not now"),
        ("user", f"what does this mean for us?\n\n> {DECISION}"),
        ("user", f"why is this in the code?\n\n```python\n# {DECISION}\n```"),
        ("user", f'is "{DECISION}" good English?'),
        ("user", f"summarise this thread:\n\n[10:02] ben: {DECISION}\n[10:03] ola: finally"),
        ("user", f"implement this pls\n\nPROJ-12: As a user I want it safe.\n{DECISION}"),
        ("user", "run the tests again"),
        ("user", "use the staging key for this run"),
        ("user", "perfect, merge it"),
        ("assistant", "All 212 tests pass."),
        ("assistant", "Let me look at the configuration first, then I'll run the tests."),
        ("assistant", f"Proposed commit message:\n\n```\nfeat: hashing\n\n{DECISION}\n```\n\nOK?"),
        ("assistant", f"Here's the mail you asked for:\n\nDear Ms Novak,\n\n{DECISION}\n\nRegards"),
        ("assistant", f'The ADR says: "{DECISION}" Nothing more.'),
        ("assistant", "Would you like me to keep the old endpoint, or should it be removed?"),
        ("assistant", "I'm not blocked; continuing with item 3."),
        ("assistant", "| lib | size |\n|---|---|\n| we decided | on this because of that |"),
    ],
)
def test_other_peoples_words_questions_orders_and_routine_are_not(role, text):
    assert find_noteworthy(text, role=role) == ()


def test_what_is_found_says_where_it_stands_and_what_it_is():
    text = f"Well, the tests pass.\n\n- {DECISION}\n- lint is clean"
    (noted,) = find_noteworthy(text, role="assistant")
    assert text[noted.start : noted.end] == noted.text == DECISION
    assert noted.namespace == "decisions"
    assert noted.summary == DECISION
    assert FLOOR_PERCENT <= noted.confidence_percent <= 95


def test_neighbouring_statements_are_one():
    text = f"{DECISION} We also decided to keep the old hashes until April, since logins are rare."
    (noted,) = find_noteworthy(text)
    assert noted.text == text


def test_a_lower_floor_finds_as_much_or_more():
    text = "The page is slow because of the fonts. I moved the button."
    sure, unsure = (
        find_noteworthy(text, role="assistant"),
        find_noteworthy(text, role="assistant", min_percent=1),
    )
    assert len(sure) < len(unsure) or [one.text for one in sure] != [one.text for one in unsure]


def test_the_summary_of_a_long_statement_is_a_sentence_of_at_most_100_characters():
    text = (
        "fyi the sandbox of the payment provider only answers when the amount ends in 12, which "
        "took me and two colleagues the better part of yesterday afternoon to find out."
    )
    (noted,) = find_noteworthy(text)
    assert noted.summary == (
        "The sandbox of the payment provider only answers when the amount ends in 12."
    )


@pytest.mark.parametrize(
    "text",
    [
        f"<private>{DECISION}</private>",
        f"<subcog-memory>\n{PREAMBLE}\n- mem_1 · decisions · now\n  > {DECISION}\n</subcog-memory>",
        f"<memory_context>\n{DECISION}\n</memory_context>",
        f"[remember:decisions] {DECISION}",
        f"@memory {DECISION}",
    ],
)
def test_what_is_private_marked_or_was_injected_is_not_found_again(text):
    assert find_noteworthy(text) == ()
    assert [noted.text for noted in find_noteworthy(f"{DECISION}\n\n{text}")] == [DECISION]


def test_a_filled_record_is_found_as_a_whole():
    text = (
        "**Blocker**: CI can't build the driver\n"
        "**Status**: resolved\n"
        "**Resolution**: install libpq-dev in the image"
    )
    (noted,) = find_noteworthy(text, role="assistant")
    assert (noted.kind, noted.namespace) == ("resolution", "blockers")
    assert noted.summary == "CI can't build the driver"
    assert noted.text == ("CI can't build the driver\nResolution: install libpq-dev in the image")


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        ("We decided to use uv.", "decisions"),
        ("I prefer tabs over spaces, always.", "preferences"),
        ("we're blocked by the missing approval of IT", "blockers"),
        ("**Pattern**: one file a route", "patterns"),
        ("hello", "learnings"),
        ("", "learnings"),
    ],
)
def test_the_namespace_of_a_text_that_somebody_keeps(text, namespace):
    assert detect_namespace(text) == namespace
    assert namespace in NAMESPACES


def test_other_languages_are_read_too():
    texts = (
        "Wir haben uns für Postgres entschieden, weil niemand Mongo betreiben will.",
        "J'ai retenu SQLite plutôt que Postgres, car il n'y a qu'un seul utilisateur.",
        "Decidimos usar Postgres en vez de Mongo porque nadie lo conoce.",
        "我们决定用 Postgres，不再用 Mongo，因为没有人维护。",
    )
    assert {noted.kind for text in texts for noted in find_noteworthy(text)} <= KINDS
    assert all(find_noteworthy(text) for text in texts)


def test_a_long_hostile_text_comes_to_an_end_soon():
    units = ("we decided ", "a. ", "e.g. ", '"', "`", "<a>", "- x\n", "> ", "**D**: ", "|", "。")
    with ends_soon():
        for unit in units:
            find_noteworthy(unit * (100_000 // len(unit)))
            find_noteworthy(unit * (100_000 // len(unit)), role="assistant")


def test_a_sentence_that_begins_with_a_long_run_comes_to_an_end_soon():
    with ends_soon():
        find_all(f"{'x' * 400} is the name for what is below.\n\n{DECISION}", role="user")
