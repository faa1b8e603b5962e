import msgspec
import pytest

from subcog.pipeline.api.params import ExpireParams, ForgetSessionsParams, ListParams


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (ExpireParams, {"id": "mem_x", "at": "9999-12-31T23:59:59-12:00"}),
        (ListParams, {"since": "0001-01-01T00:00:00+14:00"}),
        (ListParams, {"until": "9999-12-31T23:59:59-12:00"}),
        (ForgetSessionsParams, {"since": "0001-01-01T00:00:00+14:00"}),
        (ForgetSessionsParams, {"until": "9999-12-31T23:59:59-12:00"}),
    ],
)
def test_a_time_that_is_none_in_utc_is_refused_as_anything_else_that_is_wrong(kind, given):
    with pytest.raises(msgspec.ValidationError, match="is no time in UTC"):
        msgspec.convert(given, kind)
