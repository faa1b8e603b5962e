"""What calls take: one struct a call, decoded strictly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from ...bus.bus import BusClosed, StageFailed
from ...bus.results import Result
from ...bus.triggers import Trigger, check_triggers
from ...bus.values import (
    MAX_QUESTION_CHARS,
    MOST_QUESTIONS,
    NAMESPACES,
    Memory,
    Mode,
    Place,
    Scope,
)
from ...config.ids import full_id
from ...stages.sessions.quote import short_id
from ...stages.text.unicode import cut, one_line
from ..imports.item import Item, check_in_utc

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive


class CallRefused(ValueError):
    """A call that cannot be answered as asked; the message is for the user."""


class QuotingRefusal(CallRefused):
    """A refusal that quotes memories: the message is data, where a model reads it."""


FAILURES = (CallRefused, ConnectionError, TimeoutError, BusClosed, StageFailed)
"""What a call may raise that its client is told in words."""


def reason_of(error: Exception) -> str:
    """One of ``FAILURES`` in words, for the user."""
    if isinstance(error, StageFailed) and isinstance(error.__cause__, ConnectionError):
        return str(error.__cause__)
    return str(error) or "the daemon did not answer in time"


PathText = Annotated[str, Meta(pattern=r"^[^\0]*$")]
"""A path: no system takes one with a NUL."""


def check_questions(questions: Sequence[str]) -> None:
    """Raise ``ValueError`` where they are too many, or one is too long."""
    if len(questions) > MOST_QUESTIONS:
        raise ValueError(f"a memory has at most {MOST_QUESTIONS} questions")
    if any(len(one) > MAX_QUESTION_CHARS for one in questions):
        raise ValueError(f"a question has at most {MAX_QUESTION_CHARS} characters")


class Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what a call takes."""


# A call's name → what it takes, and the method that answers it.
Table = dict[str, tuple[type[Params], Callable[..., Awaitable[Result]]]]


class CaptureParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``capture``."""

    text: str
    namespace: str | None = None
    tags: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    scope: Literal["project", "user", "org"] = "project"
    confidence: float = 1.0
    hook: str = "cli"

    def __post_init__(self) -> None:
        check_questions(self.questions)
        check_triggers(self.triggers)


class RecallParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``recall``: of memories made from ``since`` to ``until``, where these are given.

    Without ``thorough`` only as many candidates are reranked as for a prompt: somebody still types.
    """

    query: str
    limit: int = 10
    mode: Mode = "hybrid"
    namespace: str | None = None
    since: Annotated[datetime, Meta(tz=True)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None
    thorough: bool = True

    def __post_init__(self) -> None:
        check_in_utc(self.since, self.until)


class IdParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``get``, ``history`` and ``why``."""

    id: str


class StaleParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``stale``: one page, from after an id on, or those of ``ids`` alone."""

    after: str = ""
    ids: Annotated[tuple[str, ...], Meta(max_length=100)] = ()


class VoteParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``bury`` and ``keep``: the memories that the user votes on."""

    ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=1000)]


class ForgetParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``forget``; ``now`` waits until the text has left the disk, ``everywhere`` copies too.

    Calls with the same ``command`` are one change, which is undone as a whole.
    """

    id: str
    now: bool = False
    everywhere: bool = False
    command: str = ""


class FilesParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``remove_copies`` and ``unread_transcripts``: absolute paths."""

    files: tuple[PathText, ...]


class UpdateParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``update``: what is None stays as it is; questions and triggers only if the text mostly does.

    ``version`` is the one that the client read: where what it says was changed since, it is told.
    """

    id: str
    text: str | None = None
    namespace: str | None = None
    tags: tuple[str, ...] | None = None
    questions: tuple[str, ...] | None = None
    triggers: tuple[Trigger, ...] | None = None
    version: int | None = None
    hook: str = "cli"

    def __post_init__(self) -> None:
        if self.namespace is not None and self.namespace not in NAMESPACES:
            raise ValueError(f"there is no such namespace, only {', '.join(NAMESPACES)}")
        check_questions(self.questions or ())
        check_triggers(self.triggers or ())


class SupersedeParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``supersede``: by ``new``, or by a new memory with ``text``."""

    old: str
    new: str | None = None
    text: str | None = None
    questions: tuple[str, ...] | None = None
    triggers: tuple[Trigger, ...] | None = None
    hook: str = "cli"

    def __post_init__(self) -> None:
        check_questions(self.questions or ())
        check_triggers(self.triggers or ())


class ExpireParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``expire``: at a moment with a zone, or now."""

    id: str
    at: Annotated[datetime, Meta(tz=True)] | None = None

    def __post_init__(self) -> None:
        check_in_utc(self.at)


class RestoreParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``restore``: as it is, or as a version was."""

    id: str
    version: int | None = None


class TopicParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``topics``."""

    topic: str | None = None
    limit: Annotated[int, Meta(ge=1)] = 100


class ListParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``list``: one page, from behind the memory ``after`` on; None and empty mean any.

    ``automatic``: what nobody asked to keep, or only the rest; ``unreviewed``: those of it that the
    user has not voted on. ``unused`` were never shown, ``session`` is where they were said, or the
    beginning of it.
    """

    limit: Annotated[int, Meta(ge=1, le=1000)] = 20
    after: str = ""
    ids: Annotated[tuple[str, ...], Meta(max_length=1000)] = ()
    namespace: str | None = None
    tag: str | None = None
    scope: Literal["project", "user", "org"] | None = None
    author: str | None = None
    session: str | None = None
    automatic: bool | None = None
    unreviewed: bool = False
    unused: bool = False
    contradicting: bool = False
    without_questions: bool = False
    since: Annotated[datetime, Meta(tz=True)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None

    def __post_init__(self) -> None:
        check_in_utc(self.since, self.until)


class StatsParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``stats``: today, and so many days before it."""

    days: Annotated[int, Meta(ge=1, le=366)] = 14


class UndoParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``undo``: the last change of each of ``ids``; without any, what the last command changed."""

    ids: Annotated[tuple[str, ...], Meta(max_length=1000)] = ()


class SessionsParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``sessions``."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 20


class SessionParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``session``: an id, or the beginning of one."""

    id: str


class SearchSessionsParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``search_sessions``."""

    query: str
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class ForgetSessionsParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``forget_sessions``: one by its ``id``, those that began in a span, or ``all``.

    ``everywhere`` means every project, ``now`` waits until the text has left the disk.
    """

    id: str | None = None
    since: Annotated[datetime, Meta(tz=True)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None
    all: bool = False
    everywhere: bool = False
    now: bool = False

    def __post_init__(self) -> None:
        check_in_utc(self.since, self.until)


class AllowSessionsParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``allow_sessions``: of this project, or ``everywhere``."""

    everywhere: bool = False


class LearnParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``learn``: one transcript, of a session of ``client`` that worked in ``cwd``.

    ``agent`` names the sub-agent whose transcript it is, ``ended`` says that nothing follows, and
    ``again`` that what was read before is read too.
    """

    transcript: PathText
    session: str
    client: str
    cwd: PathText
    agent: str = ""
    ended: bool = True
    again: bool = False


class TextParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``classify`` and ``explain``."""

    text: str


class SqlParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``sql``. ``text`` is what ``$text``, ``$terms`` and ``$vector`` are made of."""

    query: str
    text: str | None = None
    limit: int = 100
    everywhere: bool = False


class NoParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``status``."""


class PageParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``export``: the memories whose ids come after ``after``."""

    after: str = ""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class ImportParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``import``: ``dry_run`` only says what would happen.

    ``as_exported`` keeps the ids, scopes, versions and authors that the items name, and ``scope``
    counts for those that name none; without it all is new, in ``scope``, and the importer's.
    """

    items: tuple[Item, ...]
    scope: Literal["project", "user", "org"] = "project"
    dry_run: bool = False
    as_exported: bool = False


class FileParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``backup`` and ``forgotten_since``: an absolute path."""

    file: PathText


class RestoreBackupParams(FileParams, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``restore_backup``; ``bring_back`` also what was forgotten since the backup was made."""

    bring_back: bool = False


LEAST_ID_CHARS = len("mem_") + 4
"""An id may be given by its beginning, of so many characters."""

_MOST_NAMED = 5


async def find_memory(archive: Archive, given: str, place: Place) -> Memory:
    """The memory whose id ``given`` is, or alone begins with it, of those readable at ``place``.

    Raises ``CallRefused`` where there is none, and where several begin so.
    """
    whole, store = full_id(given), archive.store
    found = await store.get([whole], place.readable)
    if not found and len(whole) >= LEAST_ID_CHARS:
        ids = await store.starting(whole.lower(), place.readable, limit=_MOST_NAMED + 1)
        found = await store.get(ids[:_MOST_NAMED], place.readable)
        if len(ids) > 1:
            lines = [f"{memory.id} ({cut(one_line(memory.summary), 40)})" for memory in found]
            named = ", ".join([*lines, "more"] if len(ids) > _MOST_NAMED else lines)
            raise QuotingRefusal(f"{given} begins several ids, add characters: {named}")
    if not found:
        raise not_found(given, place)
    return found[0]


def find_session(given: str, known: Collection[str]) -> str | None:
    """That of ``known`` which ``given`` is, or which alone begins with it; None where none does.

    The beginning may be as the agent reads it, "ses_0f3e". Raises ``CallRefused`` where several
    begin so.
    """
    wanted = given.strip().removeprefix("subcog://session/")
    if wanted in known or not wanted:
        return wanted or None
    found = [one for one in known if one.startswith(wanted) or _is_short(wanted, one)]
    if len(found) > 1:
        more = "" if len(found) <= _MOST_NAMED else ", …"
        named = ", ".join(found[:_MOST_NAMED])
        raise CallRefused(f"{len(found)} sessions begin with {given}: {named}{more}")
    return found[0] if found else None


def _is_short(given: str, session: str) -> bool:
    return given.startswith("ses_") and short_id(session).startswith(given)


def scope_of(kind: str, place: Place) -> Scope:
    """The scope of that kind at ``place``. Raises ``CallRefused`` where it has none."""
    scopes = {"project": place.project, "user": place.user, "org": place.organisation}
    scope = scopes[kind]
    if scope.kind != kind:
        raise CallRefused(f"scope = {kind!r}: no project was named, so there is only user")
    return scope


def not_found(memory_id: str, place: Place) -> CallRefused:
    """The refusal where no readable scope has ``memory_id``."""
    return CallRefused(f"no memory {memory_id} here: it was forgotten, or is of another project")
