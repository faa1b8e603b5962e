"""What the questions that come with memories bring: injection without them and with them.

    python -m perf.score_questions FOLDER ... [--today 2026-10-05]

A folder has the ``memories.jsonl`` and ``prompts.jsonl`` that ``subcog eval injections`` reads, and
``questions.jsonl`` with {id, questions} a memory, by somebody who saw the memories alone. Prints
precision, recall and silence of each folder, and how many of the prompts of each kind, or
``wording`` where a prompt has one, brought what they should.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import anyio
import msgspec

from subcog.config.load import load_settings
from subcog.pipeline.evaluation import injections
from subcog.pipeline.evaluation.common import Shown, read_rows
from subcog.pipeline.evaluation.injections import JudgedPrompt, figures

SETTINGS = load_settings(Path(os.devnull), {}).settings


class Questioned(msgspec.Struct, frozen=True):
    """A line of ``questions.jsonl``."""

    id: str
    questions: tuple[str, ...]


class GroupedPrompt(JudgedPrompt, frozen=True, kw_only=True):
    """A prompt and how it is worded, where that is known."""

    wording: str = ""


def answered(folder: Path, today: date | None, *, questions: bool) -> list[Shown]:
    """What each prompt brings."""
    lines = (folder / "memories.jsonl").read_bytes().splitlines()
    memories = [msgspec.json.decode(line) for line in lines]
    if questions:
        given = {one.id: one.questions for one in read_rows(folder / "questions.jsonl", Questioned)}
        memories = [one | {"questions": given[one["id"]]} for one in memories]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "memories.jsonl"
        file.write_bytes(b"\n".join(map(msgspec.json.encode, memories)))
        read = read_rows(file, injections.JudgedMemory)
    prompts = read_rows(folder / "prompts.jsonl", GroupedPrompt)
    answer = injections.product(read, SETTINGS, injections._clock(today))
    return anyio.run(injections._answered, answer, prompts, lambda done, total: None)


def lines(every: list[Shown]) -> Iterator[str]:
    """The figures of one way, and of each kind of prompt that something answers."""
    report = figures(every)
    yield f"{report.precision:9.3f} {report.recall:7.3f} {report.silent_rate:7.3f}"
    asked, found = Counter[str](), Counter[str]()
    for shown in every:
        kind = getattr(shown.judged, "wording", "") or getattr(shown.judged, "kind", "")
        asked[kind] += len(shown.judged.relevant)
        found[kind] += len(shown.ids & frozenset(shown.judged.relevant))
    yield " ".join(f"{kind} {found[kind]}/{asked[kind]}" for kind in sorted(+asked))


def main() -> None:
    """Score each folder both ways, and print as each is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--today", type=date.fromisoformat)
    given = parser.parse_args()
    print(f"{'':24} precision  recall  silence")
    for folder in given.folders:
        for questions in (False, True):
            way = "with questions" if questions else "without"
            told = " ".join(lines(answered(folder, given.today, questions=questions)))
            print(f"{folder.name:10}{way:14} {told}", flush=True)


if __name__ == "__main__":
    main()
