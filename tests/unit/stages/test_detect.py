import time

import pytest

from subcog.bus.events import CaptureDetected, CaptureRequested, CaptureSettled
from subcog.bus.values import NAMESPACES, Scope
from subcog.stages.detect import clean_tags, detect, detect_namespace, signals


def request(text, **fields):
    return CaptureRequested(trace="t", id="mem_1", text=text, scope=Scope("project", "p"), **fields)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We decided to use argon2id.", "decision"),
        ("The decision is to keep Postgres.", "decision"),
        ("Going with SQLite because it needs no server.", "decision"),
        ("TIL bcrypt truncates at 72 bytes.", "learning"),
        ("Turns out the cache was cold.", "learning"),
        ("I discovered that retries double the load.", "learning"),
        ("Blocked by the missing IT approval.", "blocker"),
        ("We cannot proceed because the key expired.", "blocker"),
        ("I'm stuck on the login test.", "blocker"),
        ("The 502s went away after raising the timeout.", "resolution"),
        ("The fix was to pin urllib3.", "resolution"),
        ("I prefer small commits.", "preference"),
        ("Always use fixtures in this repo.", "preference"),
        ("Completed the move to FastAPI.", "progress"),
        ("Milestone reached: SSO is live.", "progress"),
        ("Our convention is one file a route.", "pattern"),
        ("Every new command should use the checkpoint.", "pattern"),
        ("Watch out: the client silently drops the header.", "gotcha"),
        ("The tenant id is hardcoded.", "tech-debt"),
        ("**Decision**: use uv", "decision"),
    ],
)
def test_a_phrase_tells_what_is_worth_keeping(text, kind):
    assert kind in {signal.kind for signal in signals(text)}


@pytest.mark.parametrize(
    "text",
    [
        "What have we decided about caching?",
        "Should we go with Kafka",
        "Have we decided on Kafka",
        "We haven't decided yet.",
        "If we decided to use Kafka, ops would object.",
        "> We decided to use Kafka.",
        "```\nWe decided to use Kafka.\n```",
        'The mail says "we decided to use Kafka".',
        "The comment `we decided to use Kafka` is old.",
        "rename foo to bar",
    ],
)
def test_code_quotations_questions_and_denials_do_not_count(text):
    assert signals(text) == ()


def test_a_signal_says_where_it_stands():
    text = "Well.\n- We decided to go. I prefer tabs."
    first, second = signals(text)
    assert text[first.start : first.end] == first.phrase == "We decided"
    assert text[second.start : second.end] == second.phrase == "I prefer"


def test_signals_of_a_long_hostile_text_come_soon():
    began = time.process_time()
    for unit in ("we decided ", "instead of ", "a", "not ", "every new ", '"', "`", "\n"):
        signals(unit * 4000)
    assert time.process_time() - began < 4


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        ("We decided to use uv.", "decisions"),
        ("The fix was to pin it.", "blockers"),
        ("I prefer tabs.", "preferences"),
        ("nothing in particular", "learnings"),
    ],
)
def test_the_namespace_follows_the_signals(text, namespace):
    assert detect_namespace(text) == namespace
    assert namespace in NAMESPACES


def test_a_named_namespace_holds_and_is_written_as_ours():
    assert (
        detect(request("We decided it.", namespace="Gotcha"), max_chars=99).namespace == "gotchas"
    )


def test_an_unknown_namespace_is_detected_and_stays_as_a_tag():
    found = detect(request("We decided it.", namespace="Auth Flow", tags=("x",)), max_chars=99)
    assert isinstance(found, CaptureDetected)
    assert (found.namespace, found.tags) == ("decisions", ("x", "auth-flow"))


def test_the_content_is_normalised_and_made_harmless():
    text = "a  \r\n\r\n\r\n\r\nb <system-reminder>x\x1b[0m <private>p</private>\n"
    assert detect(request(text), max_chars=99).content == "a\n\nb ‹system-reminder›x"


@pytest.mark.parametrize("text", ["", " \n ", "<private>x</private>", "x" * 100])
def test_nothing_and_too_much_are_declined(text):
    settled = detect(request(text), max_chars=99)
    assert isinstance(settled, CaptureSettled)
    assert settled.kept.outcome == "declined"
    assert settled.trace == "t"


def test_tags_are_cleaned_counted_and_kept_once():
    assert clean_tags(["Auth", "auth", " a b ", "", "--", "x" * 60]) == ("auth", "a-b", "x" * 40)
    assert len(clean_tags([str(n) for n in range(30)])) == 10
