"""Scores what a memory that names code says after an edit, on ``perf/blind/edits``.

``python -m perf.score_edits`` prints how many of the cases are right. ``quiet``: nothing is said of
a move, a rename, a comment or another format; ``changed`` and ``gone`` are said. Nothing is fitted
on these cases, and who works on the anchors does not read them.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
from msgspec import Struct

from subcog.bus.anchors import add_up
from subcog.sinks.code.anchors import examine, resolve
from subcog.sinks.code.checkout import Checkout
from subcog.stages.language.code_names import code_names

FOLDER = Path(__file__).parent / "blind" / "edits"
_QUIET = ("unchanged", "moved")


class Case(Struct):
    """One edit of the repository, and what the memory has to say of it."""

    id: str
    memory: str
    files: dict[str, str | None]
    expect: str


def score(folder: Path = FOLDER) -> Counter[tuple[str, str]]:
    """How often each expectation met each outcome."""
    lines = (folder / "cases.jsonl").read_bytes().splitlines()
    cases = [msgspec.json.decode(line, type=Case) for line in lines]
    return Counter((case.expect, outcome(case, folder / "repo")) for case in cases)


def outcome(case: Case, pristine: Path) -> str:
    """What the memory of ``case`` says after its edit."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "repo"
        shutil.copytree(pristine, root)
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "begin")):
            identity = ("-c", "user.name=x", "-c", "user.email=x@localhost")
            subprocess.run(["git", *identity, *words], cwd=root, check=True)
        anchors = resolve(code_names(case.memory), Checkout(root), late=_never)
        for name, content in case.files.items():
            _write(root / name, content)
        if not anchors:
            return "unknown"
        state = add_up(examine(one, Checkout(root), late=_never) for one in anchors).state
        return "quiet" if state in _QUIET else str(state)


def _write(file: Path, content: str | None) -> None:
    if content is None:
        file.unlink()
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


def _never() -> bool:
    return False


if __name__ == "__main__":
    for (expected, found), count in sorted(score().items()):
        print(f"{expected:8} {found:10} {count}")
