"""What the daemon answers to each call: one struct a call, the only declaration of that JSON.

The daemon encodes these, the command line decodes them, and an MCP client gets schemas made of
them. Times are aware UTC; confidences, scores and relevances are 0.0–1.0. A field that is
``UNSET`` is missing in the JSON.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from .anchors import State
from .triggers import Trigger
from .values import ImportedItem, Memory, Mode


class Result(Struct, frozen=True, kw_only=True):
    """Base of every answer."""


# --- one memory ----------------------------------------------------------------------------------


class MemoryHead(Result, frozen=True, kw_only=True):
    """What every answer says of a memory. ``urn`` is its MCP resource."""

    id: str
    urn: str
    namespace: str
    content: str
    created_at: datetime


class MemoryResult(MemoryHead, frozen=True, kw_only=True):
    """``get``, ``expire`` and ``restore``, and ``supersede`` by an id: a memory as it is now.

    ``contradicted_by`` is a newer one that holds and contradicts it; only ``get`` looks for that.
    ``questions`` are some that it answers, by which it is found, ``triggers`` the actions and
    orders before which it is shown.
    """

    summary: str
    scope: str
    tags: tuple[str, ...]
    version: int
    confidence: float
    updated_at: datetime
    provenance: dict[str, str]
    questions: tuple[str, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    contradicts: str | None = None
    contradicted_by: str | UnsetType = UNSET


class MemoryVersion(MemoryResult, frozen=True, kw_only=True):
    """A version of a memory, and why it was made."""

    reason: str


class HistoryResult(Result, frozen=True, kw_only=True):
    """``history``: every version, oldest first."""

    id: str
    versions: tuple[MemoryVersion, ...]


class VersionOrigin(Result, frozen=True, kw_only=True):
    """When, why and by which hook a version was made. ``author`` is empty for this machine."""

    version: int
    updated_at: datetime
    reason: str
    by: str
    author: str


class UseSeen(Result, frozen=True, kw_only=True):
    """Something that became of a memory that was shown, as ``UseEvent`` has it."""

    kind: str
    at: datetime
    session: str
    moment: str
    detail: str


class UseResult(Result, frozen=True, kw_only=True):
    """What became of a memory when it was shown, and what that changes.

    ``shown`` counts how often that was, ``sessions`` in how many. ``counts`` has the other kinds by
    how often they were seen, ``last`` the latest of them. Sessions older than what is kept count in
    ``shown`` and ``sessions`` alone. ``mean`` is the expected chance that it helps, and between
    ``low`` and ``high`` lies that chance with a probability of 0.95: approximate quantiles of its
    beta posterior. ``floor_shift`` is added to the relevance that it must have to be shown;
    ``vote`` is what the user voted last, kept or buried.
    """

    id: str
    shown: int
    sessions: int
    counts: dict[str, int]
    last: tuple[UseSeen, ...]
    vote: str | None
    buried: bool
    mean: float
    low: float
    high: float
    floor_shift: float


class VotesResult(Result, frozen=True, kw_only=True):
    """``bury`` and ``keep``: what is known of the use of each memory, with the vote."""

    memories: tuple[UseResult, ...]


class SaidAround(Result, frozen=True, kw_only=True):
    """What was said right before and after a statement, cut at words, in its session."""

    session: str
    speaker: str
    said_at: datetime
    before: str
    statement: str
    after: str


class WhyResult(Result, frozen=True, kw_only=True):
    """``why``: where a memory came from, why it was kept, and whether a search finds it.

    ``said_by`` is who it is from in a word or two, "" where that is not known. ``said_in`` is None
    where what was said in its session is not kept.
    """

    id: str
    said_by: str
    said_in: SaidAround | None
    namespace: str
    scope: str
    summary: str
    confidence: float
    captured_at: datetime
    captured_by: dict[str, str]
    decision: str
    also_said_by: tuple[dict[str, str], ...]
    contradicts: str | None
    found_by_search: bool
    hidden_because: str | None
    versions: tuple[VersionOrigin, ...]
    times_injected: int
    last_used: datetime | None
    use: UseResult


class Contradicted(Result, frozen=True, kw_only=True):
    """An older memory that seems to say otherwise."""

    id: str
    content: str


class CaptureResult(Result, frozen=True, kw_only=True):
    """``capture``, ``update``, and ``supersede`` by a text: what became of it.

    ``version`` is there for ``update`` and ``supersede``, ``supersedes`` where it has one;
    ``offer`` is a command that would let the new memory replace the contradicted one, where nothing
    of that may hold. ``replaced`` is one that it has replaced, since its text says so itself, and
    ``undo`` brings that one back.
    ``was_forgotten`` is there, and true, where this text had been forgotten.
    """

    outcome: Literal["stored", "merged", "declined", "pending", "failed"]
    id: str | None
    namespace: str
    summary: str
    redactions: tuple[str, ...]
    reason: str
    urn: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    contradicts: Contradicted | UnsetType = UNSET
    offer: str | UnsetType = UNSET
    replaced: Contradicted | UnsetType = UNSET
    undo: str | UnsetType = UNSET
    version: int | UnsetType = UNSET
    supersedes: str | UnsetType = UNSET
    was_forgotten: bool | UnsetType = UNSET


class Undone(Result, frozen=True, kw_only=True):
    """A change of the memory ``id`` that was taken back: ``what`` names the call.

    ``now`` is its id from now on: a forgotten memory comes back under another one. ``kept`` is the
    memory that superseded it, where that was said again or changed since; else it is forgotten.
    """

    id: str
    what: str
    now: str
    kept: str | UnsetType = UNSET


class NotUndone(Result, frozen=True, kw_only=True):
    """A change of the memory ``id`` that could not be taken back, and why not."""

    id: str
    what: str
    reason: str


class UndoResult(Result, frozen=True, kw_only=True):
    """``undo``: the latest change first; what ``failed`` can be tried again."""

    undone: tuple[Undone, ...]
    failed: tuple[NotUndone, ...] = ()


# --- several memories ----------------------------------------------------------------------------


class CodePlace(Result, frozen=True, kw_only=True):
    """A place in the code that a memory names, and what became of it since.

    ``symbol`` is empty for the whole file. ``state`` is None while it is unknown; ``now`` is the
    file to which it moved, empty where it did not.
    """

    path: str
    symbol: str
    state: State | None
    now: str


class CodeResult(Result, frozen=True, kw_only=True):
    """What became of the code that a memory names: of each place, and all in all."""

    state: State | None
    anchors: tuple[CodePlace, ...]


class FoundMemory(MemoryHead, frozen=True, kw_only=True):
    """A memory that a search found. ``author`` is empty where it was written on this machine.

    ``code`` is None for a memory that names no code of this project. ``buried``: the user does not
    want it shown where it was not asked for. ``replaced_by`` is a newer one that was found and says
    otherwise; that one comes before it.
    """

    score: float
    tags: tuple[str, ...]
    summary: str
    scope: str
    author: str
    code: CodeResult | None = None
    buried: bool = False
    replaced_by: str | None = None


class RecallResult(Result, frozen=True, kw_only=True):
    """``recall``: best first, and the topics that the query names.

    ``mode`` is the one that was used, ``degraded`` why it is not the one that was asked for.
    """

    query: str
    mode: Mode
    memories: tuple[FoundMemory, ...]
    topics: tuple[str, ...]
    total_count: int
    execution_time_ms: float
    degraded: str | None = None


class ListedMemory(MemoryHead, frozen=True, kw_only=True):
    """A memory of ``list``. ``automatic``: nobody asked to keep it; ``hook`` brought it.

    ``times_shown`` counts how often it went into a context.
    """

    summary: str
    scope: str
    tags: tuple[str, ...]
    author: str
    version: int
    contradicts: str | None = None
    automatic: bool = False
    hook: str = ""
    times_shown: int = 0


class ListResult(Result, frozen=True, kw_only=True):
    """``list``: one page, newest first; ``total`` counts all pages, ``next`` is the ``after``."""

    memories: tuple[ListedMemory, ...]
    total: int
    next: str | None


class Topic(Result, frozen=True, kw_only=True):
    """A topic, how many memories are about it, and in which namespaces."""

    name: str
    memory_count: int
    namespaces: tuple[str, ...]


class TopicsResult(Result, frozen=True, kw_only=True):
    """``topics``: those of most memories first, and how many topics there are in all."""

    topics: tuple[Topic, ...]
    total_topics: int
    last_indexed: datetime | None


class StaleMemory(MemoryHead, frozen=True, kw_only=True):
    """A memory whose code changed or is gone."""

    summary: str
    author: str
    code: CodeResult


class StalePage(Result, frozen=True, kw_only=True):
    """``stale``, one page: those of it whose code changed or is gone, oldest first.

    ``looked_at`` memories were there, ``compared`` of them name code, of ``unknown`` of which it is
    not known what became of it. ``next`` is the id to go on after; None at the end.
    """

    memories: tuple[StaleMemory, ...]
    looked_at: int
    compared: int
    unknown: int
    next: str | None


class StaleResult(Result, frozen=True, kw_only=True):
    """``stale``: the memories whose code changed or is gone, oldest first; see ``StalePage``."""

    memories: tuple[StaleMemory, ...]
    looked_at: int
    compared: int
    unknown: int


class TopicMemory(MemoryHead, frozen=True, kw_only=True):
    """A memory of a topic."""

    tags: tuple[str, ...]
    author: str


class TopicResult(Result, frozen=True, kw_only=True):
    """``topics TOPIC``: its memories; none for an unknown topic."""

    topic: str
    memories: tuple[TopicMemory, ...]
    related_topics: tuple[str, ...]
    total_count: int


# --- files and copies ----------------------------------------------------------------------------


class CopyResult(Result, frozen=True, kw_only=True):
    """A copy of the database that may still hold what was forgotten."""

    file: str
    kind: str
    at: str
    bytes: int


class CopiesResult(Result, frozen=True, kw_only=True):
    """``copies``; ``unread`` says why there may be others, where that is so."""

    copies: tuple[CopyResult, ...]
    unread: str | UnsetType = UNSET


class RemovedCopies(Result, frozen=True, kw_only=True):
    """``remove_copies``."""

    removed: tuple[CopyResult, ...]


class LeftCopy(Result, frozen=True, kw_only=True):
    """A copy that could not be rewritten, and why."""

    file: str
    why: str


class ForgetResult(Result, frozen=True, kw_only=True):
    """``forget``. ``team`` is the team that is asked, with the next sync, to delete it too.

    ``author`` is there where a colleague wrote it: the team's setting says who may delete it there.
    ``cleaned``, ``removed`` (files) and ``left`` are there where copies were to be rewritten;
    ``unread``, where other copies may hold it: it says why they are not known.
    """

    id: str
    forgotten: bool
    team: str | None
    author: str | UnsetType = UNSET
    cleaned: tuple[str, ...] | UnsetType = UNSET
    removed: tuple[str, ...] | UnsetType = UNSET
    left: tuple[LeftCopy, ...] | UnsetType = UNSET
    copies: tuple[CopyResult, ...]
    unread: str | UnsetType = UNSET


class ExportPage(Result, frozen=True, kw_only=True):
    """``export``: one page, and the id to go on after; None at the end."""

    memories: tuple[Memory, ...]
    next: str | None


class ImportResult(Result, frozen=True, kw_only=True):
    """``import``: how often each outcome occurred, and in how many a secret was taken out.

    With ``dry_run`` the ``items`` tell what would become of each memory that is not declined.
    """

    outcomes: dict[str, int]
    redacted: int
    items: tuple[ImportedItem, ...] = ()


class ProjectResult(Result, frozen=True, kw_only=True):
    """``project``: which project ``directory`` is.

    ``claimed`` is the project whose remote it names without being that project, "" for none.
    """

    directory: str
    project: str
    claimed: str = ""
