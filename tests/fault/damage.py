"""Damaged databases: what a bad disk does to the file or to its log, at places drawn by a seed.

``python -m tests.fault.damage [SEED]`` prints how many memories each kind of damage leaves.
"""

from __future__ import annotations

import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import anyio
import click

from subcog.sinks.repair.kept_copies import note_backup
from subcog.sinks.repair.repair import repair
from subcog.sinks.store.errors import StoreUnavailable
from subcog.sinks.store.wal import wal_of
from tests.stores import START, everything, make_row, make_store, opened

IN_FILE, IN_LOG = 150, 60
NOW = START + timedelta(days=40)
SEED = 11
_SECTOR, _BLOCK = 4_096, 262_144
_HEAD = 12_288


class Damage(NamedTuple):
    """One damaged database: what was done to which of its two files."""

    kind: str
    place: str
    at: int

    def __str__(self) -> str:
        return f"{self.kind} in the {self.place} at {self.at}"


def make_whole(path: Path) -> dict[str, bytes]:
    """A file with 150 memories and its log with 60 more, as a crash leaves the two.

    ``backup.duckdb`` beside it has the 150.
    """

    async def make() -> dict[str, bytes]:
        async with opened(path) as store:
            await store.put([_row(number) for number in range(IN_FILE)])
            await store.backup(path.with_name("backup.duckdb"))
        async with opened(path) as store:
            for number in range(IN_FILE, IN_FILE + IN_LOG):
                await store.put([_row(number)])
            return _bytes_of(path)

    return anyio.run(make)


def _bytes_of(path: Path) -> dict[str, bytes]:
    return {"file": path.read_bytes(), "log": wal_of(path).read_bytes()}


def _row(number: int) -> object:
    # Random text fills blocks of its own, as thousands of real memories would.
    return make_row(number, content=random.Random(number).randbytes(2_000).hex())


def draw(whole: dict[str, bytes], seed: int, each: int) -> Iterator[Damage]:
    """``each`` damages of every kind, first to the file and then to its log."""
    draws = random.Random(seed)
    for place, data in whole.items():
        for kind in ("byte flipped", "sector zeroed", "block zeroed", "truncated"):
            for _ in range(each):
                yield Damage(kind, place, draws.randrange(len(data)))


def inflict(damage: Damage, whole: dict[str, bytes], path: Path) -> None:
    """Lay the two files at ``path``, one of them damaged."""
    data = bytearray(whole[damage.place])
    if damage.kind == "byte flipped":
        data[damage.at] ^= 0xFF
    elif damage.kind == "truncated":
        del data[damage.at :]
    else:
        size = _SECTOR if damage.kind == "sector zeroed" else _BLOCK
        start = damage.at // _SECTOR * _SECTOR
        if size == _BLOCK and damage.place == "file":
            start = max(0, (damage.at - _HEAD) // _BLOCK * _BLOCK + _HEAD)
        end = min(len(data), start + size)
        data[start:end] = bytes(end - start)
    path.write_bytes(whole["file"])
    wal_of(path).write_bytes(whole["log"])
    (path if damage.place == "file" else wal_of(path)).write_bytes(data)


def readable(path: Path) -> set[str] | None:
    """The texts that the database gives when it is opened; None where it cannot be."""

    async def read() -> set[str] | None:
        store = make_store(path)
        try:
            await store.open()
            return {row.memory.content for row in await everything(store)}
        except StoreUnavailable:
            return None
        finally:
            await store.close()

    return anyio.run(read)


class Outcome(NamedTuple):
    """How many memories there are when the daemon opens it; after a repair; and what that told.

    None where it cannot be opened; ``opened`` also where there is a backup, which changes nothing
    of that.
    """

    opened: int | None
    repaired: int | None
    told: str


def try_out(damage: Damage, whole: dict[str, bytes], folder: Path, *, backup: bool) -> Outcome:
    """Open one copy of the damaged database, and repair another, which may have a ``backup``."""
    place = folder / "damaged"
    path = place / "s.duckdb"
    place.mkdir()
    inflict(damage, whole, path)
    before = None
    if backup:
        note_backup(path, folder / "backup.duckdb")
    else:
        before = _count(readable(path))
        shutil.rmtree(place)
        place.mkdir()
        inflict(damage, whole, path)
    damaged = {path.read_bytes(), wal_of(path).read_bytes()}
    try:
        mended = repair(path, now=NOW)
        told = "; ".join(one.done for one in mended)
        aside = {file.read_bytes() for one in mended for file in one.kept_aside}
        assert aside <= damaged, "what is kept aside is not as it was"
    except StoreUnavailable as error:
        told = f"not repaired: {error.reason}"
        assert {path.read_bytes(), wal_of(path).read_bytes()} == damaged, "it was changed"
    assert not list(place.glob(".subcog-copy-*"))
    after = _count(readable(path))
    shutil.rmtree(place)
    return Outcome(before, after, told)


def _count(texts: set[str] | None) -> int | None:
    return None if texts is None else len(texts)


def main(seed: int, each: int = 8) -> None:
    """Print a line for each damaged database, and the sums."""
    logging.disable()
    sums: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        whole = make_whole(folder / "s.duckdb")
        for damage in draw(whole, seed, each):
            alone = try_out(damage, whole, folder, backup=False)
            backed = try_out(damage, whole, folder, backup=True)
            click.echo(
                f"{damage!s:40} {alone.opened} {alone.repaired} {backed.repaired} {backed.told}"
            )
            row = f"{damage.kind} in the {damage.place}"
            for column, count in zip(
                ("opened", "repaired", "with backup"), (*alone[:2], backed.repaired), strict=True
            ):
                sums[row, column] += count or 0
                sums[row, f"{column}, lost altogether"] += count is None
    for (row, column), count in sums.items():
        click.echo(f"{row:28} {column:35} {count}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else SEED)
