"""The value types that events carry and every room shares: plain, frozen, without behaviour.

Scores named ``relevance`` are absolute, 0.0–1.0, and mean the same in every query; ``order`` only
sorts the hits of one query. Confidences are whole percent. Times are aware UTC ``datetime``.
"""

from __future__ import annotations

import enum
import zlib
from datetime import datetime
from typing import Literal

from msgspec import Struct

from .anchors import Anchor

NAMESPACES: tuple[str, ...] = (
    "decisions",
    "learnings",
    "patterns",
    "blockers",
    "context",
    "progress",
    "tech-debt",
    "preferences",
    "gotchas",
    "tasks",
)

Mode = Literal["hybrid", "text", "vector"]


class IntentType(enum.StrEnum):
    """What kind of search a prompt asks for."""

    HOWTO = "howto"
    LOCATION = "location"
    EXPLANATION = "explanation"
    COMPARISON = "comparison"
    TROUBLESHOOT = "troubleshoot"
    GENERAL = "general"


class DetectionSource(enum.StrEnum):
    """Which classifier contributed to an intent."""

    KEYWORD = "keyword"
    LOCAL = "local"
    LLM = "llm"
    HYBRID = "hybrid"


class WorkKind(enum.StrEnum):
    """What kind of work a prompt asks for."""

    FEATURE = "FEATURE"
    BUGFIX = "BUGFIX"
    REFACTOR = "REFACTOR"
    TEST = "TEST"
    DOCS = "DOCS"
    PERFORMANCE = "PERFORMANCE"
    REVIEW = "REVIEW"
    CHORE = "CHORE"
    QUESTION = "QUESTION"


class Value(Struct, frozen=True, kw_only=True):
    """Base of every value: immutable, named arguments only."""


# --- where ---------------------------------------------------------------------------------------


class Scope(Struct, frozen=True, order=True):
    """Who a memory belongs to: ``id`` is the identity of a project, user or organisation."""

    kind: Literal["project", "user", "org"]
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


class Place(Value, frozen=True, kw_only=True):
    """Where the agent works: the project it is in, and whose memory may be read there.

    ``before`` are scopes that the same project had earlier; nothing new is stored in them.
    """

    project: Scope
    root: str
    user: Scope
    organisation: Scope = Scope("org", "local")
    branch: str | None = None
    before: tuple[Scope, ...] = ()

    @property
    def own(self) -> tuple[Scope, ...]:
        """The project's scope, and those that it had before."""
        return (self.project, *self.before)

    @property
    def readable(self) -> tuple[Scope, ...]:
        """Every scope that a query from this place may read, each once."""
        return tuple(dict.fromkeys((self.project, self.user, self.organisation, *self.before)))


class Provenance(Value, frozen=True, kw_only=True):
    """How a memory came to be. Empty strings mean unknown.

    ``gate`` says in a few words why this version was kept as it is. ``said`` has the ids of the
    passages that it was made from, with spaces between them, where it is no quotation. ``author``
    is the member of the team who wrote it, and empty where it was written on this machine.
    """

    hook: str = ""
    session: str = ""
    client: str = ""
    file: str = ""
    commit: str = ""
    branch: str = ""
    gate: str = ""
    author: str = ""
    said: str = ""


# --- memories ------------------------------------------------------------------------------------


class CleanText(Struct, frozen=True):
    """Text that passed the secret filter.

    Only ``stages/redaction/redact.py`` makes one; a test looks.
    """

    text: str
    redactions: tuple[str, ...] = ()


