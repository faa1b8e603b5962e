"""The rules that a memory states by name.

What can be told for certain: a command that is not to be run, a file that is not to be changed, a
name that is not to be used, or not without another one, and a value that is to stay. The words of
people are in ``wordings``. Who breaks a rule in other words than its own is not warned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from ...bus.triggers import orders_in
from ...bus.values import Memory
from ...config.patterns import regex
from ..actions.failures import failing_shapes, read_record
from ..code_rules.denied_kinds import LoggedData, NewDependency, kinds_against
from ..code_rules.denied_names import DeniedName, names_against
from ..code_rules.denied_uses import DeniedUse
from ..code_rules.needed_kinds import NeededOfKind, needed_of_kinds
from ..code_rules.needed_names import NeededName, needed_names
from ..code_rules.needed_places import names_out_of_place
from ..code_rules.told_uses import uses_told
from ..rules.claims import READ_CHARS, RULE_FORMS
from ..rules.denied_commands import DeniedCommand, commands_against
from ..rules.denied_files import PathPattern, files_against
from ..rules.denied_options import DeniedOption, commands_by_option, options_against
from ..rules.kept_code import KeptCode, KeptNumber, code_kept
from ..rules.kept_files import KeptFile, PairedFiles, files_kept, pairs_in
from ..rules.kept_values import KeptValue, values_kept
from ..rules.named_places import environments_of
from ..rules.protected_places import ProtectedPlace, places_protected
from ..rules.version_control import (
    MESSAGE_KEY,
    REWRITE_KEY,
    MessageForm,
    ReviewedCommits,
    messages_asked,
    pushes_against,
    reviews_kept,
)
from .triggers import ORDERED, order_keys, read_trigger

_FORMS = RULE_FORMS["actions"].forms

# A sign of space that is repeated for long says no more than twice, and costs most expressions the
# square of its length.
_LONG_SPACE = regex(r"(\s)\1{2,}")


DeniedThing = DeniedName | DeniedUse | LoggedData | NewDependency
"""What is not to be used, added or logged."""


class Rules(Struct, frozen=True):
    """What a memory says is not to be done; with ``environments`` only there, by commands."""

    environments: frozenset[str] = frozenset()
    commands: tuple[DeniedCommand, ...] = ()
    files: tuple[PathPattern, ...] = ()
    names: tuple[DeniedThing, ...] = ()
    values: tuple[KeptValue, ...] = ()
    needed: tuple[NeededName, ...] = ()
    of_kinds: tuple[NeededOfKind, ...] = ()
    code: tuple[KeptCode | KeptNumber | KeptValue, ...] = ()
    kept_files: tuple[KeptFile, ...] = ()
    pairs: tuple[PairedFiles, ...] = ()
    messages: tuple[MessageForm, ...] = ()
    reviews: tuple[ReviewedCommits, ...] = ()
    places: tuple[ProtectedPlace, ...] = ()
    options: tuple[DeniedOption, ...] = ()

    def keys(self) -> Iterator[str]:
        """What an action has to name to break one of them; see ``Deed.keys``."""
        yield from (f"run {denied.key}" for denied in self.commands)
        yield from (f"file {denied.key}" for denied in self.files)
        yield from (f"name {denied.key}" for denied in self.names if denied.key)
        yield from (f"name {key}" for needed in self.needed for key in needed.calls())
        yield from (needed.key for needed in self.of_kinds)
        for kept in (*self.values, *self.code, *self.kept_files, *self.pairs):
            yield from kept.keys()
        yield from (f"option {denied.key}" for denied in self.options)
        for place in self.places:
            yield from place.keys()
        yield from (MESSAGE_KEY for _ in self.messages)
        yield from (REWRITE_KEY for _ in self.reviews)


@lru_cache(maxsize=256)
def rules_of(text: str) -> Rules:
    """The rules that the memory ``text`` states."""
    text = _LONG_SPACE.sub(r"\1\1", text)
    if _FORMS["lifted"].search(text[:READ_CHARS]):
        return Rules()
    files = tuple(dict.fromkeys(files_against(text)))
    needed = tuple(needed_names(text))
    careful = {one.name for one in needed}
    told: tuple[DeniedName | DeniedUse, ...] = (
        *names_against(text),
        *uses_told(text),
        *names_out_of_place(text),
    )
    names = (one for one in told if one.name not in careful)
    values = tuple(dict.fromkeys(values_kept(text)))
    return Rules(
        environments=environments_of(text),
        commands=tuple(dict.fromkeys(_commands(text))),
        files=files,
        names=tuple(dict.fromkeys((*names, *kinds_against(text)))),
        values=values,
        needed=needed,
        of_kinds=tuple(needed_of_kinds(text)),
        code=_code(text, values),
        kept_files=tuple(dict.fromkeys(files_kept(text))),
        pairs=tuple(pairs_in(text)),
        messages=tuple(messages_asked(text)),
        reviews=tuple(reviews_kept(text)),
        places=tuple(dict.fromkeys(places_protected(text))),
        options=tuple(dict.fromkeys(options_against(text))),
    )


def _commands(text: str) -> Iterator[DeniedCommand]:
    yield from commands_against(text)
    yield from commands_by_option(text)
    yield from pushes_against(text)


def _code(text: str, values: Iterable[KeptValue]) -> tuple[KeptCode | KeptNumber | KeptValue, ...]:
    """The code that is to stay; no number of which one of ``values`` tells more."""
    told = [one.value for one in values if one.subject or len(one.value) == 1]
    known = {value for value in told if "." not in value}
    return tuple(
        one
        for one in dict.fromkeys(code_kept(text))
        if not (isinstance(one, KeptNumber) and one.value in known)
    )


def warning_keys(memory: Memory) -> tuple[str, ...]:
    """The keys by which ``memory`` is found for an action; most have none.

    They are the shapes of a command that failed, or what its rules and its triggers name. A key is
    shared by more than what is warned of: what it finds is looked at again.
    """
    if read_record(memory) is not None:
        return failing_shapes(memory)
    told = (read_trigger(one).key for one in memory.triggers if not one.order)
    orders = orders_in(memory.triggers)
    needed = (ORDERED, *(key for order in orders for key in order_keys(order))) if orders else ()
    return (*told, *needed, *rules_of(memory.content).keys())


def rule_words(text: str) -> frozenset[str]:
    """The words that name what the memory ``text`` has rules about; most have none."""
    keys = rules_of(text).keys()
    return frozenset(key.partition(" ")[2] for key in keys)
