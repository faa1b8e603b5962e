"""The team in a terminal: lines made of the daemon's answers, and the progress of a first sync."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...bus.service_results import (
    JoinResult,
    LeaveResult,
    SharedProject,
    ShareResult,
    TeamProject,
    TeamRecallResult,
    TeamStatusResult,
    TeamSummary,
    UnshareResult,
)
from ...stages.text.envelope import age_in_words, author_name
from ...stages.text.unicode import cut, name_line, one_line, visible
from .client import Client
from .wording import counted, degraded_search, memories

if TYPE_CHECKING:
    from ...sinks.team.postgres.admin import Initialised

# What the server alone has cannot be looked up by its id here, so more of it is shown.
MAX_FOUND_CHARS = 300
CONFLICTS = "two members changed the same memory; `subcog list --contradicting` shows both"
SKIPPED = "could not be used here, or may not be sent; `subcog logs --level warning` says why"
REFUSED = "the team's server does not take what you changed; `subcog logs --level warning` names it"
# Of a list that any member may add to.
MAX_PROJECTS = 50
AUTHORS_ALONE = "each member only what they wrote themselves"
# An answer that takes longer is told.
SLOW_S = 2.0
SLOW = "slowly: the server takes {:.0f} s; nothing here waits for it"
POLLING = "none: a connection pool is between, so the server is asked every few seconds"
POLL_S = 0.5
# So long without any step, and something else holds it up.
PATIENCE_S = 15.0
GOES_ON = "the daemon continues; `subcog team status` shows the progress"


def joining(preview: JoinResult) -> Iterator[str]:
    """What joining would send and bring, before anybody agreed to it."""
    yield _who(preview)
    yield f"members, who will read what you send: {_names(preview.members)}"
    yield "what leaves this machine, now and whenever it changes:"
    yield f"  {preview.organisation:>7,}  memories of the organisation (--scope org)"
    for project in preview.projects:
        yield f"  {project.here:>7,}  {_shared(project)}"
    yield f"  {preview.leaves:>7,}  in all"
    yield "what this machine receives: the same of all members"
    yield "what never leaves: other projects, your own memories (--scope user), <private> spans"


def joined(answer: JoinResult) -> Iterator[str]:
    """What became of it."""
    yield f"joined the team {name_line(answer.team)} as {author_name(answer.member)}"
    yield f"  sending {memories(answer.leaves)}; `subcog team status` shows the progress"


def sharing(preview: ShareResult) -> Iterator[str]:
    """What sharing a project would send."""
    yield f"project {name_line(preview.name)} with the team {name_line(preview.team)}"
    yield f"  {name_line(preview.scope)}"
    if preview.shared_by:
        yield f"  {author_name(preview.shared_by)} already shares it"
    if preview.warning:
        yield f"  warning: {preview.warning}"
    yield f"what leaves this machine: {memories(preview.leaves)}, and every later one of it"


def prepared(done: Initialised) -> Iterator[str]:
    """What an administrator has to know, and to hand on, about a database that was prepared."""
    before = done.upgraded_from
    what = "prepared" if not before else "up to date"
    if before and before != done.version:
        what = f"upgraded from version {before}"
    yield f"{done.server}: {what}, schema version {done.version}, for the team {done.team}"
    search = "BM25 (pg_textsearch)" if done.text_search == "bm25" else "PostgreSQL's own"
    yield f"  text search: {search}"
    for member in done.members:
        if member.url:
            yield f"  {member.name} joins with, and this is shown only now:"
            yield f"    subcog team join {shlex.quote(member.url)}"
        else:
            yield f"  {member.name} is in, with the login {member.role} as it was"


def left(answer: LeaveResult, file: Path | None = None) -> Iterator[str]:
    """That it is done; ``file`` are the settings that had an address of a team's server."""
    yield f"left the team {name_line(answer.team)}"
    yield f"  removed from this machine: {memories(answer.removed)} that others wrote"
    yield f"  yours are kept: {memories(answer.kept)}"
    if file is not None and (answer.url_removed or answer.url_of_another):
        yield f"  {_address(answer, file)}"


