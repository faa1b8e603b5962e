"""What the questions and triggers that come with memories bring: with and without them.

    python -m perf.score_cues FOLDER ... [--today 2026-10-05]

A folder has ``memories.jsonl``, and either ``prompts.jsonl`` as for ``subcog eval injections`` and
``questions.jsonl`` with {id, questions} a memory, or ``acts.jsonl`` and ``orders.jsonl`` as for
``subcog eval acts`` and ``triggers.jsonl`` with {id, triggers}, by somebody who saw the memories
alone. Prints precision, recall and silence both ways, and of prompts how many of each kind, or of
each ``wording``, brought what they should.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import msgspec

from subcog.config.load import load_settings
from subcog.pipeline.evaluation import acts, injections
from subcog.pipeline.evaluation.common import JudgedMemory, Shares, Shown, read_rows
from subcog.pipeline.evaluation.injections import JudgedPrompt

SETTINGS = load_settings(Path(os.devnull), {}).settings
CUES = ("questions", "triggers")


class GroupedPrompt(JudgedPrompt, frozen=True, kw_only=True):
    """A prompt and how it is worded, where that is known."""

    wording: str = ""


def rows(file: Path) -> list[dict[str, Any]]:
    """The lines of ``file``; none where there is none."""
    lines = file.read_bytes().splitlines() if file.exists() else []
    return [msgspec.json.decode(line) for line in lines]


def merged(folder: Path, into: Path) -> None:
    """Write the memories of ``folder`` with what came with them, and beside them what is asked."""
    given = {kind: {r["id"]: r[kind] for r in rows(folder / f"{kind}.jsonl")} for kind in CUES}
    memories = [
        one | {kind: known[one["id"]] for kind, known in given.items() if one["id"] in known}
        for one in rows(folder / "memories.jsonl")
    ]
    for name, lines in (
        ("memories", memories),
        *((name, rows(folder / f"{name}.jsonl")) for name in ("prompts", "acts", "orders")),
    ):
        (into / f"{name}.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))


def prompted(folder: Path, today: date | None) -> tuple[Shares, str]:
    """The figures of the prompts, and how many of each kind brought what they should."""
    memories = read_rows(folder / "memories.jsonl", JudgedMemory)
    prompts = read_rows(folder / "prompts.jsonl", GroupedPrompt)
    answer = injections.product(memories, SETTINGS, injections._clock(today))
    every: Sequence[Shown] = anyio.run(injections._answered, answer, prompts, lambda *_: None)
    asked, found = Counter[str](), Counter[str]()
    for shown in every:
        kind = getattr(shown.judged, "wording", "") or getattr(shown.judged, "kind", "")
        asked[kind] += len(shown.judged.relevant)
        found[kind] += len(shown.ids & frozenset(shown.judged.relevant))
    kinds = (f"{kind} {found[kind]}/{asked[kind]}" for kind in sorted(+asked))
    return injections.figures(every), "  ".join(kinds)


def scored(folder: Path, today: date | None) -> list[tuple[Shares, str]]:
    """The figures of a merged folder, each with what they are of, or more of its prompts."""
    if rows(folder / "prompts.jsonl"):
        return [prompted(folder, today)]
    report = acts.evaluate(folder, settings=SETTINGS, progress=lambda *_: None)
    return [(report.acts, "acts"), (report.orders, "orders")]


def main() -> None:
    """Score each folder both ways, and print as each is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--today", type=date.fromisoformat)
    given = parser.parse_args()
    print(f"{'':20} precision    recall   silence")
    for folder in given.folders:
        for way in ("without", "with"):
            with tempfile.TemporaryDirectory() as scratch:
                merged(folder, Path(scratch))
                if way == "without":
                    plain = (folder / "memories.jsonl").read_bytes()
                    (Path(scratch) / "memories.jsonl").write_bytes(plain)
                for shares, what in scored(Path(scratch), given.today):
                    print(f"{folder.name:12} {way:8}{shares.columns()}  {what}", flush=True)


if __name__ == "__main__":
    main()
