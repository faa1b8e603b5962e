"""Train the model that tells whether the newer of two statements contradicts the older.

    python -m perf.train_contradictions [--base DIR] [--unseen LETTERS]

``--base`` is what ``perf/train_cross_encoder.py`` begins with, as are the packages that it needs.
Learns from the pairs in ``perf/data/contradictions`` and ``contradictions_free``, each in both
orders, and from neighbours among the memories in ``perf/questions``, which contradict each other
next to nowhere: most pairs that are ever read are like them. The authors in ``--unseen`` (the
letters of the files' names) are left out, and scored with the pairs in ``perf/blind``; the notes in
``contradictions_none`` are searched for false alarms. Twenty minutes on two cores with AMX. Writes
the layers alone: the vectors of words are the reranker's.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from subcog.sinks.memories.contradictions import (
    COMPARABLE,
    floor_of,
    likelihood,
    same_subject,
)
from subcog.sinks.models.analyzer import Analyzer
from subcog.sinks.models.cross_encoder import CONTRADICTIONS, MODEL, CrossEncoder, PairTokenizer
from subcog.sinks.models.embedder import Embedder, bundled_tokenizer
from subcog.stages.statements.comparison import contradicts, says_same

from .question_pairs import HERE as PROJECTS
from .question_pairs import Pair

DATA = Path(__file__).parent / "data"
BLIND = Path(__file__).parent / "blind"
LEARNED = ("contradictions", "contradictions_free")
PASSES, BATCH, SMOOTHED = 3, 32, 0.02
NEIGHBOURS = 2000
# So many of the nearest are neighbours, from which similarity on.
NEAREST, LEAST = 8, 0.15
FLOORS = (1.0, 1.5, 2.0, 2.5, 3.0)

Floats = npt.NDArray[np.float64]


def pair(tokens: PairTokenizer, author: str, older: str, newer: str, right: bool) -> Pair:
    """Two statements as the model reads them."""
    return Pair(author, older, newer, [*tokens.query_ids(older)], tokens.memory_ids(newer), right)


def read(tokens: PairTokenizer, files: Sequence[Path]) -> list[Pair]:
    """The labelled pairs in ``files``, which have their author's letter and a number as names."""
    named = [(file.stem.rstrip("0123456789"), file) for file in files]
    rows = [(author, json.loads(line)) for author, file in named for line in file.open()]
    return [pair(tokens, by, row["older"], row["newer"], row["contradicts"]) for by, row in rows]


def turned(tokens: PairTokenizer, given: Sequence[Pair]) -> list[Pair]:
    """The same the other way round."""
    return [pair(tokens, one.project, one.text, one.question, one.right) for one in given]


def neighbours(tokens: PairTokenizer) -> Iterator[Pair]:
    """Each memory in ``perf/questions`` beside those that are most like it."""
    embedder = Embedder.load()
    for file in sorted(PROJECTS.glob("*.memories.jsonl")):
        rows = [json.loads(line) for line in file.open()]
        texts = [row["text"] for row in rows if "text" in row]
        vectors = np.array([embedder.encode_query(text).vector for text in texts])
        alike = vectors @ vectors.T - 2 * np.eye(len(texts))
        for at, text in enumerate(texts):
            for other in np.argsort(-alike[at])[:NEAREST]:
                if alike[at, other] >= LEAST:
                    yield pair(tokens, file.stem[0], text, texts[other], False)


def report(label: str, model: CrossEncoder, floors: Floats, given: Sequence[Pair]) -> None:
    """Print how right the words are, and the words or the model from each floor on.

    As shipped, each pair has its own of ``floors``, shape (pairs,).
    """
    likely = np.array([likelihood(model, one.text, one.question) for one in given])
    worded = np.array([contradicts(one.text, one.question) for one in given])
    held = np.array([says_same(one.question, one.text) for one in given])
    right = np.array([one.right for one in given])
    print(f"{label}: {len(given)} pairs")
    for name, found in (
        ("words alone", worded),
        ("as shipped", worded | ((likely >= floors) & ~held)),
        *((f"from {floor}", worded | ((likely >= floor) & ~held)) for floor in FLOORS),
    ):
        exact = right[found].mean() if found.any() else 0.0
        print(
            f"  {name}: right {np.mean(found == right):.3f}, precision {exact:.3f}, "
            f"recall {found[right].mean():.3f}"
        )


def shipped_floors(given: Sequence[Pair]) -> Floats:
    """The floor of each pair, shape (pairs,): infinite where the two are not about the same."""
    embedder, words, reranker = Embedder.load(), Analyzer(), CrossEncoder.load()

    def floor(newer: str, older: str) -> float:
        ours, theirs = (embedder.encode_query(text).vector for text in (newer, older))
        alike = float(np.dot(ours, theirs))
        is_same = alike >= COMPARABLE and same_subject(reranker, words, newer, older)
        return floor_of(alike) if is_same else np.inf

    return np.array([floor(one.text, one.question) for one in given])


def learn(base: Path, known: Sequence[Pair], tokens: PairTokenizer, seed: int) -> None:
    """Train the model in ``base`` on ``known`` pairs, and write the layers that ship."""
    from .bert import load, write_layers  # needs torch, which who only scores does without
    from .train_cross_encoder import TEACHER_RATE, train

    beside = random.Random(seed).sample(list(neighbours(tokens)), NEIGHBOURS)
    given = [*known, *turned(tokens, known), *beside]
    targets = np.where([one.right for one in given], 1 - SMOOTHED, SMOOTHED)
    model = load(base, bundled_tokenizer().get_vocab())
    limits = {"passes": PASSES, "seed": seed, "most_steps": 0, "batch": BATCH}
    train(model, given, targets, rate=TEACHER_RATE, **limits)
    write_layers(model, MODEL / CONTRADICTIONS)


def main() -> None:
    """Train and write, where that is asked for, and report on the model that ships."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, help="train anew")
    parser.add_argument("--unseen", default="qe", help="letters of authors to be scored")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    tokens = PairTokenizer()
    files = [file for name in LEARNED for file in sorted((DATA / name).glob("*.jsonl"))]
    every = read(tokens, files)
    if chosen.base:
        known = [one for one in every if one.project not in chosen.unseen]
        learn(chosen.base, known, tokens, chosen.seed)
    model = CrossEncoder.load(layers=CONTRADICTIONS)
    scored = {f"author {by}": [one for one in every if one.project == by] for by in chosen.unseen}
    scored |= {name: read(tokens, [BLIND / f"{name}.jsonl"]) for name in ("pairs", "new_pairs")}
    for label, given in scored.items():
        report(label, model, shipped_floors(given), given)
    for file in sorted((DATA / "contradictions_none").glob("*.jsonl")):
        texts = [json.loads(line)["text"] for line in file.open()]
        given = [pair(tokens, file.stem, *two, False) for two in combinations(texts, 2)]
        floors = shipped_floors(given)
        likely = np.array([likelihood(model, one.text, one.question) for one in given])
        print(f"{file.stem}: {np.sum(likely >= floors)} false alarms in {len(given)} pairs")


if __name__ == "__main__":
    main()