def _address(answer: LeaveResult, file: Path) -> str:
    if answer.url_of_another:
        return f"team.url in {file} leads to another team, and is kept"
    return f"removed from {file}: team.url, the address of the server and its password"


def unshared(answer: UnshareResult) -> Iterator[str]:
    """What became of a project that is no longer shared from here."""
    yield f"{name_line(answer.name)} is no longer shared with the team from this machine"
    yield f"  removed from this machine: {memories(answer.removed)} that others wrote"
    yield f"  yours are kept: {memories(answer.kept)}"
    yield "  what was sent before stays with the team"
    if answer.listed:
        yield "  your colleagues keep sharing it"


def leaving(preview: LeaveResult, file: Path | None = None) -> Iterator[str]:
    """What leaving would take off this machine; ``file`` is as in ``left``."""
    yield _who(preview)
    yield f"removed from this machine: {memories(preview.removed)} that others wrote"
    yield f"yours are kept: {memories(preview.kept)}"
    yield "what you sent stays with the team"
    if file is not None:
        yield _address(preview, file)
    if preview.unsent:
        yield f"your changes that were never sent: {counted(preview.unsent, 'change')}"


def standing(status: TeamStatusResult, now: datetime) -> Iterator[str]:
    """How this machine and its team stand."""
    if not status.joined:
        yield "this machine is in no team"
        if status.url:
            yield "  [team] url is set; `subcog team join` joins"
        return
    yield _who(status)
    if status.members:
        yield _row("members", _names(status.members))
    yield _row("state", _state(status))
    if status.problem:
        yield _row("", visible(status.problem.message))
    yield from _particulars(status)
    yield _row("to send", _waiting(status, now))
    yield _row("to receive", _remaining(status))
    yield _row("sent", _moved(status.sent, status.last_push, now))
    yield _row("received", _moved(status.received, status.last_pull, now))
    problems = (
        ("conflicts", status.conflicts, CONFLICTS),
        ("skipped", status.skipped, SKIPPED),
        ("refused", status.refused, REFUSED),
    )
    for name, number, why in problems:
        if number:
            yield _row(name, f"{number:,}: {why}")
    organisation = status.organisation
    yield _row(
        "organisation",
        f"{memories(organisation.here)}, {organisation.received:,} of them by others",
    )
    projects = sorted(status.projects, key=lambda each: (not each.sends, not each.here))
    for project in projects[:MAX_PROJECTS]:
        yield _row("project", _project(project))
    if (more := len(projects) - MAX_PROJECTS) > 0:
        yield _row("", f"and {more:,} more, which `--json` has")


def _particulars(status: TeamStatusResult) -> Iterator[str]:
    """What is not so with every team and server."""
    if status.authors_alone:
        yield _row("forgetting", AUTHORS_ALONE)
    if (answer_s := status.answer_s or 0.0) >= SLOW_S:
        yield _row("answers", SLOW.format(answer_s))
    if status.polling:
        yield _row("wake-ups", POLLING)


def found(answer: TeamRecallResult) -> Iterator[str]:
    """What the team's server found."""
    yield f"from the team {name_line(answer.team)} on {name_line(answer.server)}:"
    for memory in answer.memories:
        of = name_line(memory.project) or "the organisation"
        written = f"{memory.namespace:<11} {memory.id}"
        yield f"{written}  by {author_name(memory.author)}  of {of}"
        yield f"      {cut(one_line(visible(memory.content)), MAX_FOUND_CHARS)}"
    if not answer.memories:
        yield "nothing found"
    if answer.skipped:
        yield f"({answer.skipped} more could not be shown as memories)"
    if answer.degraded:
        yield f"({degraded_search(answer.degraded, answer.mode)})"


