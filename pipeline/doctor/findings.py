"""What a check finds, and what the status of the daemon says about the installation."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator

from msgspec import Struct

from ...bus.results import ProjectResult
from ...bus.service_results import StatusResult
from ...config.settings import HttpSettings, SessionsSettings
from ...stages.text.envelope import author_name
from ...stages.text.unicode import name_line, visible
from ..cli.wording import counted, local_time

_NO_BACKUP = "the first is made when the daemon has some rest"
Repair = Callable[[], tuple[str, ...]]


# A team that is behind for longer, in seconds, is not merely slow.
LAG_S = 3600.0


class Unrepaired(RuntimeError):
    """Something could not be repaired; the message says why, and what to do instead."""


class Finding(Struct, frozen=True, kw_only=True):
    """The check's name, whether it passed, what was seen, and how to fix it.

    ``repair`` repairs it and returns what it did, a line each; None where only the user can. Raises
    ``Unrepaired`` or ``OSError``.
    """

    check: str
    ok: bool
    seen: str
    mend: str = ""
    repair: Repair | None = None


def passed(check: str, seen: str) -> Finding:
    """What is as it should be."""
    return Finding(check=check, ok=True, seen=seen)


def failed(check: str, seen: str, mend: str, repair: Repair | None = None) -> Finding:
    """What is not, and how to fix it."""
    return Finding(check=check, ok=False, seen=seen, mend=mend, repair=repair)


def examine_sessions(
    status: StatusResult | None, settings: SessionsSettings, project: str
) -> Finding:
    """What is kept of sessions, and whether anything said in ``project`` is."""
    excluded = settings.excluded(os.path.realpath(project))
    if not settings.enabled:
        seen = "switched off; nothing that is said is kept (sessions.enabled)"
    elif excluded is not None:
        seen = f"nothing said in this project is kept (sessions.exclude has {excluded})"
    elif status is None or status.sessions is None:
        seen = "still being loaded, or no daemon could be asked"
    else:
        seen = f"{counted(status.sessions, 'session')}, {counted(status.passages or 0, 'passage')}"
    return passed("sessions", seen)


def examine_http(status: StatusResult, settings: HttpSettings, refusal: str) -> Finding:
    """Whether HTTP is served, where it is to be; ``refusal`` is why its port cannot be had now."""
    if status.metrics_url:
        return passed("http", status.metrics_url.removesuffix("metrics"))
    if not settings.enabled:
        return passed("http", "switched off (http.enabled)")
    lacking = "so there are no metrics, no page, and neither MCP nor hooks over HTTP"
    if not refusal:
        mend = "check again in a few seconds; if it stays so: `subcog logs`, `subcog daemon stop`"
        return failed("http", f"the daemon does not serve it, {lacking}", mend)
    return failed(
        "http",
        f"port {settings.port} cannot be used ({refusal}), {lacking}",
        "end the program that uses it; or set http.port to another port, or to 0 for any free one, "
        "then `subcog daemon stop`",
    )


def examine_team(status: StatusResult | None) -> Finding:
    """What the daemon's ``status`` says of it."""
    team = status.team if status else None
    if team is None:
        return passed("team", "no team joined")
    seen = f"{name_line(team.team)} as {author_name(team.member)}, on {name_line(team.server)}"
    if (problem := team.problem) and not team.connected:
        mend = f"{visible(problem.message).rstrip('.')}. New memories are sent later."
        return failed("team", f"{seen}: {problem.reason}", mend)
    if team.lag_s is not None and team.lag_s > LAG_S:
        hours = team.lag_s / 3600
        seen = f"{seen}: behind for {hours:.0f} h, and {team.outbox} changes wait to be sent"
        return failed("team", seen, "`subcog team status` shows why")
    return passed("team", f"{seen}: {visible(problem.message)}" if problem else seen)


