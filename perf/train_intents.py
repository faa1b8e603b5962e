"""Trains ``sinks/models/intents.json``: a multinomial logistic regression, with numpy alone.

    python -m perf.train_intents [ROWS.jsonl ...] [--folds 8] [--apart SOURCE] [--write [FILE]]

Whatever is fitted is scored on projects that it has not seen: a project is in the fit or in the
score, never both; with ``--apart breadth`` everything by that author is. A row is ``{"text"}`` or
``{"prompt"}`` with an ``intent``, a ``kind``, or both; a row without an intent tells only whether
something is searched for, and is fitted as that. What ``perf/`` holds is always trained on
but for ``perf/blind``; of other files, rows whose ``source`` is not in ``ALLOWED`` are left out.
Without ``--write`` it only scores.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from subcog.bus.prompts import IntentType
from subcog.config.linear_model import LinearModel
from subcog.pipeline.evaluation.intents import Guess, figures
from subcog.sinks.models.intent_classifier import CHAT, NAMES, ORDER, WEIGHTS
from subcog.stages.classify import NONE_FROM, UNSURE_PERCENT, choose
from subcog.stages.language.intent_features import features
from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.sentences import sentences

from .fit import Named, hundredths, matrix, multinomial, softmax, write

HERE = Path(__file__).parent
OWN = "own"
SOURCES = {
    OWN: ("data/intents.jsonl", 1.0),
    "by project": ("data/intents_by_project.jsonl", 2.0),
    "breadth": ("breadth/*/prompts.jsonl", 2.0),
    "questions": ("questions/*.prompts.jsonl", 0.25),
    "relevance": ("relevance/*.prompts.jsonl", 0.25),
    "orders": ("actions/*/orders.jsonl", 0.7),
}
"""Where each source lies, and how much a row of it counts: much of one form counts less."""
GIVEN = 2.0
ALLOWED = frozenset(("written", "project", "devmem"))

MIN_PROJECTS = 5
"""A feature that fewer projects have is a word of theirs, and not of how people ask."""
STEPS = 150
RIDGE = 3.0
SMALLEST = 6

SEARCHES = frozenset(map(str, IntentType))
SILENT = frozenset((ORDER, CHAT))
NONE = "none"
_BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
# Of the first file what asks for a fact is an explanation, of the others it is general: left open.
_ASKS_A_FACT = re.compile(
    r"(?:ok |and |so )?(?:do|does|did|is|are|was|were|can|may|has|have|when|which|who"
    r"|how (?:long|many|much|often|big|large|far)"
    r"|what (?:is|are) (?:the|our) (?:limit|max|min|retention|rules|supported))\b",
    re.IGNORECASE,
)


class Row(NamedTuple):
    """A prompt; ``allowed`` are the outputs of the model that it may be of."""

    text: str
    allowed: frozenset[str]
    kind: str
    project: str
    source: str
    weight: float

    @property
    def label(self) -> str:
        """One of the six types, ``none``, or nothing where only the first decision is known."""
        if self.allowed <= SILENT:
            return NONE
        return next(iter(self.allowed)) if len(self.allowed) == 1 else ""


def load(given: Sequence[Path]) -> list[Row]:
    """Every row that may be trained on."""
    rows = [
        row
        for source, (pattern, weight) in SOURCES.items()
        for path in sorted(HERE.glob(pattern))
        for row in read(path, source, weight)
    ]
    return rows + [row for path in given for row in read(path, f"given {path.parent}", GIVEN)]


def read(path: Path, source: str, weight: float) -> Iterator[Row]:
    """The rows of one file that have a text and say something of it."""
    alone = path.stem in {"prompts", "orders"}
    place = "/".join(path.parts[-3:-1]) if alone else path.name.split(".")[0]
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line) if line.strip() else {}
        text, allowed = row.get("text") or row.get("prompt"), allowed_of(row)
        if not text or not allowed or row.get("source", "written") not in ALLOWED:
            continue
        if "explanation" in allowed and _ASKS_A_FACT.match(text) and source == OWN:
            allowed = allowed | {"general"}
        project = row.get("project", place)
        yield Row(text, allowed, row.get("kind", ""), project, source, weight)


def allowed_of(row: dict[str, Any]) -> frozenset[str]:
    """The outputs that a row may be of, by its intent and else by its kind; maybe none."""
    intent, kind = row.get("intent"), row.get("kind", "")
    if intent in SEARCHES:
        return frozenset((intent,))
    if kind in {ORDER, CHAT}:
        return frozenset((kind,))
    if intent == NONE:
        return frozenset((ORDER,)) if kind == "report" else SILENT
    return SEARCHES if kind in {"search", "unknown"} else frozenset()


def is_natural(row: Row) -> bool:
    """Whether it is of a set that mixes all that people type, as they do; others are written apart
    for what was missing, or in the order of their labels."""
    return row.source == "breadth" or row.source.startswith("given")


def seen(text: str) -> Named:
    """The features of one prompt, as the product makes them."""
    read_text = sentences(text)
    return features(text, read_text, detect_search_intent(text, read_text))


class Corpus:
    """The rows with their features, computed once."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.prompts = [seen(row.text) for row in rows]
        self.projects = np.array([row.project for row in rows])
        self.sources = np.array([row.source for row in rows])
        self.allowed = np.array([[name in row.allowed for name in NAMES] for row in rows])
        self.weight = np.array([row.weight for row in rows])

    def train(self, of: npt.NDArray[np.bool_], slope: float = 1.0) -> LinearModel:
        """The weights for the product, in hundredths, fitted on the rows that ``of`` names."""
        at = np.flatnonzero(of)
        prompts = [self.prompts[one] for one in at]
        index = shared(prompts, self.projects[of])
        x, weight = matrix(prompts, index), self.weight[of]
        fitted = multinomial(x, self.allowed[of], weight, power=0.0, ridge=RIDGE, steps=STEPS)
        bias, weights = hundredths(fitted, index, SMALLEST)
        return LinearModel(
            about=f"trained by perf/train_intents.py on {len(at)} prompts of"
            f" {len(set(self.projects[of]))} projects, written for this",
            outputs=NAMES,
            divisor=100,
            slope=round(slope, 2),
            bias=bias,
            weights=weights,
        )

    def held_out(self, apart: Sequence[npt.NDArray[np.bool_]]) -> np.ndarray:
        """The probabilities of each row from a model that has seen none of its part."""
        odds = np.full((len(self.rows), len(NAMES)), np.nan)
        for out in apart:
            model = self.train(~out)
            odds[out] = [model.probabilities(self.prompts[at]) for at in np.flatnonzero(out)]
        return odds

    def folds(self, parts: int, seed: int = 7) -> list[npt.NDArray[np.bool_]]:
        """Which rows each of ``parts`` folds holds out, by project; one more is of no project."""
        own = self.sources == OWN
        names = np.unique(self.projects[~own])
        part_of = np.random.default_rng(seed).permutation(len(names)) % parts
        by_project = [np.isin(self.projects, names[part_of == part]) for part in range(parts)]
        return [*by_project, own]


