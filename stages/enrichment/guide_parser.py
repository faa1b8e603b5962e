"""Reads a memory of tasks, patterns or gotchas as a guide for work.

A memory is free text; what guides best says it in labelled lines, of which any may be missing:

    Implement Google OAuth
    Approach: NextAuth.js; JWT in httpOnly cookie
    Outcome: success
    Files: src/auth.ts, src/session.ts

Patterns have ``Applicable when: …`` and gotchas ``Tech: …`` and ``Problem: …``. Labels are found
within a line as well, and in a JSON object. Everything is cut: the text is whatever was captured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ...bus.enrichment import Guide, Outcome
from ...bus.values import Memory
from ...config.patterns import regex
from ..language.words import TECHNOLOGIES, domains_of, technology, words_of
from ..language.work_kind import primary, work_signals
from ..text.envelope import neutralise, preview
from .matching import traits

MAX_CHARS = 2000
_TITLE_CHARS = 120
_NAME_CHARS = 60
_ITEM_CHARS = 160
_TEXT_CHARS = 300
_MOST_ITEMS = 8
_MOST_KEYS = 60
_DOMAINS = 3

_LABELS = {
    "title": "title name task pattern gotcha input",
    "approach": "approach solution decisions how fix remedy workaround",
    "outcome": "outcome result",
    "files": "files",
    "applicable_when": "applicable_when applicable~when applies~to applies~when use~when keywords",
    "problem": "problem symptom issue",
    "technologies": "tech technology technologies stack",
    "confidence": "confidence",
    "tests": "tests",
    "domain": "domain domains",
    "description": "description summary",
}
_FIELD_OF = {
    label.replace("~", " "): field for field, labels in _LABELS.items() for label in labels.split()
}
_LABEL = regex(
    r"(?:^|[\n.;|]|\s[–—-]\s)[ \t>*#_-]{0,8}("
    + "|".join(sorted((re.escape(label) for label in _FIELD_OF), key=len, reverse=True))
    + r")[ \t*_]{0,4}:[ \t*_]{0,4}",
    re.IGNORECASE,
)
_BULLET = regex(r"\n[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+")
_NAMED = regex(r"^([^:\n.!?`]{3,60}?)(?::| [–—-]) +(\S.*)", re.DOTALL)
_SENTENCE = regex(r"(?<=[.!?])\s")
_OUTCOMES: dict[Outcome, tuple[str, ...]] = {
    "success": ("success", "succeed", "succeeded", "successful", "worked", "works", "done", "ok"),
    "failure": ("failure", "fail", "failed", "abandoned", "reverted", "broke", "rejected"),
    "unfinished": ("unfinished", "partial", "partly", "open", "interrupted"),
}


def read_guide(memory: Memory) -> Guide:
    """``memory`` as a guide; what its text does not tell is empty."""
    text = neutralise(memory.content[:MAX_CHARS]).strip()
    fields = _json_fields(text) or _fields(text)
    title, rest = _titled(fields, text, memory)
    words = words_of(f"{title}\n{' '.join(memory.tags)}")
    approach = _approach(memory.namespace, fields, rest)
    problem = preview(fields.get("problem", ""), _TEXT_CHARS)
    read = [*words, *words_of(" ".join((rest[:_TEXT_CHARS], *approach, problem)))]
    when = tuple(one.lower() for one in _items(fields.get("applicable_when", "")))
    technologies = _technologies(fields, memory.tags, read)
    domains = domains_of([*(w for one in when for w in words_of(one)), *read])[:_DOMAINS]
    return Guide(
        memory_id=memory.id,
        scope=memory.scope,
        namespace=memory.namespace,
        title=title,
        text=preview(rest or text, _TEXT_CHARS),
        approach=approach,
        outcome=_outcome(fields.get("outcome", ""), memory.tags),
        files=_items(fields.get("files", "")),
        problem=problem,
        applicable_when=when,
        tags=tuple(tag.lower() for tag in memory.tags[:_MOST_ITEMS]),
        technologies=technologies,
        domains=domains,
        keys=_keys(title, words, when, technologies, domains),
        traits=traits(title, primary(work_signals(title))),
        session=memory.provenance.session,
        confidence=_confidence(fields.get("confidence", ""), memory.confidence_percent),
        said_by=1 + len(memory.sources),
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        valid_to=memory.valid_to,
    )


def _fields(text: str) -> dict[str, str]:
    """The labelled parts of ``text``; what stands before the first label is ``""``."""
    found: dict[str, str] = {}
    field, start = "", 0
    for match in _LABEL.finditer(text):
        _add(found, field, text[start : match.start()])
        field, start = _FIELD_OF[match[1].lower()], match.end()
    _add(found, field, text[start:])
    return found


def _add(found: dict[str, str], field: str, value: str) -> None:
    if value := value.strip(" \t\n;|*_"):
        found.setdefault(field, value)


def _json_fields(text: str) -> dict[str, str]:
    if not text.startswith("{"):
        return {}
    try:
        decoded = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return {}
    return {
        _FIELD_OF[key.lower()]: _flat(value)
        for key, value in decoded.items()
        if key.lower() in _FIELD_OF
    }


def _flat(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _titled(fields: Mapping[str, str], text: str, memory: Memory) -> tuple[str, str]:
    """The title of a guide, and what is left of its opening without it."""
    opening = fields.get("", "") if fields else text
    if named := fields.get("title"):
        return preview(named, _TITLE_CHARS), opening or fields.get("description", "")
    opening = opening or fields.get("description", "") or memory.summary or text
    first, _, rest = opening.partition("\n")
    if memory.namespace != "tasks" and (split := _NAMED.match(first)):
        return preview(split[1], _NAME_CHARS), f"{split[2]}\n{rest}".strip()
    sentence = _SENTENCE.split(first, maxsplit=1)
    left = "\n".join([*sentence[1:], rest]).strip()
    return preview(sentence[0].rstrip(".:"), _TITLE_CHARS), left


def _approach(namespace: str, fields: Mapping[str, str], rest: str) -> tuple[str, ...]:
    """The steps of a task; a pattern's way is one."""
    approach = fields.get("approach", "")
    if namespace == "tasks":
        return _items(approach)
    approach = approach or rest
    return (preview(approach, _TEXT_CHARS),) if approach else ()


