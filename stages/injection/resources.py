"""Where there is more about what a prompt asks: addresses that an MCP client can read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from urllib.parse import quote, unquote

from ...bus.values import Scope, SearchIntent
from ..text.envelope import MORE

CountTopic = Callable[[str, tuple[Scope, ...]], int]
"""How many memories are about a topic in these scopes."""

MOST_NAMED = 2
"""Addresses in a context; each comes once in a session."""

_TOPICS = "subcog://topics"
OF_THE_WHOLE = _TOPICS
"""Where there is more for who asks about the whole."""

_SEARCH = "subcog://search/"
_MAX_TOPIC_CHARS = 80
_MAX_ADDRESS_CHARS = 120


def resources(
    intent: SearchIntent, words: Sequence[str], scopes: tuple[Scope, ...], count_topic: CountTopic
) -> tuple[str, ...]:
    """Two to four addresses at which there is more about what was asked; each holds something."""
    if topics := [topic for topic in intent.topics if topic.strip()]:
        known = [topic for topic in topics if count_topic(topic, scopes)][:2]
        named = [f"{_TOPICS}/{_quote(topic)}" for topic in known]
        return (f"{_SEARCH}{_quote(topics[0])}", *named, _TOPICS)
    if sought := " ".join([*intent.keywords, *words][:3]):
        return (f"{_SEARCH}{_quote(sought)}", _TOPICS)
    return (_TOPICS, "subcog://namespaces")


def unnamed(
    suggested: Sequence[str], shown: Collection[tuple[str, int]], has_more: Callable[[str], bool]
) -> tuple[str, ...]:
    """Those of ``suggested`` that a context names: topics of which there is more than it holds.

    A search would find again what was not relevant enough. ``has_more`` is asked for the name of
    a topic; ``shown`` has the keys of what the session was told before.
    """
    topics = [one for one in suggested if one.startswith(f"{_TOPICS}/")]
    named = [
        one
        for one in topics
        if len(one) <= _MAX_ADDRESS_CHARS and has_more(unquote(one.removeprefix(f"{_TOPICS}/")))
    ]
    return tuple(one for one in named[:MOST_NAMED] if more_key(one) not in shown)


def more_line(addresses: Sequence[str]) -> str:
    """The line that names ``addresses``; "" for none."""
    return MORE + ", ".join(addresses) if addresses else ""


def more_key(address: str) -> tuple[str, int]:
    """What is noted as shown where ``address`` was named."""
    return f"more {address}", 0


def _quote(text: str) -> str:
    return quote(text[:_MAX_TOPIC_CHARS], safe="", errors="replace")
