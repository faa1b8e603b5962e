import pytest

from subcog.bus.anchors import Anchor, AnchorState, add_up, are_sound

DIGEST = f"1:{'0' * 32}"


def states(*each):
    """States of symbols in one file; a name with a dot is that of a whole file."""
    return add_up(
        AnchorState(
            path=name if "." in name else "a.py", symbol="" if "." in name else name, state=state
        )
        for name, state in each
    ).state


@pytest.mark.parametrize(
    ("each", "state"),
    [
        ([("f", "unchanged"), ("g", "unchanged")], "unchanged"),
        ([("f", "unchanged"), ("g", "moved")], "moved"),
        ([("f", "changed"), ("g", "moved")], "changed"),
        ([("f", "gone"), ("g", "gone")], "gone"),
        ([("f", "gone"), ("g", "unchanged")], "changed"),
        ([("f", "gone"), ("b.md", "unchanged")], "gone"),
        ([("b.md", "unchanged"), ("f", "gone")], "changed"),
        ([("f", "gone"), ("g", None)], "changed"),
        ([("f", "unchanged"), ("g", None)], None),
        ([], None),
    ],
)
def test_a_memory_is_gone_only_with_all_that_it_is_about(each, state):
    assert states(*each) == state


def anchor(**fields):
    return Anchor(**{"path": "src/a.py", "digest": DIGEST} | fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"path": "/etc/passwd"},
        {"path": "../a.py"},
        {"path": "src/../../a.py"},
        {"path": "src//a.py"},
        {"path": ".git/config"},
        {"path": "a\nb.py"},
        {"path": ""},
        {"path": "a" * 301},
        {"symbol": "f" * 201},
        {"symbol": "f\u202eg"},
        {"digest": "x"},
        {"commit": "main"},
        {"twins": -2},
    ],
)
def test_an_anchor_from_outside_leads_nowhere_else(fields):
    assert are_sound((anchor(),))
    assert not are_sound((anchor(), anchor(**fields)))


def test_anchors_from_outside_are_few():
    assert are_sound((anchor(),) * 8)
    assert not are_sound((anchor(),) * 9)
