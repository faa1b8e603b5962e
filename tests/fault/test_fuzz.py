"""A short run of ``make fuzz``: what once found something, and a few cases of every door.

Always the same ones: to look for others is what ``make fuzz SEED=…`` is for.
"""

import pytest

from perf.fuzz.__main__ import Run, cases, doors, kept_cases
from perf.fuzz.bench import Bench

CASES, SEED = 150, 1


@pytest.mark.slow
def test_no_input_harms_the_daemon(tmp_path):
    known = doors()
    bench = Bench(tmp_path)
    try:
        run = Run(bench, known)
        kept = kept_cases()
        run.send([*kept, *cases(CASES, SEED, None, known)], count=len(kept) + CASES, shown=False)
    finally:
        bench.close()
    assert run.outcome.findings == []
