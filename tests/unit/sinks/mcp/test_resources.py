import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.sinks.mcp.port import Changed
from subcog.sinks.mcp.resources import MAX_URI, UnknownUri, Uri, is_touched, parse, read_resource


@given(st.text(min_size=1).filter(lambda text: text.strip() == text))
def test_what_is_written_is_read_again(text):
    if len(str(Uri("search", text))) <= MAX_URI:
        assert parse(str(Uri("search", text))) == Uri("search", text)


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_is_a_uri_or_refused(text):
    for uri in (text, f"subcog://{text}", f"subcog://search/{text}"):
        with contextlib.suppress(UnknownUri):
            parse(uri).text.encode()


@pytest.mark.parametrize(
    ("uri", "kind", "text"),
    [
        ("subcog://topics", "topics", ""),
        ("subcog://topics/", "topics", ""),
        ("subcog://topics/a%2Fb", "topics", "a/b"),
        ("subcog://search/a/b/../c?d#e", "search", "a/b/../c?d#e"),
        ("subcog://search/100%", "search", "100%"),
        ("subcog://search/%ff", "search", "\ufffd"),
        ("subcog://search/half\ud800", "search", "half?"),
    ],
)
def test_what_follows_the_kind_is_text(uri, kind, text):
    assert parse(uri) == Uri(kind, text)


@pytest.mark.parametrize(
    "uri", ["topics", "subcog://nope", "SUBCOG://topics", "subcog://sessions/x"]
)
def test_what_is_not_there_is_refused_with_what_is(uri):
    with pytest.raises(UnknownUri, match="subcog://search/…"):
        parse(uri)


def test_a_very_long_uri_is_refused_without_being_repeated():
    with pytest.raises(UnknownUri) as caught:
        parse("subcog://search/" + "x" * 100_000)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    ("uri", "touched"),
    [
        (Uri("topics"), True),
        (Uri("topics", "x"), True),
        (Uri("search", "x"), True),
        (Uri("namespaces"), True),
        (Uri("namespaces", "decisions"), True),
        (Uri("namespaces", "patterns"), False),
        (Uri("memory", "mem_1"), True),
        (Uri("memory", "1"), True),
        (Uri("memory", "mem_2"), False),
        (Uri("help"), False),
    ],
)
def test_a_change_touches_what_may_read_differently(uri, touched):
    changed = Changed(frozenset({"mem_1"}), frozenset({"decisions"}))
    assert is_touched(uri, changed) is touched


def test_changes_that_are_not_named_touch_everything_but_help():
    changed = Changed(None, None)
    assert is_touched(Uri("memory", "mem_2"), changed)
    assert is_touched(Uri("namespaces", "patterns"), changed)
    assert not is_touched(Uri("help", "topics"), changed)


@pytest.mark.parametrize("uri", ["search/x", "topics/x", "namespaces/decisions"])
async def test_lists_of_memories_are_bounded(uri):
    class Port:
        notice = "data"

        async def call(self, name, params):
            return {"memories": [{"content": "long"}], "total_count": 1}

        async def latest(self, **_):
            return [{"content": "long"}]

        def bounded(self, memories):
            return [memory | {"content": "short"} for memory in memories]

    (content,) = (await read_resource(Port(), f"subcog://{uri}")).contents
    assert json.loads(content.text)["memories"] == [{"content": "short"}]