class Memory(Value, frozen=True, kw_only=True):
    """One version of one memory. ``id`` is ``mem_`` and a ULID; versions count from 1.

    ``sources`` are the captures besides the first that said the same. ``contradicts`` is a memory
    that seems to say otherwise; somebody should decide which of the two holds. ``anchors`` is where
    the code was that it names.
    """

    id: str
    version: int = 1
    scope: Scope
    namespace: str
    content: str
    summary: str
    tags: tuple[str, ...] = ()
    confidence_percent: int = 100
    provenance: Provenance = Provenance()
    created_at: datetime
    updated_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    contradicts: str | None = None
    sources: tuple[Provenance, ...] = ()
    content_hash: str = ""
    anchors: tuple[Anchor, ...] = ()

    @property
    def seen_key(self) -> tuple[str, int]:
        """The id, and a CRC-32 of what is said: a version that only adds anchors says the same."""
        said = f"{self.content}\0{self.summary}\0{self.valid_to}\0{self.superseded_by}"
        return self.id, zlib.crc32(said.encode("utf-8", "surrogatepass"))


class Encoding(Struct, frozen=True):
    """What retrieval needs of a text, computed once at write and kept with the row.

    ``vectors`` is float16, little-endian, shape (passages, dimensions), unit length each;
    ``words`` is uint16 token ids of the model's vocabulary, all passages one after another;
    ``lengths`` is uint16 word counts, one a passage; ``model`` names the embedding they come from
    and is empty where there was none. ``terms`` is uint32, little-endian: the hashes of the stemmed
    words that text search counts, sorted, each as often as it occurs; empty means unknown, and
    then they are made from the text again.
    """

    model: str
    vectors: bytes
    words: bytes
    lengths: bytes
    terms: bytes = b""


class Query(Value, frozen=True, kw_only=True):
    """A search. ``scopes`` is never empty: nothing reads without a scope.

    ``tags`` asks for memories that have all of them; ``since`` and ``until`` bound ``created_at``.
    What is below ``min_relevance`` is not even fetched; ``floors`` has (namespace, relevance) pairs
    for namespaces where that lies elsewhere. A ``broad`` question asks for all there is about
    something: that one memory is ahead of the others does not count then. ``asked`` is the question
    as it was typed, if it was: the best memories are then read with it. ``pasted``: it is a log, a
    trace or the like, of which reading alone makes too much.
    """

    text: str
    scopes: tuple[Scope, ...]
    limit: int = 10
    mode: Mode = "hybrid"
    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    branch: str | None = None
    min_relevance: float = 0.0
    floors: tuple[tuple[str, float], ...] = ()
    broad: bool = False
    asked: str = ""
    pasted: bool = False


class Hit(Value, frozen=True, kw_only=True):
    """A memory found. ``text``, ``late`` and ``vector`` are the raw parts, each 0.0–1.0-ish.

    ``by_words`` is what ``relevance`` was before the memory was read; None if it was not read.
    """

    memory: Memory
    text: float
    late: float
    vector: float
    order: float
    relevance: float
    by_words: float | None = None

    @classmethod
    def unsearched(cls, memory: Memory, relevance: float = 0.0) -> Hit:
        """A memory that was found otherwise than by a search."""
        return cls(memory=memory, text=0.0, late=0.0, vector=0.0, order=0.0, relevance=relevance)


class Recalled(Value, frozen=True, kw_only=True):
    """The answer to a query: best first, with the mode really used and why it is a lesser one.

    ``total`` is how many memories the query's filters let through.
    """

    hits: tuple[Hit, ...]
    mode: Mode
    total: int
    took_ms: float
    degraded: str | None = None


# --- what a prompt says --------------------------------------------------------------------------


class Marked(Value, frozen=True, kw_only=True):
    """An explicit marker: what to keep, and where. ``namespace`` None means detect it."""

    content: str
    marker: str
    namespace: str | None = None
    tag: str | None = None


class Signal(Value, frozen=True, kw_only=True):
    """A phrase that hints at something worth keeping. ``kind`` is a namespace-like word.

    ``namespace`` is where it would be kept.
    """

    kind: str
    phrase: str
    start: int
    end: int
    namespace: str = ""
    confidence_percent: int = 0


AUTO_CAPTURED = "auto-captured"
LEARN = "learn"
"""Stands where a hook does for what was learned from a transcript afterwards."""
UNASKED = frozenset({"Stop", "SubagentStop", "SessionEnd", "PreCompact", "PostToolUse", LEARN})
"""The hooks at which something is kept that nobody asked to keep."""
"""The tag of what nobody asked to be kept."""

