import pytest

from subcog.pipeline.entrance.handler import room_beside, trace_of
from subcog.stages.inject import MAX_TOKENS
from subcog.stages.text.hook_answer import MAX_UNITS
from subcog.stages.text.tokens import count_tokens, count_units


def test_an_identity_gives_a_trace_and_anything_else_none():
    assert len(trace_of("0" * 32)) == 26
    assert trace_of("") == trace_of("x" * 32) == trace_of("f" * 33) == ""


@pytest.mark.parametrize("own", ["", "a short note " * 30, "word " * 1500, "漢" * 3000])
def test_two_contexts_in_one_answer_stay_inside_its_limits(own):
    room = room_beside(own)
    assert 0 <= room <= MAX_TOKENS - count_tokens(own) or room == 0
    assert count_units(own) > MAX_UNITS or count_units(own) + 1 + 4 * room <= MAX_UNITS