def shared(prompts: Sequence[Named], projects: Sequence[str]) -> dict[str, int]:
    """The column of each feature that at least ``MIN_PROJECTS`` projects have."""
    places: dict[str, set[str]] = {}
    for prompt, project in zip(prompts, projects, strict=True):
        for name, _ in prompt:
            places.setdefault(name, set()).add(project)
    kept = sorted(name for name, found in places.items() if len(found) >= MIN_PROJECTS)
    return {name: at for at, name in enumerate(kept)}


def calibrated(odds: np.ndarray, rows: Sequence[Row]) -> float:
    """The slope under which the probabilities fit the labels best where prompts are as typed."""
    typed = np.array([bool(row.label) and is_natural(row) for row in rows])
    allowed = np.array([[name in row.allowed for name in NAMES] for row in rows])[typed]
    logits = np.log(odds[typed] + 1e-9)

    def loss(slope: float) -> float:
        return float(-np.log((softmax(logits * slope) * allowed).sum(axis=1) + 1e-9).mean())

    return min(np.arange(0.5, 1.51, 0.05).tolist(), key=loss)


# --- scoring --------------------------------------------------------------------------------------


def guesses(odds: np.ndarray) -> list[Guess]:
    """What the classifier would vote, as a label and a confidence."""
    made = []
    for row in odds.tolist():
        name, share = choose(dict(zip(NAMES, row, strict=True)))
        found = name in SEARCHES
        made.append(Guess(name if found else NONE, max(UNSURE_PERCENT / 100, share) * found))
    return made


