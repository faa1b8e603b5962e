"""Sends a memory all the way: captured, recalled, injected through each wired hook, forgotten.

It lives in a project of its own, a folder that is made for it and gone afterwards, so nothing of
the user's is read or written.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...bus.results import CaptureResult, ForgetResult, RecallResult
from ...config.paths import Paths
from ..agents.install import AGENTS
from ..cli.client import CallFailed, Client, DaemonUnreachable
from .agents import missing
from .finding import Finding

TEXT = "The canary lives in the blue aviary behind the observatory"
QUESTION = "where does the canary live?"
HOOK_S = 20

Env = Mapping[str, str]
Commands = Mapping[str, Sequence[str]]


def fly(paths: Paths, env: Env, commands: Commands) -> Iterator[Finding]:
    """A finding for each of ``commands`` (by title) that cannot run, and one for all others."""
    grounded = {title: missing(words) for title, words in commands.items()}
    for title, lost in grounded.items():
        if lost:
            yield _grounded(title, lost)
    able = {title: words for title, words in commands.items() if not grounded[title]}
    if able:
        yield from _fly(paths, env, able)


def _grounded(title: str, lost: Sequence[str]) -> Finding:
    """What a hook runs is not there any more: a moved checkout, a removed environment."""
    names = [agent.name for agent in AGENTS.values() if agent.title == title]
    mend = f"`subcog install {names[0]}` writes it anew" if names else "install subcog once more"
    seen = f"the hook of {title} runs {', '.join(lost)}, and that is gone"
    return Finding(check="canary", ok=False, seen=seen, mend=mend)


def _fly(paths: Paths, env: Env, commands: Commands) -> Iterator[Finding]:
    """One finding: how far the memory came."""
    with tempfile.TemporaryDirectory(prefix="subcog-canary-") as folder:
        project = os.path.realpath(folder)
        client = Client(paths, {"project": project})
        try:
            kept = client.call("capture", CaptureResult, {"text": TEXT, "namespace": "context"})
            if kept.id is None:
                seen = "the test memory could not be stored"
                yield Finding(check="canary", ok=False, seen=seen, mend=kept.reason)
                return
            try:
                found = client.call("recall", RecallResult, {"query": QUESTION}).memories
                silent = [
                    name
                    for name, words in commands.items()
                    if TEXT not in _context(words, project, env)
                ]
            finally:
                client.call("forget", ForgetResult, {"id": kept.id})
        except (DaemonUnreachable, CallFailed, OSError, ValueError) as error:
            yield Finding(check="canary", ok=False, seen="the test failed", mend=str(error))
            return
        except subprocess.SubprocessError as error:
            seen = f"the hook failed ({type(error).__name__})"
            yield Finding(check="canary", ok=False, seen=seen, mend=f"see {paths.log}")
            return
        finally:
            client.close()
    if kept.id not in {memory.id for memory in found}:
        mend = "`subcog status` shows whether memories can be searched"
        yield Finding(check="canary", ok=False, seen="stored, but not found", mend=mend)
    elif silent:
        seen = f"the hook of {', '.join(silent)} did not inject the test memory"
        yield Finding(check="canary", ok=False, seen=seen, mend=f"see {paths.log}")
    else:
        seen = f"captured, recalled, injected through {', '.join(commands)}, forgotten"
        yield Finding(check="canary", ok=True, seen=seen)


def _context(words: Sequence[str], project: str, env: Env) -> str:
    """What a hook adds to the model's context, run as an agent runs it."""
    # Without a session, so that it is not taken for a hook of an agent that was heard.
    payload = {"session_id": "", "cwd": project, "prompt": QUESTION}
    done = subprocess.run(  # noqa: S603 - what we wrote into the agent's settings
        list(words),
        input=json.dumps(payload).encode(),
        stdout=subprocess.PIPE,
        env={**env, "CLAUDE_PROJECT_DIR": project, "CLAUDECODE": "1"},
        cwd=Path(project),
        timeout=HOOK_S,
        check=True,
    )
    answer = json.loads(done.stdout or b"{}")
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
