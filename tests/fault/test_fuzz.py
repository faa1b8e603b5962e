"""A short run of ``make fuzz``: what once found something, and a few cases of every door."""

import random

from perf.fuzz.__main__ import Run, cases, doors, kept_cases
from perf.fuzz.bench import Bench

CASES = 150


def test_no_input_harms_the_daemon(tmp_path):
    known = doors()
    first = random.Random().randrange(1 << 30)
    bench = Bench(tmp_path)
    try:
        run = Run(bench, known)
        kept = kept_cases()
        run.send([*kept, *cases(CASES, first, None, known)], count=len(kept) + CASES, shown=False)
    finally:
        bench.close()
    assert run.outcome.findings == [], f"replay with: make fuzz SEED={first} CASES={CASES}"
