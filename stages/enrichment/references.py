"""Resolves what a prompt points back at ("the auth thing", "like last time", "#123")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from ...bus.enrichment import Guide, ResolvedReference, SimilarTask
from ...bus.prompts import Reference
from ...bus.values import Hit, Memory
from ...config.patterns import regex
from ..language.words import domains_of, words_of

MAX_REFERENCES = 10
_PROMPT_CHARS = 20_000
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
_PAST = regex(
    rf"\b(?:the|that|this|our|my) (?P<about>(?:[\w-]{{1,30}} ){{0,3}}?)(?P<noun>{_THING}|one)"
    rf" (?:(?:from )?(?:{_MOMENT})|(?:that )?(?:we|i|you) (?:{_DID}))\b",
    re.IGNORECASE,
)
# "the auth thing", "that migration": nothing but a name, or a finger that points.
_VAGUE = regex(
    r"\b(?:the|that|this|our|my) (?P<about>(?:[\w-]{1,30} ){1,3}?)(?:thing|things|stuff|trick)\b"
    rf"|\bthat (?P<same>(?:[\w-]{{1,30}} ){{0,2}}?(?:{_THING}))\b"
    r"(?! (?:is|was|are|were|does|that)\b)",
    re.IGNORECASE,
)
_SAID = regex(
    r"\b(?:as|like|what) (?:we|i|you) (?:discussed|said|agreed|decided|did|tried|used|mentioned)"
    rf"(?: (?:{_MOMENT}))?\b",
    re.IGNORECASE,
)
_TIME = regex(
    r"\b(?:like|same as|as) (?:last time|before|yesterday|usual|the last one|the other one)\b"
    r"|\b(?:last time|the other day|last (?:week|month|sprint|session|friday|monday|tuesday"
    r"|wednesday|thursday)"
    r"|yesterday|earlier today|previously)\b",
    re.IGNORECASE,
)
_NUMBER = regex(
    r"\b(?:pr|pull request|issue|ticket|mr|merge request|bug) ?#?(?P<about>\d{1,7})\b"
    r"|(?<![\w&/#])#(?P<hash>\d{1,7})\b|\b(?P<key>[A-Z]{2,10}-\d{1,6})\b(?!-)",
    re.IGNORECASE,
)
# "that" before these opens a clause more often than it points.
_NO_NAME = frozenset("the a an this that our my it is in of to and or not one whole same".split())


def find_references(text: str) -> tuple[Reference, ...]:
    """What ``text`` points back at, each phrase once, in order, at most 10."""
    text = text[:_PROMPT_CHARS]
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


# --- what they refer to ---------------------------------------------------------------------------


MIN_CONFIDENCE = 0.5

_NUMBERED = 0.95
# What naming the same thing adds to how relevant a memory is, of what is missing to certainty.
_NAMED_ADDS = 0.6
_SAME_FIELD = 0.7
_OUT_OF_TIME = 0.6
OF_WORK = frozenset(("tasks", "progress", "decisions", "learnings", "blockers"))
"""The namespaces that tell what was worked on."""

_READ_CHARS = 1000
_WINDOWS = (
    (regex(r"\b(?:today|this morning|earlier)\b", re.IGNORECASE), timedelta(days=1)),
    (regex(r"\byesterday\b", re.IGNORECASE), timedelta(days=2)),
    (regex(r"\b(?:the other day|last \w*day|this week)\b", re.IGNORECASE), timedelta(days=7)),
    (regex(r"\blast (?:week|sprint|session)\b", re.IGNORECASE), timedelta(days=14)),
    (regex(r"\blast month\b", re.IGNORECASE), timedelta(days=62)),
)


class Known(Struct, frozen=True):
    """Something that may be meant: its text, and how relevant it is to the prompt as a whole."""

    id: str
    namespace: str
    text: str
    summary: str
    updated_at: datetime
    relevance: float


def known_of(
    hits: Iterable[Hit], tasks: Iterable[SimilarTask], guides: Iterable[Guide]
) -> tuple[Known, ...]:
    """Everything found for a prompt that may be meant, each memory once."""
    alike = {task.id: task.similarity for task in tasks}
    best: dict[str, Hit] = {}
    for hit in hits:
        if hit.memory.id not in best or best[hit.memory.id].relevance < hit.relevance:
            best[hit.memory.id] = hit
    found = {id_: _of_memory(hit.memory, hit.relevance) for id_, hit in best.items()}
    for guide in guides:
        relevance = alike.get(guide.memory_id, 0.0)
        if guide.memory_id not in found or found[guide.memory_id].relevance < relevance:
            found[guide.memory_id] = Known(
                guide.memory_id,
                guide.namespace,
                f"{guide.title} {guide.text}",
                guide.title,
                guide.updated_at,
                relevance,
            )
    return tuple(found.values())


def _of_memory(memory: Memory, relevance: float) -> Known:
    text = f"{memory.content[:_READ_CHARS]} {' '.join(memory.tags)}"
    return Known(memory.id, memory.namespace, text, memory.summary, memory.updated_at, relevance)


def resolve(
    references: Sequence[Reference], known: Sequence[Known], now: datetime
) -> tuple[ResolvedReference, ...]:
    """For each reference the memory that it most surely means, if that is at least 0.5 sure."""
    resolved = []
    for reference in references:
        best = max(known, key=lambda one: _certainty(reference, one, now), default=None)
        if best is not None and (sure := _certainty(reference, best, now)) >= MIN_CONFIDENCE:
            resolved.append(
                ResolvedReference(
                    text=reference.text,
                    id=best.id,
                    summary=best.summary,
                    confidence=round(sure, 2),
                )
            )
    return tuple(resolved)


def _certainty(reference: Reference, known: Known, now: datetime) -> float:
    if reference.kind == "number":
        return _NUMBERED if _has_number(known.text, reference.about) else 0.0
    in_time = _in_time(reference, known, now)
    if reference.kind == "time" or not reference.about:
        return known.relevance * in_time if known.namespace in OF_WORK else 0.0
    named = _named_share(reference.about, known.text)
    return (1 - (1 - known.relevance) * (1 - _NAMED_ADDS * named)) * in_time if named else 0.0


def _has_number(text: str, number: str) -> bool:
    plain = re.escape(number)
    pattern = (
        rf"\b{plain}\b" if "-" in number else rf"#{plain}\b|\b(?:pr|mr|issue|ticket|bug) {plain}\b"
    )
    return re.search(pattern, text, re.IGNORECASE) is not None


def _named_share(about: str, text: str) -> float:
    """The share of the words of ``about`` that ``text`` has; the same field is worth 0.7."""
    wanted = words_of(about)
    words = words_of(text)
    if not wanted:
        return 0.0
    written = frozenset(words)
    share = sum(any(one.startswith(word) for one in written) for word in wanted) / len(wanted)
    same_field = not set(domains_of(wanted)).isdisjoint(domains_of(words))
    return max(share, _SAME_FIELD * same_field)


def _in_time(reference: Reference, known: Known, now: datetime) -> float:
    """1 where the reference names no time or the memory is of it."""
    for pattern, window in _WINDOWS:
        if pattern.search(reference.text):
            return 1.0 if now - known.updated_at <= window else _OUT_OF_TIME
    return 1.0
