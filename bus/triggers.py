"""Before what a memory is to be shown, an action or an order, as whoever keeps it says."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

MOST_TRIGGERS = 8
"""So many one memory has."""

MAX_TRIGGER_CHARS = 200
"""So long is each text of a trigger at most."""

MOST_UNLESS = 8

MOST_ORDERS = 3
MOST_ORDER_WORDS = 12
"""So many orders of a memory count, and so many words of each: whoever stuffs it gains nothing."""

_MOST_WILD, _MOST_WILD_IN_GLOB = 6, 3


KINDS = ("run", "write", "edit", "order")


class Trigger(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"within": "in"}):
    """An action or an order: one of ``run``, ``write`` and ``edit``, with ``*`` for any text.

    ``run`` are words that a command has in this order, ``write`` a text of whole words that a
    change adds in one line, ``edit`` a glob of files that are there and are changed. ``within``,
    which is written ``in``, are the files in which ``write`` counts, ``unless`` texts beside which
    none of them does. Or ``order``: work as somebody may order it, before which it has to be known.
    """

    run: str = ""
    write: str = ""
    edit: str = ""
    within: str = ""
    unless: tuple[str, ...] = ()
    order: str = ""

    @property
    def kind(self) -> str:
        """Which of ``KINDS`` it is."""
        return next(kind for kind in KINDS if getattr(self, kind))

    @property
    def texts(self) -> tuple[str, ...]:
        """All that it says."""
        return (self.run, self.write, self.edit, self.within, *self.unless, self.order)

    @property
    def said(self) -> str:
        """It, as a person reads it."""
        where = f" in {self.within}" if self.within else ""
        unless = f", unless {', '.join(self.unless)}" if self.unless else ""
        return f"{self.kind}: {getattr(self, self.kind)}{where}{unless}"


def orders_in(triggers: Iterable[Trigger]) -> list[str]:
    """The orders among ``triggers``, as far as they count."""
    orders = [trigger.order for trigger in triggers if trigger.order]
    return [" ".join(order.split()[:MOST_ORDER_WORDS]) for order in orders[:MOST_ORDERS]]


def check_triggers(triggers: Iterable[Trigger]) -> None:
    """Raise ``ValueError``, which says what is right, where one is none or they are too many."""
    for number, trigger in enumerate(triggers, 1):
        if number > MOST_TRIGGERS:
            raise ValueError(f"a memory has at most {MOST_TRIGGERS} triggers")
        _check_trigger(trigger)


def _check_trigger(trigger: Trigger) -> None:
    if sum(bool(getattr(trigger, kind)) for kind in KINDS) != 1:
        raise ValueError('a trigger has one of "run", "write", "edit" and "order"')
    if trigger.within and not trigger.write:
        raise ValueError('"in" says in which files "write" counts')
    if len(trigger.unless) > MOST_UNLESS:
        raise ValueError(f'a trigger has at most {MOST_UNLESS} texts in "unless"')
    if trigger.order and trigger.unless:
        raise ValueError('"unless" is of actions: an order has none')
    for text in trigger.texts:
        _check_text(text)
    for glob in (trigger.edit, trigger.within):
        # There what stands in brackets is any text too.
        _check_wild(glob, _MOST_WILD_IN_GLOB, "*{<")
    for text in (getattr(trigger, trigger.kind), *trigger.unless):
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
