"""What is said of the code that a memory names: nothing, that it changed, or why it stays out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...bus.anchors import AnchorState, CodeState
from ...bus.values import Memory, Place
from ..ports import Code
from ..text.envelope import label

_MAX_NAMED = 2
_MAX_CHARS = 60


class _Unchecked:
    """Knows nothing of any code."""

    async def check(self, memories: Iterable[Memory], place: Place) -> Mapping[str, CodeState]:
        return {}


UNCHECKED: Code = _Unchecked()


def remark(code: CodeState | None) -> str:
    """What changed since the memory was kept, in a few words; "" where nothing is to be said.

    "src/auth.py (refresh) changed, src/old.py is gone and 2 more".
    """
    if code is None or code.state != "changed":
        return ""
    changed = [one for one in code.anchors if one.state in {"changed", "gone"}]
    said = ", ".join(
        f"{place(one)} {'changed' if one.state == 'changed' else 'is gone'}"
        for one in changed[:_MAX_NAMED]
    )
    more = len(changed) - _MAX_NAMED
    return f"{said} and {more} more" if more > 0 else said


def gone_reason(code: CodeState | None) -> str | None:
    """Why a memory is left out, if there is nothing left of what it is about."""
    if code is None or code.state != "gone":
        return None
    gone = [place(one) for one in code.anchors if one.state == "gone"]
    more = f" and {len(gone) - _MAX_NAMED} more" if len(gone) > _MAX_NAMED else ""
    return f"the code it is about is gone: {', '.join(gone[:_MAX_NAMED])}{more}"


def place(one: AnchorState) -> str:
    """Where it was, in a line: "src/auth.py (Session.refresh)". A memory may name anything."""
    path = label(one.path, _MAX_CHARS, from_end=True)
    return f"{path} ({label(one.symbol, _MAX_CHARS)})" if one.symbol else path