def report(rows: Sequence[Row], odds: np.ndarray) -> None:
    """Print the figures by project for what has types, and of the first decision by source."""
    scored = list(zip(rows, guesses(odds), strict=True))
    by_project = {row.project: row.source for row, _ in scored}
    print(f"{'project':>20} {'macro-F1':>9} {'false alarms':>13} {'missed':>7}")
    for project in by_project:
        pairs = [(row, got) for row, got in scored if row.project == project]
        if all(row.label for row, _ in pairs) and len({row.label for row, _ in pairs}) > 2:
            made = figures([row.label for row, _ in pairs], [got for _, got in pairs])
            missed = share(got.label == NONE for row, got in pairs if row.label != NONE)
            alarms = made.none_false_positive_rate
            print(f"{project:>20} {made.macro_f1:9.3f} {alarms:13.3f} {missed:7.3f}")
    print(f"\n{'source and kind':>40} {'rows':>6} {'searched for':>13}")
    for key in sorted({(row.source, row.kind, row.label == NONE) for row, _ in scored}):
        found = [
            got.label != NONE
            for row, got in scored
            if (row.source, row.kind, row.label == NONE) == key
        ]
        name = f"{key[0]} {key[1]} {'none' if key[2] else 'search'}"
        print(f"{name:>40} {len(found):6d} {share(found):13.3f}")
    print(f"\n{'confidence':>20} {'rows':>6} {'mean':>6} {'right':>6}")
    found = [pair for pair in scored if pair[0].label and pair[1].label != NONE]
    typed = [(row, got) for row, got in found if is_natural(row)]
    for low, high in pairwise(_BINS):
        held = [(row, got) for row, got in typed if low <= got.confidence < high]
        mean = np.mean([got.confidence for _, got in held]) if held else 0.0
        right = share(row.label == got.label for row, got in held)
        print(f"{low:17.1f} – {len(held):6d} {mean:6.3f} {right:6.3f}")


def share(held: Any) -> float:
    """The share of true ones."""
    found = list(held)
    return sum(found) / max(1, len(found))


def main() -> None:
    """Score on projects that were left out, and write the weights where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", type=Path)
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--apart", help="leave all of this source out, and score it alone")
    parser.add_argument("--slope", type=float, help="calibrate by this, without scoring")
    parser.add_argument("--write", nargs="?", const=WEIGHTS, type=Path)
    arguments = parser.parse_args()
    corpus = Corpus(load(arguments.rows))
    slope = arguments.slope
    if slope is None:
        apart = [corpus.sources == arguments.apart] if arguments.apart else None
        odds = corpus.held_out(apart or corpus.folds(arguments.folds))
        in_score = np.isfinite(odds[:, 0])
        rows = [row for row, held in zip(corpus.rows, in_score, strict=True) if held]
        slope = calibrated(odds[in_score], rows)
        report(rows, softmax(np.log(odds[in_score] + 1e-9) * slope))
        print(f"\nslope {slope:.2f}, no search from {NONE_FROM}")
    if arguments.write:
        write(corpus.train(np.ones(len(corpus.rows), bool), slope), arguments.write)


if __name__ == "__main__":
    main()
