"""The value types that events carry and every room shares: plain, frozen, without behaviour.

Scores named ``relevance`` are absolute, 0.0–1.0, and mean the same in every query; ``order`` only
sorts the hits of one query. Confidences are whole percent. Times are aware UTC ``datetime``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .anchors import Anchor
from .triggers import Trigger

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

MOST_QUESTIONS = 3
MAX_QUESTION_CHARS = 200
"""So many questions a memory is found by, of so many characters each."""

FAILED_COMMAND = "failed-command"
"""The tag of the record of a command that failed, and of what worked instead."""

TO_DO = frozenset(("blockers", "tasks"))
"""The namespaces of what is to be dealt with."""

CLOSED_TAGS = frozenset(
    "resolved closed done fixed solved success failure finished completed".split()
)
"""In whatever case: the tags of what was dealt with."""

Mode = Literal["hybrid", "text", "vector"]
_KINDS = ("project", "user", "org")


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
    ``root`` is what the agent calls the project, which may be a folder of its working tree.
    ``trees`` are the tops of the project's working trees on this disk, that of ``root`` first.
    """

    project: Scope
    root: str
    user: Scope
    organisation: Scope = Scope("org", "local")
    branch: str | None = None
    before: tuple[Scope, ...] = ()
    trees: tuple[str, ...] = ()

    @property
    def tops(self) -> tuple[str, ...]:
        """``trees``; ``root`` where they are not known."""
        return self.trees or (self.root,)

    @property
    def own(self) -> tuple[Scope, ...]:
        """The project's scope, and those that it had before."""
        return (self.project, *self.before)

    @property
    def readable(self) -> tuple[Scope, ...]:
        """Every scope that a query from this place may read, each once."""
        return tuple(dict.fromkeys((self.project, self.user, self.organisation, *self.before)))


BRINGS_BACK = "brings back "
"""Begins the gate of a memory by which somebody took back that they forgot another one."""


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

    @property
    def brings_back(self) -> str:
        """The id of the forgotten memory that this version took back; empty for any other."""
        return self.gate[len(BRINGS_BACK) :] if self.gate.startswith(BRINGS_BACK) else ""


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
    the code was that it names. ``questions`` are some that it answers, as whoever kept it expects
    them in other words than its own: it is found by them, and nobody is shown them unasked.
    ``triggers`` are the actions and orders before which it is to be shown.
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
    questions: tuple[str, ...] = ()
    triggers: tuple[Trigger, ...] = ()

    @property
    def is_asked_for(self) -> bool:
        """Whether somebody asked to keep it, at first or when it was said again."""
        return any(one.hook not in UNASKED for one in (self.provenance, *self.sources))

    @property
    def seen_key(self) -> tuple[str, int]:
        """The id, and a CRC-32 of what is said: a version that only adds anchors says the same.

        So do copies of one text, in whatever scope or namespace; see ``content_hash``.
        """
        text = self.content_hash or self.content
        said = f"{text}\0{self.valid_to}\0{self.superseded_by}"
        return self.id, zlib.crc32(said.encode("utf-8", "surrogatepass"))

    def is_over(self, now: datetime) -> bool:
        """Whether the time has passed for which it was valid."""
        return self.valid_to is not None and self.valid_to <= now

    def holds(self, now: datetime) -> bool:
        """Whether it is not over, and no other memory replaced it."""
        return self.superseded_by is None and not self.is_over(now)


def copies(memories: Iterable[Memory]) -> dict[str, Memory]:
    """The id of each of ``memories`` that is a copy of another one's text, and that other one.

    Of copies the one in force stands for all, then the project's before the user's before the
    organisation's, then the first. What has no ``content_hash`` is no copy.
    """
    first: dict[str, Memory] = {}
    known = [memory for memory in memories if memory.content_hash]
    for memory in known:
        other = first.setdefault(memory.content_hash, memory)
        if _distance(memory) < _distance(other):
            first[memory.content_hash] = memory
    stands = ((memory.id, first[memory.content_hash]) for memory in known)
    return {id_: one for id_, one in stands if one.id != id_}


def _distance(memory: Memory) -> tuple[bool, int]:
    return memory.superseded_by is not None, _KINDS.index(memory.scope.kind)


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
    trace or the like, of which reading alone makes too much. ``thorough``: whoever asked waits for
    this search, so more memories are read, and all that are found come in the order of relevance.
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
    thorough: bool = False

    @property
    def is_filtered(self) -> bool:
        """Whether memories of some namespaces, tags or times alone are wanted."""
        return bool(self.namespaces or self.tags or self.since or self.until)


class Hit(Value, frozen=True, kw_only=True):
    """A memory found. ``text``, ``late`` and ``vector`` are the raw parts, each 0.0–1.0-ish.

    ``by_words`` is what ``relevance`` was before the memory was read; None if it was not read.
    ``in_other_words``: by other words for what was asked, in which it was read as well.
    ``instead_of`` is the id of the superseded memory that was found, which this one replaced.
    """

    memory: Memory
    text: float
    late: float
    vector: float
    order: float
    relevance: float
    by_words: float | None = None
    in_other_words: bool = False
    instead_of: str = ""

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


