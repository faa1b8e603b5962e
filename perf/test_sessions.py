"""What sessions cost: a prompt with and without 20,000 passages, and the memory of 100,000.

python -m pytest perf/test_sessions.py -s -q

Both daemons run at once and are asked in turn, so that whatever else the machine does meets both.
Times are reported, never gated. ``SUBCOG_TEST_PASSAGES`` sets another number than 100,000.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.sessions import Passage
from subcog.bus.values import Scope
from subcog.config.ids import ulid_of
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.passages import table
from subcog.sinks.passages.table import Row
from subcog.sinks.store.store import Store
from tests.integration.house import House

from .corpus import fill, question
from .fit_sessions import passages as passages_of
from .prose import varied
from .report import say
from .test_scale import project_of, resident_mb, settle

TALKS = Path(__file__).parent / "sessions"
MEMORIES = 2_000
PASSAGES = 20_000
MANY_PASSAGES = int(os.environ.get("SUBCOG_TEST_PASSAGES", "100000"))
ROUNDS = 300
BATCH = 1_000
# Sessions began within so many days: what is older is not loaded.
DAYS = 300
LOAD_S = 120.0


def conversations(name: str) -> list[dict[str, object]]:
    """The lines of every ``name``.jsonl of perf/sessions."""
    files = sorted(TALKS.glob(f"*/{name}.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def said(count: int, scope: Scope) -> Iterator[Passage]:
    """``count`` passages of real conversations, again and again with other words and dates."""
    rng, began = random.Random(5), datetime.now(UTC) - timedelta(days=DAYS)
    talks = [passages_of(session, "s") for session in conversations("sessions")]
    made: Iterator[tuple[int, list[Passage]]] = enumerate(itertools.cycle(talks))
    left = count
    while left > 0:
        number, talk = next(made)
        at = began + timedelta(days=DAYS * (count - left) / count)
        for passage in talk[:left]:
            at += timedelta(seconds=40)
            yield replace(
                passage,
                id=f"psg_{ulid_of(int(at.timestamp() * 1000), rng.randbytes(10))}",
                session=f"{number:08x}-perf",
                scope=scope,
                text=" ".join(varied(word, rng) for word in passage.text.split()),
                said_at=at,
            )
        left -= len(talk)


async def write(database: Path, passages: Iterator[Passage]) -> None:
    embedder = Embedder.load(None)
    store = Store(database, memory_limit_mb=512, clock=lambda: datetime.now(UTC))
    await store.open()
    while part := list(itertools.islice(passages, BATCH)):
        encodings = embedder.encode_many([passage.text for passage in part])
        rows = [Row(p, e) for p, e in zip(part, encodings, strict=True)]

        def work(rows: list[Row] = rows) -> None:
            with store.database.transaction() as connection:
                table.add(connection, rows)

        await store.write(work)
    await store.close()


def furnished(root: Path, passages: int, memories: int = MEMORIES) -> House:
    """A house with so many passages and memories, whose daemon has loaded them."""
    house = House(root, installed=True)
    house.env["SUBCOG_SESSIONS_MAX_PASSAGES"] = "1000000"
    house.paths.data.mkdir(parents=True, mode=0o700)
    fill(house.paths.database, project_of(house), memories)
    if passages:
        anyio.run(write, house.paths.database, said(passages, project_of(house)))
    settle(house)
    deadline = time.monotonic() + LOAD_S
    while (kept := house.ask("status")["passages"]) != passages:
        assert time.monotonic() < deadline, f"{kept} of {passages} passages were loaded"
        time.sleep(0.1)
    return house


def prompt_ms(house: House, text: str, session: str) -> tuple[float, bool]:
    """How long the daemon took for a prompt, and whether it quoted a session."""
    body = json.dumps({"session_id": session, "prompt": text}).encode()
    started = time.perf_counter()
    status, answer = house.exchange(
        "hook", "UserPromptSubmit", body, project=str(house.project), client="claude"
    )
    took_ms = (time.perf_counter() - started) * 1000
    assert status == "ok", answer
    return took_ms, b"- ses_" in answer


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[House]]:
    """A house without passages, and one with many."""
    with ExitStack() as houses:
        made = []
        for passages in (0, PASSAGES):
            made.append(furnished(tmp_path_factory.mktemp("sessions"), passages))
            houses.callback(made[-1].close)
        yield made


@pytest.mark.parametrize("kind", ["questions about memories", "prompts about sessions"])
def test_a_prompt_beside_the_same_without_passages(both: list[House], kind: str) -> None:
    rng = random.Random(7)
    asked = [str(prompt["prompt"]) for prompt in conversations("prompts")]
    took_ms: list[list[float]] = [[], []]
    quoted = 0
    for number in range(-20, ROUNDS):  # the first ones warm up
        text = rng.choice(asked) if kind.startswith("prompts") else question(rng)
        for house, times in zip(both, took_ms, strict=True):
            one_ms, has_quoted = prompt_ms(house, text, f"{kind[:1]}{number}")
            if number >= 0:
                times.append(one_ms)
                quoted += has_quoted
    for passages, times in zip((0, PASSAGES), took_ms, strict=True):
        say(f"{kind}, {MEMORIES:,} memories, {passages:,} passages", times, target="p99 15")
    print(f"  sessions were quoted in {quoted} of {ROUNDS}")
    assert quoted or not kind.startswith("prompts"), "nothing was quoted, so nothing was measured"


def test_the_memory_of_many_passages(tmp_path: Path) -> None:
    resident = {}
    for passages in (0, MANY_PASSAGES):
        house = furnished(tmp_path / str(passages), passages, memories=1)
        try:
            prompt_ms(house, "how many attempts does the retrier make?", "s")
            resident[passages] = resident_mb(house.pid())
        finally:
            house.close()
    more = resident[MANY_PASSAGES] - resident[0]
    told = f"{resident[MANY_PASSAGES]} MB against {resident[0]} MB without"
    print(f"\nresident, {MANY_PASSAGES:,} passages: {told}, {more} MB more")
