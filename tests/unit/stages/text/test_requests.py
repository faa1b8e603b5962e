import pytest

from subcog.stages.text.markup import REMEMBER, is_marked, markers_in
from subcog.stages.text.requests import read_request


@pytest.mark.parametrize(
    ("prompt", "what"),
    [
        ("Remember: the queue is drained at night", "the queue is drained at night"),
        ("remember that we ship on Mondays only", "we ship on Mondays only"),
        ("Please remember that release-42 was yanked", "release-42 was yanked"),
        ("remember this for next time: use the blue VPN", "use the blue VPN"),
        ("Don't forget that the mirror is read-only", "the mirror is read-only"),
        ("Don’t forget: keys are rotated in May", "keys are rotated in May"),
        ("note to self: Ola owns the mobile keys", "Ola owns the mobile keys"),
        ("Save this to memory: the proxy wants a header", "the proxy wants a header"),
        ("Merk dir: der Spiegel ist nur lesbar", "der Spiegel ist nur lesbar"),
        ("记住：数据库每周日清空", "数据库每周日清空"),
        ("Remember: one thing here. Another there.", "one thing here. Another there."),
    ],
)
def test_a_request_in_plain_words_is_read(prompt, what):
    assert read_request(prompt) == (what, "")


@pytest.mark.parametrize(
    "prompt",
    [
        "remember to run the tests before you commit",
        "remember when we shipped on Mondays?",
        "remember that bug we had with the queue, it is back",
        "remember that the queue is drained at night?",
        "remember that we dropped Redis, so why does the code use it",
        "do you remember that we ship on Mondays only",
        "don't forget to push",
        "I remember that we ship on Mondays",
        "remember: this",
        "Fix it.\nremember that we ship on Mondays only",
        "remember: " + "a b c " * 200,
    ],
)
def test_other_words_ask_for_nothing(prompt):
    assert read_request(prompt) is None


@pytest.mark.parametrize(
    ("prompt", "what", "rest"),
    [
        ("remember that we ship on Mondays. Fix the seed.", "we ship on Mondays.", "Fix the seed."),
        ("Remember: we use tabs. See below.\nFix it", "we use tabs.", "See below."),
    ],
)
def test_an_order_behind_it_is_not_kept(prompt, what, rest):
    assert read_request(prompt) == (what, rest)


def test_it_counts_as_a_marker_beside_others():
    found = markers_in(
        "Remember: we use tabs here\n[remember:patterns] two spaces in YAML\n\nFix it"
    )

    assert [(one.content, one.marker, one.namespace) for one in found.kept] == [
        ("we use tabs here", REMEMBER, "learnings"),
        ("two spaces in YAML", "[remember:patterns]", "patterns"),
    ]
    assert found.rest == "Fix it"
    assert is_marked("Remember: we use tabs here")


@pytest.mark.parametrize(
    "prompt",
    [
        "> Remember: we use tabs here",
        "```\nRemember: we use tabs here\n```",
        "<private>Remember: we use tabs here</private>",
        "/compact Remember: we use tabs here",
    ],
)
def test_what_is_not_the_users_own_is_no_request(prompt):
    assert markers_in(prompt).kept == ()
    assert not is_marked(prompt)
