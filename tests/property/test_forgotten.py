"""What was forgotten does not come back by itself, by whatever way, in whatever form.

Each try is one forgotten text that comes along one way in one form. A text beside it that nobody
forgot comes along the same way, and arrives: else the test would hold for a way that leads nowhere.
"""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
import pytest
from msgspec.structs import replace

from subcog.bus.events import (
    CaptureRequested,
    CaptureSettled,
    ForgetRequested,
    ForgetSettled,
    ReviewRequested,
)
from subcog.bus.values import Memory
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.api.params import ImportParams
from subcog.pipeline.api.transfer import TransferCalls, restore
from subcog.pipeline.app.app import App
from subcog.pipeline.imports.formats import recognise
from subcog.pipeline.imports.markdown import write_memory
from subcog.sinks.repair.kept_copies import find_copies
from subcog.sinks.repair.repair import repair
from subcog.sinks.store.rows import Row, content_hash
from subcog.sinks.store.tombstones import wording_of
from tests.fakes import NOW, PLACE
from tests.fault.ruins import break_column
from tests.forms import FORMS, statements
from tests.stores import make_row
from tests.teams import change, feed, membership
from tests.waiting import PATIENCE_S

# How often each of the texts tries to come back, the repair of a damaged database included.
TRIES = 25
# What stays, so that a database is large enough to be damaged in one place.
STAYING = 200


class House:
    """An app with its own home, what was forgotten in it, and how often that tried to come back."""

    def __init__(self, app: App, folder: Path) -> None:
        self.app = app
        self.folder = folder
        self.numbers = itertools.count(1)
        self.controls = itertools.count(10_000)
        self.forgotten: set[str] = set()
        self.tries = 0

    async def request(
        self, text: str, *, explicit: bool, namespace: str = "decisions"
    ) -> CaptureSettled:
        request = CaptureRequested(
            trace=self.app.new_id(),
            id=f"mem_{self.app.new_id()}",
            text=text,
            scope=PLACE.project,
            namespace=namespace,
            explicit=explicit,
        )
        with anyio.fail_after(PATIENCE_S):
            return await self.app.captures.capture(request)

    async def forget(self, memory_id: str) -> None:
        event = ForgetRequested(trace=self.app.new_id(), id=memory_id, scopes=(PLACE.project,))
        assert (await self.app.bus.request(event, ForgetSettled, within_s=60)).found

    async def here(self) -> dict[str, Memory]:
        """Every memory of the project by its wording."""
        store = (await self.app.archive.get()).store
        found: dict[str, Memory] = {}
        after = ""
        while page := await store.page([PLACE.project], after=after, limit=500):
            after = page[-1].id
            found |= {wording_of(memory.content): memory for memory in page}
        return found

    def control(self) -> str:
        """A text that nobody forgot."""
        return f"The {next(self.controls)}th container of the harbour is painted turquoise."

    async def tried(self, count: int, control: str = "") -> None:
        """``count`` forgotten texts came along; none is there, and ``control`` is."""
        found = await self.here()
        assert not self.forgotten & found.keys()
        assert not control or wording_of(control) in found
        self.tries += count

    # --- the ways --------------------------------------------------------------------------------

    async def read(self, texts: Iterable[str], *, hook: str = "Stop", control: str = "") -> None:
        """Read ``texts`` in a transcript, said by the user and the agent in turn."""
        session = f"s{next(self.numbers)}"
        file = self.folder / f"{session}.jsonl"
        with file.open("w") as out:
            for number, text in enumerate([*texts, control] if control else texts):
                by_user = number % 4 == 0 and text != control
                said = text if by_user else f"Done.\n\n**Decision**: {text}"
                role = "user" if by_user else "assistant"
                at = f"2026-02-{1 + number % 28:02}T12:{next(self.numbers) % 60:02}:00Z"
                line = {"type": role, "timestamp": at, "message": {"content": said}}
                out.write(json.dumps(line) + "\n")
        await self.review(file, session, hook=hook)

    async def review(self, file: Path, session: str, *, hook: str, again: bool = False) -> None:
        event = ReviewRequested(
            trace=self.app.new_id(),
            session=session,
            client="claude",
            place=PLACE,
            transcript=str(file),
            hook=hook,
            again=again,
        )
        await self.app.reviewer.learn(event)

    async def bring(self, file: Path) -> dict[str, int]:
        """Import a file as the command does; the outcomes."""
        items = tuple(recognise(file, project=None).read())
        answer = await TransferCalls(self.app).import_items(ImportParams(items=items), PLACE)
        return answer.outcomes


