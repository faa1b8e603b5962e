"""What may stand in a context beside memories and sessions: facts of the project, and addresses."""

from __future__ import annotations

from msgspec import Struct

from ..text.envelope import extend
from ..text.unicode import size_of
from .project_facts import Told
from .resources import more_key, more_line
from .select import Budget


class Beside(Struct, frozen=True):
    """Facts and addresses, and the ``room`` that the whole context has.

    ``suggested`` are all addresses that are reported, ``named`` those that the model reads.
    """

    facts: Told = Told()
    suggested: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    room: Budget = Budget(0, 0)

    def add_to(self, text: str) -> str:
        """The envelope ``text`` with the facts, and with the addresses where there is room."""
        text = extend(text, self.facts.lines)
        longer = extend(text, (more_line(self.named),)) if self.named else text
        return longer if self.room.covers(size_of(longer)) else text

    def keys(self, text: str) -> frozenset[tuple[str, int]]:
        """What is noted as shown where ``text`` came of ``add_to``."""
        named = self.named if self.named and more_line(self.named) in text else ()
        return self.facts.keys | frozenset(map(more_key, named))
