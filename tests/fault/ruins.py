"""A copy of the installation in which some files are damaged, for real processes to run."""

from __future__ import annotations

from pathlib import Path

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


def raising(name: str, function: str) -> bytes:
    """The module ``name`` with a ``function`` that raises what it was given."""
    added = f"\n\ndef {function}(event, *args, **kwargs):\n    raise KeyError(str(event))\n"
    return (HOUSE / name).read_bytes() + added.encode()