@asynccontextmanager
async def opened(folder: Path):
    env = {
        "HOME": str(folder),
        "SUBCOG_HOME": str(folder / "home"),
        "SUBCOG_HOOK_STOP_MAX_CAPTURES": "20",
        "SUBCOG_CAPTURE_MERGE_SIMILARITY": "0.88",
    }
    paths = find_paths(env)
    app = App(load_settings(paths.config_file, env).settings, paths)
    async with app.running():
        await app.load()
        try:
            yield House(app, folder)
        finally:
            await app.unload()


def exported(text: str) -> Memory:
    """A memory of somebody else's, with ``text`` and an id of its own."""
    return replace(
        make_row(1).memory,
        id=f"mem_{zlib.crc32(text.encode()):026}",
        scope=PLACE.project,
        content=text,
        content_hash=content_hash(text),
    )


def as_jsonl(file: Path, texts: list[str]) -> None:
    file.write_text("".join(json.dumps({"content": text}) + "\n" for text in texts))


def as_our_jsonl(file: Path, texts: list[str]) -> None:
    file.write_bytes(b"".join(msgspec.json.encode(exported(text)) + b"\n" for text in texts))


def as_our_markdown(file: Path, texts: list[str]) -> None:
    file.write_text("\n".join(write_memory(exported(text)) for text in texts))


def as_mem0(file: Path, texts: list[str]) -> None:
    file.write_text(
        json.dumps({"results": [{"id": str(n), "memory": t} for n, t in enumerate(texts)]})
    )


def as_claude_mem(file: Path, texts: list[str]) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, text)")
        database.executemany("INSERT INTO memories (text) VALUES (?)", [(text,) for text in texts])
        database.commit()


IMPORTS = {
    "texts.jsonl": as_jsonl,
    "ours.jsonl": as_our_jsonl,
    "ours.md": as_our_markdown,
    "mem0.json": as_mem0,
    "claude-mem.db": as_claude_mem,
}


