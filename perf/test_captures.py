"""Finding what is worth keeping, on plain and hostile messages: growth gates, time is reported.

python -m pytest perf/test_captures.py -s -q
"""

from __future__ import annotations

import time
from functools import partial

import pytest

from subcog.stages.capture.statement_classifier import find_all

from .test_keywords import GROWTH, HOSTILE, NOISE_MS, TARGET_MS, p99, times_ms

CHARS = 2_000
LONG_CHARS = 100_000
RUNS = 30
# ``GROWTH`` is for ten times the text.
MOST_GROWTH = GROWTH * LONG_CHARS / CHARS / 10
MORE = {
    "a sentence": "We decided to keep the old queue, because nobody reads the new one. ",
    "items": "- we keep it since it works\n",
    "abbreviations": "e.g. i.e. ",
    "tags": "<a>",
    "open tags": "<a1><b2>\n<c3>",
    "records": "**Decision**: yes it is\n",
    "quotes": '"we decided ',
    "pipes": "|",
    "stars": "**",
    "ideographs": "我们决定。",
    "speakers": "Ann: hi\n",
}
TEXTS = HOSTILE | MORE


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_finding_in_a_hostile_message_is_linear(role: str) -> None:
    """The least time of fifty times the text, beside the least time of the text."""
    print(f"\nfind as {role}, {CHARS:,} characters, target {TARGET_MS} ms")
    slow = []
    for kind, unit in TEXTS.items():
        short, long = ((unit * (chars // len(unit) + 1))[:chars] for chars in (CHARS, LONG_CHARS))
        once = times_ms(partial(find_all, short, role=role), RUNS, time.thread_time)
        most = times_ms(partial(find_all, long, role=role), 3, time.thread_time)
        growth = most[0] / max(once[0], NOISE_MS)
        print(
            f"  {kind:<20} CPU: least {once[0]:6.3f} ms  p99 {p99(once):6.3f} ms"
            f"  {LONG_CHARS:,} characters {most[0]:7.2f} ms  growth {growth:5.2f}"
        )
        if growth > MOST_GROWTH:
            slow.append(kind)
    assert slow == []
