"""What evaluations have in common: labelled rows, a search or the whole product, and figures."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from ...bus.prompts import Span
from ...bus.triggers import Trigger
from ...bus.values import Memory, Scope
from ...config.paths import find_paths
from ...config.settings import Settings
from ...sinks.models.analyzer import searchable
from ...sinks.models.embedder import Embedder
from ...sinks.search.index import Index
from ...sinks.search.retriever import Search
from ..app.app import App

_BATCH = 500
_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
_Row = TypeVar("_Row")

Progress = Callable[[int, int], None]
"""Hears (done, in all)."""

Interval = tuple[float, float]


# --- labelled rows ------------------------------------------------------------------------------


class JudgedMemory(Struct, frozen=True):
    """A line of ``memories.jsonl``; whoever kept it gave ``questions`` and ``triggers`` with it."""

    id: str
    text: str
    scope: str = ""
    namespace: str = "context"
    tags: tuple[str, ...] = ()
    created_at: str = ""
    questions: tuple[str, ...] = ()
    triggers: tuple[Trigger, ...] = ()

    def __post_init__(self) -> None:
        self._moment()  # a line whose time is none is refused as it is read

    def _moment(self) -> datetime:
        """The time of ``created_at``, a day or a moment, in UTC where it names no zone."""
        moment = datetime.fromisoformat(self.created_at) if self.created_at else _LONG_AGO
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def memory(self) -> Memory:
        moment = self._moment()
        return Memory(
            id=self.id,
            scope=Scope("project", self.scope),
            namespace=self.namespace,
            content=self.text,
            summary="",
            tags=self.tags,
            questions=self.questions,
            triggers=self.triggers,
            created_at=moment,
            updated_at=moment,
        )


class Shelf:
    """The memories of a dataset by when they were made; none of them was ever shown."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._memories = sorted(memories, key=lambda one: (one.created_at, one.id), reverse=True)

    async def made(
        self,
        scopes: tuple[Scope, ...],
        *,
        limit: int,
        namespaces: tuple[str, ...] = (),
        within: Span | None = None,
        by_use: bool = False,
    ) -> tuple[Memory, ...]:
        return tuple(
            memory
            for memory in self._memories
            if memory.scope in scopes
            and (not namespaces or memory.namespace in namespaces)
            and (within is None or within.since <= memory.created_at < within.until)
        )[:limit]


def read_rows(path: Path, kind: type[_Row]) -> list[_Row]:
    """The rows of a JSONL file; other fields are ignored, blank lines skipped.

    Raises ``OSError``, and ``ValueError`` with file and line for a line that is no ``kind``.
    """
    rows = []
    decoder = msgspec.json.Decoder(kind)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    rows.append(decoder.decode(line))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise ValueError(f"{path}, line {number}: {error}") from error
    return rows


def scratch_search(
    memories: Sequence[Memory], embedder: Embedder, step: Callable[[int], None] = lambda _: None
) -> Search:
    """A search over an index of ``memories`` alone; ``step`` hears how many were added each time.

    Raises ``ValueError`` where an id occurs twice.
    """
    by_id = {memory.id: memory for memory in memories}
    if len(by_id) != len(memories):
        raise ValueError("memories.jsonl uses an id more than once")
    index = Index(embedder)
    for start in range(0, len(memories), _BATCH):
        part = memories[start : start + _BATCH]
        encodings = embedder.encode_many([searchable(memory) for memory in part])
        index.extend(zip(part, encodings, strict=True))
        step(len(part))

    def fetch(ids: Sequence[str], scopes: Sequence[Scope]) -> list[Memory]:
        return [by_id[one] for one in ids if by_id[one].scope in scopes]

    return Search(index, embedder, fetch=fetch, latest=_no_latest, clock=lambda: datetime.now(UTC))


def _no_latest(
    scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
) -> Awaitable[tuple[Memory, ...]]:
    raise NotImplementedError


_ANY_AGE_DAYS = 36_500


