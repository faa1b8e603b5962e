"""What is told of one prompt: its intent, what each stage decided about it, and its trace."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Raw, UnsetType, field

from .enrichment import ApplicablePattern, Gotcha, RecentWork, SimilarTask, Suggestion
from .prompts import (
    DetectionSource,
    Evidence,
    IntentType,
    MemoryContext,
    Parsed,
    ProjectAnswer,
    ProjectFacts,
    Verdict,
    WorkKind,
)
from .results import Result, UseResult
from .sessions import SessionVerdict

ABSTAINED = {
    "already_shown": "this session was shown all of it already",
    "disabled": "injection is switched off",
    "in_instructions": "the agent's own files of instructions say it already",
    "low_confidence": "what the prompt asks for is not sure enough",
    "machine_turn": "no person typed the prompt",
    "no_intent": "the prompt does not ask for anything that memory is searched for",
    "no_room": "what is relevant does not fit into the budget",
    "nothing_relevant": "nothing that is remembered is relevant enough",
    "search_unavailable": "memories cannot be searched at the moment",
}
"""Why nothing is injected, in words: what ``abstained`` says as a constant."""


def why_nothing(abstained: str) -> str:
    """``abstained`` in words; one that has none, as of a newer daemon, as it is."""
    return ABSTAINED.get(abstained, abstained)


class IntentResult(Result, frozen=True, kw_only=True):
    """A search intent. Without one, ``intent_type`` is None and what follows it is missing."""

    search_intent_detected: bool
    intent_type: IntentType | None
    confidence: float
    topics: tuple[str, ...] | UnsetType = UNSET
    keywords: tuple[str, ...] | UnsetType = UNSET
    source: DetectionSource | UnsetType = UNSET
    evidence: tuple[Evidence, ...] | UnsetType = UNSET
    arithmetic: tuple[str, ...] | UnsetType = UNSET


class VoteResult(IntentResult, frozen=True, kw_only=True):
    """What one classifier said, and how long it took."""

    racer: DetectionSource
    took_ms: float
    note: str


class ClassifyResult(IntentResult, frozen=True, kw_only=True):
    """``classify``: the merged intent, and each classifier's vote."""

    text: str
    votes: tuple[VoteResult, ...]


class IntentSignal(Result, frozen=True, kw_only=True):
    """A word that tells what kind of work is asked for."""

    keyword: str
    type: WorkKind


class NamedEntity(Result, frozen=True, kw_only=True):
    """Something that the prompt names; a path says whether it ``exists`` in the project."""

    type: str
    value: str
    exists: bool | UnsetType = UNSET


class PromptReference(Result, frozen=True, kw_only=True):
    """A phrase that refers to something said or done before."""

    text: str
    kind: str
    scope: str
    resolved: bool


class RetrievalWord(Result, frozen=True, kw_only=True):
    """A word that is searched for; ``rarity`` is None where it was not looked up."""

    word: str
    rarity: float | None


class ProjectResult(Result, frozen=True, kw_only=True):
    """What the project's own files say about it; empty where unknown."""

    name: str
    stack: str
    test_cmd: str
    build_cmd: str
    lint_cmd: str
    quirks: tuple[str, ...]


class Referent(Result, frozen=True, kw_only=True):
    """The memory that a reference was resolved to."""

    id: str
    summary: str


class Resolved(Result, frozen=True, kw_only=True):
    """A reference with what it refers to."""

    text: str
    resolved_to: Referent
    confidence: float


class PromptMemory(Result, frozen=True, kw_only=True):
    """What memory has on a prompt beside the candidates for injection."""

    similar_tasks: tuple[SimilarTask, ...]
    applicable_patterns: tuple[ApplicablePattern, ...]
    known_gotchas: tuple[Gotcha, ...]
    resolved_references: tuple[Resolved, ...]
    recent_work: tuple[RecentWork, ...]


class ConflictSide(Result, frozen=True, kw_only=True):
    """One side of a conflict, and how its score came about."""

    id: str
    scope: str
    summary: str
    score: float
    arithmetic: str


class ConflictResult(Result, frozen=True, kw_only=True):
    """Two memories that say otherwise; the ``loser`` is left out."""

    about: str
    winner: ConflictSide
    loser: ConflictSide


class EnrichedIntent(Result, frozen=True, kw_only=True):
    """What was understood of a prompt, and what memory has on it."""

    raw_input: str
    primary_intent: WorkKind | None
    intent_signals: tuple[IntentSignal, ...]
    entities: tuple[NamedEntity, ...]
    references: tuple[PromptReference, ...]
    retrieval_words: tuple[RetrievalWord, ...]
    domains: tuple[str, ...]
    project: ProjectResult
    memory: PromptMemory
    suggestions: tuple[Suggestion, ...]
    conflicts: tuple[ConflictResult, ...]
    context_tokens: int


