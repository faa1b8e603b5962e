"""How well what is injected fits the prompt: labelled prompts through the product's own stages.

``memories.jsonl`` has {id, text, namespace?, tags?, scope?, created_at?} a line, ``prompts.jsonl``
{id, prompt, relevant: [ids], acceptable?: [ids], kind?, before?}. Each prompt is a session of its
own that reads all the memories, and goes through parse, enrich, classify and inject with the local
classifier and no language model. It is typed today, or on the day that is given.

Over all prompts together: ``precision`` is the share of what was injected that is relevant or
acceptable, ``recall`` the share of what is relevant that was injected, ``silent_rate`` the share of
the prompts with nothing relevant that got nothing. A share of nothing is null among the kinds and
0.0 above them. ``median_tokens`` is taken over the prompts that got something; ``latency_ms`` is a
prompt's whole way through the stages.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from datetime import time as clock_time
from functools import partial
from pathlib import Path

import anyio
import msgspec

from ...bus.events import ContextBuilt, PromptSubmitted
from ...bus.prompts import Marked, ProjectFacts
from ...bus.values import Kept, Place, Scope
from ...config.settings import Settings
from ...sinks.models import cross_encoder
from ...sinks.models.embedder import Embedder
from ...sinks.models.intent_classifier import LocalClassifier
from ...sinks.sessions import Sessions
from ...stages.classify import classify, may_search
from ...stages.enrich import enrich
from ...stages.enrichment.hindsight import Hindsight
from ...stages.inject import inject
from ...stages.parse import parse
from ...stages.redaction.redact import Redactor
from ..app.app import utc_now
from .common import (
    Judged,
    JudgedMemory,
    Progress,
    Shares,
    Shelf,
    Shown,
    cost_lines,
    median_tokens,
    percentiles,
    read_rows,
    scratch_search,
    shares,
)


class JudgedPrompt(Judged, frozen=True, kw_only=True):
    """A line of ``prompts.jsonl``; ``kind`` groups the figures and means nothing else.

    ``before`` is the prompt before it in its session, if there was one.
    """

    prompt: str
    kind: str = "search"
    before: str = ""


class Part(Shares, frozen=True, kw_only=True):
    """The prompts of one kind, or all of them."""

    prompts: int

    def row(self, name: str) -> str:
        return f"{name:10}{self.prompts:>9}{self.columns()}"


class Report(Part, frozen=True, kw_only=True):
    """What the answers come to."""

    by_kind: dict[str, Part]
    median_tokens: float
    latency_ms: dict[str, float]

    def lines(self) -> Iterator[str]:
        yield f"{'kind':10}{'prompts':>9}{'precision':>11}{'recall':>9}{'silent':>9}"
        for kind, part in self.by_kind.items():
            yield part.row(kind)
        yield self.row("all")
        yield ""
        yield from cost_lines(self.median_tokens, self.latency_ms, "injected")


def evaluate(
    folder: Path, *, settings: Settings, progress: Progress, today: date | None = None
) -> Report:
    """Evaluate injection on ``folder`` under ``settings``.

    ``today`` is the day, in UTC, on which the prompts are typed; None is this one.
    """
    memories = read_rows(folder / "memories.jsonl", JudgedMemory)
    prompts = read_rows(folder / "prompts.jsonl", JudgedPrompt)
    if not memories or not prompts:
        raise ValueError(f"{folder} holds no memories, or no prompts")
    answer = product(memories, settings, _clock(today))
    return figures(anyio.run(_answered, answer, prompts, progress))


def figures(answered: Sequence[Shown]) -> Report:
    """What the answers come to."""
    by_kind: dict[str, list[Shown]] = {}
    for one in answered:
        if isinstance(one.judged, JudgedPrompt):
            by_kind.setdefault(one.judged.kind, []).append(one)
    return Report(
        prompts=len(answered),
        **{name: share or 0.0 for name, share in shares(answered).items()},
        by_kind={kind: Part(prompts=len(own), **shares(own)) for kind, own in by_kind.items()},
        median_tokens=median_tokens(answered),
        latency_ms=percentiles([one.took_ms for one in answered]),
    )


async def _answered(
    answer: Callable[[PromptSubmitted], Awaitable[ContextBuilt]],
    prompts: Sequence[JudgedPrompt],
    progress: Progress,
) -> list[Shown]:
    made = []
    await answer(submitted(prompts[0], "warming up"))
    for done, judged in enumerate(prompts, 1):
        event = submitted(judged, f"{done}")
        began = time.perf_counter()
        built = await answer(event)
        took_ms = (time.perf_counter() - began) * 1000
        injected = frozenset(memory.id for memory in built.context.injected_memories)
        made.append(Shown(judged, injected, built.tokens, took_ms))
        progress(done, len(prompts))
    return made


def submitted(judged: JudgedPrompt, session: str) -> PromptSubmitted:
    """The prompt as its hook would send it."""
    return PromptSubmitted(
        trace=session,
        session=session,
        client="eval",
        place=_PLACE,
        text=judged.prompt,
        before=judged.before,
    )


def _clock(today: date | None) -> Callable[[], datetime]:
    """The wall clock, or one that stands at noon of ``today``."""
    if today is None:
        return utc_now
    noon = datetime.combine(today, clock_time(12), UTC)
    return lambda: noon


def product(
    memories: Sequence[JudgedMemory], settings: Settings, clock: Callable[[], datetime] = utc_now
) -> Callable[[PromptSubmitted], Awaitable[ContextBuilt]]:
    """The stages from a prompt to its context, over a scratch index of ``memories``."""
    placed = [msgspec.structs.replace(one.memory(), scope=_PLACE.project) for one in memories]
    search = scratch_search(placed, Embedder.load())
    search.reranker = cross_encoder.load_bundled()
    search.rerank_budget_s = math.inf  # figures are not to depend on what else the machine does
    sessions, local = Sessions(), LocalClassifier.load()
    redactor, wanted = Redactor.load(), settings.search_intent
    find = partial(
        enrich,
        recall=search,
        keeper=_Declining(),
        projects=_Unknown(),
        limit=wanted.context.max_count,
        min_relevance=wanted.context.least_relevance,
        hindsight=Hindsight(Shelf(placed), clock, UTC),
        may_search=partial(may_search, local=local),
    )

    async def answer(event: PromptSubmitted) -> ContextBuilt:
        classified = await classify(await find(parse(event)), local=local)
        return inject(
            classified,
            settings=wanted,
            quoting=settings.sessions,
            sessions=sessions,
            now=clock(),
            clean=lambda text: redactor.redact(text).text,
        )

    return answer


class _Declining:
    """Keeps nothing of what a prompt marks."""

    async def keep(self, marked: Marked, *, prompt: PromptSubmitted, number: int) -> Kept:
        return Kept(outcome="declined", namespace=marked.namespace or "context")


class _Unknown:
    """Knows nothing of any project."""

    def facts(self, root: str) -> ProjectFacts:
        return ProjectFacts()

    def existing(self, root: str, paths: Sequence[str]) -> tuple[str, ...]:
        return ()


_PLACE = Place(project=Scope("project", "eval"), root="", user=Scope("user", "eval"))
