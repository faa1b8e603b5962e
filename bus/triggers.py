"""What an action looks like before which a memory is to be shown, as whoever keeps it says."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

MOST_TRIGGERS = 5
"""So many one memory has."""

MAX_TRIGGER_CHARS = 200
"""So long is each text of a trigger at most."""

MOST_UNLESS = 8
_MOST_WILD, _MOST_WILD_IN_GLOB = 6, 3


class Trigger(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"within": "in"}):
    """A pattern of actions: one of ``run``, ``write`` and ``edit``, in which ``*`` is any text.

    ``run`` are words that a command has in this order, ``write`` a text of whole words that a
    change adds in one line, ``edit`` a glob of files that are there and are changed. ``within``,
    which is written ``in``, are the files in which ``write`` counts, ``unless`` texts beside which
    none of them does.
    """

    run: str = ""
    write: str = ""
    edit: str = ""
    within: str = ""
    unless: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All that it says."""
        return (self.run, self.write, self.edit, self.within, *self.unless)

    @property
    def said(self) -> str:
        """It, as a person reads it."""
        kind = "run" if self.run else "write" if self.write else "edit"
        where = f" in {self.within}" if self.within else ""
        unless = f", unless {', '.join(self.unless)}" if self.unless else ""
        return f"{kind}: {getattr(self, kind)}{where}{unless}"


def check_triggers(triggers: Iterable[Trigger]) -> None:
    """Raise ``ValueError``, which says what is right, where one is none or they are too many."""
    for number, trigger in enumerate(triggers, 1):
        if number > MOST_TRIGGERS:
            raise ValueError(f"a memory has at most {MOST_TRIGGERS} triggers")
        _check_trigger(trigger)


def _check_trigger(trigger: Trigger) -> None:
    if sum(map(bool, (trigger.run, trigger.write, trigger.edit))) != 1:
        raise ValueError('a trigger has one of "run", "write" and "edit"')
    if trigger.within and not trigger.write:
        raise ValueError('"in" says in which files "write" counts')
    if len(trigger.unless) > MOST_UNLESS:
        raise ValueError(f'a trigger has at most {MOST_UNLESS} texts in "unless"')
    for text in trigger.texts:
        _check_text(text)
    for glob in (trigger.edit, trigger.within):
        # There what stands in brackets is any text too.
        _check_wild(glob, _MOST_WILD_IN_GLOB, "*{<")
    for text in (trigger.run or trigger.write or trigger.edit, *trigger.unless):
        if not text.replace("*", "").strip("/ "):
            raise ValueError("a trigger names something: * alone is every action")
    if trigger.edit and not trigger.edit.strip("*/. "):
        raise ValueError("a trigger names a file or a folder below the project")


def _check_text(text: str) -> None:
    if len(text) > MAX_TRIGGER_CHARS:
        raise ValueError(f"a text of a trigger has at most {MAX_TRIGGER_CHARS} characters")
    if not text.isprintable():
        raise ValueError("a text of a trigger is one line of characters that can be seen")
    _check_wild(text, _MOST_WILD)


def _check_wild(text: str, most: int, wild: str = "*") -> None:
    once = text.replace("**/", "*").replace("**", "*")
    if sum(map(once.count, wild)) > most:
        raise ValueError(f"{text!r} has {' or '.join(wild)} more than {most} times")
