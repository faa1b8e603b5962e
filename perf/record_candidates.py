"""Record what the search finds on the projects of ``perf/relevance``, for ``subcog eval use``.

    python -m perf.record_candidates [--project DIR] [--out FILE]

Writes ``pipeline/replay/candidates.json`` anew: each project alone, and neighbours of the
alphabet in one store. ``--project`` records a folder with memories.jsonl and prompts.jsonl instead,
alone and with itself, and wants ``--out``.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import anyio
import msgspec
from msgspec.structs import replace

from subcog.config.load import load_settings
from subcog.pipeline.evaluation.common import JudgedMemory
from subcog.pipeline.evaluation.injections import JudgedPrompt
from subcog.pipeline.replay.candidates import Area, Recording, record

HERE = Path(__file__).parent / "relevance"
SHIPPED = Path(__file__).parents[1] / "pipeline" / "replay" / "candidates.json"
ABOUT = "Relevances of candidates on the invented projects of perf/relevance; no texts."
SETTINGS = load_settings(Path(os.devnull), {}).settings

Project = tuple[list[JudgedMemory], list[JudgedPrompt]]


def read(memories: Path, prompts: Path) -> Project:
    """One project; the first line of a file may tell its licence."""
    found = [msgspec.convert(row, JudgedMemory) for row in _rows(memories, "text")]
    asked = [msgspec.convert(row, JudgedPrompt) for row in _rows(prompts, "relevant")]
    return [replace(one, scope="") for one in found], asked


def _rows(path: Path, key: str) -> list[dict[str, object]]:
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [row for row in rows if key in row]


async def recorded(projects: dict[str, Project]) -> Recording:
    """Every project alone, and each with its neighbour."""
    names = list(projects)
    single = [await record(name, *projects[name], SETTINGS) for name in names]
    double: list[Area] = []
    for one, other in zip(names[::2], names[1::2], strict=False):
        both = [a + b for a, b in zip(projects[one], projects[other], strict=True)]
        double.append(await record(f"{one}+{other}", *both, SETTINGS))
        print(double[-1].name, double[-1].memories, len(double[-1].asked))
    return Recording(ABOUT, tuple(single), tuple(double) or tuple(single))


def main() -> None:
    """Run from the command line."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--project", type=Path)
    arguments.add_argument("--out", type=Path, default=SHIPPED)
    chosen = arguments.parse_args()
    if chosen.project:
        folder = chosen.project
        projects = {folder.name: read(folder / "memories.jsonl", folder / "prompts.jsonl")}
    else:
        names = sorted(path.name.split(".")[0] for path in HERE.glob("*.memories.jsonl"))
        projects = {
            name: read(HERE / f"{name}.memories.jsonl", HERE / f"{name}.prompts.jsonl")
            for name in names
        }
    made = anyio.run(recorded, projects)
    chosen.out.write_bytes(msgspec.json.encode(made) + b"\n")


if __name__ == "__main__":
    main()
