"""``capture``, ``recall``, ``list``, ``get``, ``forget``, ``topics``: memories, one at a time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
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
from ...bus.values import NAMESPACES
from ...stages.text.markup import namespace_of
from .shared import (
    MAX_LISTED,
    by,
    daemon,
    day,
    json_option,
    limit_option,
    project_option,
    shorten,
    show_json,
    when,
)

MAX_TOPICS = 100_000
MAX_SESSIONS_FOUND = 100


class _Namespace(click.Choice[str]):
    """One of ``NAMESPACES``, by any of the names that a marker may give it."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(namespace_of(value) or value, param, ctx)


namespace_choice = _Namespace(NAMESPACES)


@click.command()
@click.argument("text", required=False)
@click.option("--namespace", type=namespace_choice, help="[default: detected from the text]")
@click.option("--tags", default="", help="Comma-separated.")
@click.option(
    "--scope",
    type=click.Choice(["project", "user", "org"]),
    default="project",
    show_default=True,
    help="Whose memory it is.",
)
@project_option
@json_option
def capture_command(
    text: str | None,
    namespace: str | None,
    tags: str,
    scope: str,
    project: Path | None,
    as_json: bool,
) -> None:
    """Store TEXT as a memory.

    Without TEXT, or with -, standard input is read. Secrets are removed before anything is stored.
    """
    if text in {None, "-"}:
        text = sys.stdin.read()
    params = {
        "text": text,
        "namespace": namespace,
        "tags": [tag.strip() for tag in tags.split(",") if tag.strip()],
        "scope": scope,
    }
    with daemon(project) as client:
        answer = client.call("capture", CaptureResult, params)
    if as_json:
        show_json(answer)
    elif answer.id:
        _show_captured(answer)
    if answer.outcome not in {"stored", "merged"}:
        if not as_json:
            yet = " yet" if answer.outcome == "pending" else ""
            click.echo(f"subcog: not stored{yet}: {answer.reason}", err=True)
        sys.exit(1)


def _show_captured(answer: CaptureResult) -> None:
    click.echo(f"{answer.outcome}: {answer.namespace} · {answer.id}")
    click.echo(f"  {answer.summary}")
    if answer.was_forgotten is True:
        click.echo("  you had forgotten it: it is kept again")
    if isinstance(other := answer.replaced, Contradicted):
        click.echo(f"  replaces {other.id}: {shorten(other.content, 90)}")
        click.echo(f"  to undo that, run: {answer.undo}")
    if isinstance(other := answer.contradicts, Contradicted):
        click.echo(f"  contradicts {other.id}: {shorten(other.content, 90)}")
        click.echo(f"  to replace it, run: {answer.offer}")
    if answer.redactions:
        click.echo(f"  redacted: {', '.join(answer.redactions)}")
        if answer.reason:
            click.echo(f"subcog: warning: {answer.reason}", err=True)


@click.command()
@click.argument("query")
@limit_option(10, MAX_LISTED, "Maximum number of memories.")
@click.option("--namespace", type=namespace_choice, help="Only memories of this namespace.")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "text", "vector"]),
    default="hybrid",
    show_default=True,
    help="Search by words (text), by meaning (vector), or both.",
)
@click.option("--sessions", is_flag=True, help="Search what was said in sessions instead.")
@project_option
@json_option
def recall_command(
    query: str,
    limit: int,
    namespace: str | None,
    mode: str,
    sessions: bool,
    project: Path | None,
    as_json: bool,
) -> None:
    """Search memories, best first.

    Those of the project, your own and your organisation's are searched.
    """
    if sessions:
        _recall_sessions(query, limit, project, as_json)
        return
    params = {"query": query, "limit": limit, "namespace": namespace, "mode": mode}
    with daemon(project) as client:
        answer = client.call("recall", RecallResult, params)
    if as_json:
        show_json(answer)
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
        click.echo(f"({answer.degraded}: searched by {answer.mode} alone)", err=True)


def _recall_sessions(query: str, limit: int, project: Path | None, as_json: bool) -> None:
    from .sessions import show_found

    if limit > MAX_SESSIONS_FOUND:
        problem = f"{limit} is not in the range 1<=x<={MAX_SESSIONS_FOUND} with --sessions."
        raise click.BadParameter(problem, param_hint="'--limit'")
    with daemon(project) as client:
        params = {"query": query, "limit": limit}
        answer = client.call("search_sessions", FoundSessions, params)
    if as_json:
        show_json(answer)
    else:
        show_found(answer)


@click.command()
@limit_option(20, MAX_LISTED, "Maximum number of memories.")
@click.option("--namespace", type=namespace_choice, help="Only memories of this namespace.")
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
@click.option("--session", help="Only what was captured in this session.")
@click.option("--since", help="Only what was made on this date or later: 2027-01-31.")
@click.option("--until", help="Only what was made on this date or earlier.")
@click.option("--after", default="", metavar="ID", help="Go on after this memory.")
@project_option
@json_option
def list_command(
    project: Path | None, as_json: bool, since: str | None, until: str | None, **wanted: Any
) -> None:
    """List the valid memories, newest first, a page at a time."""
    wanted["since"] = None if since is None else day(since, "--since")
    wanted["until"] = None if until is None else day(until, "--until", last=True)
    if wanted["after"]:
        wanted["after"] = f"mem_{wanted['after'].removeprefix('mem_')}"
    with daemon(project) as client:
        answer = client.call("list", ListResult, wanted)
    if as_json:
        show_json(answer)
        return
    for memory in answer.memories:
        written = f"{memory.created_at:%Y-%m-%dT%H:%M}Z  {memory.namespace:<11} {memory.id}"
        click.echo(f"{written}{by(memory.author)}{'  kept by itself' if memory.automatic else ''}")
        click.echo(f"      {shorten(memory.content, 100)}")
        if memory.contradicts:
            click.echo(f"      contradicts {memory.contradicts}")
    if not answer.memories:
        click.echo("no memories" if not answer.total else "no more memories")
    elif answer.next:
        click.echo(f"{answer.total:,} in all; `--after {answer.next}` goes on", err=True)


