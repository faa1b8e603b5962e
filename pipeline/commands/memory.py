"""``capture``, ``recall``, ``list``, ``get``, ``forget``, ``topics``: memories, one at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import click
from msgspec import UNSET

from ...bus.results import (
    CaptureResult,
    Contradicted,
    CopiesResult,
    CopyResult,
    ForgetResult,
    ListResult,
    MemoryResult,
    RecallResult,
    TopicResult,
    TopicsResult,
)
from ...bus.sessions import FoundSessions
from ...bus.triggers import Trigger
from ...bus.values import CLOSED_TAGS, NAMESPACES, TO_DO
from ...stages.text.markup import namespace_of
from ...stages.text.summary import shortened
from ...stages.text.unicode import name_line
from ..cli.client import LONG_S, CallFailed, Client, DaemonUnreachable
from ..cli.wording import degraded_search, local_time
from .shared import (
    MAX_LISTED,
    F,
    Failure,
    by,
    call,
    confirm,
    cue_options,
    daemon,
    daemon_options,
    fail_midway,
    is_json,
    limit_option,
    printed_as_json,
    scope_option,
    shorten,
    show,
    span,
    standard_input,
    tell_unread,
)

MAX_TOPICS = 100_000
MAX_SESSIONS_FOUND = 100


class _Namespace(click.Choice[str]):
    """One of ``NAMESPACES``, by any of the names that a marker may give it."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(namespace_of(value) or value, param, ctx)


def namespace_option(text: str) -> Callable[[F], F]:
    """``--namespace``; the list of them is wrapped in the help, as a metavar would not be."""
    names = f"{text} One of {', '.join(NAMESPACES)}."
    return click.option("--namespace", metavar="NAME", type=_Namespace(NAMESPACES), help=names)


@click.command()
@click.argument("text", required=False)
@namespace_option("The kind of memory [default: detected from the text].")
@click.option("--tags", default="", help="Comma-separated.")
@cue_options()
@scope_option("Whose memory it is.")
@daemon_options
def capture_command(
    text: str | None,
    namespace: str | None,
    tags: str,
    questions: tuple[str, ...],
    triggers: tuple[Trigger, ...],
    scope: str,
) -> None:
    """Store TEXT as a memory.

    Without TEXT, or with -, standard input is read. Secrets are removed before anything is stored.
    """
    if text is None or text == "-":
        text = standard_input()
    params = {
        "text": text,
        "namespace": namespace,
        "tags": [tag.strip() for tag in tags.split(",") if tag.strip()],
        "questions": questions,
        "triggers": triggers,
        "scope": scope,
    }
    answer = call("capture", CaptureResult, params)
    show_capture(answer, _captured(answer, text), "stored")


def _captured(answer: CaptureResult, text: str) -> Iterator[str]:
    yield f"{answer.outcome}: {answer.namespace} · {answer.id}"
    yield f"  {shortened(answer.summary, text)}"
    if answer.was_forgotten is True:
        yield "  you had forgotten it: it is kept again"
    if isinstance(other := answer.replaced, Contradicted):
        yield f"  replaces {other.id}: {shorten(other.content, 90)}"
        yield f"  to undo that, run: {answer.undo}"
    if isinstance(other := answer.contradicts, Contradicted):
        yield f"  contradicts {other.id}: {shorten(other.content, 90)}"
        if isinstance(answer.offer, str):
            yield f"  to replace it, run: {answer.offer}"
        else:
            yield "  that may hold, or a part of it: both are kept"
    if answer.redactions:
        yield f"  redacted: {', '.join(answer.redactions)}"
        if answer.reason:
            click.echo(f"subcog: warning: {answer.reason}", err=True)
    elif answer.reason:
        yield f"  {answer.reason}"


def show_capture(answer: CaptureResult, lines: Iterable[str], done: str) -> None:
    """Print what became of a capture, ``lines`` if it was kept. Exits 1 if it was not ``done``."""
    if not printed_as_json(answer) and answer.id:
        for line in lines:
            click.echo(line)
    if answer.outcome not in {"stored", "merged"}:
        if not is_json():
            yet = " yet" if answer.outcome == "pending" else ""
            click.echo(f"subcog: not {done}{yet}: {answer.reason}", err=True)
        sys.exit(1)


