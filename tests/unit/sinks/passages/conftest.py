from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import anyio.to_thread
import pytest

from subcog.bus.sessions import Passage
from subcog.bus.values import Scope
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.passages.archive import Bounds, PassageArchive
from tests.stores import FakeClock, make_store, put_empty_file

NOW = datetime(2026, 11, 1, tzinfo=UTC)
HERE = Scope("project", "here")
ELSEWHERE = Scope("project", "elsewhere")

RETRIES = (
    ("user", "The upstream blocks us with 429s, our retry logic is too aggressive"),
    ("agent", "The retrier makes ten attempts; I will lower it to five."),
    ("user", "No, we measured the window. Seven attempts. Eight trips it."),
    ("agent", "So the retrier makes exactly 7 attempts, within the rate-limit window."),
)
RETRIES_LATER = (
    ("user", "About the retrier: they widened the rate-limit window, it allows nine attempts now"),
    ("agent", "So the retrier makes exactly 9 attempts within the window."),
    ("user", "yes, nine attempts before the retrier gives up"),
    ("agent", "Done."),
)
IDLE = (
    ("user", "can you explain what the BarrelList does in listutils"),
    ("agent", "It keeps sub-lists balanced so that look-ups stay quick."),
    ("user", "thanks, makes sense"),
    ("agent", "You are welcome."),
)
MEETING = (
    (
        "user",
        "It was a long meeting on the bus. Henk, who runs the machines in the cabinet, wants no JVM"
        " on them, and every Java process needs a form. I edit in vim there, by the way.",
    ),
    ("agent", "Then a single binary fits best; it keeps its log in files."),
    ("user", "Yes, we take that. And a dead letter table is out, he hates blobs in the backups."),
    ("agent", "Broken files are moved to a directory, with the reason in a file beside each."),
    ("user", "fine. what about the retention of the positions, could we keep only a week? dunno"),
    ("agent", "A week is short for reports. I would propose 60 days, but leave it open for now."),
)
CALLED = (
    ("user", "The curve is an hour early in summer, is that our daylight saving?"),
    ("agent", "The file is in UTC+1 all year, so the reader uses a fixed offset now."),
    (
        "user",
        "good. and the lawyers called about the retention of the positions that you proposed: it is"
        " 13 months, because of the statute. everything in the database is UTC from now on, too",
    ),
    ("agent", "Changed, and two naive columns are converted in one migration."),
    ("user", "can you draw the curve below the berths as well"),
    ("agent", "It is a polyline below the rows now."),
)


def talk(turns, session="s1", *, days_ago=10, scope=HERE):
    """The passages of one session; an agent's words share the moment of what they answer."""
    began = NOW - timedelta(days=days_ago)
    made = []
    for at, (speaker, text) in enumerate(turns):
        ms = int((began + timedelta(minutes=at // 2)).timestamp() * 1000)
        stamp = f"{ms:010}"[-10:]
        made.append(
            Passage(
                id=f"psg_{stamp}{'u' if speaker == 'user' else 'a'}{session}",
                session=session,
                scope=scope,
                speaker=speaker,
                text=text,
                said_at=began + timedelta(minutes=at),
                client="claude-code",
                branch="main",
                files=("src/retry.py",) if speaker == "agent" else (),
            )
        )
    return made


@pytest.fixture(scope="session")
def embedder():
    return Embedder.load()


@asynccontextmanager
async def opened(path, embedder, *, clock=None, days=365, max_passages=1_000):
    """An archive of passages on a real store."""
    await anyio.to_thread.run_sync(put_empty_file, path / "subcog.duckdb")
    store = make_store(path / "subcog.duckdb", clock or FakeClock(NOW))
    await store.open()
    archive = PassageArchive(
        store,
        bounds=Bounds(days=days, max_passages=max_passages),
        floor=0.45,
        clock=clock or FakeClock(NOW),
    )
    try:
        await archive.open(embedder)
        yield archive
    finally:
        await store.close()
