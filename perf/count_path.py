"""Counts the product files and functions that one warm prompt passes in the daemon.

    python -m perf.count_path [--names]

The prompt goes through the real hook handler, bus and store, in this process. Each function counts
once, whichever thread runs it; comprehensions, lambdas and generator expressions do not count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import anyio
import msgspec

from subcog.bus.events import CaptureRequested
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.app.app import App
from subcog.pipeline.entrance.handler import HookHandler

ROOT = Path(__file__).parents[1]
ROOMS = ("bus", "config", "hooks", "pipeline", "sinks", "stages")
NOTES = (
    "We decided that the deploy script of {} picks the region from the cluster file.",
    "The deploy script of {} fails without AWS_REGION; set it in the workflow.",
    "Always run the database migrations of {} before the deploy script.",
)
PROMPT = "How does the deploy script of {} pick the region, and what did we decide about it?"
TOPICS = ("billing", "search", "orders")


class Recorder:
    """A profile function that notes which code objects are called while it is ``on``."""

    def __init__(self) -> None:
        self.on = False
        self.codes: set[CodeType] = set()

    def __call__(self, frame: FrameType, what: str, _: Any) -> None:
        if self.on and what == "call":
            self.codes.add(frame.f_code)

    def functions(self) -> dict[str, set[str]]:
        """The product functions that were called, by file."""
        found: dict[str, set[str]] = defaultdict(set)
        for code in self.codes:
            path = Path(code.co_filename)
            if path.is_relative_to(ROOT) and not code.co_name.startswith("<"):
                name = path.relative_to(ROOT)
                if name.parts[0] in ROOMS:
                    found[str(name)].add(code.co_qualname)
        return found


async def run(recorder: Recorder, folder: Path) -> None:
    """Store some notes, ask about each topic, and record the last prompt."""
    paths = find_paths({"SUBCOG_HOME": str(folder / "home")})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    entrance = HookHandler(app)
    fields = {"client": "claude", "project": str(folder)}
    scope = entrance.places.at(fields).project
    async with app.running():
        await app.load()
        await app.build_topics()
        for text in (note.format(topic) for topic in TOPICS for note in NOTES):
            trace = app.new_id()
            await app.captures.capture(
                CaptureRequested(trace=trace, id=f"mem_{trace}", text=text, scope=scope)
            )
        for topic in TOPICS:
            payload = {"prompt": PROMPT.format(topic), "session_id": topic, "cwd": str(folder)}
            recorder.on = topic == TOPICS[-1]
            answer = await entrance.answer("UserPromptSubmit", fields, msgspec.json.encode(payload))
        await app.bus.drain(5)
        recorder.on = False
    await app.unload()
    if b"additionalContext" not in answer.body:
        raise SystemExit("the prompt got no context: what it passes is not the whole path")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="list the functions of each file")
    names = parser.parse_args().names
    recorder = Recorder()
    sys.setprofile(recorder)
    threading.setprofile(recorder)
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(run, recorder, Path(folder))
    found = recorder.functions()
    for file in sorted(found) if names else ():
        print(f"{file}: {', '.join(sorted(found[file]))}")
    print(f"{len(found)} files, {sum(map(len, found.values()))} functions")


if __name__ == "__main__":
    main()
