"""Memories and prompts for measurements: made from a fixed seed, of about sixty words each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
from msgspec.structs import replace

from subcog.bus.values import NAMESPACES, Memory, Provenance, Scope
from subcog.config.ids import ulid_of
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.store.rows import Row
from subcog.sinks.store.store import Store

BATCH = 500
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_SUBJECTS = """auth billing cache deploy export fixture gateway handler import invoice job kernel
ledger migration notification order payment queue report session tenant upload vault webhook worker
""".split()
_PARTS = """adapter builder client decoder encoder factory guard hook index journal key limit model
node option parser query router schema token user validator window""".split()
_VERBS = """accepts blocks caches checks closes copies drops expires fails flushes hides keeps
loads locks logs merges needs opens parses queues reads rejects retries returns rotates saves sends
signs skips sorts splits stores truncates validates waits writes""".split()
_WHY = """because the upstream limit is low, so that a retry is safe, since the schema changed, but
only on the staging cluster, when the token is stale, unless the flag is set, after the nightly run,
before the first request, while the migration runs, to keep the response small""".split(", ")


def sentence(rng: random.Random) -> str:
    """One plausible sentence about code, with an identifier in it."""
    name = f"{rng.choice(_SUBJECTS)}_{rng.choice(_PARTS)}_{rng.randrange(400)}"
    words = f"The {rng.choice(_SUBJECTS)} {rng.choice(_PARTS)} {rng.choice(_VERBS)} {name}"
    return f"{words} {rng.choice(_WHY).strip()}."


def memories(count: int, scope: Scope, seed: int = 1, *, hook: str = "") -> Iterator[Memory]:
    """``count`` memories of about sixty words, which a ``hook`` has brought."""
    rng = random.Random(seed)
    for number in range(count):
        content = " ".join(sentence(rng) for _ in range(4))
        when = _EPOCH + timedelta(minutes=number)
        yield Memory(
            id=_new_id(when, rng),
            scope=scope,
            namespace=rng.choice(NAMESPACES),
            content=content,
            summary=content.split(".")[0],
            tags=(rng.choice(_SUBJECTS),),
            created_at=when,
            updated_at=when,
            content_hash=f"{seed}-{number}",
            provenance=Provenance(hook=hook),
        )


def _new_id(when: datetime, rng: random.Random) -> str:
    return f"mem_{ulid_of(int(when.timestamp() * 1000), rng.randbytes(10))}"


def question(rng: random.Random) -> str:
    """A prompt that searches."""
    return (
        f"how does the {rng.choice(_SUBJECTS)} {rng.choice(_PARTS)} {rng.choice(_SUBJECTS)} work?"
    )


def fill(database: Path, scope: Scope, count: int, hook: str = "") -> None:
    """Write a database with ``count`` memories of ``scope``, as the product writes them."""
    anyio.run(_fill, database, scope, count, hook)


def fill_others(
    database: Path,
    scopes: Sequence[Scope],
    count: int,
    told: Callable[[int], None] = lambda filled: None,
) -> None:
    """The same for many scopes, ``count`` memories each of the same texts, encoded once.

    ``told`` hears after each scope how many there are.
    """
    anyio.run(_fill_others, database, scopes, count, told)


async def _fill_others(
    database: Path, scopes: Sequence[Scope], count: int, told: Callable[[int], None]
) -> None:
    embedder = Embedder.load(None)
    store = Store(database, memory_limit_mb=512, clock=lambda: _EPOCH)
    await store.open()
    texts = list(memories(count, scopes[0], seed=2))
    encodings = embedder.encode_many([searchable(memory) for memory in texts])
    rng = random.Random(3)
    for number, scope in enumerate(scopes, 1):
        rows = [
            Row(replace(memory, id=_new_id(memory.created_at, rng), scope=scope), encoding)
            for memory, encoding in zip(texts, encodings, strict=True)
        ]
        for start in range(0, count, 4 * BATCH):
            await store.put(rows[start : start + 4 * BATCH])
        told(number * count)
    await store.close()


async def _fill(database: Path, scope: Scope, count: int, hook: str) -> None:
    embedder = Embedder.load(None)
    store = Store(database, memory_limit_mb=512, clock=lambda: _EPOCH)
    await store.open()
    batch: list[Memory] = []
    for memory in memories(count, scope, hook=hook):
        batch.append(memory)
        if len(batch) == BATCH:
            await _put(store, embedder, batch)
            batch = []
    await _put(store, embedder, batch)
    await store.close()


async def _put(store: Store, embedder: Embedder, batch: list[Memory]) -> None:
    encodings = embedder.encode_many([searchable(memory) for memory in batch])
    await store.put([Row(m, e) for m, e in zip(batch, encodings, strict=True)])
