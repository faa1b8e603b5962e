"""Damaged files: a copy of the installation for real processes to run, and a database."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb

HOUSE = Path(__file__).parents[2]
ROOMS = ("bus", "config", "hooks", "pipeline", "sinks", "stages")


def ruin(folder: Path, damaged: dict[str, bytes]) -> dict[str, str]:
    """Install into ``folder`` with other bytes in the ``damaged`` files; the environment for it.

    Whatever is whole is a link: a folder where nothing within is damaged, else each file. The
    installed commands take the copy before the real one.
    """
    for room in ROOMS:
        _link(HOUSE / room, folder / "subcog" / room, damaged)
    for name, content in damaged.items():
        with (folder / "subcog" / name).open("xb") as file:  # never through a link
            file.write(content)
    return {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def _link(source: Path, place: Path, damaged: Iterable[str]) -> None:
    """Make ``place`` the same as ``source``, without the ``damaged`` files."""
    name = source.relative_to(HOUSE).as_posix()
    if name in damaged:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if not any(one.startswith(f"{name}/") for one in damaged):
        place.symlink_to(source)
        return
    place.mkdir()
    for each in source.iterdir():
        _link(each, place / each.name, damaged)


def hide(folder: Path, module: str) -> dict[str, str]:
    """The environment of an installation where ``module`` cannot be imported."""
    folder.mkdir()
    (folder / f"{module}.py").write_text(f"raise ModuleNotFoundError({module!r})\n")
    return {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def raising(name: str, function: str) -> bytes:
    """The module ``name`` with a ``function`` that raises what it was given."""
    added = f"\n\ndef {function}(event, *args, **kwargs):\n    raise KeyError(str(event))\n"
    return (HOUSE / name).read_bytes() + added.encode()


def break_column(path: Path, column: str, table: str = "versions") -> None:
    """Flip a byte in the first block that holds ``column`` of ``table``."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS store (READ_ONLY)")
        [(block,)] = connection.execute(
            f"SELECT min(block_id) FROM pragma_storage_info('store.{table}') "
            "WHERE column_name = ? AND segment_type <> 'VALIDITY' AND block_id >= 0",
            [column],
        ).fetchall()
    data = bytearray(path.read_bytes())
    data[12_288 + block * 262_144 + 1_000] ^= 0xFF
    path.write_bytes(data)
