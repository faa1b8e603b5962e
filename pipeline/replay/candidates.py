"""What the search finds for labelled prompts, and how relevant it takes it to be.

``candidates.json`` has that for the invented projects of ``perf/relevance``, alone and in pairs
that share a store; ``perf/record_candidates.py`` writes it. It holds numbers and no texts. A memory
is a number from 0 on, in the order of its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...bus.events import ContextBuilt
from ...config.settings import Settings
from ..evaluation.common import JudgedMemory
from ..evaluation.injections import JudgedPrompt, product, submitted

LEAST = 0.05
"""Below this relevance no floor that is tried lets a candidate through."""

_NOT_SEARCHED = frozenset({"no_intent", "low_confidence", "machine_turn"})


class Found(Struct, frozen=True, array_like=True):
    """A candidate; ``fits``: the labels call it relevant or acceptable.

    ``relevance`` is what floors are compared with: the lower one of relevance and score.
    """

    memory: int
    relevance: float
    fits: bool


class Asked(Struct, frozen=True, array_like=True):
    """A prompt that searches: the memories that answer it, and its candidates, best first."""

    wanted: tuple[int, ...]
    found: tuple[Found, ...]


class Area(Struct, frozen=True):
    """A store of so many ``memories``, and prompts that were put to it."""

    name: str
    memories: int
    asked: tuple[Asked, ...]


class Recording(Struct, frozen=True):
    """Areas that are a project each, and areas in which two projects share a store."""

    about: str
    single: tuple[Area, ...]
    double: tuple[Area, ...]


def shipped() -> Recording:
    """The recording that ships."""
    return msgspec.json.decode(
        files(__package__).joinpath("candidates.json").read_bytes(), type=Recording
    )


async def record(
    name: str,
    memories: Sequence[JudgedMemory],
    prompts: Sequence[JudgedPrompt],
    settings: Settings,
) -> Area:
    """Put every prompt through the product's stages, with floors low enough to see candidates.

    Prompts that search for nothing are left out: no memory is searched for them.
    """
    context = replace(
        settings.search_intent.context, min_relevance=LEAST, min_relevance_beside=LEAST
    )
    search = replace(settings.search_intent, context=context)
    answer = product(memories, replace(settings, search_intent=search))
    number = {memory.id: at for at, memory in enumerate(memories)}
    asked = []
    for at, judged in enumerate(prompts):
        built = await answer(submitted(judged, f"{at}"))
        if built.abstained not in _NOT_SEARCHED:
            wanted = tuple(number[one] for one in judged.relevant)
            asked.append(Asked(wanted, _found(built, judged, number)))
    return Area(name, len(memories), tuple(asked))


def _found(built: ContextBuilt, judged: JudgedPrompt, number: dict[str, int]) -> tuple[Found, ...]:
    fits = {*judged.relevant, *judged.acceptable}
    found = [
        Found(number[one.memory_id], relevance, one.memory_id in fits)
        for one in built.verdicts
        if (relevance := round(min(one.relevance, one.score), 3)) >= LEAST
    ]
    return tuple(sorted(found, key=lambda one: -one.relevance))