@click.command()
@click.argument("query")
@limit_option(10, MAX_LISTED, "Maximum number of memories.")
@namespace_option("Only memories of this kind.")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "text", "vector"]),
    default="hybrid",
    show_default=True,
    help="Search by words (text), by meaning (vector), or both.",
)
@click.option("--since", help="Only what was made on this date or later: 2027-01-31.")
@click.option("--until", help="Only what was made on this date or earlier.")
@click.option("--sessions", is_flag=True, help="Search what was said in sessions instead.")
@daemon_options
def recall_command(
    query: str, limit: int, since: str | None, until: str | None, sessions: bool, **wanted: Any
) -> None:
    """Search memories, best first.

    Those of the project, your own and your organisation's are searched.
    """
    if sessions:
        if since or until:
            raise click.UsageError("--since and --until do not go with --sessions")
        _recall_sessions(query, limit)
        return
    params = {"query": query, "limit": limit, **wanted, **span(since, until)}
    answer = call("recall", RecallResult, params)
    if printed_as_json(answer):
        return
    for memory in answer.memories:
        author = by(memory.author)
        buried = "  buried" if memory.buried else ""
        click.echo(f"{memory.score:.2f}  {memory.namespace:<11} {memory.id}{author}{buried}")
        click.echo(f"      {shorten(memory.content, 100)}")
        if memory.replaced_by:
            click.echo(f"      replaced by {memory.replaced_by}, which is newer")
    if not answer.memories:
        click.echo("nothing found")
    if answer.degraded:
        click.echo(f"({degraded_search(answer.degraded, answer.mode)})", err=True)


def _recall_sessions(query: str, limit: int) -> None:
    from .sessions import show_found

    if limit > MAX_SESSIONS_FOUND:
        problem = f"{limit} is not in the range 1<=x<={MAX_SESSIONS_FOUND} with --sessions."
        raise click.BadParameter(problem, param_hint="'--limit'")
    answer = call("search_sessions", FoundSessions, {"query": query, "limit": limit})
    if not printed_as_json(answer):
        show_found(answer)


@click.command()
@limit_option(20, MAX_LISTED, "Maximum number of memories.")
@namespace_option("Only memories of this kind.")
@click.option("--tag", help="Only memories with this tag.")
@click.option(
    "--scope",
    type=click.Choice(["project", "user", "org"]),
    help="Only those of the project, your own, or the organisation's.",
)
@click.option("--by", "author", help="Only memories written by this member of the team.")
@click.option(
    "--automatic/--asked", default=None, help="Only what was kept by itself, or only the rest."
)
@click.option(
    "--unreviewed", is_flag=True, help="Only what was kept by itself and you have not voted on."
)
@click.option("--unused", is_flag=True, help="Only memories that were never shown.")
@click.option("--contradicting", is_flag=True, help="Only memories that contradict another one.")
@click.option("--without-questions", is_flag=True, help="Only memories that have no questions.")
@click.option("--session", help="Only what was captured in this session; its beginning is enough.")
@click.option("--since", help="Only what was made on this date or later: 2027-01-31.")
@click.option("--until", help="Only what was made on this date or earlier.")
@click.option("--after", default="", metavar="ID", help="Go on after this memory.")
@daemon_options
def list_command(since: str | None, until: str | None, **wanted: Any) -> None:
    """List the valid memories, newest first, a page at a time."""
    answer = call("list", ListResult, wanted | span(since, until))
    if printed_as_json(answer):
        return
    for memory in answer.memories:
        written = f"{local_time(memory.created_at)}  {memory.namespace:<11} {memory.id}"
        tags = map(str.casefold, memory.tags)
        closed = memory.namespace in TO_DO and not CLOSED_TAGS.isdisjoint(tags)
        marks = "  kept by itself" * memory.automatic + "  closed" * closed
        click.echo(f"{written}{by(memory.author)}{marks}")
        click.echo(f"      {shorten(memory.content, 100)}")
        if memory.contradicts:
            click.echo(f"      contradicts {memory.contradicts}")
    if not answer.memories:
        click.echo("no memories" if not answer.total else "no more memories")
    elif answer.next:
        click.echo(f"{answer.total:,} in all; `--after {answer.next}` goes on", err=True)


@click.command()
@click.argument("memory_id", metavar="ID")
@daemon_options
def get_command(memory_id: str) -> None:
    """Show everything about one memory."""
    answer = call("get", MemoryResult, {"id": memory_id})
    if printed_as_json(answer):
        return
    click.echo(f"{answer.id} · {answer.namespace} · {answer.scope}")
    click.echo(f"created {local_time(answer.created_at)}, version {answer.version}")
    if author := answer.provenance.get("author"):
        click.echo(f"written by {author}")
    if answer.tags:
        click.echo(f"tags {', '.join(map(name_line, answer.tags))}")
    for question in answer.questions:
        click.echo(f"answers {name_line(question)}")
    for trigger in answer.triggers:
        click.echo(f"shown before {name_line(trigger.said)}")
    if answer.superseded_by:
        click.echo(f"superseded by {answer.superseded_by}")
    if answer.valid_to:
        click.echo(f"valid until {local_time(answer.valid_to)}")
    if answer.contradicts:
        click.echo(f"contradicts {answer.contradicts}")
    if answer.contradicted_by:
        click.echo(f"contradicted by {answer.contradicted_by}, which is newer")
    click.echo(f"\n{answer.content}")