EARNED_PERCENT = 95
"""The confidence of what may become a memory by itself; what is merely found has less."""


class Noted(Value, frozen=True, kw_only=True):
    """A statement worth keeping, found in what somebody said.

    ``kind`` is decision, learning, blocker, resolution, preference, progress or pattern; ``text``
    is the statement, the characters from ``start`` to ``end`` of what was read; ``summary`` is a
    sentence of its own of at most 100 characters. ``earned``: it may become a memory by itself;
    anything else is a point for a summary.
    """

    kind: str
    namespace: str
    text: str
    summary: str
    confidence_percent: int
    start: int
    end: int
    earned: bool = False


class WorkSignal(Value, frozen=True, kw_only=True):
    """A word of a prompt that tells what kind of work it asks for, as it is written there."""

    keyword: str
    kind: WorkKind


class Reference(Value, frozen=True, kw_only=True):
    """A phrase that points at something said or done before ("the auth thing", "like last time").

    ``about`` is what it names beside that: words, or for a number the number itself.
    """

    text: str
    kind: Literal["subject", "time", "number"]
    about: str = ""


class Span(Struct, frozen=True):
    """A time from ``since`` on and before ``until``, both aware, in the zone of who asked."""

    since: datetime
    until: datetime


TimeSide = Literal["in", "since", "after", "until", "before"]


class TimeExpression(Struct, frozen=True):
    """Words for a time, in English and lower case; ``kind`` is their rule of the grammar.

    ``side`` tells which part of the time is asked for.
    """

    kind: str
    text: str
    side: TimeSide = "in"


class Retrospect(Value, frozen=True, kw_only=True):
    """A question about a time, or about the whole: what was said then, rather than on a subject.

    ``times`` are all to be met; without any it asks about the ``whole``, or where work was left
    (``left_off``). ``namespaces`` are those that it names. ``subject``: it asks about something in
    particular as well.
    """

    times: tuple[TimeExpression, ...] = ()
    namespaces: tuple[str, ...] = ()
    left_off: bool = False
    subject: bool = False

    @property
    def whole(self) -> bool:
        """Whether it asks for an overview of everything that is remembered."""
        return not (self.times or self.left_off)


class Entity(Value, frozen=True, kw_only=True):
    """Something named: ``kind`` is path, symbol, technology, error, message, version or feature."""

    kind: str
    value: str


class Parsed(Value, frozen=True, kw_only=True):
    """A prompt taken apart. ``text`` has neither markers, private spans nor our own envelope.

    ``query`` is what is searched for, empty where there is nothing to ask. ``pasted``: most of the
    text is a log, a trace or the like; ``question`` is then what was typed beside it and the lines
    that tell what went wrong. Else it is the text, after the prompt before where it needs that to
    be understood.
    """

    text: str
    query: str
    question: str = ""
    pasted: bool = False
    words: tuple[str, ...] = ()
    marked: tuple[Marked, ...] = ()
    signals: tuple[Signal, ...] = ()
    entities: tuple[Entity, ...] = ()
    references: tuple[Reference, ...] = ()
    work: tuple[WorkSignal, ...] = ()
    retrospect: Retrospect | None = None
    machine: bool = False


class Evidence(Value, frozen=True, kw_only=True):
    """A matched search signal: which one, for which type, at which characters of the text."""

    signal: str
    intent: IntentType
    start: int
    end: int


class SearchIntent(Value, frozen=True, kw_only=True):
    """What is searched for. ``arithmetic`` tells how the confidence came about, a step an entry."""

    intent_type: IntentType
    confidence_percent: int
    keywords: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    source: DetectionSource = DetectionSource.KEYWORD
    evidence: tuple[Evidence, ...] = ()
    arithmetic: tuple[str, ...] = ()


class Vote(Value, frozen=True, kw_only=True):
    """One racer's answer: an intent, or None for 'no search intent'; and how long it took.

    ``missing`` is set where the racer gave no answer, and is the reason, a constant.
    """

    racer: DetectionSource
    intent: SearchIntent | None
    took_ms: float
    note: str = ""
    missing: str = ""


