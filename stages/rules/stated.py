"""The rules that a memory states by name.

Four kinds can be told for certain: a command that is not to be run, a file that is not to be
changed, a name that is not to be used, a value that is to stay. Each has a module, and the words
of people in ``wordings``. Who breaks a rule in other words than its own is not warned.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from ...bus.values import Memory
from ...config.patterns import regex
from ..actions.failures import failing_shapes, read_record
from .denied_commands import DeniedCommand, commands_against
from .denied_files import PathPattern, files_against
from .denied_names import DeniedName, names_against
from .kept_values import KeptValue, values_kept

# A sign of space that is repeated for long says no more than twice, and costs most expressions the
# square of its length.
_LONG_SPACE = regex(r"(\s)\1{2,}")


class Rules(Struct, frozen=True):
    """What a memory says is not to be done."""

    commands: tuple[DeniedCommand, ...]
    files: tuple[PathPattern, ...]
    names: tuple[DeniedName, ...]
    values: tuple[KeptValue, ...]

    def keys(self) -> Iterator[str]:
        """What an action has to name to break one of them; see ``Deed.keys``."""
        yield from (f"run {denied.key}" for denied in self.commands)
        yield from (f"file {denied.key}" for denied in self.files)
        yield from (f"name {denied.key}" for denied in self.names if denied.key)
        for kept in self.values:
            yield from kept.keys()


@lru_cache(maxsize=256)
def rules_of(text: str) -> Rules:
    """The rules that the memory ``text`` states."""
    text = _LONG_SPACE.sub(r"\1\1", text)
    files = tuple(dict.fromkeys(files_against(text)))
    commands = tuple(dict.fromkeys(commands_against(text)))
    names = tuple(dict.fromkeys(names_against(text)))
    return Rules(commands, files, names, tuple(dict.fromkeys(values_kept(text))))


def warning_keys(memory: Memory) -> tuple[str, ...]:
    """The keys by which ``memory`` is found for an action; most have none.

    They are the shapes of a command that failed, or what its rules name. A key is shared by more
    than what is warned of: what it finds is looked at again.
    """
    if read_record(memory) is not None:
        return failing_shapes(memory)
    return tuple(rules_of(memory.content).keys())


def rule_words(text: str) -> frozenset[str]:
    """The words that name what the memory ``text`` has rules about; most have none."""
    keys = rules_of(text).keys()
    return frozenset(key.partition(" ")[2] for key in keys)
