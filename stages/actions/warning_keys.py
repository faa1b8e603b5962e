"""The keys by which a memory is found that may warn of an action.

They are the shapes of the commands that failed (``failures.py``) and what the rules name
(``rules.py``). A key is shared by more than what is warned of: what it finds is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...bus.values import Memory
from .commands import Command
from .failures import failing_shapes, read_record
from .rules import Deed, rules_of


def warning_keys(memory: Memory) -> tuple[str, ...]:
    """The keys of ``memory``; most have none."""
    if read_record(memory) is not None:
        return failing_shapes(memory)
    return tuple(rules_of(memory.content).keys())


def action_keys(deed: Deed, commands: Iterable[Command]) -> tuple[str, ...]:
    """The keys that a memory may have that warns of ``deed``, whose ``commands`` these are."""
    return (*(command.shape for command in commands), *deed.keys())
