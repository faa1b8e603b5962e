import pytest

from subcog.sinks.passages.wording import (
    asks_what_holds,
    says_something,
    subject_looked_back_at,
)


@pytest.mark.parametrize(
    ("asked", "subject"),
    [
        ("What did Jonas say about Java?", "Jonas Java"),
        ("until when are we bound to payone", "payone"),
        ("why didn’t we take balena", "balena"),
        ("remind me what Marieke said about the colours", "Marieke colours"),
        ("ok, is redis still used for anything?", "redis"),
        ("the importer was slow, wasn't it?", "importer slow"),
        ("who is Rombouts and why do they matter", "Rombouts"),
    ],
)
def test_what_a_question_looks_back_at_is_told_from_what_frames_it(asked, subject):
    assert subject_looked_back_at(asked) == subject


@pytest.mark.parametrize(
    "text",
    [
        "how many decimals does the invoice have?",
        "it still fails",
        "Jonas said no Java",
        "why did you delete the importer?",
        "and on which machine was that tested?",
        "what did we decide yesterday?",
        "did we " + "say that of the importer and " * 6 + "why?",
    ],
)
def test_what_does_not_look_back_at_a_subject_has_none(text):
    assert subject_looked_back_at(text) == ""


def test_a_question_may_ask_what_holds_by_now():
    assert asks_what_holds("do we still deliver csv?")
    assert not asks_what_holds("why do we deliver csv?")
    assert not asks_what_holds("the boards froze again, " * 12 + "and still do")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ok ciao", False),
        ("yes. do it", False),
        ("Done.", False),
        ("KEEPALIVE is 20 now, the O2 sims drop after 28 seconds", True),
        ("no delta updates, the signing key would have to be on the server", True),
        ("是的", True),
    ],
)
def test_what_says_something_by_itself(text, says):
    assert says_something(text) is says
