"""What was learned from use, as choosing needs it: whose floor moves, what is not shown unasked."""

from __future__ import annotations

from msgspec import Struct

from ...bus.usage import Usefulness
from ..ports import Uses
from .usefulness import floor_shift, interval, mean

# A shift below this would not be seen in a floor of two decimals.
_SEEN = 0.005


class NoUses:
    """Knows nothing of any memory."""

    usual = Usefulness()

    def of(self, memory_id: str) -> Usefulness:
        return self.usual


class Learned(Struct, frozen=True):
    """What the ``uses`` of memories say; floors are moved only if ``moves_floors``."""

    uses: Uses = NoUses()
    moves_floors: bool = True

    def is_buried(self, memory_id: str) -> bool:
        """Whether the user does not want it shown unasked."""
        return self.uses.of(memory_id).buried

    def mean(self, memory_id: str) -> float:
        """The expected chance that it helps, 0.0–1.0."""
        return mean(self.uses.of(memory_id), self.uses.usual)

    def interval(self, memory_id: str) -> tuple[float, float]:
        """Where that chance lies with a probability of 95 %."""
        return interval(self.uses.of(memory_id), self.uses.usual)

    def shift(self, memory_id: str) -> float:
        """What is added to the floor for it; 0.0 for one of which nothing is known."""
        if not self.moves_floors:
            return 0.0
        return floor_shift(self.uses.of(memory_id), self.uses.usual)


NOTHING_LEARNED = Learned()
BURIED = "buried by the user: shown only where it is asked for"


def moved(shift: float) -> str:
    """What is said of a floor that was moved by ``shift``; "" where that cannot be seen."""
    if abs(shift) < _SEEN:
        return ""
    return f"{'raised' if shift > 0 else 'lowered'} by {abs(shift):.2f} after its use so far"
