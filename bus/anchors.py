"""Where the code is that a memory names, and what became of it since."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

MAX_ANCHORS = 8
"""So many places one memory is tied to."""

MAX_PATH_CHARS = 300
MAX_SYMBOL_CHARS = 200

_DIGEST = re.compile(r"[0-9]{1,3}:[0-9a-f]{32}")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?)?")
_MOST_TWINS = 1_000_000


class Anchor(Struct, frozen=True, kw_only=True):
    """One place in a project's code.

    ``path`` is relative to the project's root, with ``/`` between its parts. ``symbol`` is the
    qualified name in it (``Session.refresh``), a setting's key (``server.port``), a target of a
    Makefile; "" is the whole file. ``digest`` is that of its text without format and comments,
    ``commit`` what was checked out then, "" without git. ``twins`` is how many other places had
    the very same text, -1 where nobody looked.
    """

    path: str
    symbol: str = ""
    digest: str
    commit: str = ""
    twins: int = 0


State = Literal["unchanged", "moved", "changed", "gone"]


class AnchorState(Struct, frozen=True, kw_only=True):
    """What became of one place. ``state`` None: unknown yet; ``now`` is where it moved to."""

    path: str
    symbol: str = ""
    state: State | None = None
    now: str = ""


class CodeState(Struct, frozen=True, kw_only=True):
    """What became of the code that a memory names; ``state`` is None while that is unknown."""

    state: State | None
    anchors: tuple[AnchorState, ...] = ()


class CodeName(Struct, frozen=True, kw_only=True):
    """Something of a project that a text names.

    A ``path`` may have a ``line``; a ``command`` has its program in ``tool`` ("make"). A symbol or
    a setting's key is ``distinctive`` where its form alone tells that it is one; any other counts
    only in a file that the text names too.
    """

    kind: Literal["path", "symbol", "command"]
    value: str
    line: int = 0
    tool: str = ""
    distinctive: bool = False


def add_up(states: Iterable[AnchorState]) -> CodeState:
    """What the ``states`` of one memory's anchors, in its own order, come to.

    ``gone`` means that there is nothing left of what the memory is about: every place is gone, or
    the one symbol that it names, and names first. Anything less that changed or is gone makes it
    ``changed``. While a place is unknown the memory is never gone.
    """
    found = tuple(states)
    known = {one.state for one in found}
    if found and (known == {"gone"} or _is_about_what_is_gone(found)):
        return CodeState(state="gone", anchors=found)
    if known & {"changed", "gone"}:
        return CodeState(state="changed", anchors=found)
    if None in known or not found:
        return CodeState(state=None, anchors=found)
    return CodeState(state="moved" if "moved" in known else "unchanged", anchors=found)


def _is_about_what_is_gone(found: tuple[AnchorState, ...]) -> bool:
    symbols = [one for one in found if one.symbol]
    return len(symbols) == 1 and found[0].symbol != "" and found[0].state == "gone"


def are_sound(anchors: tuple[Anchor, ...]) -> bool:
    """Whether anchors that came from outside may be stored: few, bounded, inside a project."""
    return len(anchors) <= MAX_ANCHORS and all(map(_is_sound, anchors))


def _is_sound(anchor: Anchor) -> bool:
    return (
        is_inside(anchor.path)
        and len(anchor.symbol) <= MAX_SYMBOL_CHARS
        and (not anchor.symbol or anchor.symbol.isprintable())
        and _DIGEST.fullmatch(anchor.digest) is not None
        and _COMMIT.fullmatch(anchor.commit) is not None
        and -1 <= anchor.twins <= _MOST_TWINS
    )


def is_inside(path: str) -> bool:
    """Whether ``path`` is relative, plain, bounded, and leads nowhere but down, not into git."""
    parts = path.split("/")
    return (
        0 < len(path) <= MAX_PATH_CHARS
        and path.isprintable()
        and "\\" not in path
        and all(part and part not in {".", ".."} for part in parts)
        and not any(part.casefold() == ".git" for part in parts)
    )
