"""``doctor``: checks the installation, and says how to fix what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from ...config.paths import Paths
from ..agents.install import our_parts
from ..doctor import agents
from ..doctor.installation import Finding, Installation, Unrepaired
from .shared import json_option, our_paths, show_json


@click.command()
@click.option("--repair", is_flag=True, help="Repair what can be repaired; former files are kept.")
@json_option
def doctor_command(repair: bool, as_json: bool) -> None:
    """Check the installation end to end; a test memory passes through the hook and is deleted.

    Exits 1 if a check fails and could not be repaired.
    """
    paths = our_paths()
    repaired = _repair(paths) if repair else []
    findings = list(_examine(paths))
    if as_json:
        told = [_told(finding) for finding in findings]
        show_json({"findings": told, "repaired": repaired} if repair else told)
    else:
        for line in repaired:
            click.echo(
                f"repaired {line['check']}: {line['done']}" if line["well"] else _failed(line)
            )
        for finding in findings:
            _show(finding)
    if not all(finding.ok for finding in findings):
        sys.exit(1)


def _examine(paths: Paths) -> Iterator[Finding]:
    installation = Installation(paths, os.environ)
    yield from installation.examine()
    yield from agents.examine(paths, os.environ)
    if installation.status is None:
        return
    yield agents.hook_activity(installation.status.heard)
    yield from agents.fly(paths, os.environ, agents.hook_commands(os.environ, our_parts()))


def _repair(paths: Paths) -> list[dict[str, Any]]:
    """Mend what the house and the agents' settings need, and say each thing that was done."""
    done = []
    findings = [*Installation(paths, os.environ).examine(), *agents.examine(paths, os.environ)]
    seen: set[str] = set()
    for finding in findings:
        if finding.repair is None or finding.check in seen:
            continue
        seen.add(finding.check)
        try:
            lines, well = finding.repair(), True
        except (Unrepaired, OSError) as error:
            lines, well = (str(error),), False
        done += [{"check": finding.check, "well": well, "done": line} for line in lines]
    return done


def _told(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "ok": finding.ok,
        "seen": finding.seen,
        "mend": finding.mend,
        "repairable": finding.repair is not None,
    }


def _failed(line: dict[str, Any]) -> str:
    return f"not repaired, {line['check']}: {line['done']}"


def _show(finding: Finding) -> None:
    click.echo(f"{'ok  ' if finding.ok else 'BAD '} {finding.check}: {finding.seen}")
    if finding.mend and not finding.ok:
        click.echo(f"     {finding.mend}")
