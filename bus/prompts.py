"""What a prompt says, what it searches for, and what it was given: plain, frozen values.

Confidences are whole percent. Relevances and scores are absolute, 0.0–1.0.
"""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Literal

from msgspec import Struct

from .values import Value

BLOCKS = (
    "system-reminder",
    "system-note",
    "hook_context",
    "response_guidance",
    "ide_selection",
    "ide_opened_file",
)
"""What agents call what they add; ``hook_context`` and ``response_guidance`` hold our own words."""

MACHINE_BLOCKS = (
    "task-notification",
    "command-name",
    "command-message",
    "command-args",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user-prompt-submit-hook",
    "user-memory-input",
    "teammate-message",
    "cross-session-message",
    "webhook-payload",
    "fork-boilerplate",
)
"""What agents call a turn that no person wrote; ``local-command-…`` and ``channel`` are others."""


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
    particular as well. ``still_open``: of blockers and tasks, only what is not dealt with yet.
    """

    times: tuple[TimeExpression, ...] = ()
    namespaces: tuple[str, ...] = ()
    left_off: bool = False
    subject: bool = False
    still_open: bool = False

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
    be understood. ``before`` is that prompt where this one asks the same of another ``subject``
    ("and the database?"), which has the words for it. ``parts`` is what is searched for
    instead of the question, if not that alone: the questions that it asks one after another, or it
    and those within it, and what means the same ("npm or pnpm?" for "which package manager?").
    ``typed`` is what the person wrote where words of ``text`` were misspelt, which are corrected in
    it; else empty. ``refused`` is what stands behind a marker in somebody else's text, and is
    not kept. ``empty`` are the markers with nothing to keep. ``incident_dates`` are the days and
    months of which it asks what happened then.
    """

    text: str
    query: str
    typed: str = ""
    question: str = ""
    before: str = ""
    subject: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    pasted: bool = False
    words: tuple[str, ...] = ()
    marked: tuple[Marked, ...] = ()
    refused: tuple[Marked, ...] = ()
    empty: tuple[str, ...] = ()
    signals: tuple[Signal, ...] = ()
    entities: tuple[Entity, ...] = ()
    references: tuple[Reference, ...] = ()
    work: tuple[WorkSignal, ...] = ()
    retrospect: Retrospect | None = None
    incident_dates: tuple[TimeExpression, ...] = ()
    machine: bool = False

    @property
    def as_typed(self) -> str:
        """The text in the person's own spelling."""
        return self.typed or self.text


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


class MemoryContext(Value, frozen=True, kw_only=True):
    """What the prompt hook reports beside the text it adds."""

    search_intent_detected: bool
    intent_type: str | None = None
    topics: tuple[str, ...] = ()
    injected_memories: tuple[InjectedMemory, ...] = ()
    reminder: str | None = None
    suggested_resources: tuple[str, ...] = ()
