"""What enrichment makes of memories: guides for work, and what of them bears on one prompt.

Scores and confidences here are 0.0–1.0.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .prompts import WorkKind
from .values import Memory, Scope, Value

GUIDES: tuple[str, ...] = ("tasks", "patterns", "gotchas")
"""The namespaces whose memories guide work: what was tried, how it is done, what bites."""

Outcome = Literal["success", "failure", "unfinished", ""]


class Traits(Value, frozen=True, kw_only=True):
    """What something that was asked for is compared by.

    ``subject`` are the fields of what is worked on, ``fields`` those of all that is said.
    """

    words: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    work: WorkKind | None = None


class Guide(Value, frozen=True, kw_only=True):
    """A task, pattern or gotcha, read. What its text does not tell is empty.

    ``keys`` are what it is looked up by: the words of its title, its tags, technologies (as
    ``technology:NAME``) and fields of work (as ``domain:NAME``). ``said_by`` counts the captures
    that said the same.
    """

    memory_id: str
    scope: Scope
    namespace: str
    title: str
    text: str
    approach: tuple[str, ...] = ()
    outcome: Outcome = ""
    files: tuple[str, ...] = ()
    problem: str = ""
    applicable_when: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    technologies: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    traits: Traits = Traits()
    session: str = ""
    confidence: float = 1.0
    said_by: int = 1
    created_at: datetime
    updated_at: datetime
    valid_to: datetime | None = None


class SimilarTask(Value, frozen=True, kw_only=True):
    """A task of before that resembles what is asked: how it was done and how it ended."""

    id: str
    input: str
    similarity: float
    outcome: Outcome
    approach: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    session: str = ""


class ApplicablePattern(Value, frozen=True, kw_only=True):
    """A way of doing things that applies; ``matched`` is what of the prompt it matched."""

    id: str
    name: str
    approach: str
    match_score: float
    confidence: float
    matched: tuple[str, ...] = ()


class Gotcha(Value, frozen=True, kw_only=True):
    """Something that bites with a technology of the project or the prompt."""

    id: str
    tech: str
    title: str
    problem: str


class ResolvedReference(Value, frozen=True, kw_only=True):
    """What a phrase of the prompt points at, and how sure that is."""

    text: str
    id: str
    summary: str
    confidence: float


class RecentWork(Value, frozen=True, kw_only=True):
    """Something of the last days that bears on the prompt."""

    id: str
    namespace: str
    summary: str
    updated_at: datetime


class Suggestion(Value, frozen=True, kw_only=True):
    """What memory speaks for doing, how sure that is, and why."""

    approach: str
    confidence: float
    source: Literal["similar_task", "pattern", "memory"]
    evidence: str


class Side(Value, frozen=True, kw_only=True):
    """One side of a conflict; ``arithmetic`` tells how its ``score`` came about."""

    id: str
    scope: Scope
    summary: str
    score: float
    arithmetic: str


class Conflict(Value, frozen=True, kw_only=True):
    """What the project says and what holds everywhere say otherwise; the ``loser`` is left out."""

    about: Literal["number", "negation", "name"]
    winner: Side
    loser: Side


class Bearing(Value, frozen=True, kw_only=True):
    """A memory that bears on the work that was ordered, how likely, and why."""

    memory: Memory
    relevance: float
    why: str


class Enrichment(Value, frozen=True, kw_only=True):
    """What memory has on a prompt beside the candidates for injection.

    ``existing_paths`` are those paths of the prompt that are there; ``rarity`` weighs its words
    by how rare they are in the scopes it may read, where somebody wants to read that.
    """

    similar_tasks: tuple[SimilarTask, ...] = ()
    applicable_patterns: tuple[ApplicablePattern, ...] = ()
    known_gotchas: tuple[Gotcha, ...] = ()
    resolved_references: tuple[ResolvedReference, ...] = ()
    recent_work: tuple[RecentWork, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    domains: tuple[str, ...] = ()
    existing_paths: tuple[str, ...] = ()
    rarity: tuple[tuple[str, float], ...] = ()
