"""How well what is injected fits the prompt: labelled prompts through the product's own stages.

``memories.jsonl`` has {id, text, namespace?, tags?, scope?, created_at?} a line, ``prompts.jsonl``
{id, prompt, relevant: [ids], acceptable?: [ids], kind?}. Each prompt is a session of its own that
reads all the memories, and goes through parse, enrich, classify and inject with the local
classifier and no language model.

Over all prompts together: ``precision`` is the share of what was injected that is relevant or
acceptable, ``recall`` the share of what is relevant that was injected, ``silent_rate`` the share of
the prompts with nothing relevant that got nothing. A share of nothing is null among the kinds and
0.0 above them. ``median_tokens`` is taken over the prompts that got something; ``latency_ms`` is a
prompt's whole way through the stages.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from ...bus.events import ContextBuilt, PromptSubmitted
from ...bus.values import Kept, Marked, Memory, Place, ProjectFacts, Scope
from ...config.settings import Settings
from ...sinks.models import cross_encoder
from ...sinks.models.embedder import Embedder
from ...sinks.models.intent_classifier import LocalClassifier
from ...sinks.sessions import Sessions
from ...stages.classify import classify
from ...stages.enrich import enrich
from ...stages.inject import inject
from ...stages.parse import parse
from ...stages.redaction.redact import Redactor
from .dataset import JudgedMemory, read_rows, scratch_search
from .shares import Outcome, columns, cost_lines, costs, shares

Progress = Callable[[int, int], None]


class JudgedPrompt(Struct, frozen=True):
    """A line of ``prompts.jsonl``; ``kind`` groups the figures and means nothing else."""

    id: str
    prompt: str
    relevant: tuple[str, ...]
    acceptable: tuple[str, ...] = ()
    kind: str = "search"


class Answered(Struct, frozen=True):
    """What one prompt got."""

    judged: JudgedPrompt
    injected: tuple[str, ...]
    tokens: int
    took_ms: float


def evaluate(folder: Path, *, settings: Settings, progress: Progress) -> dict[str, Any]:
    """Evaluate injection on ``folder`` under ``settings``.

    ``progress`` hears (done, in all). Raises ``OSError`` where a file cannot be read and
    ``ValueError`` where a line is not what it should be, with file and line.
    """
    memories = read_rows(folder / "memories.jsonl", JudgedMemory)
    prompts = read_rows(folder / "prompts.jsonl", JudgedPrompt)
    if not memories or not prompts:
        raise ValueError(f"{folder} holds no memories, or no prompts")
    answer = _product(memories, settings)
    return figures(anyio.run(_answered, answer, prompts, progress))


def figures(answered: Sequence[Answered]) -> dict[str, Any]:
    """What the answers come to."""
    kinds = dict.fromkeys(one.judged.kind for one in answered)
    took = [one.took_ms for one in answered]
    tokens = [one.tokens for one in answered if one.injected]
    return {
        "prompts": len(answered),
        **{name: share or 0.0 for name, share in _shares(answered).items()},
        "by_kind": {
            kind: {"prompts": len(own), **_shares(own)}
            for kind in kinds
            if (own := [one for one in answered if one.judged.kind == kind])
        },
        **costs(tokens, took),
    }


def render(report: dict[str, Any]) -> str:
    """The same for a reader, as a table of plain text."""
    head = f"{'kind':10}{'prompts':>9}{'precision':>11}{'recall':>9}{'silent':>9}"
    rows = [*report["by_kind"].items(), ("all", report)]
    return "\n".join(
        [
            head,
            *(_row(kind, made) for kind, made in rows),
            "",
            *cost_lines(report, "injected"),
        ]
    )


def _row(kind: str, made: dict[str, Any]) -> str:
    return f"{kind:10}{made['prompts']:>9}{columns(made)}"


def _shares(answered: Sequence[Answered]) -> dict[str, float | None]:
    return shares(
        Outcome(
            relevant=frozenset(one.judged.relevant),
            acceptable=frozenset(one.judged.acceptable),
            shown=frozenset(one.injected),
        )
        for one in answered
    )


async def _answered(
    answer: Callable[[PromptSubmitted], Awaitable[ContextBuilt]],
    prompts: Sequence[JudgedPrompt],
    progress: Progress,
) -> list[Answered]:
    made = []
    await answer(_submitted(prompts[0], "warming up"))
    for done, judged in enumerate(prompts, 1):
        event = _submitted(judged, f"{done}")
        began = time.perf_counter()
        built = await answer(event)
        took_ms = (time.perf_counter() - began) * 1000
        injected = tuple(memory.id for memory in built.context.injected_memories)
        made.append(Answered(judged, injected, built.tokens, took_ms))
        progress(done, len(prompts))
    return made


def _submitted(judged: JudgedPrompt, session: str) -> PromptSubmitted:
    return PromptSubmitted(
        trace=session, session=session, client="eval", place=_PLACE, text=judged.prompt
    )


def _product(
    memories: Sequence[JudgedMemory], settings: Settings
) -> Callable[[PromptSubmitted], Awaitable[ContextBuilt]]:
    """The stages from a prompt to its context, over a scratch index of ``memories``."""
    search = scratch_search([_in_place(one.memory()) for one in memories], Embedder.load())
    search.reranker = cross_encoder.load_bundled()
    sessions, local = Sessions(), LocalClassifier.load()
    redactor, wanted = Redactor.load(), settings.search_intent
    find = partial(
        enrich,
        recall=search,
        keeper=_Declining(),
        projects=_Unknown(),
        limit=wanted.context.max_count,
        min_relevance=wanted.context.least_relevance,
    )

    async def answer(event: PromptSubmitted) -> ContextBuilt:
        classified = await classify(await find(parse(event)), local=local)
        return inject(
            classified,
            settings=wanted,
            quoting=settings.sessions,
            sessions=sessions,
            now=_now(),
            clean=lambda text: redactor.redact(text).text,
        )

    return answer


def _in_place(memory: Memory) -> Memory:
    return msgspec.structs.replace(memory, scope=_PLACE.project)


def _now() -> datetime:
    return datetime.now(UTC)


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