def examine_backups(status: StatusResult) -> Finding:
    """Whether the backups that are made without being asked for are made."""
    backup = status.backup
    if backup is None:
        return passed("backups", "none are made (backup.enabled)")
    if backup.problem:
        mend = f"look at {backup.folder}, or name another directory in backup.folder"
        return failed("backups", backup.problem, mend)
    newest = f"the newest of {local_time(backup.newest_at)}" if backup.newest_at else _NO_BACKUP
    return passed("backups", f"{backup.count} in {backup.folder}, {newest}")


def examine_damage(status: StatusResult) -> Finding:
    """What was found damaged, for as long as its copies are kept."""
    if not status.damage:
        return passed("damage", "none was found")
    mend = "compare what is there with a backup, then remove what is kept aside"
    was_told = not any("damaged log" in one for one in status.damage)  # by the repair
    return Finding(check="damage", ok=was_told, seen="; ".join(status.damage), mend=mend)


def examine_project(answer: ProjectResult | None) -> Finding:
    """What the daemon says of the directory that the doctor was called in."""
    if answer is None:
        return passed("project", "no daemon could be asked")
    if not answer.claimed:
        return passed("project", answer.project)
    said = f"it has the remote or the name of {answer.claimed}, and shares no commit with it"
    return failed(
        "project",
        f"{answer.project}: {said}",
        "if it is that project, `subcog project alias` joins its memory; else "
        "`subcog project split` says so",
    )


def examine_reranker(status: StatusResult | None) -> Finding:
    """Whether the reranker can be used in this installation."""
    from ...sinks.models.cross_encoder import CrossEncoder

    try:
        CrossEncoder.load()
    except ImportError:
        seen = "onnxruntime is missing, so search results are not reranked"
        mend = "`pip install onnxruntime`, and `subcog daemon stop`"
        return Finding(check="reranking", ok=not _has_onnxruntime(), seen=seen, mend=mend)
    except (OSError, ValueError) as error:
        return failed("reranking", str(error), "reinstall subcog: one of its files is damaged")
    seen = "the reranker is available"
    if status is not None and status.index is not None and status.index.reranks_cut:
        cut = counted(status.index.reranks_cut, "question")
        seen += f"; there was no time for all of it at {cut}"
    return passed("reranking", seen)


def examine_time(status: StatusResult | None) -> Iterator[Finding]:
    """Whether prompts got nothing for want of time; nothing is told where none did."""
    if status is None or not status.late_prompts:
        return
    seen = f"{counted(status.late_prompts, 'prompt')} got nothing since the daemon started, for "
    seen += "want of time: the machine was busy"
    mend = "if it happens often, raise hook.total_ms, at most for so long a prompt waits"
    yield Finding(check="time", ok=True, seen=seen, mend=mend)


def examine_index(status: StatusResult | None) -> Iterator[Finding]:
    """Whether memories are searched for in memory; nothing is told where they are as they should.

    While it was loaded SQL searched, which is no problem.
    """
    index = status.index if status else None
    if index is None or not index.missing:
        return
    seen = f"there is no index in memory: {index.searched_by_sql} questions were searched by SQL"
    if index.missing == "index.off":
        yield Finding(check="index", ok=True, seen=f"{seen}, as store.warm_index is false")
    else:
        mend = "`subcog logs --level error` says why; `subcog daemon stop` makes it anew"
        yield Finding(check="index", ok=False, seen=f"{seen}, since it failed", mend=mend)


def _has_onnxruntime() -> bool:
    """Whether there is an ``onnxruntime`` for this machine: not for Macs with Intel processors."""
    return not (sys.platform == "darwin" and platform.machine() == "x86_64")


def examine_model(status: StatusResult | None) -> Finding:
    """Whether the language model that the settings name can be asked."""
    llm = status.llm if status else None
    if llm is None:
        return passed("language model", "none is configured")
    if llm.problem:
        return failed("language model", llm.problem, "correct the [llm] settings")
    seen = f"{llm.model}, circuit breaker {llm.breaker}"
    well = llm.breaker != "open"
    mend = "check that the model can be reached and that its key is valid"
    return Finding(check="language model", ok=well, seen=seen, mend=mend)
