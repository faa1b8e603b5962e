"""Every event: a fact in the past tense, frozen, complete in itself, with the trace it belongs to.

An event's topic is its type. Events of one prompt, capture or query share a ``trace``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from .anchors import Anchor, CodeState
from .enrichment import Bearing, Enrichment
from .prompts import (
    MemoryContext,
    Parsed,
    ProjectAnswer,
    ProjectFacts,
    SearchIntent,
    Span,
    Verdict,
    Vote,
)
from .sessions import SessionHit, SessionVerdict
from .triggers import Trigger
from .values import (
    Action,
    CleanText,
    Encoding,
    Hit,
    ImportedItem,
    Kept,
    Memory,
    Place,
    Provenance,
    Query,
    Recalled,
    Scope,
    Shown,
)


class Event(Struct, frozen=True, kw_only=True):
    """Base of all events. ``trace`` ties the events of one prompt, capture or query together."""

    trace: str


class AgentEvent(Event, frozen=True, kw_only=True):
    """Base of what an agent's hook tells: in which session of which client, and where."""

    session: str
    client: str
    place: Place


# --- a prompt ------------------------------------------------------------------------------------


class PromptSubmitted(AgentEvent, frozen=True, kw_only=True, tag="prompt.submitted"):
    """The user typed a prompt. ``before`` is the beginning of the one before it in this session.

    ``begins``: the session started anew, and this is its first prompt.
    ``detailed`` asks for metadata beside the client's own fields. A ``rehearsal`` is explained
    only: nothing is stored, and no session remembers it.
    """

    text: str
    before: str = ""
    begins: bool = False
    detailed: bool = False
    rehearsal: bool = False


class PromptParsed(Event, frozen=True, kw_only=True, tag="prompt.parsed"):
    """The prompt was taken apart."""

    prompt: PromptSubmitted
    parsed: Parsed


class PromptEnriched(Event, frozen=True, kw_only=True, tag="prompt.enriched"):
    """What is known about the prompt's subject was gathered; explicit captures were settled.

    ``bearing`` is what should be known before the work that the prompt orders. ``code`` tells by
    the id of a memory what became of the code that it names. ``looked_up``: the candidates were not
    searched for by words, since the prompt asks about a time or the whole; ``span`` is that time.
    """

    prompt: PromptSubmitted
    parsed: Parsed
    project: ProjectFacts
    enrichment: Enrichment = Enrichment()
    bearing: tuple[Bearing, ...] = ()
    candidates: tuple[Hit, ...] = ()
    code: Mapping[str, CodeState] = {}
    sessions: tuple[SessionHit, ...] = ()
    looked_up: bool = False
    span: Span | None = None
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
    """What goes to the model was chosen.

    ``abstained`` says why where ``text`` quotes nothing: it is empty then, or at most names where
    there is more. ``answers`` tells what became of each fact of the project that was asked for.
    """

    classified: IntentClassified
    context: MemoryContext
    text: str
    tokens: int
    verdicts: tuple[Verdict, ...] = ()
    sessions: tuple[SessionVerdict, ...] = ()
    answers: tuple[ProjectAnswer, ...] = ()
    abstained: str | None = None


class ResponseReady(Event, frozen=True, kw_only=True, tag="response.ready"):
    """The answer for the client: JSON it understands. ``built`` is what led to it, for explain."""

    body: bytes
    built: ContextBuilt | None = None


# --- other moments of the agent ------------------------------------------------------------------


class SessionStarted(AgentEvent, frozen=True, kw_only=True, tag="session.started"):
    """A session began or went on. ``source`` is startup, resume, clear, compact or fork."""

    source: str


class ActionProposed(AgentEvent, frozen=True, kw_only=True, tag="action.proposed"):
    """The agent is about to use a tool; whatever is answered, it does.

    ``agent`` names a sub-agent and is empty for the session's own.
    """

    action: Action
    agent: str = ""
    detailed: bool = False


class ToolUsed(AgentEvent, frozen=True, kw_only=True, tag="tool.used"):
    """The agent used a tool, and it worked. ``agent`` is as in ``ActionProposed``.

    ``unfinished``: it goes on in the background, was stopped, or nobody knows how it ended.
    """

    action: Action
    agent: str = ""
    detailed: bool = False
    unfinished: bool = False


class ToolFailed(AgentEvent, frozen=True, kw_only=True, tag="tool.failed"):
    """The agent used a tool, and it failed with ``error``.

    ``hook`` is the one that reported it, and that an answer has to name. ``interrupted``: somebody
    stopped it.
    """

    action: Action
    error: str
    hook: str = "PostToolUseFailure"
    agent: str = ""
    detailed: bool = False
    interrupted: bool = False


