"""What is held in memory of every text and version, so that a capture and a search read less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

# New ones are merged into the array when there are so many: 8 bytes each instead of about 70.
_FOLDED = 8_192


class Fingerprints:
    """Of every text ever stored: one whose fingerprint is not here is certainly new.

    One that is here may have been changed, superseded or forgotten since, or share its 64 bits
    with another text. For one writer and many readers. Sorts ``known`` in place.
    """

    def __init__(self, known: npt.NDArray[np.int64]) -> None:
        known.sort()
        self._known = known
        self._new: set[int] = set()

    def __contains__(self, fingerprint: int) -> bool:
        if fingerprint in self._new:
            return True
        known = self._known
        at = int(np.searchsorted(known, fingerprint))
        return at < len(known) and int(known[at]) == fingerprint

    def update(self, fingerprints: Iterable[int | None]) -> None:
        """Add those that are not None."""
        self._new.update(one for one in fingerprints if one is not None)
        if len(self._new) >= _FOLDED:
            folded = np.fromiter(self._new, dtype=np.int64, count=len(self._new))
            self._known = np.union1d(self._known, folded)
            self._new = set()  # last, so that no reader misses what moves


class CurrentVersions:
    """The current version of each memory that has more than one."""

    def __init__(self, versions: Mapping[str, int]) -> None:
        self._versions = dict(versions)

    def version(self, memory_id: str) -> int:
        """Its current version, if there is such a memory."""
        return self._versions.get(memory_id, 1)

    def note(self, memory_id: str, version: int) -> None:
        """Note a committed version; one older than the current changes nothing."""
        if version > self.version(memory_id):
            self._versions[memory_id] = version

    def set(self, memory_id: str, version: int) -> None:
        """Make ``version`` the current one, also where it is older."""
        if version == 1:
            self._versions.pop(memory_id, None)
        else:
            self._versions[memory_id] = version


def read_fingerprints(connection: DuckDBPyConnection) -> Fingerprints:
    """Those of the texts that are not forgotten."""
    found = connection.execute(
        "SELECT fingerprint FROM store.memories WHERE fingerprint IS NOT NULL"
    ).fetchnumpy()
    return Fingerprints(np.array(found["fingerprint"], dtype=np.int64))


def read_versions(connection: DuckDBPyConnection) -> CurrentVersions:
    """As they are committed."""
    found = connection.execute("SELECT id, version FROM store.memories WHERE version > 1")
    return CurrentVersions(dict(found.fetchall()))
