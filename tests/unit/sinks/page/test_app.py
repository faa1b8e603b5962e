"""Which requests come from the page itself."""

import pytest
from starlette.datastructures import Headers

from subcog.sinks.page.app import is_foreign

HOST = "127.0.0.1:4711"
OWN = f"http://{HOST}"


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {}),
        ("GET", {"sec-fetch-site": "none"}),
        ("GET", {"sec-fetch-site": "same-origin", "origin": OWN}),
        ("POST", {"sec-fetch-site": "same-origin", "origin": OWN}),
    ],
)
def test_what_the_page_asks_is_its_own(method, headers):
    assert not is_foreign(method, Headers({"host": HOST} | headers))


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"sec-fetch-site": "same-site"}),
        ("GET", {"sec-fetch-site": "cross-site"}),
        ("GET", {"origin": "http://127.0.0.1:4712"}),
        ("GET", {"origin": "http://localhost:4711"}),
        ("POST", {}),
        ("POST", {"origin": "null"}),
        ("POST", {"origin": f"https://{HOST}"}),
        ("POST", {"origin": OWN, "sec-fetch-site": "same-site"}),
        ("DELETE", {}),
    ],
)
def test_what_another_origin_asks_is_foreign(method, headers):
    assert is_foreign(method, Headers({"host": HOST} | headers))
