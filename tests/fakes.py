"""The ports of the stages, fulfilled by plain objects that remember what they were asked."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import structs

from subcog.bus.enrichment import Guide
from subcog.bus.events import (
    ContextBuilt,
    IntentClassified,
    PromptEnriched,
    PromptParsed,
    PromptSubmitted,
)
from subcog.bus.prompts import (
    DetectionSource,
    IntentType,
    Marked,
    MemoryContext,
    Parsed,
    ProjectFacts,
    SearchIntent,
    Vote,
)
from subcog.bus.values import Hit, Kept, Memory, Place, Query, Recalled, Scope
from subcog.config.load import DEFAULTS
from subcog.config.settings import SearchIntentSettings, SessionsSettings
from subcog.sinks.project.identity import Projects
from subcog.stages.breaches.stated import warning_keys
from subcog.stages.enrichment.guide_parser import read_guide

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PROJECT = Scope("project", "shop-0123456789ab")
PLACE = Place(project=PROJECT, root="/src/shop", user=Scope("user", "u"), branch="main")


class OffTheLoop(Projects):
    """Projects on a disk that may hang, so that the event loop's thread must not look at it."""

    def _located(self, start):
        assert threading.current_thread() is not threading.main_thread()
        return super()._located(start)


@dataclass
class FixedClock:
    """Stands still until it is moved."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass
class FakeRecall:
    """Answers every query with the same hits, or raises; ``gate`` is awaited first."""

    hits: Sequence[Hit] = ()
    memories: Sequence[Memory] = ()
    raises: Exception | None = None
    degraded: str | None = None
    gate: object | None = None
    queries: list[Query] = field(default_factory=list)

    async def recall(self, query: Query) -> Recalled:
        self.queries.append(query)
        if self.gate is not None:
            await self.gate.wait()
        if self.raises is not None:
            raise self.raises
        hits = tuple(hit for hit in self.hits if hit.memory.scope in query.scopes)[: query.limit]
        return Recalled(
            hits=hits, mode="hybrid", total=len(self.hits), took_ms=0.1, degraded=self.degraded
        )

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        if self.raises is not None:
            raise self.raises
        found = [
            memory
            for memory in self.memories
            if memory.scope in scopes and (not namespaces or memory.namespace in namespaces)
        ]
        found.sort(key=lambda memory: memory.created_at, reverse=True)
        return tuple(found[:limit])


@dataclass
class FakeCatalogue:
    """Knows ``memories``; of the files that they name, those that provenance gives."""

    memories: Sequence[Memory] = ()
    topics: Sequence[str] = ()
    raises: Exception | None = None

    async def fetch(self, ids: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        if self.raises is not None:
            raise self.raises
        known = {memory.id: memory for memory in self.memories if memory.scope in scopes}
        return tuple(known[id_] for id_ in ids if id_ in known)

    async def naming(self, file: str, scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        if self.raises is not None:
            raise self.raises
        return tuple(m for m in self.memories if m.scope in scopes and _names(m, file))

    async def subjects(self, scopes: tuple[Scope, ...], *, limit: int) -> tuple[str, ...]:
        if self.raises is not None:
            raise self.raises
        return tuple(self.topics[:limit])


@dataclass
class FakeWarnings:
    """Knows the keys of ``memories``."""

    memories: Sequence[Memory] = ()

    async def warning(self, keys: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return tuple(
            memory
            for memory in self.memories
            if memory.scope in scopes and set(warning_keys(memory)) & set(keys)
        )

    async def sharing(
        self, keys: Sequence[str], scopes: tuple[Scope, ...], *, among: str
    ) -> tuple[tuple[Memory, float], ...]:
        shared = {memory.id: set(warning_keys(memory)) & set(keys) for memory in self.memories}
        found = ((memory, 3.0 * len(shared[memory.id])) for memory in self.memories)
        return tuple((memory, much) for memory, much in found if much and memory.scope in scopes)


def _names(memory: Memory, file: str) -> bool:
    return memory.provenance.file.endswith(file) or file in memory.content


@dataclass
class FakeKeeper:
    """Keeps everything at once; ``gate`` is awaited first."""

    outcome: str = "stored"
    gate: object | None = None
    kept: list[tuple[int, Marked]] = field(default_factory=list)

    async def keep(self, marked: Marked, *, prompt: PromptSubmitted, number: int) -> Kept:
        self.kept.append((number, marked))
        if self.gate is not None:
            await self.gate.wait()
        return Kept(
            outcome=self.outcome,
            namespace=marked.namespace or "learnings",
            memory_id=f"mem_{number:026d}",
            summary=marked.content,
        )


@dataclass
class FakeProjects:
    """Knows one project."""

    known: ProjectFacts = field(default_factory=lambda: ProjectFacts(name="shop"))
    asked: list[str] = field(default_factory=list)

    there: Sequence[str] = ()

    def facts(self, root: str) -> ProjectFacts:
        self.asked.append(root)
        return self.known

    def existing(self, root: str, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if path in self.there)


@dataclass
class FakeGuides:
    """Finds every guide it was given, or raises; texts are as near as ``near`` says."""

    guides: Sequence[Guide] = ()
    near: float | None = None
    raises: Exception | None = None
    asked: list[object] = field(default_factory=list)

    async def find(self, scopes: tuple[Scope, ...], keys: object) -> tuple[Guide, ...]:
        self.asked.append((scopes, keys))
        if self.raises is not None:
            raise self.raises
        return tuple(self.guides)

    def read(self, memory: Memory) -> Guide:
        return read_guide(memory)

    def cosines(self, text: str, others: Sequence[str]) -> tuple[float | None, ...]:
        return (self.near,) * len(others)

    def rarity(
        self, words: Sequence[str], scopes: tuple[Scope, ...]
    ) -> tuple[tuple[str, float], ...]:
        return tuple((word, 0.5) for word in words)


@dataclass
class FakeSessions:
    """Remembers everything for ever."""

    seen: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    emptied: dict[str, Sequence[str]] = field(default_factory=dict)
    greeted: set[str] = field(default_factory=set)
    warnings: dict[str, set[tuple[str, int]]] = field(default_factory=dict)

    def warned(self, session: str) -> frozenset[tuple[str, int]]:
        return frozenset(self.warnings.get(session, ()))

    def warn(self, session: str, warned: frozenset[tuple[str, int]], *, by: str = "") -> None:
        self.warnings.setdefault(session, set()).update(warned)

    def shown(self, session: str) -> frozenset[tuple[str, int]]:
        return frozenset(self.seen.get(session, ()))

    def show(self, session: str, shown: frozenset[tuple[str, int]], *, by: str = "") -> None:
        self.seen.setdefault(session, set()).update(shown)

    def lost(self, session: str) -> tuple[str, ...]:
        return tuple(self.emptied.get(session, ()))

    def is_greeted(self, session: str) -> bool:
        return session in self.greeted

    def greet(self, session: str, *, by: str = "") -> None:
        self.greeted.add(session)


def make_settings(enabled: bool = True, **context: object) -> SearchIntentSettings:
    """The default settings of search intents, with changes to ``[search_intent.context]``."""
    section = tomllib.loads(DEFAULTS.read_text(encoding="utf-8"))["search_intent"]
    section["enabled"] = enabled
    section["context"] |= context
    return msgspec.convert(section, SearchIntentSettings)


def make_quoting(**changes: object) -> SessionsSettings:
    """The default settings of sessions, with ``changes``."""
    section = tomllib.loads(DEFAULTS.read_text(encoding="utf-8"))["sessions"]
    return msgspec.convert(section | changes, SessionsSettings)


def make_memory(number: int = 1, content: str = "", **changes: object) -> Memory:
    """A memory whose words are its own, unless ``content`` is given."""
    text = content or f"alpha{number}x beta{number}x gamma{number}x delta{number}x"
    fields = {
        "id": f"mem_{number:026d}",
        "scope": PROJECT,
        "namespace": "decisions",
        "content": text,
        "summary": text[:80],
        "created_at": NOW - timedelta(days=number),
        "updated_at": NOW - timedelta(days=number),
    }
    return Memory(**(fields | changes))


def make_hit(memory: Memory | None = None, relevance: float = 0.7, **changes: object) -> Hit:
    """A hit with this relevance."""
    parts = {"text": 0.5, "late": 0.4, "vector": 0.6, "order": relevance}
    return Hit(memory=memory or make_memory(), relevance=relevance, **(parts | changes))


def make_hits(count: int, relevance: float = 0.7) -> tuple[Hit, ...]:
    """Hits that say different things, each a little less relevant than the one before."""
    return tuple(
        make_hit(make_memory(number), relevance - number / 10_000) for number in range(count)
    )


def make_prompt(text: str = "how do I hash passwords?", **changes: object) -> PromptSubmitted:
    """A prompt in a session of Claude Code."""
    fields = {"trace": "t1", "session": "s1", "client": "claude-code", "place": PLACE}
    return PromptSubmitted(text=text, **(fields | changes))


def make_parsed(prompt: PromptSubmitted | None = None, **changes: object) -> PromptParsed:
    """A parsed prompt; ``changes`` are fields of ``Parsed``."""
    prompt = prompt or make_prompt()
    fields = {"text": prompt.text, "query": prompt.text, "words": ("hash", "passwords")} | changes
    parsed = Parsed(**({"question": fields["text"]} | fields))
    return PromptParsed(trace=prompt.trace, prompt=prompt, parsed=parsed)


def make_intent(confidence_percent: int = 65, **changes: object) -> SearchIntent:
    """A search intent that is this sure."""
    fields = {"intent_type": IntentType.HOWTO, "topics": ("password hashing",)}
    return SearchIntent(confidence_percent=confidence_percent, **(fields | changes))


def make_classified(
    hits: Sequence[Hit] = (),
    intent: SearchIntent | None = None,
    *,
    parsed: PromptParsed | None = None,
    kept: Sequence[Kept] = (),
    degraded: Sequence[str] = (),
) -> IntentClassified:
    """A classified prompt with these candidates, of which the keywords alone say what it asks."""
    parsed = parsed or make_parsed()
    enriched = PromptEnriched(
        trace=parsed.trace,
        prompt=parsed.prompt,
        parsed=parsed.parsed,
        project=ProjectFacts(),
        candidates=tuple(hits),
        kept=tuple(kept),
        degraded=tuple(degraded),
    )
    vote = Vote(racer=DetectionSource.KEYWORD, intent=intent, took_ms=0.0)
    return IntentClassified(trace=parsed.trace, enriched=enriched, intent=intent, votes=(vote,))


def make_built(
    classified: IntentClassified | None = None, text: str = "", **changes: object
) -> ContextBuilt:
    """A built context with this text."""
    classified = classified or make_classified()
    fields = {"context": MemoryContext(search_intent_detected=False), "tokens": len(text) // 4}
    return ContextBuilt(
        trace=classified.trace, classified=classified, text=text, **(fields | changes)
    )


_BLANK = {"str": "", "int": 0, "bool": False, "float": 0.0, "tuple": (), "dict": {}}


def make_result(kind, fields=()):
    """An answer of the daemon with these ``fields`` of its JSON; the others are empty."""
    blank = {
        field.name: _BLANK.get(
            getattr(getattr(field.type, "__origin__", field.type), "__name__", "")
        )
        for field in structs.fields(kind)
        if field.required
    }
    return msgspec.convert(blank | dict(fields), kind)