@pytest.mark.slow
async def test_a_thousand_times_nothing_comes_back_and_each_wish_brings_one_back(tmp_path):
    await try_all(tmp_path, 1_000 // TRIES, repairs=True)


async def test_by_the_usual_ways_nothing_comes_back_and_each_wish_brings_one_back(tmp_path):
    await try_all(tmp_path, 5, repairs=False)


async def try_all(folder: Path, count: int, *, repairs: bool) -> None:
    """Try every way; few memories are too small a database to be damaged in one place."""
    texts = statements(count)
    async with opened(folder) as house:
        await fill_and_forget(house, texts)
        await by_transcripts(house, texts)
        await by_imports(house, texts)
        await by_captures(house, texts)
        await by_the_team(house, texts)
        await by_restoring(house, texts)
        if repairs:
            await by_repairing(house, texts)
        assert house.tries >= (TRIES - (not repairs)) * count
        await by_wish(house, texts)


async def fill_and_forget(house: House, texts: list[str]) -> None:
    """What reviews kept by themselves, and then a backup, and then it is forgotten."""
    store = (await house.app.archive.get()).store
    staying = [f"Row {n} of the harbour's list {'and so on ' * 9}" for n in range(STAYING)]
    await store.put([Row(exported(text), make_row().encoding) for text in staying])
    for start in range(0, len(texts), 8):
        await house.read(texts[start : start + 8])
    kept = await house.here()
    wordings = [wording_of(text) for text in texts]
    assert set(wordings) <= kept.keys(), "a review keeps them by itself"
    for text, near in nearly(texts):  # what was merged into one of them is gone with it
        namespace = kept[wording_of(text)].namespace
        settled = await house.request(near, explicit=False, namespace=namespace)
        assert settled.kept.outcome == "merged", near
        house.forgotten.add(wording_of(near))
    await store.backup(house.folder / "backup.duckdb")
    for wording in wordings:
        await house.forget(kept[wording].id)
    house.forgotten |= set(wordings)
    await house.tried(0)


def nearly(texts: list[str]) -> list[tuple[str, str]]:
    """Some of ``texts``, each with what is so much like it that it is merged into it."""
    return [(text, re.sub("(?i)the ", "a ", text, count=1)) for text in texts[:4]]


async def by_transcripts(house: House, texts: list[str]) -> None:
    for file in sorted(house.folder.glob("s*.jsonl")):  # the same transcripts once more
        await house.review(file, file.stem, hook="learn", again=True)
    await house.tried(len(texts))
    for form in ("as it was", "in capitals", "in bold", "exclaimed", "decomposed"):
        for start in range(0, len(texts), 8):
            control = house.control()
            said = map(FORMS[form], texts[start : start + 8])
            await house.read(said, hook="Stop" if start % 16 else "SessionEnd", control=control)
            await house.tried(8, control)


async def by_imports(house: House, texts: list[str]) -> None:
    for (name, write), forms in zip(IMPORTS.items(), itertools.cycle(_pairs()), strict=False):
        for form in forms:
            file = house.folder / f"{next(house.numbers)}-{name}"
            control = house.control()
            write(file, [*map(FORMS[form], texts), control])
            assert await house.bring(file) == {"forgotten": len(texts), "stored": 1}, (name, form)
            await house.tried(len(texts), control)


def _pairs() -> list[tuple[str, str]]:
    names = list(FORMS)
    return [(names[at], names[(at + 5) % len(names)]) for at in range(len(IMPORTS))]


async def by_captures(house: House, texts: list[str]) -> None:
    near = [near for _, near in nearly(texts)]
    for text in (*near, *texts, *map(FORMS["typeset"], texts)):
        settled = await house.request(text, explicit=False)
        assert settled.kept.outcome == "declined", text
        assert "forgotten" in settled.kept.reason
    await house.tried(len(near) + 2 * len(texts))


async def by_the_team(house: House, texts: list[str]) -> None:
    archive = await house.app.archive.get()
    replica = await house.app.team.replica()
    await replica.join(membership())
    await replica.share(PLACE.project, "shop", sends=True)
    for turn, form in enumerate(("as it was", "quoted", "full width", "spaced"), 1):
        control = house.control()
        said = (*map(FORMS[form], texts), control)
        rows = [Row(exported(text), make_row().encoding) for text in said]
        changes = [change(row, seq=turn * 1_000 + n) for n, row in enumerate(rows)]
        applied = await replica.apply(feed(*changes), member="alice", encoder=archive.encoder)
        assert (applied.received, applied.skipped) == (1, len(texts))
        await house.tried(len(texts), control)
    await replica.leave()


async def by_restoring(house: House, texts: list[str]) -> None:
    answer = await restore(house.app, house.folder / "backup.duckdb")
    assert (answer.forgotten, answer.brought_back) == (len(texts), False)
    await house.tried(len(texts))
    [kept] = find_copies(house.app.paths.database)
    answer = await restore(house.app, kept.file)
    assert answer.forgotten == 0
    await house.tried(len(texts))


async def by_repairing(house: House, texts: list[str]) -> None:
    await house.app.unload()
    house.app.archive.depart()
    database = house.app.paths.database
    break_column(database, "words")
    [mended] = await anyio.to_thread.run_sync(lambda: repair(database, now=NOW))
    assert mended.reason == "damaged"
    await house.app.load()
    control = house.control()
    await house.read(texts, control=control)
    await house.tried(len(texts), control)


async def by_wish(house: House, texts: list[str]) -> None:
    forms = itertools.cycle(FORMS.values())
    for text, form in zip(texts, forms, strict=False):
        settled = await house.request(form(text), explicit=True)
        assert (settled.kept.outcome, settled.kept.was_forgotten) == ("stored", True), form(text)
        again = await house.request(text, explicit=True)
        assert not again.kept.was_forgotten
    assert {wording_of(text) for text in texts} <= (await house.here()).keys()