class MemoriesShown(Event, frozen=True, kw_only=True, tag="memories.shown"):
    """Memories of ``scopes`` went into a session's context at a ``hook`` that is no prompt.

    The first of ``scopes`` is the project's.
    """

    session: str
    hook: str
    shown: tuple[Shown, ...]
    scopes: tuple[Scope, ...] = ()


class CompactionStarted(AgentEvent, frozen=True, kw_only=True, tag="compaction.started"):
    """The session's context is about to be summarised. ``transcript`` is a file's path, or empty.

    ``trigger`` is manual or auto.
    """

    transcript: str
    trigger: str = ""


class TurnEnded(AgentEvent, frozen=True, kw_only=True, tag="turn.ended"):
    """The agent, or the sub-agent named ``agent``, is done with what it was asked.

    ``said`` is its last word, which may not stand in the transcript yet.
    """

    transcript: str
    agent: str = ""
    said: str = ""


class SessionEnded(AgentEvent, frozen=True, kw_only=True, tag="session.ended"):
    """A session is over, for a ``reason`` in the client's own words."""

    transcript: str
    reason: str = ""


class ReviewRequested(AgentEvent, frozen=True, kw_only=True, tag="review.requested"):
    """Somebody wants what was said in a session since the last review looked through.

    ``hook`` is the moment that led to it. ``agent`` and ``said`` are as in ``TurnEnded``; ``last``
    says that nothing follows in this session, ``again`` that what was read before is read too.
    """

    transcript: str
    hook: str
    agent: str = ""
    said: str = ""
    last: bool = False
    again: bool = False


class SessionReviewed(AgentEvent, frozen=True, kw_only=True, tag="session.reviewed"):
    """A session is over, and all of it was read."""


# --- a capture -----------------------------------------------------------------------------------


class CaptureRequested(Event, frozen=True, kw_only=True, tag="capture.requested"):
    """Somebody asked to keep a text. ``id`` is made by the client, so that a retry stores once.

    The text may concern a memory of the same scope: it becomes the next version of ``revises``,
    or takes the place of ``supersedes``, which stays and is marked. ``said_at`` is when it was
    said, where that is known and not now. ``verbatim``: a text that is merely alike is another
    memory, although nobody asked to keep this one. ``root`` is where the project is on this
    machine; without it, what the text names is not looked for. ``own_words``: the user said it, so
    that what it says is no more is superseded. ``own_namespace``: the user named the namespace, so
    that a memory with this text moves to it. ``brings_back`` is a memory that was forgotten and is
    taken back by this one, which has the summary and the anchors that it had. ``questions`` and
    ``triggers`` are as in ``Memory``; None leaves a revised memory those that it has, if its text
    mostly stays. ``before`` are the scopes that its project had earlier: what was forgotten in
    them is not kept unasked. ``made_from`` is the version of ``revises`` that a revision was made
    from; where what it says or its place changed since, the revision is declined. None: it is
    written whatever it finds.
    """

    id: str
    text: str
    scope: Scope
    before: tuple[Scope, ...] = ()
    namespace: str | None = None
    tags: tuple[str, ...] = ()
    explicit: bool = True
    confidence_percent: int = 100
    provenance: Provenance = Provenance()
    revises: str | None = None
    made_from: int | None = None
    supersedes: str | None = None
    said_at: datetime | None = None
    verbatim: bool = False
    root: str = ""
    own_words: bool = False
    own_namespace: bool = False
    brings_back: str = ""
    summary: str = ""
    anchors: tuple[Anchor, ...] = ()
    questions: tuple[str, ...] | None = None
    triggers: tuple[Trigger, ...] | None = None


class CaptureDetected(Event, frozen=True, kw_only=True, tag="capture.detected"):
    """The namespace, tags and summary of what is to be kept were settled; not yet redacted."""

    request: CaptureRequested
    namespace: str
    tags: tuple[str, ...]
    content: str
    questions: tuple[str, ...] | None = None
    triggers: tuple[Trigger, ...] | None = None


class StoreRequested(Event, frozen=True, kw_only=True, tag="store.requested"):
    """A redacted text is ready to be stored."""

    request: CaptureRequested
    namespace: str
    tags: tuple[str, ...]
    content: CleanText
    summary: CleanText
    questions: tuple[str, ...] | None = None
    triggers: tuple[Trigger, ...] | None = None


