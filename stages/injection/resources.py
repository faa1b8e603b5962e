"""Where there is more about what a prompt asks: addresses that an MCP client can read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from urllib.parse import quote

from ...bus.values import Scope, SearchIntent
from ..text.envelope import MORE

HasTopic = Callable[[str, tuple[Scope, ...]], bool]

MOST_NAMED = 2
"""Addresses in a context; each comes once in a session."""

_TOPICS = "subcog://topics"
OF_THE_WHOLE = _TOPICS
"""Where there is more for who asks about the whole."""

_SEARCH = "subcog://search/"
_MAX_TOPIC_CHARS = 80
_MAX_ADDRESS_CHARS = 120


def resources(
    intent: SearchIntent, words: Sequence[str], scopes: tuple[Scope, ...], has_topic: HasTopic
) -> tuple[str, ...]:
    """Two to four addresses at which there is more about what was asked; each holds something."""
    if topics := [topic for topic in intent.topics if topic.strip()]:
        known = [topic for topic in topics if has_topic(topic, scopes)][:2]
        named = [f"{_TOPICS}/{_quote(topic)}" for topic in known]
        return (f"{_SEARCH}{_quote(topics[0])}", *named, _TOPICS)
    if sought := " ".join([*intent.keywords, *words][:3]):
        return (f"{_SEARCH}{_quote(sought)}", _TOPICS)
    return (_TOPICS, "subcog://namespaces")


def unnamed(
    suggested: Sequence[str], shown: Collection[tuple[str, int]], *, found: bool
) -> tuple[str, ...]:
    """Those of ``suggested`` that a context names: topics first, and what is about this subject.

    A topic says what a search for its name would; where nothing was ``found``, a search would find
    nothing either. ``shown`` has the keys of what
    the session was told before.
    """
    topics = [one for one in suggested if one.startswith(f"{_TOPICS}/")]
    known = {topic.removeprefix(f"{_TOPICS}/") for topic in topics}
    sought = [one for one in suggested if one.startswith(_SEARCH)] if found else []
    searches = [one for one in sought if one.removeprefix(_SEARCH) not in known]
    named = [one for one in (*topics, *searches) if len(one) <= _MAX_ADDRESS_CHARS]
    return tuple(one for one in named[:MOST_NAMED] if more_key(one) not in shown)


def more_line(addresses: Sequence[str]) -> str:
    """The line that names ``addresses``; "" for none."""
    return MORE + ", ".join(addresses) if addresses else ""


def more_key(address: str) -> tuple[str, int]:
    """What is noted as shown where ``address`` was named."""
    return f"more {address}", 0


def _quote(text: str) -> str:
    return quote(text[:_MAX_TOPIC_CHARS], safe="", errors="replace")