def in_a_line(team: TeamSummary) -> str:
    """The team of a daemon's status."""
    problem = team.problem
    how = "connected in part" if team.connected else "not connected"
    state = f"{how} ({problem.reason})" if problem else _step(team)
    waiting = f", to send {counted(team.outbox, 'change')}" if team.outbox else ""
    return f"{name_line(team.team)} as {author_name(team.member)}: {state}{waiting}"


def _who(answer: JoinResult | LeaveResult | TeamStatusResult) -> str:
    member = author_name(answer.member)
    return f"team {name_line(answer.team)} on {name_line(answer.server)}, you as {member}"


def _row(name: str, told: str) -> str:
    return f"  {name:<13}{told}"


def _state(status: TeamStatusResult) -> str:
    if not status.url:
        return "not connected: no server is named; `subcog team join URL` names it again"
    if not status.connected:
        return "not connected; what you keep is sent later"
    return "connected in part" if status.problem else _step(status)


def _step(status: TeamStatusResult | TeamSummary) -> str:
    if not status.connected:
        return "not connected"
    return f"connected, {status.lag_s:.0f} s behind" if status.lag_s else "connected, in step"


def _waiting(status: TeamStatusResult, now: datetime) -> str:
    if not status.outbox:
        return "nothing"
    return f"{counted(status.outbox, 'change')}, the oldest {_ago(status.oldest, now)}"


def _moved(changes: int, contact: datetime | None, now: datetime) -> str:
    return f"{changes:,} since the daemon started; last contact {_ago(contact, now)}"


def _remaining(status: TeamStatusResult) -> str:
    if status.remaining is None:
        return "unknown"
    numbers = (status.remaining, "change"), (status.fetching, "project")
    return ", ".join(counted(number, what) for number, what in numbers if number) or "nothing"


def _project(project: SharedProject) -> str:
    who = author_name(project.shared_by)
    by = f", shared by {who}" if who else ""
    way = "" if project.sends else "; received only, `subcog team share` sends too"
    return f"{name_line(project.name)}: {memories(project.here)}{by}{way}"


def _shared(project: TeamProject) -> str:
    who = author_name(project.shared_by)
    return f"of {name_line(project.name)}" + (f" (shared by {who})" if who else "")


def _ago(time: datetime | None, now: datetime) -> str:
    return "never" if time is None else age_in_words(time, now)


def _names(members: Sequence[str]) -> str:
    return ", ".join(author_name(member) for member in members) or "nobody yet"


def follow(client: Client, *, wait: Callable[[float], None] = time.sleep) -> None:
    """Watch until this machine and its team have the same, or it cannot go on for now."""
    try:
        told = _watch(client, wait)
    except KeyboardInterrupt:
        told = GOES_ON
    if told:
        click.echo(f"\n{told}", err=True)


def _watch(client: Client, wait: Callable[[float], None]) -> str:
    """What there is to say where it does not come to its end; else nothing."""
    before: int | None = None
    idle_s = 0.0
    with click.progressbar(length=1, label="first sync", file=sys.stderr) as bar:
        while (left := left_of(status := client.call("team-status", TeamStatusResult))) != 0:
            if status.problem:
                return f"{visible(status.problem.message)}\n{GOES_ON}"
            idle_s = 0.0 if left != before else idle_s + POLL_S
            if idle_s >= PATIENCE_S:
                return GOES_ON
            if left is not None:
                bar.length = max(bar.length or 1, bar.pos + left)
                bar.update(max(0, bar.length - left - bar.pos))
            before = left
            wait(POLL_S)
        bar.update((bar.length or 1) - bar.pos)
    return ""


def left_of(status: TeamStatusResult) -> int | None:
    """How many changes have yet to come or to go; None while nobody knows."""
    if not status.connected or status.remaining is None:
        return None
    left = status.remaining + status.fetching + status.outbox
    return left if left or status.last_pull else None
