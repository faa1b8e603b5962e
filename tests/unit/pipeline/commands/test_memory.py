import pytest

from subcog.bus.results import CaptureResult
from subcog.pipeline.commands.memory import _captured


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("We deploy on Fridays. Ann does it.", "We deploy on Fridays. …"),
        ("We deploy on Fridays.", "We deploy on Fridays."),
    ],
)
def test_a_capture_says_where_it_kept_more_than_it_prints(text, said):
    answer = CaptureResult(
        outcome="stored",
        id="x",
        namespace="decisions",
        summary="We deploy on Fridays.",
        redactions=(),
        reason="",
    )
    assert list(_captured(answer, text))[1].strip() == said
