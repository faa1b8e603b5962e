"""Full and read-only disks, at every place where subcog writes, whenever it comes to that.

What every command and hook says is compared with what is in the database when the disk is well
again: what is said to be done is done, and what is said not to be done is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.disks import full, mount, read_only, unmount
from tests.promises import DEFAULTS, NOT_KEPT, fact, outcome, send, stored
from tests.thorough import THOROUGH

from ..integration.house import House

pytestmark = pytest.mark.slow
# The folder below the home that is full or read-only, "" for all of it; how; and since when.
WORLDS = [
    (place, how, moment)
    for place in ("", "data", "state", "run", "config")
    for how in ("full", "read-only")
    for moment in ("running", "cold")
]
USUALLY = [
    ("", "full", "running"),
    ("data", "read-only", "cold"),
    ("state", "full", "cold"),
]


BROKEN = {"full": full, "read-only": read_only}


class World:
    """A house with a memory for each act; ``acts`` does each, ``truth`` says whether it is done."""

    def __init__(self, root: Path, folder: str) -> None:
        home = root / "home"
        self.place = home / folder
        self.place.mkdir(parents=True, mode=0o700)
        if mount("-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs", self.place):
            pytest.skip("no file system can be mounted here")
        self.house = House(root)
        self.house.env |= DEFAULTS
        told = ("update", "supersede", "expire", "forget", "purge", "bury")
        self.ids = {name: self._capture(name) for name in told}
        self.imported = root / "given.jsonl"
        self.imported.write_text(json.dumps({"content": fact(2), "namespace": "decisions"}))
        self.house.run("daemon", "stop")

    def _capture(self, name: str) -> str:
        return str(self.house.capture(f"The shelf called {name} was painted blue")["id"])

    @property
    def acts(self) -> dict[str, tuple[str, ...]]:
        ids = self.ids
        return {
            "capture": ("capture", fact(1)),
            "update": ("update", ids["update"], "It was moved to the cellar"),
            "supersede": ("supersede", ids["supersede"], "--text", "A table stands there now"),
            "expire": ("expire", ids["expire"]),
            "bury": ("bury", ids["bury"]),
            "forget": ("forget", ids["forget"]),
            "purge": ("forget", ids["purge"], "--now"),
            "import": ("import", str(self.imported), "--yes"),
        }

    def truth(self) -> dict[str, bool]:
        """Which of the acts are done."""
        facts = stored(self.house)
        memories = {name: self._memory(id_) for name, id_ in self.ids.items()}
        is_done: dict[str, Callable[[], Any]] = {
            "capture": lambda: facts[fact(1)] == 1,
            "update": lambda: "cellar" in memories["update"]["content"],
            "supersede": lambda: memories["supersede"]["superseded_by"],
            "expire": lambda: memories["expire"]["valid_to"],
            "bury": lambda: "buried" in self.house.run("why", self.ids["bury"]).stdout,
            "forget": lambda: not memories["forget"],
            "purge": lambda: not memories["purge"],
            "import": lambda: facts[fact(2)] == 1,
        }
        return {name: bool(done()) for name, done in is_done.items()}

    def _memory(self, memory_id: str) -> Any:
        done = self.house.run("get", memory_id, "--json")
        return json.loads(done.stdout) if done.returncode == 0 else None


@pytest.mark.parametrize("world", WORLDS if THOROUGH else USUALLY, ids="-".join)
def test_what_is_told_on_such_a_disk_is_true(tmp_path, world):
    folder, how, moment = world
    world = World(tmp_path, folder)
    house = world.house
    try:
        if moment == "running":
            house.start()
        with BROKEN[how](world.place):
            prompts = [send(house, 0)]
            done = {name: house.run(*words) for name, words in world.acts.items()}
            prompts.append(send(house, 3))
            house.run("daemon", "stop")
        told = {name: one.returncode == 0 for name, one in done.items()}
        assert told == world.truth()
        assert all(one.stderr for name, one in done.items() if not told[name])
        facts = stored(house)
        for number, said in zip((0, 3), prompts, strict=True):
            is_kept = outcome(said) in {"stored", "set aside"}
            assert is_kept or NOT_KEPT in said
            assert facts[fact(number)] == is_kept
        assert not list(house.paths.spool.glob("*"))
    finally:
        house.close()
        unmount(world.place)
