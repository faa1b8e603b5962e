"""Every event: a fact in the past tense, frozen, complete in itself, with the trace it belongs to.

An event's topic is its type. Events of one prompt, capture or query share a ``trace``.
"""

from __future__ import annotations

from msgspec import Struct

from .values import (
    CleanText,
    Encoding,
    Hit,
    Kept,
    Memory,
    MemoryContext,
    Parsed,
    Place,
    ProjectFacts,
    Provenance,
    Query,
    Recalled,
    Scope,
    SearchIntent,
    Verdict,
    Vote,
)


class Event(Struct, frozen=True, kw_only=True):
    """Base of all events. ``trace`` ties the events of one prompt, capture or query together."""

    trace: str


# --- a prompt ------------------------------------------------------------------------------------


class PromptSubmitted(Event, frozen=True, kw_only=True, tag="prompt.submitted"):
    """The user typed a prompt.

    ``detailed`` asks for metadata beside the client's own fields. A ``rehearsal`` is explained
    only: nothing is stored, and no session remembers it.
    """

    session: str
    client: str
    place: Place
    text: str
    detailed: bool = False
    rehearsal: bool = False


class PromptParsed(Event, frozen=True, kw_only=True, tag="prompt.parsed"):
    """The prompt was taken apart."""

    prompt: PromptSubmitted
    parsed: Parsed


class PromptEnriched(Event, frozen=True, kw_only=True, tag="prompt.enriched"):
    """What is known about the prompt's subject was gathered; explicit captures were settled."""

    prompt: PromptSubmitted
    parsed: Parsed
    project: ProjectFacts
    candidates: tuple[Hit, ...] = ()
    kept: tuple[Kept, ...] = ()
    degraded: tuple[str, ...] = ()


class IntentClassified(Event, frozen=True, kw_only=True, tag="intent.classified"):
    """The race ended. ``intent`` None means: not a search."""

    enriched: PromptEnriched
    intent: SearchIntent | None
    votes: tuple[Vote, ...] = ()


class IntentRefined(Event, frozen=True, kw_only=True, tag="intent.refined"):
    """The model's ``vote`` came after the prompt was answered: ``intent`` is what it makes of it.

    ``classified`` is what the prompt was answered with.
    """

    classified: IntentClassified
    vote: Vote
    intent: SearchIntent | None


class ContextBuilt(Event, frozen=True, kw_only=True, tag="context.built"):
    """What goes to the model was chosen. ``abstained`` says why where ``text`` is empty."""

    classified: IntentClassified
    context: MemoryContext
    text: str
    tokens: int
    verdicts: tuple[Verdict, ...] = ()
    abstained: str | None = None


class ResponseReady(Event, frozen=True, kw_only=True, tag="response.ready"):
    """The answer for the client: JSON it understands. ``built`` is what led to it, for explain."""

    body: bytes
    built: ContextBuilt | None = None


# --- other moments of the agent ------------------------------------------------------------------


class SessionStarted(Event, frozen=True, kw_only=True, tag="session.started"):
    """A session began or went on. ``source`` is startup, resume, clear, compact or fork."""

    session: str
    client: str
    place: Place
    source: str


# --- a capture -----------------------------------------------------------------------------------


class CaptureRequested(Event, frozen=True, kw_only=True, tag="capture.requested"):
    """Somebody asked to keep a text. ``id`` is made by the client, so that a retry stores once."""

    id: str
    text: str
    scope: Scope
    namespace: str | None = None
    tags: tuple[str, ...] = ()
    explicit: bool = True
    confidence_percent: int = 100
    provenance: Provenance = Provenance()


class CaptureDetected(Event, frozen=True, kw_only=True, tag="capture.detected"):
    """The namespace, tags and summary of what is to be kept were settled; not yet redacted."""

    request: CaptureRequested
    namespace: str
    tags: tuple[str, ...]
    content: str


class StoreRequested(Event, frozen=True, kw_only=True, tag="store.requested"):
    """A redacted text is ready to be stored."""

    request: CaptureRequested
    namespace: str
    tags: tuple[str, ...]
    content: CleanText
    summary: CleanText


class MemoryStored(Event, frozen=True, kw_only=True, tag="memory.stored"):
    """A memory, or a new version of one, was committed."""

    memory: Memory
    encoding: Encoding


class MemoryForgotten(Event, frozen=True, kw_only=True, tag="memory.forgotten"):
    """A memory was deleted for good, and the deletion was committed."""

    id: str
    scope: Scope


class ForgetRequested(Event, frozen=True, kw_only=True, tag="forget.requested"):
    """Somebody wants a memory deleted for good, if it is in one of ``scopes``."""

    id: str
    scopes: tuple[Scope, ...]


class ForgetSettled(Event, frozen=True, kw_only=True, tag="forget.settled"):
    """A deletion was committed, or there was nothing to delete."""

    id: str
    found: bool


class CaptureSettled(Event, frozen=True, kw_only=True, tag="capture.settled"):
    """What became of a capture; ``memory`` where it was stored or merged."""

    kept: Kept
    memory: Memory | None = None


# --- a query -------------------------------------------------------------------------------------


class QueryRequested(Event, frozen=True, kw_only=True, tag="query.requested"):
    """Somebody searches."""

    query: Query


class QueryAnswered(Event, frozen=True, kw_only=True, tag="query.answered"):
    """What was found."""

    query: Query
    recalled: Recalled
