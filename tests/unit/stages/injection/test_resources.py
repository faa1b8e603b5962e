import pytest

from subcog.stages.injection.resources import more_key, more_line, unnamed

SUGGESTED = (
    "subcog://search/token%20lifetime",
    "subcog://topics/authentication",
    "subcog://topics/tokens",
    "subcog://topics",
)


def always(topic):
    return True


def test_topics_are_named_and_no_search():
    named = unnamed(SUGGESTED, (), always)
    assert more_line(named) == "More: subcog://topics/authentication, subcog://topics/tokens"
    assert unnamed(SUGGESTED[:1], (), always) == ()


def test_a_topic_of_which_all_is_shown_is_not_named():
    assert unnamed(SUGGESTED, (), lambda topic: topic == "tokens") == ("subcog://topics/tokens",)
    encoded = ("subcog://topics/token%20lifetime",)
    assert unnamed(encoded, (), lambda topic: topic == "token lifetime") == encoded


def test_what_was_named_before_is_not_named_again():
    shown = {more_key(one) for one in SUGGESTED}
    assert unnamed(SUGGESTED, shown, always) == ()
    assert more_line(()) == ""


@pytest.mark.parametrize("topic", ["x" * 200, "%20" * 100])
def test_an_endless_address_is_not_named(topic):
    assert unnamed((f"subcog://topics/{topic}",), (), always) == ()
