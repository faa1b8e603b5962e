import pytest

from subcog.stages.injection.resources import more_key, more_line, unnamed

SUGGESTED = (
    "subcog://search/token%20lifetime",
    "subcog://topics/authentication",
    "subcog://topics/tokens",
    "subcog://topics",
)


def test_topics_come_first_and_no_more_than_two_addresses():
    named = unnamed(SUGGESTED, (), found=True)
    assert more_line(named) == "More: subcog://topics/authentication, subcog://topics/tokens"
    one = unnamed((*SUGGESTED[:2], "subcog://topics"), (), found=True)
    assert more_line(one) == (
        "More: subcog://topics/authentication, subcog://search/token%20lifetime"
    )


def test_where_nothing_was_found_no_search_is_named():
    assert unnamed(SUGGESTED[:1], (), found=False) == ()
    assert unnamed(SUGGESTED, (), found=False) == SUGGESTED[1:3]


def test_a_search_for_a_topic_that_is_named_is_not_named_too():
    suggested = ("subcog://search/tests", "subcog://topics/tests", "subcog://topics")
    assert unnamed(suggested, (), found=True) == ("subcog://topics/tests",)


def test_what_was_named_before_is_not_named_again():
    shown = {more_key(one) for one in SUGGESTED}
    assert unnamed(SUGGESTED, shown, found=True) == ()
    assert more_line(()) == ""


@pytest.mark.parametrize("topic", ["x" * 200, "%20" * 100])
def test_an_endless_address_is_not_named(topic):
    assert unnamed((f"subcog://topics/{topic}",), (), found=True) == ()