@click.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--now", is_flag=True, help="Wait until its text is erased from the disk.")
@click.option(
    "--everywhere", is_flag=True, help="Also remove it from backups and other copies, after asking."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@daemon_options
def forget_command(memory_ids: tuple[str, ...], now: bool, everywhere: bool, yes: bool) -> None:
    """Delete memories permanently, with all their versions.

    Of several none is deleted where one is not found.

    No search finds them from now on; if they are shared with a team, on no machine of the team once
    it has synced, unless the team lets only their authors forget them. The same text does not come
    back by itself, only if you ask to remember it again. Their text is erased from the disk when
    the daemon is next idle, or with --now before this command returns, which rewrites the database
    and takes a moment. Copies of the database may still contain it: they are listed, and
    --everywhere rewrites them without it. A damaged copy cannot be rewritten, so it is deleted.
    """
    with daemon() as client:
        ids = [client.call("get", MemoryResult, {"id": one}).id for one in memory_ids]
        if everywhere and not yes:
            _ask_about_copies(client.call("copies", CopiesResult).copies)
        answers, failure = _forget(client, ids, {"now": now, "everywhere": everywhere})
    told = [*answers, {"error": str(failure)}] if failure is not None else answers
    printed_as_json(told[0] if len(memory_ids) == 1 else told)
    if failure is not None:
        fail_midway(failure)
    if any(answer.left or (everywhere and answer.unread) for answer in answers):
        sys.exit(1)


def _forget(
    client: Client, ids: Iterable[str], how: dict[str, object]
) -> tuple[list[ForgetResult], Failure | None]:
    """Forget each of ``ids`` in one command; the answers, and what ended it before the last one.

    Raises where not even the first is forgotten.
    """
    answers: list[ForgetResult] = []
    how |= {"command": os.urandom(8).hex()}
    try:
        for one in dict.fromkeys(ids):
            params = how | {"id": one}
            answers.append(client.call("forget", ForgetResult, params, within_s=LONG_S))
            if not is_json():
                _show_forgotten(answers[-1])
    except (CallFailed, DaemonUnreachable) as error:
        if not answers:
            raise
        return answers, error
    return answers, None


def _ask_about_copies(copies: Sequence[CopyResult]) -> None:
    if copies:
        lines = "\n".join(f"  {copy.kind}: {copy.file}" for copy in copies)
        question = f"These copies are rewritten, or deleted if damaged:\n{lines}\nContinue?"
        confirm(question)


def _show_forgotten(answer: ForgetResult) -> None:
    click.echo(f"forgotten: {answer.id}")
    if answer.team:
        click.echo(f"  {_asked_of_team(answer)}")
    for done, files in (("cleaned", answer.cleaned), ("removed", answer.removed)):
        for file in files if files is not UNSET else ():
            click.echo(f"  {done}: {file}")
    for left in answer.left if answer.left is not UNSET else ():
        click.echo(f"subcog: {left.file} may still contain it: {left.why}", err=True)
    tell_unread(answer.unread)
    if answer.copies and answer.left is UNSET:
        for copy in answer.copies:
            click.echo(f"  may still contain it: {copy.file} ({copy.kind})")
        click.echo("  `subcog copies --remove FILE` deletes such a copy")


def _asked_of_team(answer: ForgetResult) -> str:
    told = f"with the next sync also deleted for all members of the team {answer.team}"
    if answer.author is UNSET:
        return told
    return f"{told}, if it lets you forget what {answer.author} wrote"


@click.command()
@click.argument("topic", required=False)
@limit_option(100, MAX_TOPICS, "Maximum number of topics or memories.")
@daemon_options
def topics_command(topic: str | None, limit: int) -> None:
    """List the topics of the memories, or the memories of one TOPIC."""
    params = {"topic": topic, "limit": limit}
    if topic is None:
        topics = call("topics", TopicsResult, params)
        show(topics, _topics(topics))
    else:
        one = call("topics", TopicResult, params)
        show(one, _topic(one))


def _topics(answer: TopicsResult) -> Iterator[str]:
    for topic in answer.topics:
        namespaces = ", ".join(topic.namespaces)
        yield f"{topic.memory_count:>5}  {topic.name:<30} {namespaces}"
    if not answer.topics:
        yield "no memories yet; `subcog capture TEXT` stores one"


def _topic(answer: TopicResult) -> Iterator[str]:
    for memory in answer.memories:
        yield f"{memory.namespace:<11} {memory.id}{by(memory.author)}"
        yield f"      {shorten(memory.content, 100)}"
    if not answer.memories:
        yield "nothing found"
    if answer.related_topics:
        yield f"related: {', '.join(answer.related_topics)}"
