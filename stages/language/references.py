"""Finds the phrases of a prompt that point at something said or done before, and what they name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...bus.values import Reference

MAX_REFERENCES = 10
_READ_CHARS = 20_000
_MAX_CHARS = 120

_THING = (
    r"thing|things|stuff|bug|issue|problem|fix|approach|decision|change|changes|refactor"
    r"|refactoring|discussion|idea|solution|error|migration|feature|work|setup|trick|workaround"
)
_MOMENT = (
    r"yesterday|today|earlier|before|last [a-z]{1,10}|this (?:morning|week)|the other day"
    r"|(?:a |two |three )?(?:days?|weeks?|months?) ago"
)
_DID = (
    r"had|made|did|fixed|discussed|talked about|used|tried|chose|decided on|agreed on|found|saw"
    r"|wrote|built|mentioned|implemented|started"
)
# "the auth thing from yesterday", "the bug we fixed": what it is, and when or who did it.
_PAST = re.compile(
    rf"\b(?:the|that|this|our|my) (?P<about>(?:[\w-]{{1,30}} ){{0,3}}?)(?P<noun>{_THING}|one)"
    rf" (?:(?:from )?(?:{_MOMENT})|(?:that )?(?:we|i|you) (?:{_DID}))\b",
    re.IGNORECASE,
)
# "the auth thing", "that migration": nothing but a name, or a finger that points.
_VAGUE = re.compile(
    r"\b(?:the|that|this|our|my) (?P<about>(?:[\w-]{1,30} ){1,3}?)(?:thing|things|stuff|trick)\b"
    rf"|\bthat (?P<same>(?:[\w-]{{1,30}} ){{0,2}}?(?:{_THING}))\b"
    r"(?! (?:is|was|are|were|does|that)\b)",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:as|like|what) (?:we|i|you) (?:discussed|said|agreed|decided|did|tried|used|mentioned)"
    rf"(?: (?:{_MOMENT}))?\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:like|same as|as) (?:last time|before|yesterday|usual|the last one|the other one)\b"
    r"|\b(?:last time|the other day|last (?:week|month|sprint|session|friday|monday|tuesday"
    r"|wednesday|thursday)"
    r"|yesterday|earlier today|previously)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:pr|pull request|issue|ticket|mr|merge request|bug) ?#?(?P<about>\d{1,7})\b"
    r"|(?<![\w&/#])#(?P<hash>\d{1,7})\b|\b(?P<key>[A-Z]{2,10}-\d{1,6})\b(?!-)",
    re.IGNORECASE,
)
# "that" before these opens a clause more often than it points.
_NO_NAME = frozenset("the a an this that our my it is in of to and or not one whole same".split())


def find_references(text: str) -> tuple[Reference, ...]:
    """What ``text`` points back at, each phrase once, in order, at most 10."""
    text = text[:_READ_CHARS]
    found = sorted(_all(text), key=lambda one: (one[0], -len(one[1].text)))
    kept: dict[Reference, None] = {}
    end = 0
    for start, reference in found:
        if start >= end:
            kept.setdefault(reference)
            end = start + len(reference.text)
    return tuple(kept)[:MAX_REFERENCES]


def _all(text: str) -> Iterator[tuple[int, Reference]]:
    """Every match with where it starts; they may overlap."""
    for match in _PAST.finditer(text):
        yield _made(match, "subject", _named(f"{match['about']}{match['noun']}"))
    for match in _VAGUE.finditer(text):
        about = _named(match["about"] or match["same"] or "")
        if about:
            yield _made(match, "subject", about)
    for pattern in (_SAID, _TIME):
        for match in pattern.finditer(text):
            yield _made(match, "time", "")
    for match in _NUMBER.finditer(text):
        yield _made(match, "number", match["about"] or match["hash"] or match["key"])


def _made(match: re.Match[str], kind: str, about: str) -> tuple[int, Reference]:
    made = Reference(text=match[0][:_MAX_CHARS], kind=kind, about=about)  # type: ignore[arg-type]
    return match.start(), made


def _named(words: str) -> str:
    """The words that name something; the empty ones ("thing", "one") name nothing."""
    kept = (word for word in words.lower().split() if word not in _NO_NAME and word not in _EMPTY)
    return " ".join(kept)


_EMPTY = frozenset("thing things stuff work one trick".split())
