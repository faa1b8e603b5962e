"""What a screen asks of the daemon."""

import pytest
from starlette.requests import Request

from subcog.sinks.page.screens import Screens
from subcog.sinks.page.visits import Visit


class Asked(Exception):
    """What was asked first."""


class Port:
    async def ask(self, fields, call, kind, params):
        raise Asked(call, params)


def request(query):
    scope = {"type": "http", "method": "GET", "query_string": query, "headers": [], "state": {}}
    made = Request(scope)
    made.state.visit = Visit(name="v", secret="s", fields={})
    return made


@pytest.mark.parametrize(
    ("query", "thorough"),
    [(b"q=queue&part=typing", False), (b"q=queue&part=1", True), (b"q=queue", True)],
)
async def test_while_somebody_types_few_candidates_are_reranked(query, thorough):
    with pytest.raises(Asked) as first:
        await Screens(Port(), None).memories(request(query))
    assert first.value.args == ("recall", {"query": "queue", "limit": 100, "thorough": thorough})
