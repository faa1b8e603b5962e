"""``make demo``: real memories, real prompts, the real hook pipe and a daemon of its own.

Everything happens in a scratch directory that is removed at the end, with the daemon.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.rule import Rule

from subcog.bus.prompt_results import ExplainResult
from subcog.bus.results import CaptureResult
from subcog.bus.service_results import StopResult
from subcog.config.paths import find_paths
from subcog.hooks import client as pipe
from subcog.pipeline.cli.client import Client, DaemonUnreachable
from subcog.pipeline.cli.explain_view import explanation

MEMORIES = (
    (
        "decisions",
        "We use argon2id for password hashing because bcrypt truncates passwords at 72 bytes.",
        ("auth", "security"),
    ),
    (
        "patterns",
        "Every HTTP handler takes its database session from the request scope, never from a "
        "module global; tests override the `get_session` dependency.",
        ("database", "testing"),
    ),
    (
        "blockers",
        "The test suite hangs on CI when the Postgres container starts after the tests: wait for "
        "pg_isready in conftest.py, a fixed sleep is not enough.",
        ("ci", "postgres"),
    ),
    (
        "learnings",
        "Alembic autogenerate does not see changed server defaults; write that migration by hand.",
        ("migrations", "database"),
    ),
    (
        "decisions",
        "Background jobs run in arq rather than Celery: one dependency on Redis, native asyncio.",
        ("jobs",),
    ),
    (
        "context",
        "The billing module lives in services/billing and is owned by the payments team.",
        ("billing",),
    ),
)
PROMPTS = (
    "how do I hash passwords here?",
    "why does the test suite hang on CI?",
    "where is the billing module?",
    "rename foo to bar",
    "how do I center a div in css?",
)


class Demo:
    """One run of the demo in ``scratch``."""

    def __init__(self, scratch: Path) -> None:
        self.project = scratch / "shop"
        self.project.mkdir()
        self.env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("SUBCOG_", "CLAUDE", "GEMINI"))
        }
        self.env |= {"SUBCOG_HOME": str(scratch / "home"), "CLAUDE_PROJECT_DIR": str(self.project)}
        os.environ["SUBCOG_HOME"] = self.env["SUBCOG_HOME"]
        self.client = Client(find_paths(self.env), {"project": str(self.project)})

    def capture(self) -> list[CaptureResult]:
        """Keep the memories."""
        return [
            self.client.call(
                "capture", CaptureResult, {"text": text, "namespace": namespace, "tags": tags}
            )
            for namespace, text, tags in MEMORIES
        ]

    def ask(self, prompt: str) -> dict[str, Any]:
        """Send ``prompt`` through the hook pipe, as the agent does; explain it beside that."""
        payload = {
            "session_id": "demo",
            "cwd": str(self.project),
            "hook_event_name": "UserPromptSubmit",
            "prompt": prompt,
        }
        explained = self.client.call("explain", ExplainResult, {"text": prompt})
        started = time.perf_counter()
        hook = subprocess.run(  # noqa: S603 - our own hook pipe
            [os.path.realpath(sys.executable), "-I", "-S", pipe.__file__, "UserPromptSubmit"],
            input=json.dumps(payload).encode(),
            stdout=subprocess.PIPE,
            env=self.env,
            check=True,
        )
        took_ms = (time.perf_counter() - started) * 1000
        output = json.loads(hook.stdout or b"{}")
        context = output.get("hookSpecificOutput", {}).get("additionalContext", "")
        return {
            "prompt": prompt,
            "hook_ms": round(took_ms, 1),
            "injected": context,
            "explained": explained,
        }

    def close(self) -> None:
        """Stop the daemon, if it was ever started, and wait until it has left."""
        try:
            pid = self.client.call("stop", StopResult, start=False).pid
        except DaemonUnreachable:
            return
        self.client.close()
        while pid is not None and Path(f"/proc/{pid}").exists() and not _is_zombie(pid):
            time.sleep(0.02)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def show(console: Console, kept: list[CaptureResult], answers: list[dict[str, Any]]) -> None:
    """Print the page."""
    console.print(Rule("subcog: what was learned comes back by itself", style="bold"))
    console.print(f"\nKept {len(kept)} memories of a project:", style="bold")
    for memory in kept:
        console.print(f"  [cyan]{memory.namespace:<10}[/] {memory.summary}")
    console.print(f"\n{len(answers)} prompts through the hook pipe:\n", style="bold")
    for answer in answers:
        console.print(explanation(answer["explained"], candidates=2))
        reached = "reached the model" if answer["injected"] else "nothing reached the model"
        console.print(f"  {reached}; whole hook {answer['hook_ms']} ms\n", style="dim")
    silent = sum(not answer["injected"] for answer in answers)
    got = len(answers) - silent
    console.print(f"{got} {_prompts(got)} got memories, {silent} rightly got nothing.")
    console.print(
        "Next: [bold].venv/bin/subcog install[/] wires it into Claude Code; "
        "[bold].venv/bin/subcog --help[/] lists the rest."
    )


def _prompts(count: int) -> str:
    return "prompt" if count == 1 else "prompts"


def draw(kept: list[CaptureResult], answers: list[dict[str, Any]]) -> str:
    """The page as an SVG picture, with one prompt and the first that gets nothing."""
    silent = next(answer for answer in answers if not answer["injected"])
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    show(console, kept, [answers[0], silent])
    # Without the fonts that it would fetch from elsewhere.
    fetched = r"@font-face {{.*?}}\s*|<!--.*?-->\s*"
    plain = re.sub(fetched, "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    picture = console.export_svg(title="make demo", code_format=plain, unique_id="demo")
    return re.sub(r"[ \t]+$", "", picture, flags=re.MULTILINE)


def main() -> None:
    """Run the demo; ``--json`` prints it for machines, ``--svg FILE`` draws it too."""
    with tempfile.TemporaryDirectory(prefix="subcog-demo-") as scratch:
        demo = Demo(Path(scratch))
        try:
            kept = demo.capture()
            answers = [demo.ask(prompt) for prompt in PROMPTS]
        finally:
            demo.close()
    if "--svg" in sys.argv:
        Path(sys.argv[sys.argv.index("--svg") + 1]).write_text(draw(kept, answers))
    if "--json" in sys.argv:
        said = msgspec.json.encode({"captured": kept, "prompts": answers})
        sys.stdout.write(msgspec.json.format(said, indent=2).decode() + "\n")
    else:
        show(Console(), kept, answers)


if __name__ == "__main__":
    main()