@click.command()
@click.argument("memory_id", metavar="ID")
@project_option
@json_option
def get_command(memory_id: str, project: Path | None, as_json: bool) -> None:
    """Show everything about one memory."""
    with daemon(project) as client:
        answer = client.call("get", MemoryResult, {"id": memory_id})
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer.id} · {answer.namespace} · {answer.scope}")
    click.echo(f"created {when(answer.created_at)}, version {answer.version}")
    if author := answer.provenance.get("author"):
        click.echo(f"written by {author}")
    if answer.tags:
        click.echo(f"tags {', '.join(answer.tags)}")
    if answer.superseded_by:
        click.echo(f"superseded by {answer.superseded_by}")
    if answer.valid_to:
        click.echo(f"valid until {when(answer.valid_to)}")
    if answer.contradicts:
        click.echo(f"contradicts {answer.contradicts}")
    click.echo(f"\n{answer.content}")


@click.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--now", is_flag=True, help="Wait until its text is erased from the disk.")
@click.option(
    "--everywhere", is_flag=True, help="Also remove it from backups and other copies, after asking."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
@json_option
def forget_command(
    memory_ids: tuple[str, ...],
    now: bool,
    everywhere: bool,
    yes: bool,
    project: Path | None,
    as_json: bool,
) -> None:
    """Delete memories permanently, with all their versions.

    Of several none is deleted where one is not found.

    No search finds them from now on; if they are shared with a team, on no machine of the team. The
    same text does not come back by itself, only if you ask to remember it again. Their text is
    erased from the disk when the daemon is next idle, or with --now before this command returns,
    which rewrites the database and takes a moment. Copies of the database may still contain it:
    they are listed, and --everywhere rewrites them without it. A damaged copy cannot be rewritten,
    so it is deleted.
    """
    with daemon(project) as client:
        if everywhere and not yes:
            _ask_about_copies(client.call("copies", CopiesResult).copies)
        ids = [client.call("get", MemoryResult, {"id": one}).id for one in memory_ids]
        answers = []
        for one in dict.fromkeys(ids):
            params = {"id": one, "now": now, "everywhere": everywhere}
            answers.append(client.call("forget", ForgetResult, params))
            if not as_json:
                _show_forgotten(answers[-1])
    if as_json:
        show_json(answers[0] if len(memory_ids) == 1 else answers)
    if any(answer.left for answer in answers):
        sys.exit(1)


def _ask_about_copies(copies: Sequence[CopyResult]) -> None:
    if copies:
        lines = "\n".join(f"  {copy.kind}: {copy.file}" for copy in copies)
        question = f"These copies are rewritten, or deleted if damaged:\n{lines}\nContinue?"
        click.confirm(question, abort=True, err=True)


def _show_forgotten(answer: ForgetResult) -> None:
    click.echo(f"forgotten: {answer.id}")
    if answer.team:
        click.echo(f"  also deleted for all members of the team {answer.team}")
    for done, files in (("cleaned", answer.cleaned), ("removed", answer.removed)):
        for file in files if files is not UNSET else ():
            click.echo(f"  {done}: {file}")
    for left in answer.left if answer.left is not UNSET else ():
        click.echo(f"subcog: {left.file} may still contain it: {left.why}", err=True)
    if answer.copies and answer.left is UNSET:
        for copy in answer.copies:
            click.echo(f"  may still contain it: {copy.file} ({copy.kind})")
        click.echo("  `subcog copies --remove FILE` deletes such a copy")


@click.command()
@click.argument("topic", required=False)
@limit_option(100, MAX_TOPICS, "Maximum number of topics or memories.")
@project_option
@json_option
def topics_command(topic: str | None, limit: int, project: Path | None, as_json: bool) -> None:
    """List the topics of the memories, or the memories of one TOPIC."""
    with daemon(project) as client:
        params = {"topic": topic, "limit": limit}
        answer: TopicResult | TopicsResult
        if topic is None:
            answer = client.call("topics", TopicsResult, params)
        else:
            answer = client.call("topics", TopicResult, params)
    if as_json:
        show_json(answer)
    elif isinstance(answer, TopicsResult):
        _show_topics(answer)
    else:
        _show_topic(answer)


def _show_topics(answer: TopicsResult) -> None:
    for topic in answer.topics:
        namespaces = ", ".join(topic.namespaces)
        click.echo(f"{topic.memory_count:>5}  {topic.name:<30} {namespaces}")
    if not answer.topics:
        click.echo("no memories yet; `subcog capture TEXT` stores one")


def _show_topic(answer: TopicResult) -> None:
    for memory in answer.memories:
        click.echo(f"{memory.namespace:<11} {memory.id}{by(memory.author)}")
        click.echo(f"      {shorten(memory.content, 100)}")
    if not answer.memories:
        click.echo("nothing found")
    if answer.related_topics:
        click.echo(f"related: {', '.join(answer.related_topics)}")
