"""Fit the relevance of an episode of a session, and say how well it does on projects left out.

    python -m perf.fit_sessions [--project DIR ...] [--write]

Each DIR has sessions.jsonl and prompts.jsonl, as the folders of perf/sessions have. A project is
scored by weights that were fitted on the others, once with its own sessions alone and once among
45 idle ones of other projects. ``--write`` fits on all of them and writes the weights.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from subcog.bus.sessions import Message, Passage
from subcog.bus.values import Scope
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.passages.index import FEATURES, WEIGHTS, PassageIndex
from subcog.sinks.passages.table import Row
from subcog.stages.sessions.exchanges import ExchangeReader

from .fit import Array, binary, logistic, write

ABOUT = "fitted by perf/fit_sessions.py"
HERE = Path(__file__).parent / "sessions"
SCOPE = Scope("project", "measured")
NOW = datetime(2026, 12, 1, tzinfo=UTC)
OTHERS = 45
COUNTED = 3
L2 = 5.0


class Sample(NamedTuple):
    """One candidate of one prompt."""

    project: str
    mixed: bool
    prompt: str
    known: bool
    right: bool
    features: tuple[float, ...]


def read(folder: Path) -> tuple[list[Any], list[Any]]:
    """The sessions and the prompts of one project."""
    return tuple(  # type: ignore[return-value]
        [json.loads(line) for line in (folder / name).open()]
        for name in ("sessions.jsonl", "prompts.jsonl")
    )


def passages(session: Any, name: str) -> list[Passage]:
    """What would be kept of a session."""
    reader = ExchangeReader(name, clean=str, own=str.strip, relative=str)
    clock = datetime.fromisoformat(session["started_at"])
    for turn in session["turns"]:
        clock += timedelta(seconds=40)
        said = int(clock.timestamp() * 1000)
        reader.read([Message(role=turn["role"], text=turn["text"], said_at_ms=said)])
    return [
        Passage(
            id=said.id,
            session=name,
            scope=SCOPE,
            speaker=said.speaker,
            text=said.text,
            said_at=datetime.fromtimestamp(said.said_at_ms / 1000, UTC),
        )
        for said in reader.take()
    ]


def index_of(sessions: Sequence[tuple[str, Any]], embedder: Embedder) -> PassageIndex:
    index = PassageIndex()
    index.embedder = embedder
    filled = []
    for name, session in sessions:
        said = passages(session, name)
        encodings = embedder.encode_many([passage.text for passage in said])
        filled.append([Row(p, e) for p, e in zip(said, encodings, strict=True)])
    index.fill(filled)
    index.fold_postings()
    return index


def samples(folders: Sequence[Path], embedder: Embedder) -> Iterator[Sample]:
    """Every candidate of every prompt, measured as the product does."""
    projects = {folder.name: read(folder) for folder in folders}
    rng = random.Random(0)
    for name, (sessions, prompts) in projects.items():
        own = [(session["id"], session) for session in sessions]
        others = [
            (f"{other}/{session['id']}", session)
            for other, (theirs, _) in projects.items()
            if other != name
            for session in theirs
        ]
        for mixed in (False, True):
            beside = rng.sample(others, min(OTHERS, len(others))) if mixed else []
            index = index_of([*own, *beside], embedder)
            for prompt in prompts:
                found = index.search(prompt["prompt"], SCOPE, NOW)
                for one in found[:COUNTED]:
                    yield Sample(
                        project=name,
                        mixed=mixed,
                        prompt=prompt["id"],
                        known=prompt["kind"] != "unknown",
                        right=one.episode.session in prompt["sessions"],
                        features=one.candidate.features,
                    )


def weights(given: Sequence[Sample]) -> tuple[Array, float]:
    """The weights and the bias, on features as they are."""
    x = np.array([one.features for one in given])
    y = np.array([one.right for one in given], dtype=float)
    mean, scale = x.mean(0), x.std(0) + 1e-9
    fitted, bias = logistic((x - mean) / scale, y, np.ones(len(y)), L2)
    plain = fitted / scale
    return plain, float(bias - (plain * mean).sum())


def report(found: Sequence[Sample], scored: Sequence[float]) -> None:
    """Recall of prompts with an answer at several floors, and how many without stay silent."""
    for mixed in (False, True):
        best: dict[tuple[str, str], tuple[bool, float, float]] = {}
        for one, score in zip(found, scored, strict=True):
            if one.mixed == mixed:
                known, right, any_ = best.get((one.project, one.prompt), (one.known, 0.0, 0.0))
                right = max(right, score) if one.right else right
                best[one.project, one.prompt] = (known, right, max(any_, score))
        answered = [right for known, right, _ in best.values() if known]
        silent = [top for known, _, top in best.values() if not known]
        for floor in (0.35, 0.4, 0.45, 0.5, 0.6):
            recall = np.mean([score >= floor for score in answered])
            silence = np.mean([score < floor for score in silent])
            print(f"mixed {mixed!s:5} floor {floor:.2f}: {recall:.3f} found, {silence:.3f} silent")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path, action="append", default=[])
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    folders = [*sorted(path for path in HERE.iterdir() if path.is_dir()), *args.project]
    found = list(samples(folders, Embedder.load()))
    scored = np.zeros(len(found))
    for name in {one.project for one in found}:
        w, bias = weights([one for one in found if one.project != name])
        for at, one in enumerate(found):
            if one.project == name:
                scored[at] = 1 / (1 + np.exp(-(np.array(one.features) @ w + bias)))
    report(found, scored.tolist())
    if args.write:
        w, bias = weights(found)
        write(binary(ABOUT, FEATURES, w, bias), WEIGHTS)


if __name__ == "__main__":
    main()
