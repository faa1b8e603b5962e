"""The hook's way to take private spans out, and the daemon's, are held to the same results."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subcog.hooks.spool import without_private
from subcog.stages.text.markup import strip_private

# text, what is left of it
NASTY = [
    ("", ""),
    ("no tag at all, 1 < 2 and 3 > 2", "no tag at all, 1 < 2 and 3 > 2"),
    ("a <private>b</private> c", "a  c"),
    ("a < private >b</ private > c", "a  c"),
    ("a <\n private>b< / private> c", "a  c"),
    ("a <PRIVATE reason='x'>b</Private > c", "a  c"),
    ("a <private>b<private>c</private>d</private> e", "a  e"),
    ("a <private>never closed", "a "),
    ("a </private> b", "a  b"),
    ("a <private b", "a "),
    ("a <private\nb</private> c", "a  c"),
    ("a <pri<private></private>vate>b", "a "),
    ("a <pri<pri<private></private>vate></private>vate>b", "a <pri"),
    ("a </pri</private>vate> b", "a  b"),
    ("a <private/>b", "a "),
    ("a <privates>b</privates> c", "a <privates>b</privates> c"),
    ("a <private-note>b c", "a <private-note>b c"),
    ("a <private\t>b</private\t> c", "a  c"),
    ("&lt;private&gt;a", "&lt;private&gt;a"),
    ("<private>" * 50 + "a" + "</private>" * 49 + "b", ""),
]
PIECES = st.sampled_from(
    ["<", ">", "/", "private", "<private>", "</private>", "pri", "vate", " ", "\n", "a", "PRIVATE"]
)


@pytest.mark.parametrize(("text", "left"), NASTY, ids=range(len(NASTY)))
@pytest.mark.parametrize("strip", [without_private, strip_private], ids=["hook", "daemon"])
def test_what_is_private_goes(strip, text, left):
    assert strip(text) == left


@given(st.lists(PIECES, max_size=30).map("".join))
@example("<private")
def test_both_leave_the_same(text):
    assert without_private(text) == strip_private(text)
