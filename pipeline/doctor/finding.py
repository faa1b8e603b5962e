"""One thing that the doctor looked at."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Unrepaired(RuntimeError):
    """Something could not be mended; the message says why, and what to do instead."""


Repair = Callable[[], tuple[str, ...]]


class Finding(Struct, frozen=True, kw_only=True):
    """Its name, whether it is well, what was seen, and what to do where it is not.

    ``repair`` mends it and says what it did, a line each; None where only the user can. It raises
    ``Unrepaired`` or ``OSError``.
    """

    check: str
    ok: bool
    seen: str
    mend: str = ""
    repair: Repair | None = None