class MemoriesStored(Event, frozen=True, kw_only=True, tag="memories.stored"):
    """Memories, or new versions of them, were committed in one transaction.

    ``stored`` are pairs of a memory and its encoding, in the order in which they apply.
    """

    stored: tuple[tuple[Memory, Encoding], ...]


class TextStored(Event, frozen=True, kw_only=True, tag="text.stored"):
    """The text of ``memory`` was committed and acknowledged: who reads it again may take long.

    ``root`` is the directory of its project; empty where no code of one is to be looked for.
    """

    memory: Memory
    root: str = ""


class MemoryForgotten(Event, frozen=True, kw_only=True, tag="memory.forgotten"):
    """A memory was deleted for good, and the deletion was committed."""

    id: str
    scope: Scope


class ForgetRequested(Event, frozen=True, kw_only=True, tag="forget.requested"):
    """Somebody wants a memory deleted for good, if it is in one of ``scopes``.

    And if ``version`` is its present one, where that is given.
    """

    id: str
    scopes: tuple[Scope, ...]
    version: int | None = None


class ForgetSettled(Event, frozen=True, kw_only=True, tag="forget.settled"):
    """A deletion was committed, or there was nothing to delete."""

    id: str
    found: bool


class CaptureSettled(Event, frozen=True, kw_only=True, tag="capture.settled"):
    """What became of a capture; ``memory`` where it was stored or merged.

    ``other`` is a memory that seems to say otherwise.
    """

    kept: Kept
    memory: Memory | None = None
    other: Memory | None = None


# --- the life of a memory -----------------------------------------------------------------------


class SupersedeRequested(Event, frozen=True, kw_only=True, tag="supersede.requested"):
    """Somebody says that the memory ``new`` takes the place of ``old``, both in ``scopes``.

    ``instead_of`` is the one that did so before, and was forgotten.
    """

    old: str
    new: str
    scopes: tuple[Scope, ...]
    instead_of: str | None = None


class ExpireRequested(Event, frozen=True, kw_only=True, tag="expire.requested"):
    """Somebody says until when a memory holds; ``at`` None means until now."""

    id: str
    scopes: tuple[Scope, ...]
    at: datetime | None = None


class RestoreRequested(Event, frozen=True, kw_only=True, tag="restore.requested"):
    """Somebody wants a memory back in force, as it is or as its ``version`` was.

    ``undoes``: what was done to it since was a mistake, so it is as old as that version was.
    """

    id: str
    scopes: tuple[Scope, ...]
    version: int | None = None
    undoes: bool = False


class ChangeSettled(Event, frozen=True, kw_only=True, tag="change.settled"):
    """What became of a change: the new version of ``memory``, or None and the ``reason``.

    ``missing`` names an id that is in none of the scopes.
    """

    memory: Memory | None = None
    reason: str = ""
    missing: str | None = None


# --- many at once --------------------------------------------------------------------------------


class Draft(Struct, frozen=True, kw_only=True):
    """A memory to import. ``known_by_id``: it was ours before; else its text is what it is.

    ``as_new``: it changes no memory that is here, and gets an id of its own. ``before`` are the
    scopes that its project had earlier: what was forgotten in them stays forgotten.
    """

    memory: Memory
    before: tuple[Scope, ...] = ()
    known_by_id: bool = False
    as_new: bool = False


class Admitted(Struct, frozen=True, kw_only=True):
    """A draft that passed the secret filter. The texts of ``draft`` are empty, these count."""

    draft: Draft
    content: CleanText
    summary: CleanText


class ImportRequested(Event, frozen=True, kw_only=True, tag="import.requested"):
    """Somebody imports. A ``rehearsal`` stores nothing."""

    drafts: tuple[Draft, ...]
    rehearsal: bool = False


class ImportAdmitted(Event, frozen=True, kw_only=True, tag="import.admitted"):
    """What is to be imported passed the secret filter; so many drafts were ``declined``."""

    admitted: tuple[Admitted, ...]
    declined: int = 0
    rehearsal: bool = False


class ImportSettled(Event, frozen=True, kw_only=True, tag="import.settled"):
    """How many drafts came to which end, and in how many something was redacted.

    Of a rehearsal, what would become of each of the ``items`` that are not declined.
    """

    outcomes: Mapping[str, int]
    redacted: int = 0
    items: tuple[ImportedItem, ...] = ()


# --- a query -------------------------------------------------------------------------------------


class QueryRequested(Event, frozen=True, kw_only=True, tag="query.requested"):
    """Somebody searches."""

    query: Query


class QueryAnswered(Event, frozen=True, kw_only=True, tag="query.answered"):
    """What was found."""

    query: Query
    recalled: Recalled