# --- what is found worth keeping ------------------------------------------------------------------


AUTO_CAPTURED = "auto-captured"
"""The tag of what nobody asked to be kept."""
MCP = "mcp"
"""Stands where a hook does for what an agent asked to keep."""
LEARN = "learn"
"""Stands where a hook does for what was learned from a transcript afterwards."""
UNASKED = frozenset({"Stop", "SubagentStop", "SessionEnd", "PreCompact", "PostToolUse", LEARN})
"""The hooks at which something is kept that nobody asked to keep."""

EARNED_PERCENT = 95
"""The confidence of what may become a memory by itself; what is merely found has less."""


class Noted(Value, frozen=True, kw_only=True):
    """A statement worth keeping, found in what somebody said.

    ``kind`` is decision, learning, blocker, resolution, preference, progress or pattern; ``text``
    is the statement, the characters from ``start`` to ``end`` of what was read; ``summary`` is a
    sentence of its own of at most 100 characters. ``earned``: it may become a memory by itself;
    anything else is a point for a summary. ``doubted``: the same message takes that back, questions
    or supposes it.
    """

    kind: str
    namespace: str
    text: str
    summary: str
    confidence_percent: int
    start: int
    end: int
    earned: bool = False
    doubted: bool = False


# --- what an agent does with a tool ---------------------------------------------------------------


COMMAND_TOOL = "Bash"
"""The tool that runs commands, by Claude Code's name for it."""


class FileChange(Value, frozen=True, kw_only=True):
    """What a change of several files does to one of them; see ``Action``."""

    path: str
    written: str = ""
    replaced: str = ""


class Action(Value, frozen=True, kw_only=True):
    """What a tool is asked to do. All texts are capped.

    ``paths`` are the files that it names, as it names them, and ``directory`` where it is done, an
    absolute path, empty where that is unknown. ``command`` is what is run, and
    ``purpose`` what the agent says that it is for. ``written`` is what goes into files, and
    ``replaced`` what stood there before; both are whole passages, of which some lines are the same.
    ``changes`` tells several files apart, where the tool does; else it is empty.
    """

    tool: str
    paths: tuple[str, ...] = ()
    command: str = ""
    purpose: str = ""
    written: str = ""
    replaced: str = ""
    changes: tuple[FileChange, ...] = ()
    directory: str = ""

    @property
    def text(self) -> str:
        """What is written or run."""
        return "\n".join(filter(None, (self.written, self.command)))

    def by_file(self) -> tuple[Action, ...]:
        """One action a file, with what is done to that file; this one where that is not told."""
        return tuple(
            replace(self, paths=(one.path,), written=one.written, replaced=one.replaced, changes=())
            for one in self.changes
        ) or (self,)


# --- what became of it ----------------------------------------------------------------------------


class Ended(Value, frozen=True, kw_only=True):
    """A memory that the user's words ended, as it was before; ``how`` is what became of it.

    ``restored`` is the id of what it had superseded and is in force again; empty where nothing is.
    """

    memory_id: str
    version: int
    summary: str
    how: Literal["closed as done", "taken back"]
    restored: str = ""


class Kept(Value, frozen=True, kw_only=True):
    """What became of one capture.

    ``declined``: there was nothing to keep. ``pending``: it is still on its way. ``failed``: the
    store could not take it, and ``reason`` says why. Where it was ``merged``, ``reason`` says what
    changed of the text, and what found no room. ``contradicts`` is a memory that seems to
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


class Shown(Value, frozen=True, kw_only=True):
    """A memory that went into a context at a moment that is no prompt, and why.

    ``score`` is absolute, 0.0–1.0; 1.0 where the memory was not searched for.
    """

    memory_id: str
    score: float
    why: str


UseKind = Literal[
    "shown",
    "untraceable",
    "taken_up",
    "quoted",
    "captured_again",
    "heeded",
    "corrected",
    "failed_anyway",
    "kept",
    "buried",
]
"""What may become of a memory, an event each.

``shown``: it went into a context; ``untraceable``, beside that: it names nothing by which its use
could be told. ``taken_up``: what it names and the prompt did not, was used
afterwards. ``quoted``: the agent named its id. ``captured_again``: somebody wanted it kept once
more. ``heeded``: the failure it warned of did not come. ``corrected``: the user objected right
after. ``failed_anyway``: what it warned of failed again. ``kept`` and ``buried`` are the votes of
the user.
"""


class UseEvent(Value, frozen=True, kw_only=True):
    """One thing that happened to a memory in a session. Times are aware UTC.

    ``moment`` is the hook at which it happened, ``rank`` its place in the context, counted from 1,
    or 0 where there is none. ``detail`` says in a few words what was seen, and never quotes.
    """

    memory_id: str
    session: str
    at: datetime
    kind: UseKind
    moment: str = ""
    rank: int = 0
    detail: str = ""


class Usefulness(Value, frozen=True, kw_only=True):
    """The evidence on one memory: sessions in which it helped, and in which it did not.

    Both are sums of weights, 0.0 and more. ``buried``: the user does not want it unasked.
    """

    helped: float = 0.0
    idle: float = 0.0
    buried: bool = False
