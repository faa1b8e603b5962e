"""What a client may offer while somebody types an argument of a prompt or of a resource's URI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

import mcp_types as types
from msgspec import Struct

from ...bus.values import NAMESPACES
from ...config.ids import full_id
from .port import ClientPort
from .resources import LISTED, SCHEME, TOPICS

_MOST = 1000


class Values(Struct, frozen=True):
    """What may stand for an argument, likeliest first, and whether there is ``more``."""

    names: Sequence[str] = ()
    more: bool = False


async def values_for(port: ClientPort, argument: str) -> Values:
    """What may stand for ``argument`` of a prompt."""
    if argument in {"topic", "query"}:
        return await _topics(port, "")
    return Values(NAMESPACES) if argument == "scope" else Values()


async def values_in(port: ClientPort, template: str, argument: str, typed: str) -> Values:
    """What may stand for ``argument`` of a resource's ``template``, where ``typed`` was typed."""
    kind = template.removeprefix(SCHEME).partition("/")[0]
    values = _VALUES.get((kind, argument))
    return Values() if values is None else await values(port, typed)


async def _topics(port: ClientPort, _: str) -> Values:
    answer = await port.call("topics", {"limit": _MOST})
    return _up_to(_MOST, [each["name"] for each in answer["topics"]])


async def _ids(port: ClientPort, typed: str) -> Values:
    """The newest first, then those that begin as typed, from the oldest on."""
    lower = typed.strip().lower()
    wanted = "mem_" if "mem_".startswith(lower) else full_id(lower)
    newest = [each["id"] for each in await port.latest(limit=LISTED)]
    found = _up_to(LISTED, await port.starting(wanted, limit=LISTED))
    known = (each for each in newest if each.startswith(wanted))
    return Values(list(dict.fromkeys([*known, *found.names])), found.more)


async def _sessions(port: ClientPort, _: str) -> Values:
    answer = await port.call("sessions", {"limit": _MOST})
    return _up_to(_MOST, [each["id"] for each in answer["sessions"]])


def _up_to(limit: int, names: Sequence[str]) -> Values:
    """``names``, of which ``limit`` were asked for: where so many came there may be more."""
    return Values(names, len(names) >= limit)


ValuesOf = Callable[[ClientPort, str], Awaitable[Values]]


def _fixed(names: Iterable[str]) -> ValuesOf:
    async def values(_: ClientPort, typed: str) -> Values:
        return Values(list(names))

    return values


_VALUES: dict[tuple[str, str], ValuesOf] = {
    ("search", "query"): _topics,
    ("topics", "topic"): _topics,
    ("memory", "id"): _ids,
    ("namespaces", "namespace"): _fixed(NAMESPACES),
    ("session", "id"): _sessions,
    ("help", "topic"): _fixed(TOPICS),
}


def complete(typed: str, values: Values) -> types.Completion:
    """Those of ``values`` that begin with ``typed``, then those that have it elsewhere.

    Where there are more than ``values`` their number is left out.
    """
    wanted = typed.casefold()
    first = [value for value in values.names if value.casefold().startswith(wanted)]
    rest = [value for value in values.names if wanted in value.casefold() and value not in first]
    found = first + rest
    total = None if values.more else len(found)
    return types.Completion(
        values=found[:100], total=total, has_more=values.more or len(found) > 100
    )
