"""What signals are emitted while something runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from blinker import NamedSignal

Facts = dict[str, Any]


@contextmanager
def emitted(signal: NamedSignal, pick: Callable[[Facts], Any] | None = None) -> Iterator[list[Any]]:
    """A list that fills with what ``signal`` emits: the sender and the facts, or what is picked."""
    emissions: list[Any] = []

    def watch(sender: str, **facts: Any) -> None:
        emissions.append(pick(facts) if pick else (sender, facts))

    with signal.connected_to(watch):
        yield emissions


@contextmanager
def all_emitted(*signals: NamedSignal) -> Iterator[list[tuple[str, str, Facts]]]:
    """The same of several signals in one order: the name of the signal, the sender, the facts."""
    emissions: list[tuple[str, str, Facts]] = []

    def watcher(name: str) -> Callable[..., None]:
        return lambda sender, **facts: emissions.append((name, sender, facts))

    with ExitStack() as watched:
        for signal in signals:
            watched.enter_context(signal.connected_to(watcher(signal.name)))
        yield emissions
