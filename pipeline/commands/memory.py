"""``capture``, ``recall``, ``list``, ``get``, ``forget``, ``topics``: memories, one at a time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

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
from ...bus.values import NAMESPACES
from .shared import by, daemon, json_option, project_option, shorten, show_json, when

namespace_choice = click.Choice(NAMESPACES, case_sensitive=False)


@click.command()
@click.argument("text", required=False)
@click.option("--namespace", type=namespace_choice, help="[default: found in the text]")
@click.option("--tags", default="", help="Separated by commas.")
@click.option(
    "--scope", type=click.Choice(["project", "user", "org"]), default="project", show_default=True
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
    """Keep TEXT; without TEXT, or with -, what comes on standard input.

    Secrets are taken out before anything is stored.
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
        click.echo(f"{answer.outcome}: {answer.namespace} · {answer.id}")
        click.echo(f"  {answer.summary}")
        if isinstance(other := answer.contradicts, Contradicted):
            click.echo(f"  {other.id} says otherwise: {shorten(other.content, 90)}")
            click.echo(f"  if this one replaces it: {answer.offer}")
        if answer.redactions:
            click.echo(f"  taken out: {', '.join(answer.redactions)}")
            if answer.reason:
                click.echo(f"subcog: warning: {answer.reason}", err=True)
    if answer.outcome not in {"stored", "merged"}:
        if not as_json:
            click.echo(f"subcog: not stored: {answer.reason}", err=True)
        sys.exit(1)


@click.command()
@click.argument("query")
@click.option("--limit", default=10, show_default=True, help="At most so many.")
@click.option("--namespace", type=namespace_choice, help="Only from this one.")
@click.option(
    "--mode", type=click.Choice(["hybrid", "text", "vector"]), default="hybrid", show_default=True
)
@project_option
@json_option
def recall_command(
    query: str,
    limit: int,
    namespace: str | None,
    mode: str,
    project: Path | None,
    as_json: bool,
) -> None:
    """Search the memories of the project, your own and your organisation's, best first."""
    params = {"query": query, "limit": limit, "namespace": namespace, "mode": mode}
    with daemon(project) as client:
        answer = client.call("recall", RecallResult, params)
    if as_json:
        show_json(answer)
        return
    for memory in answer.memories:
        author = by(memory.author)
        click.echo(f"{memory.score:.2f}  {memory.namespace:<11} {memory.id}{author}")
        click.echo(f"      {shorten(memory.content, 100)}")
    if not answer.memories:
        click.echo("nothing found")
    if answer.degraded:
        click.echo(f"({answer.degraded}: searched by {answer.mode} alone)", err=True)


@click.command()
@click.option("--limit", default=20, show_default=True, help="At most so many.")
@click.option("--namespace", type=namespace_choice, help="Only from this one.")
@click.option("--by", "author", help="Only what this member of the team wrote.")
@click.option("--contradicting", is_flag=True, help="Only what says otherwise than another one.")
@project_option
@json_option
def list_command(
    limit: int,
    namespace: str | None,
    author: str | None,
    contradicting: bool,
    project: Path | None,
    as_json: bool,
) -> None:
    """List the memories that hold, newest first."""
    params = {"limit": limit, "namespace": namespace, "author": author}
    with daemon(project) as client:
        answer = client.call("list", ListResult, params | {"contradicting": contradicting})
    if as_json:
        show_json(answer)
        return
    for memory in answer.memories:
        written = f"{memory.created_at:%Y-%m-%dT%H:%M}  {memory.namespace:<11} {memory.id}"
        click.echo(f"{written}{by(memory.author)}")
        click.echo(f"      {shorten(memory.content, 100)}")
        if memory.contradicts:
            click.echo(f"      says otherwise than {memory.contradicts}")
    if not answer.memories:
        click.echo("there are none")


@click.command()
@click.argument("memory_id", metavar="ID")
@project_option
@json_option
def get_command(memory_id: str, project: Path | None, as_json: bool) -> None:
    """Show one memory whole."""
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
        click.echo(f"says otherwise than {answer.contradicts}")
    click.echo(f"\n{answer.content}")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--now", is_flag=True, help="Wait until its text has left the disk.")
@click.option(
    "--everywhere", is_flag=True, help="Take it out of backups and other copies too, after asking."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
@json_option
def forget_command(
    memory_id: str, now: bool, everywhere: bool, yes: bool, project: Path | None, as_json: bool
) -> None:
    """Delete one memory for good, all its versions.

    Nothing finds it from now on; if it is shared with a team, on none of its machines. Its text
    leaves the disk when the daemon is next idle, or with --now before this command returns, which
    rewrites the database and takes a moment. Copies of the database may still hold it: they are
    named, and --everywhere rewrites them without it. A damaged copy cannot be rewritten, so it is
    deleted.
    """
    with daemon(project) as client:
        if everywhere and not yes:
            _ask_about_copies(client.call("copies", CopiesResult).copies)
        params = {"id": memory_id, "now": now, "everywhere": everywhere}
        answer = client.call("forget", ForgetResult, params)
    if as_json:
        show_json(answer)
    else:
        _show_forgotten(answer)
    if answer.left:
        sys.exit(1)


def _ask_about_copies(copies: Sequence[CopyResult]) -> None:
    if copies:
        lines = "\n".join(f"  {copy.kind}: {copy.file}" for copy in copies)
        question = f"These are rewritten, or deleted where damaged:\n{lines}\nGo on?"
        click.confirm(question, abort=True, err=True)


def _show_forgotten(answer: ForgetResult) -> None:
    click.echo(f"forgotten: {answer.id}")
    if answer.team:
        click.echo(f"  and deleted for everybody in the team {answer.team}")
    for done, files in (("cleaned", answer.cleaned), ("removed", answer.removed)):
        for file in files if files is not UNSET else ():
            click.echo(f"  {done}: {file}")
    for left in answer.left if answer.left is not UNSET else ():
        click.echo(f"subcog: {left.file} may still hold it: {left.why}", err=True)
    if answer.copies and answer.left is UNSET:
        for copy in answer.copies:
            click.echo(f"  may still hold it: {copy.file} ({copy.kind})")
        click.echo("  `subcog copies --remove FILE` deletes such a copy")


@click.command()
@click.argument("topic", required=False)
@click.option("--limit", default=100, show_default=True, help="List at most so many.")
@project_option
@json_option
def topics_command(topic: str | None, limit: int, project: Path | None, as_json: bool) -> None:
    """List what there is to know about, or the memories of one TOPIC."""
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
        click.echo("nothing is remembered here yet; `subcog capture TEXT` keeps something")


def _show_topic(answer: TopicResult) -> None:
    for memory in answer.memories:
        click.echo(f"{memory.namespace:<11} {memory.id}{by(memory.author)}")
        click.echo(f"      {shorten(memory.content, 100)}")
    if not answer.memories:
        click.echo("nothing found")
    if answer.related_topics:
        click.echo(f"related: {', '.join(answer.related_topics)}")
