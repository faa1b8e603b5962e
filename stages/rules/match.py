"""How likely a memory warns of an action.

It is computed from the figures of the search and from what both say.

``perf/fit_actions.py`` fits the weights. A rule that is broken by name (``rules.py``) needs none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from ...bus.values import Hit
from ...config.linear_model import LinearModel
from ..actions.reading import ActionText
from ..actions.written import without_comments
from .claims import claims_of, terms
from .deed import DOCUMENT, HARMLESS_PLACE, SHARED_PLACE, Deed

WEIGHTS = Path(__file__).with_name("action_relevance.json")

FEATURES = (
    "text", "late", "vector", "order", "first stage log-odds", "lead", "vector lead", "first",
    "against added", "against removed", "asked added", "asked removed", "before against added",
    "path", "elsewhere", "same environment", "document", "command", "whole file",
)  # fmt: skip

LIMIT = 4
"""How many memories are looked at for an action."""

SURE = 0.9
"""The relevance of a memory that states a rule which the action breaks by name."""

_MOST = 3.0
_SMALLEST = 1e-4


class Matcher:
    """Matches one action with the memories that a search found for it, best first.

    ``deed`` is the action as it was prepared already, if it was.
    """

    def __init__(self, action: ActionText, hits: Sequence[Hit], deed: Deed | None = None) -> None:
        self._action = action
        self._hits = hits
        self._claims = [claims_of(hit.memory.content) for hit in hits]
        self._held = Counter(chain.from_iterable(claims.terms for claims in self._claims))
        ran = " ".join((*action.uses, action.purpose))
        added, removed = (
            terms(f"{_code(action.path, lines)}\n{said}")
            for lines, said in ((action.added, ran), (action.removed, ""))
        )
        self._new, self._gone = added - removed, removed - added
        self._path = terms(action.path)
        said = " ".join((ran, *action.added))
        self._is_harmless_place = HARMLESS_PLACE.search(said) is not None
        self._is_shared_place = SHARED_PLACE.search(said) is not None
        self._deed = deed or Deed(action)

    def relevance(self, at: int) -> float:
        """The probability, 0–1, that the hit at place ``at`` warns of the action."""
        if sure := self.certainty(at):
            return sure
        content = self._hits[at].memory.content
        if self._deed.keeps(content) or self._deed.avoids(content):
            return 0.0
        return _model().probability(self.features(at))

    def certainty(self, at: int) -> float:
        """``SURE`` where the hit states a rule by name that the action breaks, else 0.0."""
        return SURE if self._deed.breaks(self._hits[at].memory.content) else 0.0

    def _is_elsewhere(self, content: str) -> bool:
        """Whether the memory is about what is shared, and the action about what is not."""
        return self._is_harmless_place and SHARED_PLACE.search(content) is not None

    def features(self, at: int) -> tuple[float, ...]:
        """``FEATURES`` of the hit at place ``at``."""
        return (*self._by_search(at), *self._by_claims(at))

    def _by_search(self, at: int) -> tuple[float, ...]:
        hit = self._hits[at]
        others = [other for place, other in enumerate(self._hits) if place != at]
        relevance = min(max(hit.relevance, _SMALLEST), 1 - _SMALLEST)
        return (
            math.log1p(hit.text),
            hit.late,
            hit.vector,
            hit.order,
            math.log(relevance / (1 - relevance)),
            hit.order - max((other.order for other in others), default=0.0),
            hit.vector - max((other.vector for other in others), default=0.0),
            float(at == 0),
        )

    def _by_claims(self, at: int) -> tuple[float, ...]:
        action, claims = self._action, self._claims[at]
        new, gone, content = self._new, self._gone, self._hits[at].memory.content
        return (
            self._weight(claims.against & new),
            self._weight(claims.against & gone),
            self._weight(claims.asked & new),
            self._weight(claims.asked & gone),
            self._weight(claims.before & new),
            self._weight(claims.terms & self._path),
            float(self._is_elsewhere(content)),
            float(self._is_shared_place and SHARED_PLACE.search(content) is not None),
            float(DOCUMENT.search(action.path) is not None),
            float(bool(action.commands)),
            float(bool(action.added) and not action.removed),
        )

    def _weight(self, shared: Iterable[str]) -> float:
        """How telling ``shared`` are: those that few of the memories found have count more."""
        held, count = self._held, len(self._hits)
        return min(sum([math.log(1 + count / max(1, held[one])) for one in shared]) / 5, _MOST)


def _code(path: str, lines: tuple[str, ...]) -> str:
    """The ``lines`` of the file at ``path``, without the comments in it unless it is a document."""
    return "\n".join(lines) if DOCUMENT.search(path) else without_comments(lines)


@cache
def _model() -> LinearModel:
    return LinearModel.load(WEIGHTS, features=FEATURES)
