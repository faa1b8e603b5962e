"""Damaged files: a copy of the installation for real processes to run, and a database."""

from __future__ import annotations

from pathlib import Path

import duckdb

HOUSE = Path(__file__).parents[2]
ROOMS = ("bus", "config", "hooks", "pipeline", "sinks", "stages")


def ruin(folder: Path, damaged: dict[str, bytes]) -> dict[str, str]:
    """Install into ``folder`` with other bytes in the ``damaged`` files; the environment for it.

    Whatever is whole is a link. The installed commands take the copy before the real one.
    """
    for room in ROOMS:
        place = folder / "subcog" / room
        place.mkdir(parents=True)
        for file in (HOUSE / room).iterdir():
            if f"{room}/{file.name}" not in damaged:
                (place / file.name).symlink_to(file)
    for name, content in damaged.items():
        (folder / "subcog" / name).write_bytes(content)
    return {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def hide(folder: Path, module: str) -> dict[str, str]:
    """The environment of an installation where ``module`` cannot be imported."""
    folder.mkdir()
    (folder / f"{module}.py").write_text(f"raise ModuleNotFoundError({module!r})\n")
    return {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def raising(name: str, function: str) -> bytes:
    """The module ``name`` with a ``function`` that raises what it was given."""
    added = f"\n\ndef {function}(event, *args, **kwargs):\n    raise KeyError(str(event))\n"
    return (HOUSE / name).read_bytes() + added.encode()


def break_column(path: Path, column: str) -> None:
    """Flip a byte in the first block that holds ``column`` of ``versions``."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS store (READ_ONLY)")
        [(block,)] = connection.execute(
            "SELECT min(block_id) FROM pragma_storage_info('store.versions') "
            "WHERE column_name = ? AND segment_type <> 'VALIDITY' AND block_id >= 0",
            [column],
        ).fetchall()
    data = bytearray(path.read_bytes())
    data[12_288 + block * 262_144 + 1_000] ^= 0xFF
    path.write_bytes(data)