# --- what an agent does with a tool ---------------------------------------------------------------


COMMAND_TOOL = "Bash"
"""The tool that runs commands, by Claude Code's name for it."""


class Action(Value, frozen=True, kw_only=True):
    """What a tool is asked to do. All texts are capped.

    ``paths`` are the files that it names, as it names them. ``command`` is what is run, and
    ``purpose`` what the agent says that it is for. ``written`` is what goes into files, and
    ``replaced`` what stood there before; both are whole passages, of which some lines are the same.
    """

    tool: str
    paths: tuple[str, ...] = ()
    command: str = ""
    purpose: str = ""
    written: str = ""
    replaced: str = ""

    @property
    def text(self) -> str:
        """What is written or run."""
        return "\n".join(filter(None, (self.written, self.command)))


# --- what comes back -----------------------------------------------------------------------------


class ProjectFacts(Value, frozen=True, kw_only=True):
    """What the project's own files say about it. Empty where unknown.

    ``sources`` has pairs of a field and the file, from the project's directory on, that said it.
    ``degraded`` says, a constant each, which of the files could not be used as it is.
    """

    name: str = ""
    stack: tuple[str, ...] = ()
    package_manager: str = ""
    test_command: str = ""
    build_command: str = ""
    lint_command: str = ""
    start_command: str = ""
    quirks: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    degraded: tuple[str, ...] = ()


class ProjectAnswer(Value, frozen=True, kw_only=True):
    """What became of a question about the project itself: the ``fact`` that was asked for.

    ``fact`` is a field of ``ProjectFacts``, and ``source`` the file that says it.
    """

    fact: str
    outcome: Literal["shown", "already_shown", "unknown", "no_room"]
    source: str = ""


class Kept(Value, frozen=True, kw_only=True):
    """What became of one capture.

    ``declined``: there was nothing to keep. ``pending``: it is still on its way. ``failed``: the
    store could not take it, and ``reason`` says why. ``contradicts`` is a memory that seems to
    say otherwise, ``supersedes`` one that it has replaced since the text says so itself.
    ``was_forgotten``: this text had been forgotten, and was asked for again.
    """

    outcome: Literal["stored", "merged", "declined", "pending", "failed"]
    namespace: str
    memory_id: str | None = None
    summary: str = ""
    reason: str = ""
    redactions: tuple[str, ...] = ()
    contradicts: str | None = None
    supersedes: str | None = None
    was_forgotten: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether it is committed, or will never be."""
        return self.outcome not in {"pending", "failed"}


class ImportedItem(Value, frozen=True, kw_only=True):
    """What became, or would become, of one memory of an import."""

    outcome: str
    namespace: str
    summary: str


class Verdict(Value, frozen=True, kw_only=True):
    """Why a candidate was injected, or was not. ``score`` is relevance × weight, at most 1.0.

    ``by_words`` is as in ``Hit``.
    """

    memory_id: str
    namespace: str
    summary: str
    text: float
    late: float
    vector: float
    relevance: float
    weight: float
    score: float
    injected: bool
    why: str
    by_words: float | None = None


class InjectedMemory(Value, frozen=True, kw_only=True):
    """A memory as it went into the context. ``score`` is absolute.

    ``content_preview`` is there where somebody asked for details, and empty else.
    """

    id: str
    namespace: str
    content_preview: str
    score: float


class Shown(Value, frozen=True, kw_only=True):
    """A memory that went into a context at a moment that is no prompt, and why.

    ``score`` is absolute, 0.0–1.0; 1.0 where the memory was not searched for.
    """

    memory_id: str
    score: float
    why: str


class MemoryContext(Value, frozen=True, kw_only=True):
    """What the prompt hook reports beside the text it adds."""

    search_intent_detected: bool
    intent_type: str | None = None
    topics: tuple[str, ...] = ()
    injected_memories: tuple[InjectedMemory, ...] = ()
    reminder: str | None = None
    suggested_resources: tuple[str, ...] = ()
