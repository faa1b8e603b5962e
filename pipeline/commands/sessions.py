"""``sessions``, ``learn``: see and forget what was said, and read what is on the disk."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import UNSET

from ...bus.sessions import (
    AllowedResult,
    ForgetSessionsResult,
    FoundSessions,
    LearnableFile,
    LearnedAll,
    LearnedResult,
    LearnPlan,
    ListedSession,
    SaidResult,
    SessionResult,
    SessionsResult,
    UnreadResult,
)
from ...bus.values import Scope
from ...config.patterns import regex
from ...sinks.files import Look
from ...sinks.project.identity import Projects
from ..agents.transcripts import Transcript, find_transcripts
from ..cli.client import LONG_S, CallFailed, Client, DaemonLate, DaemonUnreachable
from ..cli.wording import counted, local_time, memories
from .shared import (
    MAX_LISTED,
    Failure,
    call,
    confirm,
    daemon,
    daemon_options,
    day,
    fail_midway,
    is_json,
    limit_option,
    printed_as_json,
    project_folder,
    shorten,
    span,
    tell_unread,
)

_SHOWN_LINES = 6
_SHOWN_BEFORE = 30
_FAR_INTO = 80
_WORD = regex(r"[^\W_]+")
# A session whose transcript was written to more lately may still go on.
_ENDED_S = 3600
_LEARN_S = 600.0


@click.group(invoke_without_command=True)
@daemon_options
@click.pass_context
def sessions_command(context: click.Context) -> None:
    """Show or forget what was said in earlier sessions. Without a command they are listed."""
    if context.invoked_subcommand is None:
        context.invoke(list_sessions)


@sessions_command.command("list")
@limit_option(20, MAX_LISTED, "Maximum number of sessions.")
@daemon_options
def list_sessions(limit: int = 20) -> None:
    """List the sessions that are remembered, newest first."""
    answer = call("sessions", SessionsResult, {"limit": limit})
    if printed_as_json(answer):
        return
    for session in answer.sessions:
        click.echo(f"{local_time(session.began_at)}  {session.id}{_where(session)}")
        click.echo(f"      {counted(session.passages, 'passage')}: {shorten(session.opening, 80)}")
    if not answer.sessions:
        click.echo("no sessions; `subcog learn` reads those that are on the disk")


def _where(session: ListedSession) -> str:
    known = (session.client, f"on {session.branch}" if session.branch else "")
    return "".join(f"  {part}" for part in known if part)


@sessions_command.command("show")
@click.argument("session_id", metavar="ID")
@daemon_options
def show_session(session_id: str) -> None:
    """Show all that is kept of one session. The beginning of its ID is enough."""
    answer = call("session", SessionResult, {"id": session_id})
    if printed_as_json(answer):
        return
    click.echo(f"{answer.id} · {answer.client or 'unknown agent'} · {answer.scope}")
    click.echo(f"from {local_time(answer.began_at)} to {local_time(answer.ended_at)}")
    for said in answer.said:
        click.echo(f"\n{local_time(said.said_at)} {said.speaker}:")
        click.echo(said.text)
        if said.files:
            click.echo(f"  files: {', '.join(said.files)}")


@sessions_command.command("forget")
@click.argument("session_id", metavar="[ID]", required=False)
@click.option("--since", help="Those that began on this date or later: 2027-01-31.")
@click.option("--until", help="With --since: those that began on this date or earlier.")
@click.option("--project-all", "every", flag_value="project", help="All of this project.")
@click.option("--everything", "every", flag_value="everything", help="All of all projects.")
@click.option("--now", is_flag=True, help="Wait until they are erased from the disk.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@daemon_options
def forget_sessions(
    session_id: str | None,
    since: str | None,
    until: str | None,
    every: str | None,
    now: bool,
    yes: bool,
) -> None:
    """Forget sessions for good: one, or those of a time, a project or all projects.

    What was captured from them automatically goes too; what you or the agent stored on purpose
    stays. Reading the same transcript again does not bring anything back. The text is erased from
    the disk when the daemon is next idle, or with --now before this command returns. Copies of the
    database that may still contain it are listed.
    """
    if sum(given is not None for given in (session_id, since, every)) != 1:
        raise click.UsageError("give one of: an ID, --since, --project-all, --everything")
    if until is not None and since is None:
        raise click.UsageError("--until goes with --since")
    params: dict[str, object] = {"now": now, "id": session_id, **span(since, until)}
    params["all"] = every is not None
    params["everywhere"] = every == "everything"
    with daemon() as client:
        if session_id is not None:
            found = client.call("session", SessionResult, {"id": session_id})
            params["id"] = found.id
        if not yes:
            what = _meant(params, since, until)
            unread = "" if session_id else ", and learn nothing of them from unread transcripts"
            confirm(f"Forget {what} for good{unread}?")
        answer = client.call("forget_sessions", ForgetSessionsResult, params, within_s=LONG_S)
    if printed_as_json(answer):
        return
    sessions = counted(answer.sessions, "session")
    click.echo(f"forgotten: {sessions}, {counted(answer.passages, 'passage')}")
    if answer.memories:
        click.echo(f"  and {memories(answer.memories)} captured from them automatically")
    if session_id is None:
        click.echo(
            "  what was said until then is not learned later, from unread transcripts either; "
            "`subcog learn --bring-back-forgotten` ends that"
        )
    for copy in answer.copies:
        click.echo(f"  may still contain it: {copy.file} ({copy.kind})")
    tell_unread(answer.unread)


def _meant(params: dict[str, object], since: str | None, until: str | None) -> str:
    if params["id"] is not None:
        return f"session {params['id']}"
    if since is not None:
        return f"the sessions of this project since {since}" + (f" until {until}" if until else "")
    return "all sessions of all projects" if params["everywhere"] else "all sessions of the project"


def show_found(answer: FoundSessions) -> None:
    """Print the sessions that a search found, each with the words that were found in it."""
    asked = frozenset(_WORD.findall(answer.query.casefold()))
    for session in answer.sessions:
        older = f"  older than {session.replaced_by}" if session.replaced_by else ""
        click.echo(f"{session.relevance:.2f}  {local_time(session.began_at)}  {session.id}{older}")
        for said in _most_telling(session.said, asked):
            click.echo(f"      {said.speaker}: {shorten(_from_what_was(asked, said.text), 100)}")
        if len(session.said) > _SHOWN_LINES:
            click.echo(f"      … {len(session.said) - _SHOWN_LINES} more")
    if not answer.sessions:
        click.echo("nothing found")


def _most_telling(said: Sequence[SaidResult], asked: frozenset[str]) -> list[SaidResult]:
    """Those of ``said`` with most of the words ``asked``, in the order in which they were said."""
    held = [len(asked.intersection(_WORD.findall(one.text.casefold()))) for one in said]
    best = sorted(range(len(said)), key=lambda at: -held[at])[:_SHOWN_LINES]
    return [said[at] for at in sorted(best)]


def _from_what_was(asked: frozenset[str], text: str) -> str:
    """``text`` from shortly before the longest word ``asked`` on, if that is far into it."""
    line = " ".join(text.split())
    held = [word for word in _WORD.finditer(line) if word[0].casefold() in asked]
    at = max(held, key=lambda word: len(word[0])).start() if held else 0
    start = line.rfind(" ", 0, max(0, at - _SHOWN_BEFORE)) + 1
    return f"…{line[start:]}" if start and at > _FAR_INTO else line


# --- what is on the disk already -----------------------------------------------------------------


@click.command()
@click.option("--all", "everywhere", is_flag=True, help="The sessions of every project.")
@click.option("--since", help="Only transcripts written on this date or later: 2027-01-31.")
@click.option("--again", is_flag=True, help="Also what was read before.")
@click.option(
    "--bring-back-forgotten",
    "bring_back",
    is_flag=True,
    help="Also what was said in a time whose sessions you forgot.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be read; read nothing.")
@daemon_options
def learn_command(
    everywhere: bool, since: str | None, again: bool, bring_back: bool, dry_run: bool
) -> None:
    """Read the sessions that agents have left on this disk.

    What was said in those of Claude Code, Codex and Gemini CLI is kept as if subcog had been there,
    each session under its own project and with its own dates, secrets removed. Without --all only
    those of this project are read. Can be interrupted and repeated: what was read is not read
    twice, and what you have forgotten does not come back. `sessions forget` of a time, a project or
    everything also keeps what was not read yet from being learned. --bring-back-forgotten ends
    that, and with --again what was read before comes back as well.
    """
    after = 0.0 if since is None else day(since, "--since").timestamp()
    look = Look()
    with daemon() as client:
        found = _transcripts(everywhere=everywhere, after=after)
        here = [one for one in found if one.cwd and look.is_directory(Path(one.cwd))]
        if bring_back and not dry_run:
            client.call("allow_sessions", AllowedResult, {"everywhere": everywhere})
        plan = _plan(client, here, gone=len(found) - len(here), again=again)
        if dry_run:
            _show_plan(plan)
            return
        wanted = {one.file for one in plan.transcripts}
        chosen = [one for one in here if one.file in wanted]
        answer, failure = _learn(client, chosen, plan, again=again)
    if not printed_as_json(answer):
        _show_learned(answer)
    if failure is not None:
        fail_midway(failure)
    if not answer.finished:
        sys.exit(130)


def _transcripts(*, everywhere: bool, after: float) -> list[Transcript]:
    """The transcripts of this project, or of all, newest first."""
    here = str(project_folder())
    projects = Projects()

    def scope(folder: str) -> Scope:
        return projects.place(project_dir="", cwd=folder, user="").project

    found = [one for one in find_transcripts(os.environ, near=here) if one.modified >= after]
    return (
        found if everywhere else [one for one in found if one.cwd and scope(one.cwd) == scope(here)]
    )


def _plan(client: Client, found: Sequence[Transcript], *, gone: int, again: bool) -> LearnPlan:
    """What is not read yet of each transcript; those of which nothing is left are left out."""
    unread = {one.file: one.bytes for one in found}
    if not again and found:
        files = {"files": tuple(unread)}
        unread = client.call("unread_transcripts", UnreadResult, files).unread
    files_left = tuple(
        LearnableFile(file=one.file, client=one.client, project=one.cwd, bytes=unread[one.file])
        for one in found
        if unread[one.file] > 0
    )
    return LearnPlan(transcripts=files_left, bytes=sum(one.bytes for one in files_left), gone=gone)


def _learn(
    client: Client, found: Sequence[Transcript], plan: LearnPlan, *, again: bool
) -> tuple[LearnedAll, Failure | None]:
    """Have the daemon read each of ``found``; what came of it, and what ended it before the end."""
    began, sizes = time.monotonic(), {one.file: one.bytes for one in plan.transcripts}
    counts: Counter[str] = Counter()
    sessions: set[str] = set()
    finished = True
    failure: Failure | None = None
    with click.progressbar(
        length=plan.bytes, label="reading", hidden=is_json(), file=sys.stderr
    ) as bar:
        try:
            for one in found:
                if (made := _read(client, one, again=again)) is None:
                    counts["failed"] += 1
                else:
                    counts.update(passages=made.passages, memories=made.memories, tasks=made.tasks)
                    counts.update(transcripts=1, bytes=sizes[one.file])
                    sessions.add(one.session)
                bar.update(sizes[one.file])
        except KeyboardInterrupt:
            finished = False
        except DaemonUnreachable as error:
            finished, failure = False, error
    names = ("passages", "memories", "tasks", "transcripts", "bytes", "failed")
    learned = LearnedAll(
        **{name: counts[name] for name in names},
        sessions=len(sessions),
        seconds=round(time.monotonic() - began, 1),
        gone=plan.gone,
        finished=finished,
        error=UNSET if failure is None else str(failure),
    )
    return learned, failure


def _read(client: Client, one: Transcript, *, again: bool) -> LearnedResult | None:
    """What the daemon made of ``one``, None where it failed or took too long.

    Raises ``DaemonUnreachable`` where the daemon is gone.
    """
    try:
        return client.call("learn", LearnedResult, _order(one, again=again), within_s=_LEARN_S)
    except (CallFailed, DaemonLate):
        return None


def _order(one: Transcript, *, again: bool) -> dict[str, object]:
    return {
        "transcript": one.file,
        "session": one.session,
        "client": one.client,
        "cwd": one.cwd,
        "agent": one.agent,
        "ended": time.time() - one.modified > _ENDED_S,
        "again": again,
    }


def _show_plan(plan: LearnPlan) -> None:
    if printed_as_json(plan):
        return
    for one in plan.transcripts:
        click.echo(f"{one.bytes / 1e6:>8.2f} MB  {one.client:<7} {one.project}")
        click.echo(f"             {one.file}")
    transcripts = counted(len(plan.transcripts), "transcript")
    click.echo(f"{transcripts}, {plan.bytes / 1e6:.1f} MB to be read")
    if plan.gone:
        click.echo(f"left out: {plan.gone} whose project is not there any more")


def _show_learned(answer: LearnedAll) -> None:
    click.echo(
        f"read {answer.bytes / 1e6:.1f} MB of {counted(answer.sessions, 'session')}"
        f" in {answer.seconds:.0f} s: {counted(answer.passages, 'passage')}"
        f", {memories(answer.memories)}, {counted(answer.tasks, 'task record')}"
    )
    if answer.gone:
        click.echo(f"  left out: {answer.gone} whose project is not there any more")
    if answer.failed:
        click.echo(f"  not read: {answer.failed}; see `subcog logs`", err=True)
    if not answer.finished:
        click.echo("interrupted; the same command goes on from there", err=True)
