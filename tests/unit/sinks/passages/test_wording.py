import pytest

from subcog.sinks.passages.wording import (
    asks_about_the_world,
    asks_what_holds,
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


@pytest.mark.parametrize(
    "text",
    [
        "what is a storm surge?",
        "hey, what's EDIFACT?",
        "How do I read an xlsx file with pandas?",
        "please write a python script that pings a host every 8 seconds",
        "how does a websocket handshake work?",
        "how do I get a list of files in bash?",
    ],
)
def test_a_question_about_the_world_names_nothing_of_ours(text):
    assert asks_about_the_world(text)


@pytest.mark.parametrize(
    "text",
    [
        "what is the ping interval?",
        "what's our retention?",
        "how do I add a metric to the planner?",
        "what's an active customer and what's an engaged one?",
        "who is Henk?",
        "how do agencies log in?",
        "how do I get a VPN profile?",
        "how do I book a test device",
    ],
)
def test_a_question_about_the_project_is_not_about_the_world(text):
    assert not asks_about_the_world(text)


def test_a_question_may_ask_what_holds_by_now():
    assert asks_what_holds("do we still deliver csv?")
    assert not asks_what_holds("why do we deliver csv?")
    assert not asks_what_holds("the boards froze again, " * 12 + "and still do")
