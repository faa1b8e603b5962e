"""Shows how the first sync goes. It runs in the daemon; whoever watches may leave."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import click

from .client import Client

POLL_S = 0.5
# So long without any step, and something else holds it up.
PATIENCE_S = 15.0
GOES_ON = "the rest goes on in the daemon; `subcog team status` says how far it is"


def follow(client: Client, *, wait: Callable[[float], None] = time.sleep) -> None:
    """Watch until this machine and its team have the same, or it cannot go on for now."""
    try:
        told = _watch(client, wait)
    except KeyboardInterrupt:
        told = GOES_ON
    if told:
        click.echo(f"\n{told}", err=True)


def _watch(client: Client, wait: Callable[[float], None]) -> str:
    """What there is to say where it does not come to its end; else nothing."""
    before: int | None = None
    idle_s = 0.0
    with click.progressbar(length=1, label="first sync", file=sys.stderr) as bar:
        while (left := left_of(status := client.call("team-status"))) != 0:
            if status["problem"]:
                return f"{status['problem']['message']}\n{GOES_ON}"
            idle_s = 0.0 if left != before else idle_s + POLL_S
            if idle_s >= PATIENCE_S:
                return GOES_ON
            if left is not None:
                bar.length = max(bar.length or 1, bar.pos + left)
                bar.update(max(0, bar.length - left - bar.pos))
            before = left
            wait(POLL_S)
        bar.update((bar.length or 1) - bar.pos)
    return ""


def left_of(status: Mapping[str, Any]) -> int | None:
    """How many changes have yet to come or to go; None while nobody knows."""
    if not status["connected"] or status["remaining"] is None:
        return None
    left = int(status["remaining"]) + int(status["outbox"])
    return left if left or status["last_pull"] else None
