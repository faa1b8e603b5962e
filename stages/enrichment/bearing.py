"""What bears on the work that a prompt orders: guides about its subject, and what it points at.

Words alone hardly tell what work will run into: of the memories that a strict colleague would name,
most share no word with the order. So this names only what the order itself names. Measured on the
orders of ``perf/actions``, in which the two were written to share at most two words: of what comes,
four in ten had to be known; of the orders that need nothing, 98 in 100 get nothing by this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ...bus.enrichment import Guide, ResolvedReference
from ...bus.values import Parsed, WorkKind
from ..language.words import words_of
from ..language.work_kind import primary
from .matching import Subject

MOST = 3
"""So many memories at most come with an order."""

COVERED = 0.3
"""The share of an order's content words that a guide has to name as what it is about."""

FEW_WORDS = 5
"""An order of so few content words is about a technology that it names."""

RELEVANCE = 0.4
"""How likely what comes has to be known before the work, by the measurement above."""

_SURE = 0.6


def gives_work(parsed: Parsed) -> bool:
    """Whether a prompt orders something, by its verbs; a question asks."""
    kind = primary(parsed.work)
    return kind is not None and kind is not WorkKind.QUESTION


def bearing(
    subject: Subject, guides: Sequence[Guide], resolved: Iterable[ResolvedReference]
) -> dict[str, str]:
    """The ids of at most ``MOST`` memories that bear on an order, best first, each with a reason.

    What a reference points back at comes first, then the guides that name most of the order's
    subject, of each namespace in turn.
    """
    found = {
        one.id: f"is what {one.text!r} points at" for one in resolved if one.confidence >= _SURE
    }
    rated = [(_covered(subject, guide), guide) for guide in guides]
    about = [one for one in rated if _is_about(subject, one[1], one[0])]
    for guide in _in_turn(sorted(about, key=lambda one: -one[0])):
        found.setdefault(guide.memory_id, "is about what is ordered")
    return dict(list(found.items())[:MOST])


def _covered(subject: Subject, guide: Guide) -> float:
    """The share of the order's content words that ``guide`` names as what it is about."""
    named = {*words_of(" ".join((guide.title, *guide.applicable_when))), *guide.tags}
    return len(subject.content_words & named) / max(1, len(subject.content_words))


def _is_about(subject: Subject, guide: Guide, covered: float) -> bool:
    if covered >= COVERED:
        return True
    named = not subject.technologies.isdisjoint(guide.technologies)
    return named and len(subject.content_words) <= FEW_WORDS


def _in_turn(rated: Sequence[tuple[float, Guide]]) -> Iterator[Guide]:
    """The best of each namespace, the surest first, then the second of each, and so on."""
    ranks: Counter[str] = Counter()
    placed = []
    for share, guide in rated:
        placed.append((ranks[guide.namespace], -share, guide))
        ranks[guide.namespace] += 1
    yield from (guide for _, _, guide in sorted(placed, key=lambda one: one[:2]))
