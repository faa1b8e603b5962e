"""What each stage of a prompt takes, at 1,000, 10,000 and 100,000 memories; only growth gates.

    python -m pytest perf/test_stages.py -s -q

Every prompt goes through the daemon's own stages with the warm indexes, a project with files, and
the store's fetches from a dictionary. Half of the prompts ask and half of them order. The row
"added" is what knowing the project's guides adds to a prompt: each goes through "enrich" without
them, too. SUBCOG_PERF_NOTES changes the largest size.
"""

from __future__ import annotations

import itertools
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from perf.corpus import memories, question
from perf.report import percentile, record
from subcog.bus.events import PromptEnriched, PromptParsed, PromptSubmitted
from subcog.bus.values import Memory, Place, Scope
from subcog.config.load import load_settings
from subcog.sinks.indexes.guide_index import GuideIndex
from subcog.sinks.models.cross_encoder import CrossEncoder
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.models.intent_classifier import LocalClassifier
from subcog.sinks.project.identity import Projects
from subcog.sinks.search.index import Index
from subcog.sinks.search.retriever import Search
from subcog.sinks.sessions import Sessions
from subcog.stages.classify import classify
from subcog.stages.enrich import Knowledge, enrich
from subcog.stages.enrichment.guide_parser import read_guide
from subcog.stages.inject import inject
from subcog.stages.parse import parse
from subcog.stages.respond import respond

LARGEST = int(os.environ.get("SUBCOG_PERF_NOTES", "100000"))
SIZES = tuple(size for size in (1_000, 10_000, 100_000) if size <= LARGEST)
PROMPTS = 200
WARM_UP = 20
STAGES = ("parse", "enrich", "recall", "added", "classify", "inject", "respond", "whole")
TARGETS = {"enrich": "p99 20 ms at 10,000", "added": "1 ms at p50", "whole": "p99 50 ms"}
# Ten times the memories may take a prompt at most this many times as long.
GROWTH = 8.0
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SETTINGS = load_settings(Path("/nonexistent"), {}).settings
ORDERS = ("Add user authentication to the {}", "fix the {} queue like last time", "refactor the {}")

Clock = Callable[[], float]


