"""Which requests come from the page itself."""

import json

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request

from subcog.sinks.page.activity import Activity
from subcog.sinks.page.app import Page, is_foreign
from subcog.sinks.page.visits import Visits

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


async def test_a_visits_cookie_ends_no_earlier_than_the_visit():
    visits = Visits()
    activity = Activity(clock=lambda: None, stages=lambda trace: {})
    page = Page(None, visits, activity, seen=lambda: None)
    body = json.dumps({"code": visits.invite({})}).encode()

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/enter", "headers": headers}
    cookie = (await page.enter(Request(scope, receive))).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "max-age" not in cookie
    assert "expires" not in cookie
