"""Puts the versions of a memory that were made here after the one that the team has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Memory
from ..store.rows import Row
from .reconcile import fork_id, forked, reconcile


class Chain(Struct, frozen=True):
    """All versions of a memory on this machine, by number.

    ``unsent`` are those that the team does not have yet, ``pulled`` those that came from it.
    """

    versions: Mapping[int, Row]
    unsent: frozenset[int]
    pulled: frozenset[int]

    def unconfirmed(self, version: int) -> list[int]:
        """The numbers of what was made here and must give way to the team's ``version``.

        What was sent is confirmed, unless the team's is another: then it was set back.
        """
        mine = set(self.unsent)
        if version in self.versions:
            mine.update(n for n in self.versions if n >= version and n not in self.pulled)
        return sorted(mine)


class Rebased(Struct, frozen=True):
    """What becomes of the versions numbered ``replaced``: ``versions`` follow the team's.

    ``fork`` are those of a new memory; ``contradicting`` as in ``reconcile.Reconciled``.
    """

    replaced: Sequence[int]
    versions: tuple[Memory, ...]
    fork: tuple[Memory, ...]
    contradicting: tuple[tuple[str, str], ...]


def rebase(
    chain: Chain, mine: Sequence[int], version: int, theirs: Row | None, now: datetime
) -> Rebased:
    """Put ``mine`` one after another behind ``theirs``, which the team has as ``version``.

    ``theirs`` None says that what the team has cannot be used: then mine only make room for it.
    """
    confirmed = {n: row.memory for n, row in chain.versions.items() if n not in mine}
    earlier = [n for n in confirmed if n < mine[0]]
    base = confirmed[max(earlier)] if earlier else None
    if theirs is not None:
        confirmed[version] = theirs.memory
    last = max((version, *confirmed))
    current = confirmed[max(confirmed)] if confirmed else None
    versions: list[Memory] = []
    fork: list[Memory] = []
    contradicting: list[tuple[str, str]] = []
    for number in mine:
        memory = chain.versions[number].memory
        if fork:
            fork.append(forked(memory, fork[0].id, beside=memory.id, version=len(fork) + 1))
            continue
        if current is None:
            current = memory
            made: Memory | None = memory
        else:
            found = reconcile(base, current, memory, fork_id=fork_id(memory), now=now)
            made = found.mine
            fork += [found.fork] if found.fork else []
            contradicting += [found.contradicting] if found.contradicting else []
        if made is not None:
            last += 1
            current = replace(made, version=last)
            versions.append(current)
        base = memory
    return Rebased(mine, tuple(versions), tuple(fork), tuple(contradicting))
