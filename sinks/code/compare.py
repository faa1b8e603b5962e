"""What became of an anchor: the same, moved, changed or gone."""

from __future__ import annotations

from collections.abc import Sequence

from ...bus.anchors import Anchor, AnchorState, State
from .checkout import Checkout, Unreadable
from .forms import VERSION
from .outline import mentions, outline
from .survey import Late, Place, find_file, survey


def examine(anchor: Anchor, checkout: Checkout, *, late: Late) -> AnchorState:
    """The state of ``anchor`` now; None in it where time ran out, or the form is not known."""
    if anchor.digest.partition(":")[0] != VERSION:
        return _of(anchor, None)
    try:
        read = checkout.read(anchor.path)
    except Unreadable:
        return _of(anchor, "changed" if _is_there(anchor, checkout) else None)
    if read is None:
        moved = _moved_symbol if anchor.symbol else _moved_file
        return moved(anchor, checkout, late)
    found = outline(anchor.path, read.data)
    digest = found.digest_of(anchor.symbol) if anchor.symbol else found.digest()
    if digest:
        return _of(anchor, "unchanged" if digest == anchor.digest else "changed")
    if not found.is_whole and mentions(read.data, anchor.symbol):
        return _of(anchor, "changed")
    return _moved_symbol(anchor, checkout, late)


def _of(anchor: Anchor, state: State | None, now: str = "") -> AnchorState:
    return AnchorState(path=anchor.path, symbol=anchor.symbol, state=state, now=now)


def _is_there(anchor: Anchor, checkout: Checkout) -> bool:
    """Whether something stands where a text file was; a disk that cannot be read tells nothing."""
    try:
        return checkout.stamp(anchor.path) is not None
    except Unreadable:
        return False


def _moved_file(anchor: Anchor, checkout: Checkout, late: Late) -> AnchorState:
    if anchor.twins <= 0:
        now = find_file(checkout, anchor.path, anchor.digest, late=late)
        if now:
            return _of(anchor, "moved", now)
    return _of(anchor, None if late() else "gone")


def _moved_symbol(anchor: Anchor, checkout: Checkout, late: Late) -> AnchorState:
    """By its text among everything of its name; of a file that is gone, by its name alone too."""
    last = anchor.symbol.rpartition(".")[2]
    seen = survey(checkout, [last], late=late, related_to=anchor.path)
    if now := _with_text(anchor, seen.places):
        return _of(anchor, "moved", now)
    if not seen.is_whole:
        return _of(anchor, None)
    others = (place for place in seen.places if place.digest != anchor.digest)
    named = {place.path for place in others if place.name == anchor.symbol}
    if len(named) == 1 and not _is_there(anchor, checkout):
        return _of(anchor, "changed", named.pop())
    return _of(anchor, "gone")


def _with_text(anchor: Anchor, places: Sequence[Place]) -> str:
    """Where the same text is now, if it was not there already when the anchor was taken."""
    same = [place for place in places if place.digest == anchor.digest]
    if anchor.twins < 0:
        same = [place for place in same if place.name == anchor.symbol]
    return same[0].path if len(same) > max(0, anchor.twins) else ""
