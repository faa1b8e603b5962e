"""What replaced or contradicts a memory: who finds the older one needs the newer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter

from msgspec.structs import replace

from ...bus.values import Hit, Memory, Query, Scope
from .index import Index

Fetch = Callable[[Sequence[str], Sequence[Scope]], Sequence[Memory]]
"""Gives the memories with some ids that are in some scopes, in the order asked."""

MOST_SUCCESSORS = 8
"""How often in a row what replaced a memory may have been replaced itself."""

MOST_NEWER = 3
"""So many of the newest that contradict one memory are brought with it."""

# By so much in the order what contradicts a memory comes before it.
_BEFORE = 1e-9


class NewerMemories:
    """Looks up what came after memories in ``index`` and gets it by ``fetch``."""

    def __init__(self, index: Index, fetch: Fetch, clock: Callable[[], datetime]) -> None:
        self._index = index
        self._fetch = fetch
        self._clock = clock

    def of(
        self, memories: Sequence[Memory], scopes: Sequence[Scope]
    ) -> dict[str, Sequence[Memory]]:
        """The newest few that contradict each of ``memories``, by its id, where there are any."""
        ids = [new for one in memories for new in self._index.contradicted_by(one.id)]
        older = {memory.id: memory for memory in memories}
        found: dict[str, list[Memory]] = {}
        newest = sorted(self._fetch(ids, scopes) if ids else (), key=attrgetter("updated_at"))
        for memory in reversed(newest):
            denied = older.get(memory.contradicts or "")
            if denied is not None and self._outdates(memory, denied):
                found.setdefault(denied.id, []).append(memory)
        return {id_: some[:MOST_NEWER] for id_, some in found.items()}

    def instead_of(self, hits: Sequence[Hit], query: Query) -> tuple[Hit, ...]:
        """``hits``, with what replaced a superseded memory in its place; each memory once.

        Who asks which CI we use finds "We use Jenkins", and needs "we moved to GitHub Actions".
        """
        if all(hit.memory.superseded_by is None for hit in hits):
            return tuple(hits)
        found: dict[str, Hit] = {}
        for hit in hits:
            current = self._successor(hit.memory, query)
            if current is None:
                continue
            instead_of = "" if current is hit.memory else hit.memory.id
            known = found.get(current.id)
            if known is None or known.relevance < hit.relevance:
                found[current.id] = replace(hit, memory=current, instead_of=instead_of)
        return tuple(found.values())

    def beside(
        self,
        hits: Sequence[Hit],
        query: Query,
        best_first: Callable[[Sequence[Memory]], Sequence[Memory]],
    ) -> tuple[Hit, ...]:
        """``hits``, and before each what contradicts it, as relevant.

        Several may contradict one: they come in the order that ``best_first`` gives them. And what
        contradicts may be contradicted itself. Which of them is shown is decided later, where they
        are beside each other.
        """
        newer = {} if query.is_filtered else self._beside_all(hits, query.scopes)
        if not newer:
            return tuple(hits)
        found: dict[str, Hit] = {}
        for hit in hits:
            line = [hit.memory]
            for memory in line:
                ordered = best_first(newer.get(memory.id, ()))
                line += [one for one in reversed(ordered) if one not in line]
            for at, memory in reversed(list(enumerate(line))):
                one = replace(hit, memory=memory, order=hit.order + at * _BEFORE) if at else hit
                found.setdefault(memory.id, one)
        return tuple(found.values())

    def _beside_all(
        self, hits: Sequence[Hit], scopes: Sequence[Scope]
    ) -> dict[str, Sequence[Memory]]:
        """What contradicts each of ``hits``, by its id, and what contradicts those."""
        newer: dict[str, Sequence[Memory]] = {}
        known, unread = set[str](), [hit.memory for hit in hits]
        for _ in range(MOST_SUCCESSORS):
            known |= {memory.id for memory in unread}
            found = self.of(unread, scopes)
            newer |= found
            unread = [one for some in found.values() for one in some if one.id not in known]
        return newer

    def _outdates(self, newer: Memory, older: Memory) -> bool:
        """Whether ``newer``, which contradicts ``older``, holds, of its scope and said after it."""
        is_later = newer.updated_at >= older.updated_at
        return is_later and newer.scope == older.scope and newer.holds(self._clock())

    def _successor(self, memory: Memory, query: Query) -> Memory | None:
        """``memory``, or what replaced it and is valid, within the scopes of ``query``."""
        for _ in range(MOST_SUCCESSORS):
            if memory.superseded_by is None:
                return memory
            if query.is_filtered or not (
                after := self._fetch([memory.superseded_by], query.scopes)
            ):
                return None
            memory = after[0]
            if memory.is_over(self._clock()):
                return None
        return None
