"""What ``subcog status`` says of a daemon that runs, for people."""

from __future__ import annotations

from collections.abc import Iterator

from ...bus.service_results import BackupSummary, IndexStatus, StatusResult
from .wording import counted, local_time, memories


def lines_of(answer: StatusResult) -> Iterator[tuple[str, object]]:
    """The name and the value of each line of ``status``."""
    if answer.index is not None:
        yield "index", describe_index(answer.index)
    if answer.team is not None:
        from .team_view import in_a_line

        yield "team", in_a_line(answer.team)
    if answer.backup is not None:
        yield "backups", describe_backups(answer.backup)
    if answer.late_prompts:
        yield "late", f"{counted(answer.late_prompts, 'prompt')} got nothing, for want of time"
    for damage in answer.damage:
        yield "damage", damage
    for name in ("memories", "sessions", "passages"):
        if (count := getattr(answer, name)) is not None:
            yield name, f"{count:,} in all projects"
    for name in ("database", "socket"):
        yield name, getattr(answer, name)
    if answer.metrics_url is not None:
        yield "metrics", answer.metrics_url
        yield "MCP", answer.mcp_url
        yield "page", "`subcog ui` opens it"
    else:
        yield "HTTP", "not served: neither metrics nor the page, MCP or hooks over HTTP"
    yield "log", answer.log


def describe_backups(backup: BackupSummary) -> str:
    """One line about the backups that are made without being asked for."""
    if backup.problem:
        return f"the last one failed: {backup.problem}"
    if backup.newest_at is None:
        return f"none yet in {backup.folder}"
    megabytes = backup.bytes / 1e6
    newest = f"the newest of {local_time(backup.newest_at)}"
    return f"{backup.count}, {newest}, {megabytes:.1f} MB in {backup.folder}"


def describe_index(index: IndexStatus) -> str:
    """The line of ``index`` in ``subcog status``."""
    size = f"{index.bytes / 1e6:,.1f} MB in memory, {counted(index.scopes, 'scope')}"
    alone = f", {index.without_vectors:,} found by words alone" if index.without_vectors else ""
    told = f"{size}{alone}, {memories(index.in_topics)} in topics"
    return f"none in memory, SQL searches ({index.missing})" if index.missing else told