class Bench:
    """The stages of a prompt over ``notes``, and what each took by ``clock``, in ms."""

    def __init__(self, notes: Sequence[Memory], root: Path, clock: Clock) -> None:
        embedder = Embedder.load()
        index = Index(embedder)
        index.extend(
            zip(notes, embedder.encode_many([note.content for note in notes]), strict=True)
        )
        self.by_id = by_id = {note.id: note for note in notes}
        self.place = Place(project=notes[0].scope, root=str(root), user=Scope("user", "u"))
        self.clock = clock
        self.search = Search(
            index, embedder, fetch=lambda ids, _: [by_id[one] for one in ids],
            latest=self._latest, clock=lambda: NOW,
        )  # fmt: skip
        self.search.reranker = CrossEncoder.load()
        self.notes = notes
        self.archive = SimpleNamespace(index=index, latest=self._latest)
        self.lore = GuideIndex(
            archive=self._get, loaded=lambda: self.archive, read=read_guide, clock=lambda: NOW
        )
        self.projects, self.sessions = Projects(), Sessions()
        self.local = LocalClassifier.load()
        self.took: dict[str, list[float]] = {stage: [] for stage in STAGES}

    async def _get(self) -> Any:
        return self.archive

    async def _latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        wanted = (n for n in reversed(self.notes) if n.namespace in namespaces)
        return tuple(note for note in wanted if note.scope in scopes)[:limit]

    async def recall(self, query: Any) -> Any:
        """In this thread, so that the processor's time counts."""
        return self.timed("recall", lambda: self.search.recall_now(query))

    async def latest(self, *args: Any, **kwargs: Any) -> tuple[Memory, ...]:
        return ()

    async def keep(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("nothing is marked here")

    async def fetch(self, ids: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return tuple(self.by_id[one] for one in ids)

    def timed(self, stage: str, work: Callable[[], Any]) -> Any:
        began = self.clock()
        made = work()
        self.took[stage].append((self.clock() - began) * 1000)
        return made

    async def awaited(self, stage: str, work: Awaitable[Any]) -> Any:
        began = self.clock()
        made = await work
        self.took[stage].append((self.clock() - began) * 1000)
        return made

    async def enrich(self, parsed: PromptParsed, *, plain: bool = False) -> PromptEnriched:
        context = SETTINGS.search_intent.context
        knowledge = Knowledge(self.lore, self, lambda: NOW)
        return await enrich(
            parsed,
            recall=self,
            keeper=self,
            projects=self.projects,
            limit=context.max_count,
            min_relevance=context.least_relevance,
            knowledge=None if plain else knowledge,
        )

    async def added(self, parsed: PromptParsed) -> None:
        """Note what ``enrich`` took, its recall left out, more than without the guides."""
        took = self.took["enrich"][-1] - self.took["recall"][-1]
        began = self.clock()
        await self.enrich(parsed, plain=True)
        plain = (self.clock() - began) * 1000 - self.took["recall"].pop()
        self.took["added"].append(took - plain)

    async def prompt(self, number: int, text: str) -> None:
        event = PromptSubmitted(
            trace=f"t{number}", session=f"s{number}", client="perf", place=self.place, text=text
        )
        began = self.clock()
        parsed = self.timed("parse", lambda: parse(event))
        enriched = await self.awaited("enrich", self.enrich(parsed))
        classified = await self.awaited("classify", classify(enriched, local=self.local))
        settings = SETTINGS.search_intent
        built = self.timed(
            "inject",
            lambda: inject(
                classified,
                settings=settings,
                quoting=SETTINGS.sessions,
                sessions=self.sessions,
                now=NOW,
            ),
        )
        self.timed("respond", lambda: respond(built))
        self.took["whole"].append((self.clock() - began) * 1000)
        await self.added(parsed)


async def run(bench: Bench) -> None:
    rng = random.Random(5)
    for number in range(PROMPTS + WARM_UP):
        asked = question(rng)
        subject = " ".join(asked.split()[3:5])
        text = asked if number % 2 else rng.choice(ORDERS).format(subject)
        await bench.prompt(number, text)
        if number < WARM_UP:
            for taken in bench.took.values():
                taken.clear()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a few of the files that are looked at."""
    root = tmp_path_factory.mktemp("project")
    (root / "pyproject.toml").write_text('[project]\nname = "shop"\ndependencies = ["fastapi"]')
    (root / "Makefile").write_text("test:\n\tpytest\n")
    return root


@pytest.mark.parametrize(
    ("clock", "name"), [(time.process_time, "processor"), (time.perf_counter, "wall")]
)
def test_a_prompt_grows_slower_than_the_store(clock: Clock, name: str, project: Path) -> None:
    """Print a table, a row a stage, p50 and p99 for each size."""
    notes = list(memories(SIZES[-1], Scope("project", "stages")))
    made = {}
    for size in SIZES:
        bench = Bench(notes[:size], project, clock)
        anyio.run(run, bench)
        made[size] = bench.took
        if name == "processor":
            record(f"enrich.{size}", bench.took["enrich"])
            record(f"inject.{size}", bench.took["inject"])
    print(f"\n{name} time, p50 / p99 in ms" + "".join(f"{size:>18,}" for size in SIZES))
    for stage in STAGES:
        cells = (made[size][stage] for size in SIZES)
        row = "".join(f"{percentile(c, 50):>10.2f} /{percentile(c, 99):>6.2f}" for c in cells)
        target = f"   target {TARGETS[stage]}" if stage in TARGETS else ""
        print(f"{stage:<27}{row}{target}")
    medians = [percentile(made[size]["whole"], 50) for size in SIZES]
    assert all(later / earlier < GROWTH for earlier, later in itertools.pairwise(medians))