class EnrichStep(Result, frozen=True, kw_only=True):
    """What enrichment found; ``degraded`` names what could not be done."""

    project: ProjectFacts
    candidates: int
    degraded: tuple[str, ...]


class InjectStep(Result, frozen=True, kw_only=True):
    """What was injected: tokens, or why nothing, and a verdict a candidate and a session.

    ``answers`` are the facts of the project that the prompt asked for, ``uses`` what became
    of those candidates before that were shown before.
    """

    tokens: int
    abstained: str | None
    verdicts: tuple[Verdict, ...]
    sessions: tuple[SessionVerdict, ...]
    answers: tuple[ProjectAnswer, ...] = ()
    uses: tuple[UseResult, ...] = ()


class ExplainResult(Result, frozen=True, kw_only=True):
    """``explain``: what each stage decided and took, and what would be sent to the agent."""

    prompt: str
    project: str
    trace: str
    stages_ms: dict[str, float]
    parse: Parsed
    enrich: EnrichStep
    enriched_intent: EnrichedIntent
    classify: ClassifyResult
    inject: InjectStep
    context: str
    memory_context: MemoryContext
    response: Raw


# --- the trace of a prompt -----------------------------------------------------------------------


class TracedPrompt(Result, frozen=True, kw_only=True):
    """What a prompt was, by a hash and counts. ``entities`` are counted by kind."""

    sha256: str
    characters: int
    machine: bool = False
    work: tuple[str, ...] = ()
    entities: dict[str, int] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    markers: int = 0


class TracedSide(Result, frozen=True, kw_only=True):
    """A memory of a conflict; ``score`` tells how it came about."""

    id: str
    score: str


class TracedConflict(Result, frozen=True, kw_only=True):
    """A conflict that was resolved."""

    about: str = ""
    winner: TracedSide
    loser: TracedSide


class TracedCapture(Result, frozen=True, kw_only=True):
    """What became of a marker."""

    outcome: str
    id: str | None


class TracedEnrichment(Result, frozen=True, kw_only=True):
    """What was found, by id; tasks, patterns and references with how sure they are."""

    candidates: int
    similar_tasks: dict[str, float] = field(default_factory=dict)
    patterns: dict[str, float] = field(default_factory=dict)
    gotchas: tuple[str, ...] = ()
    resolved: dict[str, float] = field(default_factory=dict)
    conflicts: tuple[TracedConflict, ...] = ()
    kept: tuple[TracedCapture, ...] = ()
    degraded: tuple[str, ...] = ()


class TracedVote(Result, frozen=True, kw_only=True):
    """What one classifier said, or why it said nothing (``missing``)."""

    racer: str
    intent_type: str | None
    confidence: float = 0.0
    missing: str | None
    took_ms: float


class TracedIntent(Result, frozen=True, kw_only=True):
    """What the prompt was classified as; no ``intent_type`` where it is no search."""

    intent_type: str | None
    confidence: float
    source: str | None
    votes: tuple[TracedVote, ...] = ()


class TracedVerdict(Result, frozen=True, kw_only=True):
    """Why a memory was injected, or was not."""

    id: str
    relevance: float = 0.0
    weight: float = 0.0
    injected: bool
    why: str


class TracedSession(Result, frozen=True, kw_only=True):
    """Why an earlier session was quoted, or was not."""

    id: str
    began_at: datetime
    relevance: float = 0.0
    quoted: bool
    why: str


class TracedInjection(Result, frozen=True, kw_only=True):
    """What was injected. Older versions wrote no ``sessions`` and no ``answers``."""

    tokens: int
    abstained: str | None
    memories: tuple[str, ...] = ()
    verdicts: tuple[TracedVerdict, ...] = ()
    sessions: tuple[TracedSession, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)


class TracedText(Result, frozen=True, kw_only=True):
    """Redacted text, where ``trace.keep_text`` is set."""

    prompt: str
    words: str = ""
    topics: tuple[str, ...] = ()
    context: str = ""


class Trace(Result, frozen=True, kw_only=True):
    """A line of the log of prompts. ``took_ms`` is the sum of ``stages_ms``."""

    id: str
    time: datetime
    project: str
    session: str = ""
    client: str = ""
    prompt: TracedPrompt
    enrich: TracedEnrichment
    classify: TracedIntent
    inject: TracedInjection
    stages_ms: dict[str, float]
    took_ms: float = 0.0
    text: TracedText | UnsetType = UNSET