@asynccontextmanager
async def scratch_app(settings: Settings) -> AsyncIterator[tuple[App, Path]]:
    """The product, loaded, in a folder of its own, and a project's folder; both go afterwards.

    It has neither team nor language model, and no session is too old for it: a set comes to the
    same figures in a year.
    """
    alone = replace(
        settings,
        team=replace(settings.team, url=""),
        llm=replace(settings.llm, model=""),
        sessions=replace(settings.sessions, days=_ANY_AGE_DAYS),
    )
    with TemporaryDirectory(prefix="subcog-eval-") as scratch:
        paths = find_paths({"HOME": scratch, "SUBCOG_HOME": f"{scratch}/home"})
        project = Path(scratch, "project")
        for folder in (paths.database.parent, paths.state, project):
            folder.mkdir(parents=True, exist_ok=True)
        app = App(alone, paths)
        failure: ValueError | None = None
        async with app.running():
            try:
                await app.load()
                (await app.archive.get()).search.rerank_budget_s = math.inf
                yield app, project
            except ValueError as error:  # the task group would wrap it in an exception group
                failure = error
            finally:
                await app.unload()
        if failure is not None:
            raise failure


# --- figures ------------------------------------------------------------------------------------


class Judged(Struct, frozen=True, kw_only=True):
    """What a line says of the memories: ids of ``memories.jsonl``."""

    id: str
    relevant: tuple[str, ...]
    acceptable: tuple[str, ...] = ()


class Shown(Struct, frozen=True):
    """What was shown for a line: ids of ``memories.jsonl``."""

    judged: Judged
    ids: frozenset[str]
    tokens: int
    took_ms: float


class Shares(Struct, frozen=True, kw_only=True):
    """Over all lines together; a share of nothing is None."""

    precision: float | None
    recall: float | None
    silent_rate: float | None

    def columns(self) -> str:
        """The three shares as columns of 11, 9 and 9 characters."""
        shared = (self.precision, self.recall, self.silent_rate)
        precision, recall, silent = map(share_text, shared)
        return f"{precision:>11}{recall:>9}{silent:>9}"


def shares(every: Sequence[Shown]) -> dict[str, float | None]:
    """The fields of ``Shares`` for ``every`` line together."""
    right = found = 0
    for one in every:
        right += len(one.ids & {*one.judged.relevant, *one.judged.acceptable})
        found += len(one.ids & {*one.judged.relevant})
    hopeless = [one for one in every if not one.judged.relevant]
    return {
        "precision": share(right, sum(len(one.ids) for one in every)),
        "recall": share(found, sum(len({*one.judged.relevant}) for one in every)),
        "silent_rate": share(sum(not one.ids for one in hopeless), len(hopeless)),
    }


def median_tokens(every: Sequence[Shown]) -> float:
    """The median where anything was shown; 0.0 where nothing was."""
    tokens = [one.tokens for one in every if one.ids]
    return float(np.median(tokens)) if tokens else 0.0


def percentiles(took_ms: Sequence[float]) -> dict[str, float]:
    """The 50th, 95th and 99th, as ``p50`` and so on."""
    return {f"p{p}": round(float(np.percentile(took_ms, p)), 3) for p in (50, 95, 99)}


def cost_lines(tokens: float, latency_ms: dict[str, float], verb: str) -> Iterator[str]:
    """What was shown cost, for a reader; ``verb`` says how something gets to the model."""
    yield f"median of {tokens:.0f} tokens where anything is {verb}"
    yield latency_text(latency_ms)


def latency_text(latency_ms: dict[str, float]) -> str:
    """``percentiles`` for a reader."""
    return "latency in ms: " + ", ".join(f"{name} {ms:.2f}" for name, ms in latency_ms.items())


def intervals(
    table: npt.NDArray[np.float64],
    figures: Callable[[npt.NDArray[np.float64]], Sequence[float]],
    *,
    resamples: int,
) -> list[Interval]:
    """The 95 % bootstrap interval of each of the ``figures`` of the rows of ``table``; seed 0."""
    draws = np.random.default_rng(0).integers(0, len(table), size=(resamples, len(table)))
    drawn = [figures(table[draw]) for draw in draws]
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def share(part: float, whole: float) -> float | None:
    """A share, 0-1, with four digits; None of nothing."""
    return round(float(part) / float(whole), 4) if whole else None


def ratio(part: float, whole: float) -> float:
    """The same, but 0.0 of nothing."""
    return share(part, whole) or 0.0


def share_text(shared: float | None) -> str:
    """A share for a reader."""
    return "–" if shared is None else f"{shared:.3f}"
