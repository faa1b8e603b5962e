"""``doctor``: checks the installation, and says how to fix what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click
from msgspec import Struct

from ...config.paths import Paths
from ..agents.install import our_parts
from ..cli.wording import fitted
from ..doctor import agents
from ..doctor.findings import Finding, Unrepaired
from ..doctor.installation import Installation
from .shared import is_json, json_option, our_paths, project_folder, show_json


class Repair(Struct, frozen=True):
    """What was ``done`` about a check, or where that did not go ``well``, why not."""

    check: str
    well: bool
    done: str


@click.command()
@click.option("--repair", is_flag=True, help="Repair what can be repaired; former files are kept.")
@json_option
def doctor_command(repair: bool) -> None:
    """Check the installation end to end.

    A test memory passes through the hook and is deleted again.
    Exits 1 if a check fails and could not be repaired.
    """
    paths = our_paths()
    repaired = _repair(paths) if repair else []
    findings = list(_examine(paths))
    if is_json():
        told = [_told(finding) for finding in findings]
        show_json({"findings": told, "repaired": repaired} if repair else told)
    else:
        for line in repaired:
            click.echo(f"{'repaired' if line.well else 'not repaired,'} {line.check}: {line.done}")
        for finding in findings:
            _show(finding)
    if not all(finding.ok for finding in findings):
        sys.exit(1)


def _examine(paths: Paths) -> Iterator[Finding]:
    installation = Installation(paths, os.environ)
    yield from installation.examine()
    yield from agents.examine(paths, os.environ, project_folder().resolve())
    if installation.status is None:
        return
    yield agents.hook_activity(installation.status.heard)
    yield from agents.fly(paths, os.environ, agents.hook_commands(os.environ, our_parts()))


def _repair(paths: Paths) -> list[Repair]:
    """Repair the files of subcog and the agents' settings, and say each thing that was done."""
    done = []
    findings = [
        *Installation(paths, os.environ).examine(),
        *agents.examine(paths, os.environ, project_folder().resolve()),
    ]
    seen: set[str] = set()
    for finding in findings:
        if finding.repair is None or finding.check in seen:
            continue
        seen.add(finding.check)
        try:
            lines, well = finding.repair(), True
        except (Unrepaired, OSError) as error:
            lines, well = (str(error),), False
        done += [Repair(finding.check, well, line) for line in lines]
    return done


def _told(finding: Finding) -> dict[str, str | bool]:
    return {
        "check": finding.check,
        "ok": finding.ok,
        "seen": finding.seen,
        "mend": finding.mend,
        "repairable": finding.repair is not None,
    }


def _show(finding: Finding) -> None:
    state = "ok  " if finding.ok else "BAD "
    click.echo(fitted(f"{state} {finding.check}: {finding.seen}", 5))
    if finding.mend and not finding.ok:
        click.echo(fitted(f"     {finding.mend}", 5))
