import pytest

from subcog.bus.events import CaptureDetected, CaptureRequested, CaptureSettled
from subcog.bus.values import Scope
from subcog.stages.redaction.admit import detect
from subcog.stages.text.markup import clean_tags


def request(text, **fields):
    return CaptureRequested(trace="t", id="mem_1", text=text, scope=Scope("project", "p"), **fields)


def test_a_namespace_that_nobody_named_is_detected():
    found = detect(request("We decided to use uv instead of pip."), max_chars=99)
    assert isinstance(found, CaptureDetected)
    assert found.namespace == "decisions"


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


def test_questions_are_a_line_each_without_what_is_private_and_three_at_most():
    given = (
        "how do we\n deploy <private>to hel1</private>?",
        "how do we deploy ?",
        "<private>x</private>",
        "who <system-reminder> rolls it out?",
        "w" * 900,
        "w" * 700,
        "a fourth?",
    )
    found = detect(request("We use ArgoCD.", questions=given), max_chars=99).questions
    assert found[:2] == ("how do we deploy ?", "who ‹system-reminder› rolls it out?")
    assert len(found) == 3
    assert found[2] == "w" * 700, "it is cut when secrets were looked for"


def test_without_questions_none_are_known():
    assert detect(request("We use ArgoCD."), max_chars=99).questions is None
