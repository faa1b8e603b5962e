"""Memories of words as unequally frequent as those of real notes, for what depends on rarity.

Sentences of the shipped examples, in which some words give way to others of the model's
vocabulary, drawn by Zipf's law, and to made-up identifiers: a few words are in nearly every
memory, and most words are in hardly any.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from pathlib import Path

from subcog.bus.values import NAMESPACES, Memory, Scope
from subcog.config.ids import ulid_of
from subcog.sinks.models.embedder import BUNDLED

ORGANISATION = Scope("org", "local")
EXAMPLES = Path(__file__).parent / "data" / "captures"
WORDS = 45
# So many of a hundred words give way to one of the vocabulary, and so many to an identifier.
REPLACED, NAMED = 22, 4
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_PLAIN = re.compile(r"^[a-z]{4,}$")


@cache
def sentences() -> tuple[tuple[str, ...], ...]:
    """The words of each example that is worth keeping, and of what stands beside such."""
    texts = []
    for name in ("worth", "mixed"):
        lines = (EXAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        texts += [json.loads(line)["text"] for line in lines]
    return tuple(tuple(text.split()) for text in texts)


@cache
def vocabulary() -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Words, the most frequent first, and the sums of their weights."""
    model = json.loads((BUNDLED / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    words = tuple(word for word in model["vocab"] if word.isalpha() and len(word) > 2)
    return words, tuple(accumulate(1 / (rank + 20) for rank in range(len(words))))


def text(rng: random.Random) -> str:
    """About sixty words."""
    words: list[str] = []
    while len(words) < WORDS:
        words += [varied(word, rng) for word in rng.choice(sentences())]
    return " ".join(words)


def varied(word: str, rng: random.Random) -> str:
    """``word``, or sometimes another of the vocabulary or an identifier instead."""
    chance = rng.randrange(100)
    if chance >= REPLACED + NAMED or not _PLAIN.match(word):
        return word
    known, sums = vocabulary()
    (other,) = rng.choices(known, cum_weights=sums)
    return other if chance < REPLACED else f"{other}_{rng.randrange(1000)}"


def question(rng: random.Random, memory: str) -> str:
    """What somebody asks who looks for ``memory``: some of its words, in their order."""
    words = re.findall(r"\w{3,}", memory)
    chosen = sorted(rng.sample(range(len(words)), min(6, len(words))))
    return f"how do we {' '.join(words[place] for place in chosen)}?"


def projects(count: int) -> tuple[Scope, ...]:
    return tuple(Scope("project", f"service-{n}-{n:012x}") for n in range(count))


def share(count: int, scopes: Sequence[Scope]) -> list[int]:
    """How many of ``count`` memories each of ``scopes`` has, by Zipf's law."""
    weights = [1 / (rank + 1) for rank in range(len(scopes))]
    return [max(1, round(count * weight / sum(weights))) for weight in weights]


def memories(count: int, scopes: Sequence[Scope], seed: int = 1) -> Iterator[Memory]:
    """``count`` memories, a minute apart, of ``scopes`` as ``share`` divides them, mixed."""
    rng = random.Random(seed)
    sizes = share(count, scopes)
    drawn = rng.choices(scopes, weights=sizes, k=count)
    for number, scope in enumerate(drawn):
        yield memory(rng, scope, _EPOCH + timedelta(minutes=number), f"{seed}-{number}")


def memory(rng: random.Random, scope: Scope, when: datetime, content_hash: str) -> Memory:
    content = text(rng)
    return Memory(
        id=f"mem_{ulid_of(int(when.timestamp() * 1000), rng.randbytes(10))}",
        scope=scope,
        namespace=rng.choice(NAMESPACES),
        content=content,
        summary=content[:90],
        tags=(rng.choice(("auth", "billing", "cache", "deploy", "schema", "queue", "tests")),),
        created_at=when,
        updated_at=when,
        content_hash=content_hash,
    )
