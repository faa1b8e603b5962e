"""The keyword racer and the local classifier on hostile prompts: growth gates, time is reported.

python -m pytest perf/test_keywords.py -s -q
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable
from functools import partial

import pytest

from subcog.sinks.models.intent_classifier import LocalClassifier
from subcog.stages.classify import local_vote
from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.topics import retrieval_words

from .report import record

CHARS = 10_000
RUNS = 200
TARGET_MS = 1.0
# Ten times the text may take at most this many times as long.
GROWTH = 15.0
# Below this many milliseconds the clock says more about the machine than about the text.
NOISE_MS = 0.2

HOSTILE = {
    "words of signals": "how to where is why does what is the ",
    "the same signal": "what is the difference between ",
    "one letter words": "a ",
    "alternatives": "or ",
    "question marks": "? ",
    "question lines": "why\n",
    "new lines": "\n",
    "one long word": "a",
    "joined words": "a-",
    "colons": "a::",
    "backticks": "`",
    "spaces": " ",
    "brackets": "(",
    "log lines": "2026-01-01 10:00:00 ERROR at a(b)\n",
    "named errors": "ValueError: ",
    "commits": "feat(",
    "dotted capital i": "İ ",
    "prose": "The gateway drops every second request since we moved it, and nobody knows why. ",
}
READERS = {"detect_search_intent": detect_search_intent, "retrieval_words": retrieval_words}


def times_ms(
    call: Callable[[], object],
    runs: int = RUNS,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Sorted milliseconds of ``runs`` calls, by the wall unless another clock is given."""
    taken = []
    for _ in range(runs):
        started = clock()
        call()
        taken.append((clock() - started) * 1000)
    return sorted(taken)


def p99(times: list[float]) -> float:
    """The 99th percentile of sorted times."""
    return times[int(len(times) * 0.99)]


def text_of(kind: str, chars: int) -> str:
    """Exactly ``chars`` characters of one kind of hostile text."""
    return (HOSTILE[kind] * (chars // len(HOSTILE[kind]) + 1))[:chars]


@pytest.mark.parametrize("reader", READERS)
def test_reading_a_hostile_prompt_is_linear(reader: str) -> None:
    """The least time of ten times the text, beside the least time of the text."""
    print(f"\n{reader}, {CHARS:,} characters, target p99 {TARGET_MS} ms")
    slow, worst, grown = [], [0.0], 0.0
    for kind in HOSTILE:
        short, long = text_of(kind, CHARS), text_of(kind, 10 * CHARS)
        read = READERS[reader]
        once = times_ms(partial(read, short))
        cpu = times_ms(partial(read, short), clock=time.thread_time)
        growth = times_ms(partial(read, long), 30)[0] / max(once[0], NOISE_MS)
        print(
            f"  {kind:<20} p50 {once[RUNS // 2]:6.3f} ms  p99 {p99(once):6.3f} ms"
            f"  p99 of CPU {p99(cpu):6.3f} ms  growth {growth:5.2f}"
        )
        worst, grown = max(worst, once, key=p99), max(grown, growth)
        if kind == "prose" and reader == "detect_search_intent":
            record("keywords.prose", once)
        if growth > GROWTH:
            slow.append(kind)
    if reader == "detect_search_intent":
        record("keywords.worst", worst)
        record("keywords.growth", [grown])
    assert slow == []


def test_the_local_classifier_on_real_and_hostile_prompts() -> None:
    """What ``weigh`` and the whole local vote take; reported only."""
    local = LocalClassifier.load()
    print(f"\nlocal classifier, target p99 {TARGET_MS} ms")
    for kind in ("prose", "words of signals", "one letter words", "dotted capital i"):
        for chars in (200, CHARS):
            text = text_of(kind, chars)
            held = detect_search_intent(text)
            alone = times_ms(partial(local.weigh, text, ()), clock=time.thread_time)
            whole = times_ms(partial(local_vote, text, held, local), clock=time.thread_time)
            if (kind, chars) == ("prose", 200):
                record("local", whole)
            print(
                f"  {kind:<20} {chars:>6} chars  p99 of CPU: weigh {p99(alone):.3f} ms,"
                f" whole vote {p99(whole):.3f} ms"
            )
            assert abs(sum(local.weigh(text, ()).values()) - 1.0) < 1e-5
