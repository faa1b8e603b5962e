"""What the user is told beside a hook's answer, once.

What was found damaged, or keeps the memories from being loaded; and how a marker ended that had
been set aside.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from ...config.paths import Paths
from ...hooks import starter
from ...sinks.files import replace_file
from ..app.archives import LazyArchive

LOOK_S = 1.0
MOST_SESSIONS = 100


class DamageNotice:
    """Looks when the memories were loaded anew or could not be, or the log was repaired meanwhile.

    It looks beside the hooks, which never wait for the disk for this.
    """

    def __init__(self, paths: Paths, archive: LazyArchive) -> None:
        self._paths = paths
        self._archive = archive
        self._looked: object = None
        self._untold: tuple[str, ...] = ()
        self._told: set[str] = set()

    async def watch(self) -> None:
        """Never returns."""
        while True:
            await self.look()
            await anyio.sleep(LOOK_S)

    async def look(self) -> None:
        """See what there is to tell, and note what was told."""
        if not self._archive.settled:
            return
        archive, problem = self._archive.loaded, self._archive.problem
        state = (problem, archive and (self._archive.settled_at, archive.store.database.recovery))
        if state != self._looked or self._told:
            told, self._told = self._told, set()
            self._looked = state
            self._untold = await anyio.to_thread.run_sync(
                _note_and_find, self._paths.database, self._paths.told_damage, problem, told
            )

    def beside(self, body: bytes) -> tuple[bytes, Callable[[], None]]:
        """The hook's answer, with what the user does not know yet.

        The second is to be called where the answer did not reach the user: it is told again then.
        """
        untold, self._untold = self._untold, ()
        self._told.update(untold)

        def tell_again() -> None:
            self._told.difference_update(untold)
            self._untold = tuple(dict.fromkeys((*untold, *self._untold)))

        return starter.message([f"subcog: {one}." for one in untold], body), tell_again


def _note_and_find(database: Path, file: Path, problem: str, told: set[str]) -> tuple[str, ...]:
    from ...sinks.repair.kept_copies import damage_seen

    try:
        known = msgspec.json.decode(file.read_bytes(), type=set[str])
    except (OSError, ValueError, RecursionError):
        known = set()
    seen = (*filter(None, [problem.rstrip(".")]), *damage_seen(database))
    still = (known | told) & set(seen)  # what is mended and comes back is told again
    if still != known:
        with contextlib.suppress(OSError):  # then the next daemon tells it again
            replace_file(file, msgspec.json.encode(sorted(still)))
    return tuple(one for one in seen if one not in known | told)


class Afterwards:
    """Lines for the user, by session; of more than ``MOST_SESSIONS`` the oldest are dropped."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def note(self, session: str, *lines: str) -> None:
        """Have ``lines`` told with the next prompt of ``session``."""
        if not session or not lines:
            return
        known = self._lines.pop(session, ())
        self._lines[session] = tuple(dict.fromkeys((*known, *lines)))
        while len(self._lines) > MOST_SESSIONS:
            self._lines.popitem(last=False)

    def beside(self, session: str, body: bytes) -> tuple[bytes, Callable[[], None]]:
        """The hook's answer, with what there is to tell.

        The second is to be called where the answer did not reach the user: it is told again then.
        """
        lines = self._lines.pop(session, ())
        return starter.message(lines, body), lambda: self.note(session, *lines)
