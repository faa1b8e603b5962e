"""How a hook reads a prompt, and how the daemon does, are held to the same results."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subcog.bus.prompts import BLOCKS
from subcog.hooks import spool
from subcog.hooks.spool import without_private
from subcog.stages.text.markup import markers_in, strip_private
from subcog.stages.text.unicode import visible
from tests.thorough import times

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

ODD = list(
    "\x00\x07\t\n\x0b\f\r \x1b\x85\u00a0\u00ad\u034f\u200b\u200d\u2028\u3000\ufe0f\ufeff\U000e0041"
    "[]\\m>Aé1ی😀"
)
TAGS = [f"<{end}{name}>" for name in (*BLOCKS, "private", "subcog-memory") for end in ("", "/")]
MARKS = ["[remember]", "[capture : debt]", "@memory", "@Memory:tasks:", "[rem\u200bember]"]


@pytest.mark.parametrize(("text", "left"), NASTY, ids=range(len(NASTY)))
@pytest.mark.parametrize("strip", [without_private, strip_private], ids=["hook", "daemon"])
def test_what_is_private_goes(strip, text, left):
    assert strip(text) == left


@given(st.lists(PIECES, max_size=30).map("".join))
@example("<private")
def test_both_leave_the_same(text):
    assert without_private(text) == strip_private(text)


@given(st.lists(st.sampled_from(ODD), max_size=30).map("".join))
def test_both_see_the_same(text):
    assert spool.visible(text) == visible(text)


def test_both_see_each_character_alike():
    # Most of what is beyond has never been assigned, and is alike.
    for first, last in ((0, 0xD800), (0xE000, times(0x30000, 0xE0000)), (0xE0000, 0x110000)):
        text = "".join(f"{chr(code)}\u200d\ufe0f\u200d\u200d" for code in range(first, last))
        assert spool.visible(text) == visible(text)


@given(st.lists(st.sampled_from([*ODD, *TAGS, *MARKS, "x", " x", "\n"]), max_size=12).map("".join))
@example("<ide_opened_file>f</ide_opened_file>[remember] x")
@example("\u00a0[remember] x")
@example("@memory:\nx")
@example("[remember: two words] x")
def test_what_the_daemon_would_keep_the_hook_sets_aside(text):
    assert spool.is_marked(text) or not markers_in(text).kept
