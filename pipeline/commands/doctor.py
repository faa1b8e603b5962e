"""``doctor``: is everything as it should be, and what to do where it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from ...config.load import SettingsError
from ...config.paths import Paths
from ..client import CallFailed, Client, DaemonUnreachable
from ..install import (
    claude_settings_file,
    is_ours,
    our_client_script,
    our_launcher,
    real_interpreter,
)
from .shared import json_option, our_paths, our_settings, show_json

CANARY = "The canary lives in the blue aviary behind the observatory"
CANARY_QUESTION = "where does the canary live?"
HOOK_S = 20


class Finding(NamedTuple):
    """One check: its name, whether it went well, what was seen, and what to do."""

    check: str
    ok: bool
    seen: str
    mend: str = ""


@click.command()
@json_option
def doctor_command(as_json: bool) -> None:
    """Check the installation, with a memory that goes all the way through the hook and is removed.

    Exits 1 if something is wrong.
    """
    findings = list(_examine())
    if as_json:
        show_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            click.echo(f"{'ok  ' if finding.ok else 'BAD '} {finding.check}: {finding.seen}")
            if finding.mend and not finding.ok:
                click.echo(f"     {finding.mend}")
    if not all(finding.ok for finding in findings):
        sys.exit(1)


def _examine() -> Iterator[Finding]:
    paths = our_paths()
    checks: tuple[Callable[[Paths], Finding], ...] = (
        _interpreter,
        _settings,
        _permissions,
        _daemon,
        _model,
        _wiring,
        _canary,
    )
    for check in checks:
        yield check(paths)


def _interpreter(paths: Paths) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("interpreter", sys.version_info >= (3, 11), f"{real_interpreter()}, {version}")


def _settings(paths: Paths) -> Finding:
    try:
        loaded = our_settings()
    except SettingsError as error:
        return Finding("settings", False, str(error), "mend that value, or remove it")
    changed = sum(origin.source != "default" for origin in loaded.origins)
    return Finding("settings", True, f"{changed} differ from the defaults")


def _permissions(paths: Paths) -> Finding:
    open_to_others = [
        str(path)
        for path in (paths.data, paths.database, paths.state, paths.link)
        if path.exists() and path.stat().st_mode & 0o077
    ]
    if open_to_others:
        mend = f"chmod go-rwx {' '.join(open_to_others)}"
        return Finding("permissions", False, "others may read or write", mend)
    return Finding("permissions", True, "for you alone")


def _daemon(paths: Paths) -> Finding:
    client = Client(paths, {})
    try:
        status = client.call("status")
    except (DaemonUnreachable, CallFailed) as error:
        return Finding("daemon", False, str(error), f"see {paths.log}")
    finally:
        client.close()
    if status["problem"]:
        return Finding("daemon", False, status["problem"], f"see {paths.log}")
    return Finding("daemon", True, f"process {status['pid']}, version {status['version']}")


def _model(paths: Paths) -> Finding:
    """Whether the language model that the settings name can be asked."""
    client = Client(paths, {})
    try:
        llm = client.call("status")["llm"]
    except (DaemonUnreachable, CallFailed) as error:
        return Finding("language model", False, str(error), f"see {paths.log}")
    finally:
        client.close()
    if llm is None:
        return Finding("language model", True, "none is asked")
    if llm["problem"]:
        return Finding("language model", False, llm["problem"], "or name none")
    seen = f"{llm['model']}, circuit breaker {llm['breaker']}"
    return Finding("language model", llm["breaker"] != "open", seen, "is it up, is the key right?")


def _wiring(paths: Paths) -> Finding:
    file = claude_settings_file(os.environ)
    try:
        hooks = json.loads(file.read_text(encoding="utf-8")).get("hooks", {})
        wired = [
            event
            for event, groups in hooks.items()
            for group in groups
            for hook in group["hooks"]
            if is_ours(hook.get("command"))
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        wired = []
    if wired:
        return Finding("Claude Code", True, f"hooks for {', '.join(wired)} in {file}")
    mend = "`subcog install` wires them, unless you use the plugin"
    return Finding("Claude Code", True, f"no hooks of ours in {file}; {mend}")


def _canary(paths: Paths) -> Finding:
    """A memory that is captured, comes back through the real pipe, and is forgotten."""
    with tempfile.TemporaryDirectory(prefix="subcog-canary-") as project:
        client = Client(paths, {"project": project})
        try:
            kept = client.call("capture", {"text": CANARY, "namespace": "context"})
            try:
                context = _ask_through_the_pipe(project)
            finally:
                client.call("forget", {"id": kept["id"]})
        except (DaemonUnreachable, CallFailed, OSError, ValueError) as error:
            return Finding("canary", False, type(error).__name__, str(error))
        finally:
            client.close()
    if CANARY in context:
        return Finding("canary", True, "captured, injected through the hook, forgotten")
    return Finding("canary", False, "the hook did not bring it back", f"see {paths.log}")


def _ask_through_the_pipe(project: str) -> str:
    payload = {"session_id": "", "cwd": project, "prompt": CANARY_QUESTION}
    done = subprocess.run(  # noqa: S603 - our own pipe
        [
            str(real_interpreter()),
            "-I",
            "-S",
            str(our_client_script()),
            "UserPromptSubmit",
            str(our_launcher()),
        ],
        input=json.dumps(payload).encode(),
        stdout=subprocess.PIPE,
        env={**os.environ, "CLAUDE_PROJECT_DIR": project, "CLAUDECODE": "1"},
        cwd=Path(project),
        timeout=HOOK_S,
        check=True,
    )
    answer = json.loads(done.stdout or b"{}")
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
