"""How fast memories come in by `subcog import`: redacted, encoded, committed and findable."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from perf import corpus
from subcog.bus.values import Scope
from tests.integration import house as houses

COUNT = 10_000


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> houses.House:
    monkeypatch.setattr(houses, "PATIENCE_S", 300.0)
    house = houses.House(tmp_path, installed=True)
    yield house
    house.close()


def _daemon_cpu_s(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / 100


def _measured(house: houses.House, pid: int, what: str, *args: str) -> str:
    cpu, began = _daemon_cpu_s(pid), time.perf_counter()
    done = house.run(*args)
    took = time.perf_counter() - began
    assert done.returncode == 0, done.stderr
    each_ms = (_daemon_cpu_s(pid) - cpu) / COUNT * 1000
    print(
        f"\n{what}: {COUNT / took:,.0f} memories/s, {each_ms:.2f} ms of the daemon's CPU each",
        end="",
    )
    return done.stdout


def test_bulk_import(house: houses.House, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for memory in corpus.memories(COUNT, Scope("project", "any")):
            fields = {"content": memory.content, "namespace": memory.namespace}
            lines.write(json.dumps(fields | {"tags": memory.tags}) + "\n")
    pid = house.start()
    out = _measured(house, pid, "import of strangers' JSONL", "import", str(file), "--json")
    print("; target 2,000 memories/s")
    assert json.loads(out)["stored"] == COUNT
    exported = tmp_path / "exported.jsonl"
    exported.write_text(_measured(house, pid, "export", "export"), encoding="utf-8")
    again = _measured(house, pid, "import of the same again", "import", str(exported), "--json")
    assert json.loads(again)["unchanged"] == COUNT
