"""What is put into the page's HTML."""

from datetime import UTC, datetime, timedelta

import pytest
from jinja2 import UndefinedError

from subcog.sinks.page.render import ago, render, size, times, visible


def test_what_cannot_be_seen_is_marked():
    text = visible("a\u202eb\u200b\U000e0041\x07\r")
    assert text.count('class="unseen"') == 5
    assert "U+202E" in text
    assert 'title="right-to-left override"' in text
    assert visible("a\u034fb é\ufe01\u200d\u200d").count('class="unseen"') == 4
    assert not {*"\u202e\u200b\U000e0041\x07\r"} & {*text}


def test_what_scripts_and_emoji_need_stays():
    text = "ligne\n\tsuite می‌خواهم 👩‍💻 ❤️ é"
    assert visible(text) == text


@pytest.mark.parametrize("text", ["<b>", "a & b", "'\"", "{{ 7 * 7 }}"])
def test_everything_is_escaped(text):
    told = visible(text)
    assert "<b>" not in told
    assert told.unescape() == text


def test_a_template_that_is_given_too_little_says_so():
    with pytest.raises(UndefinedError):
        render("findings.html")


@pytest.mark.parametrize(
    ("past", "told"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=3), "3 min ago"),
        (timedelta(hours=5), "5 h ago"),
        (timedelta(days=9), "9 d ago"),
    ],
)
def test_how_long_ago_is_told_in_one_unit(past, told):
    assert f">{told}</time>" in ago(datetime.now(UTC) - past - timedelta(milliseconds=10))


def test_sizes_and_counts():
    assert [size(0), size(1500), size(2_500_000), size(3e15)] == [
        "0 B",
        "2 kB",
        "2 MB",
        "3000.0 TB",
    ]
    assert [times(0), times(1), times(2), times(3)] == ["never", "once", "twice", "3 times"]
