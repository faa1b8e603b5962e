import pytest

from subcog.stages.text.markup import strip_private
from tests.waiting import ends_soon


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>b</Private> c", "a  c"),
        ('a <private reason="x">b</private > c', "a  c"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>b\n\nc", "a "),
        ("a </private> b", "a  b"),
        ("a <private\nb", "a "),
        ("a < private >b</ private> c", "a  c"),
        ("<pri<private>x</private>vate>secret", ""),
        ("a private <privateer> stays", "a private <privateer> stays"),
    ],
)
def test_private_spans_are_taken_out(text, public):
    assert strip_private(text) == public


def test_hostile_nesting_ends_soon():
    with ends_soon():
        strip_private("<private>" * 5000 + "x" + "</private>" * 5000)
        strip_private("<pri" * 2000 + "<private>" + "vate>" * 2000)
