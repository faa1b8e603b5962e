"""The second stage: what the cross-encoder says of a candidate, as asked and in its own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Hit, Memory
from ..models.cross_encoder import CrossEncoder
from ..models.embedder import Embedder
from .calibration import reranked_relevance
from .ranking import Candidate

REWORDED_MIN = 0.6
"""What is relevant in other words alone has to be so relevant: of what is found at .4 to .6, half
would be wrong. On 161 projects of ``perf/questions`` 108 of 130 such memories answered.
"""


# What is longer would leave a question no room among the tokens that are read of a memory.
_BEFORE_QUESTION_CHARS = 320


class Reworded(Struct, frozen=True):
    """A candidate for ``question``, which has its words; ``before`` is its relevance without."""

    candidate: Candidate
    question: str
    before: float

    @property
    def relevance(self) -> float:
        return self.candidate.relevance


def with_reworded(
    other: Mapping[str, Reworded], candidates: Sequence[Candidate], limit: int
) -> Sequence[Candidate]:
    """``candidates`` with those of ``other``, in order, at most ``limit``."""
    if not other:
        return candidates
    found = {one.id: one for one in candidates} | {id_: one.candidate for id_, one in other.items()}
    orders = {one.id: one.order for one in candidates}
    return sorted(found.values(), key=lambda one: -max(one.order, orders.get(one.id, 0.0)))[:limit]


def second_stage(
    reranker: CrossEncoder,
    asked: str,
    embedder: Embedder | None,
    other: Mapping[str, Reworded],
    scores: dict[str, float],
    hit: Hit,
) -> Hit:
    """``hit`` with the relevance of both stages; its score as asked is noted in ``scores``, by id.

    What says it in other words is read in these as well, and both readings have to speak for it:
    the sum of their log-odds counts.
    """
    told = as_read(hit.memory, asked, embedder)
    score = scores[hit.memory.id] = reranker.score(asked, told)
    relevance = reranked_relevance(hit.relevance, score)
    if (same := other.get(hit.memory.id)) is not None:
        both = reranked_relevance(hit.relevance, score + reranker.score(same.question, told))
        as_asked = reranked_relevance(same.before, score)
        counts = both >= REWORDED_MIN
        relevance = max(both, as_asked) if counts else as_asked
        return replace(hit, relevance=relevance, by_words=hit.relevance, in_other_words=counts)
    return replace(hit, relevance=relevance, by_words=hit.relevance)


def as_read(memory: Memory, asked: str, embedder: Embedder | None) -> str:
    """What the cross-encoder reads of ``memory`` where somebody ``asked`` something.

    Of the questions that it answers it reads the one that is most like what was asked.
    """
    told = f"{memory.namespace}: {memory.content}"
    if not memory.questions or embedder is None:
        return told
    return f"{told[:_BEFORE_QUESTION_CHARS]} {embedder.most_alike(asked, memory.questions)}"


def unread(hit: Hit, other: Mapping[str, Reworded]) -> Hit:
    """``hit`` without what other words made of it: they count only where it was read in them."""
    same = other.get(hit.memory.id)
    return hit if same is None else replace(hit, relevance=same.before)