def _items(value: str) -> tuple[str, ...]:
    """The entries of a list as people write one: bullets, semicolons, else commas."""
    value = value.strip().strip("[]").strip()
    if _BULLET.search(f"\n{value}"):
        parts: Sequence[str] = _BULLET.split(f"\n{value}")
    else:
        parts = re.split(r"\s*;\s*|\n+", value)
        if len(parts) == 1:
            parts = re.split(r"\s*,\s+(?:and\s+)?", value)
    cleaned = (preview(part.strip(" \t'\"`,.*"), _ITEM_CHARS) for part in parts)
    return tuple(part for part in cleaned if part)[:_MOST_ITEMS]


def _outcome(stated: str, tags: Iterable[str]) -> Outcome:
    words = [*words_of(stated)[:2], *(tag.lower() for tag in tags)]
    for word in words:
        for outcome, names in _OUTCOMES.items():
            if word in names:
                return outcome
    return ""


def _technologies(
    fields: Mapping[str, str], tags: Iterable[str], words: Iterable[str]
) -> tuple[str, ...]:
    named = [technology(one) for one in _items(fields.get("technologies", ""))]
    seen = (word for word in [*(tag.lower() for tag in tags), *words] if word in TECHNOLOGIES)
    return tuple(dict.fromkeys([*named, *map(technology, seen)]))[:_MOST_ITEMS]


def _confidence(text: str, percent: int) -> float:
    try:
        stated = float(text.rstrip("%. "))
    except ValueError:
        return percent / 100
    stated = stated / 100 if stated > 1 else stated
    return stated if 0 <= stated <= 1 else percent / 100


def _keys(
    title: str,
    words: Iterable[str],
    when: Iterable[str],
    technologies: Iterable[str],
    domains: Iterable[str],
) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_all_keys(title, words, when, technologies, domains)))[:_MOST_KEYS]


def _all_keys(
    title: str,
    words: Iterable[str],
    when: Iterable[str],
    technologies: Iterable[str],
    domains: Iterable[str],
) -> Iterator[str]:
    yield from (f"technology:{one}" for one in technologies)
    yield from (f"domain:{one}" for one in domains)
    yield from (f"work:{signal.kind}" for signal in work_signals(title)[:1])
    yield from (word for one in when for word in words_of(one))
    yield from words
