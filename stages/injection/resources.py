"""What stands beside memories and sessions: facts, and addresses an MCP client can read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from urllib.parse import quote, unquote

from msgspec import Struct

from ...bus.prompts import SearchIntent
from ...bus.values import Scope
from ..text.envelope import MORE, extend
from ..text.unicode import size_of
from .pack import Budget
from .project_facts import Told

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


class Beside(Struct, frozen=True):
    """Facts and addresses, and the ``room`` that the whole context has.

    ``suggested`` are all addresses that are reported, ``named`` those that the model reads.
    """

    facts: Told = Told()
    suggested: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    room: Budget = Budget(0, 0)

    def add_to(self, text: str) -> str:
        """The envelope ``text`` with the facts, and with the addresses where there is room."""
        text = extend(text, self.facts.lines)
        longer = extend(text, (more_line(self.named),)) if self.named else text
        return longer if self.room.covers(size_of(longer)) else text

    def keys(self, text: str) -> frozenset[tuple[str, int]]:
        """What is noted as shown where ``text`` came of ``add_to``."""
        named = self.named if self.named and more_line(self.named) in text else ()
        return self.facts.keys | frozenset(map(more_key, named))
