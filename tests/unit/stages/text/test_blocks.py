import pytest

from subcog.stages.text.blocks import strip_blocks


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a<system-reminder>b\nc</system-reminder>d", "ad"),
        ("<hook_context>our notes</hook_context>\n\nthe prompt", "\n\nthe prompt"),
        ('<response_guidance detail="minimal">x</response_guidance>y', "y"),
        ("<ide_selection>code</ide_selection>why?", "why?"),
        ("<system-reminder>never closed", "never closed"),
        ("closed only</hook_context>", "closed only"),
        ("if a < b and <div>", "if a < b and <div>"),
    ],
)
def test_what_no_person_wrote_is_taken_out(text, left):
    assert strip_blocks(text) == left


def test_many_opening_tags_take_no_longer_than_their_length():
    assert strip_blocks("<hook_context>" * 100_000) == ""
