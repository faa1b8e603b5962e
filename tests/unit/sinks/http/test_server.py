import pytest

from subcog.sinks.http.server import is_local


@pytest.mark.parametrize(
    "origin", ["http://localhost", "http://localhost:6274", "https://127.0.0.1:1", "http://[::1]:2"]
)
def test_a_page_that_this_machine_serves_is_local(origin):
    assert is_local(origin)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "localhost",
        "http://localhost.evil.example",
        "http://evil.example#localhost",
        "http://localhost@evil.example",
        "http://127.0.0.1.evil.example:80",
        "http://[::1",
        "http://0.0.0.0",
    ],
)
def test_no_other_page_is_local(origin):
    assert not is_local(origin)
