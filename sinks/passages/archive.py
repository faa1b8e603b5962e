"""Keeps, lists and forgets what was said in sessions. DuckDB is the truth, the index a cache."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from itertools import chain, groupby

import anyio
import anyio.to_thread
from duckdb import DuckDBPyConnection
from msgspec import Struct
from msgspec.structs import replace

from ...bus.sessions import Passage, SessionInfo
from ...bus.values import Encoding, Scope
from ..models.analyzer import Analyzer, text_encoding
from ..models.embedder import Embedder
from ..store.rows import naive
from ..store.store import Store
from ..store.tombstones import EVERYWHERE, Print, last_forgotten
from . import table
from .ages import Ages
from .finder import Amends, Finder, never
from .forgotten import EPOCH, Forgotten, ForgottenPassages, moment_of, one_passage
from .index import PassageIndex, opening_of
from .table import Row

THREADS = 2
_ADD_AT_ONCE = 64


class Bounds(Struct, frozen=True):
    """How much is kept: passages of at most so many days, and at most so many."""

    days: int
    max_passages: int


class PassageArchive:
    """``open`` it once the store is open. Its reads are scoped, as all reads are.

    ``find`` and ``said`` are those of ``finder.py``.
    """

    def __init__(
        self,
        store: Store,
        *,
        bounds: Bounds,
        floor: float,
        clock: Callable[[], datetime],
        amends: Amends = never,
        parts: Callable[[str], Iterable[str]] = lambda text: (text,),
    ) -> None:
        """``parts`` gives the texts of which a passage may have made a memory."""
        self._store = store
        self._parts = parts
        self._bounds = bounds
        self._clock = clock
        self._ages = Ages(store.database.path.with_name(f"{store.database.path.name}.clock"))
        self._index = PassageIndex()
        self._analyzer = Analyzer()
        self._forgotten = ForgottenPassages()
        self._writing = anyio.Lock()
        self._threads = anyio.CapacityLimiter(THREADS)
        finder = Finder(
            store, self._index, floor=floor, clock=clock, amends=amends, threads=self._threads
        )
        self.find, self.said = finder.find, finder.said

    @property
    def count(self) -> int:
        return self._index.passages

    @property
    def sessions(self) -> int:
        """Of how many sessions these are."""
        return self._index.session_count

    @property
    def nbytes(self) -> int:
        """Bytes of the index in memory, estimated where they are not counted."""
        return self._index.nbytes

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes of which anything is kept."""
        return self._index.scopes

    async def open(self, embedder: Embedder | None) -> None:
        """Fill the index from the store. Raises ``StoreUnavailable`` (an ``OSError``)."""
        self._index.embedder = embedder
        await self._store.read(self._fill)
        await self.trim()

    def _fill(self, connection: DuckDBPyConnection) -> None:
        self._forgotten = ForgottenPassages(table.forgotten(connection))
        held: list[Row] = []
        for batch in table.load(connection):
            held += self._current(batch)
            complete, held = _whole_sessions(held)
            self._index.fill(complete)
        self._index.fill([held] if held else [])
        self._index.fold_postings()

    def _current(self, rows: Sequence[Row]) -> list[Row]:
        """``rows``, encoded anew where they come from another model."""
        embedder = self._index.embedder
        if embedder is None:
            return list(rows)
        stale = [row for row in rows if row.encoding.model != embedder.name]
        made = dict(
            zip(
                (row.passage.id for row in stale),
                self._encode([row.passage.text for row in stale]),
                strict=True,
            )
        )
        return [Row(row.passage, made.get(row.passage.id, row.encoding)) for row in rows]

    # --- writing ---------------------------------------------------------------------------------

    async def add(self, passages: Sequence[Passage], before: Collection[Scope] = ()) -> int:
        """Keep ``passages`` of one session; how many are new. Committed and found on return.

        What is there already is left alone, also where another session said it, since one that was
        forked begins with a copy, or under another scope. What is too old or was forgotten, also in
        a scope that the project had ``before``, does not come back. Nor does what says a memory
        that was forgotten after it was said. Raises ``StoreUnavailable``.
        """
        new = 0
        for start in range(0, len(passages), _ADD_AT_ONCE):
            async with self._writing:  # what is forgotten meanwhile waits, or was before
                part = passages[start : start + _ADD_AT_ONCE]
                kept = [one for one in part if self._may_keep(one, before)]
                new += await self._add(await self._without_forgotten(kept, before), before)
        if self._index.passages > self._bounds.max_passages:
            await self.trim()
        return new

    async def _add(self, passages: Sequence[Passage], before: Collection[Scope]) -> int:
        """Encode and write those that are new or say something else; how many are new."""
        ids = [passage.id for passage in passages]
        there = await self._store.read(lambda connection: table.known(connection, ids))
        other = [one for one in passages if _adds(one, there.get(one.id))]
        copies = await self._store.read(lambda connection: table.copied(connection, other, before))
        fresh = [passage for passage in other if passage.id not in copies]
        if not fresh:
            return 0
        texts = [passage.text for passage in fresh]
        encodings = await anyio.to_thread.run_sync(self._encode, texts, limiter=self._threads)
        rows = [Row(p, e) for p, e in zip(fresh, encodings, strict=True)]
        await self._store.write(partial(self._commit, rows, there))
        await self._follow(fresh[0].scope, fresh[0].session, {row.passage.id for row in rows})
        return sum(row.passage.id not in there for row in rows)

    def _may_keep(self, passage: Passage, before: Collection[Scope]) -> bool:
        oldest = self._ages.oldest(self._bounds.days)
        return passage.said_at >= oldest and not self._forgotten.has(passage, before)

    async def _without_forgotten(
        self, passages: Sequence[Passage], before: Collection[Scope]
    ) -> list[Passage]:
        """Those that say nothing that was forgotten since, when they were not read yet."""
        barred = await anyio.to_thread.run_sync(
            self._barred, passages, before, limiter=self._threads
        )

        def current(connection: DuckDBPyConnection) -> list[Passage]:
            return [
                passage
                for passage, prints in zip(passages, barred, strict=True)
                if not prints or naive(passage.said_at) > last_forgotten(connection, prints)
            ]

        return await self._store.read(current) if any(barred) else list(passages)

    def _barred(self, passages: Sequence[Passage], before: Collection[Scope]) -> list[list[Print]]:
        texts = self._store.database.tombstones
        places = [*map(str, before), *EVERYWHERE]
        return [
            texts.barred(  # takes nothing apart where nothing was ever forgotten
                chain.from_iterable(map(self._parts, [one.text])), [str(one.scope), *places]
            )
            for one in passages
        ]

    def _encode(self, texts: Sequence[str]) -> list[Encoding]:
        embedder = self._index.embedder
        if embedder is None:
            return [text_encoding(text, self._analyzer) for text in texts]
        return embedder.encode_many(texts)

    def _commit(self, rows: Sequence[Row], there: Collection[str]) -> None:
        """Append what is new, and rewrite what is ``there`` with another text."""
        with self._store.database.transaction() as connection:
            table.add(connection, [row for row in rows if row.passage.id not in there])
            for row in rows:
                if row.passage.id in there:
                    table.rewrite(connection, row)

    async def _follow(self, scope: Scope, session: str, ids: Collection[str]) -> None:
        """Make what was committed findable: mostly the session's last episode goes on."""
        episodes = self._index.episodes(scope, session)
        last = episodes[-1].passages if episodes else ()
        goes_on = all(id_ in last or not last or id_[:14] >= last[-1][:14] for id_ in ids)
        kept = last if goes_on else tuple(id_ for one in episodes for id_ in one.passages)
        wanted = list(dict.fromkeys((*kept, *ids)))
        rows = await self._store.read(lambda connection: table.rows(connection, wanted))
        if goes_on:
            await anyio.to_thread.run_sync(self._index.continue_with, rows)
        else:
            await anyio.to_thread.run_sync(self._index.replace, scope, session, rows)

    async def trim(self) -> int:
        """Delete what is too old, and the oldest sessions of too many; how many passages.

        What has become too old is so a day later, since the clock may be ahead.
        """
        await anyio.to_thread.run_sync(self._ages.look, self._clock())
        oldest = self._ages.oldest(self._bounds.days)
        left = self._index.passages
        gone: list[tuple[Scope, str]] = []
        for scope, session, episodes in reversed(self._index.sessions(self._index.scopes)):
            if left <= self._bounds.max_passages and episodes[-1].ended_at >= oldest:
                continue
            gone.append((scope, session))
            left -= sum(len(episode.passages) for episode in episodes)
        return sum([await self._drop(scope, session) for scope, session in gone])

    async def _drop(
        self, scope: Scope, session: str, forgotten: Iterable[Forgotten] = (), *, only: str = ""
    ) -> int:
        """Delete a session, or ``only`` one passage of it; how many passages."""
        async with self._writing:  # what is said meanwhile waits, and is indexed after this
            every = await self._store.read(lambda c: table.of_session(c, scope, session))
            ids = [id_ for id_ in every if only in {"", id_}]
            kept = [id_ for id_ in every if only not in {"", id_}]
            with anyio.CancelScope(shield=True):  # what is deleted leaves the index as well
                await self._store.write(partial(self._delete, ids, forgotten))
                rows = await self._store.read(lambda connection: table.rows(connection, kept))
                await anyio.to_thread.run_sync(self._index.replace, scope, session, rows)
        return len(ids)

    def _delete(self, ids: Sequence[str], forgotten: Iterable[Forgotten]) -> None:
        with self._store.database.transaction() as connection:
            table.delete(connection, ids)
            table.remember_forgotten(connection, forgotten)
            self._store.database.mark_uncompacted()

    # --- forgetting ------------------------------------------------------------------------------

    async def forget_session(self, scope: Scope, session: str) -> int:
        """Forget a session for good; how many passages that were.

        What is said in it from now on is kept again.
        """
        whole = Forgotten(scope=scope, session=session, since=EPOCH, until=self._clock())
        self._forgotten.add([whole])  # what is read meanwhile does not come back
        async with self._writing:  # what was being kept is there
            kept = await self.show(scope, session)
        last = max((one.said_at for one in kept), default=EPOCH)
        if last > whole.until:  # a clock went back
            whole = replace(whole, until=last)
        barred = [whole, *map(moment_of, kept)]
        self._forgotten.add(barred)
        return await self._drop(scope, session, barred)

    @asynccontextmanager
    async def holding(self, scope: Scope, session: str) -> AsyncIterator[frozenset[str]]:
        """The ids of what is kept of a session; nothing is forgotten until the block ends.

        So what is made from it in the block is there for who forgets the session after it.
        """
        async with self._writing:
            episodes = self._index.episodes(scope, session)
            yield frozenset(chain.from_iterable(one.passages for one in episodes))

    @property
    def forgotten(self) -> ForgottenPassages:
        """What must not come back."""
        return self._forgotten

    async def forget_span(self, scope: Scope, since: datetime, until: datetime) -> int:
        """Forget the sessions of ``scope`` that began between two moments, both included.

        What is found later in a transcript of that time does not come back either, nor what one of
        these sessions said after it.
        """
        now = self._clock()
        barred = Forgotten(scope=scope, since=since, until=min(until, now))
        self._forgotten.add([barred])
        await self._store.write(partial(self._remember, barred))
        async with self._writing:  # what was being kept is there, and more is barred
            found = self._index.sessions((scope,))
        gone = 0
        for _, session, episodes in found:
            if since <= episodes[0].began_at <= until:
                last = max(now, episodes[-1].ended_at)  # later than now where a clock went back
                rest = Forgotten(scope=scope, session=session, since=barred.until, until=last)
                more = [rest] if rest.since < rest.until else []
                self._forgotten.add(more)
                gone += await self._drop(scope, session, more)
        return gone

    async def allow(self, scopes: Sequence[Scope] | None = None) -> int:
        """Let transcripts bring back what ``forget_span`` forgot, of all or ``scopes``.

        How many spans that were.
        """
        return await self._store.write(partial(self._allow, scopes))

    def _allow(self, scopes: Sequence[Scope] | None) -> int:
        with self._store.database.transaction() as connection:
            allowed = table.allow_spans(connection, scopes)
            self._forgotten = ForgottenPassages(table.forgotten(connection))
        return allowed

    def _remember(self, forgotten: Forgotten) -> None:
        with self._store.database.transaction() as connection:
            table.remember_forgotten(connection, [forgotten])

    async def forget_saying(self, scope: Scope, text: str) -> int:
        """Forget the passages of ``scope`` that hold ``text``: a memory of it is forgotten."""
        async with self._writing:  # what was being kept is there
            found = await self._store.read(lambda c: table.to_forget(c, scope, text))
        gone = 0
        for passage in found:
            barred = one_passage(passage)
            self._forgotten.add(barred)
            gone += await self._drop(scope, passage.session, barred, only=passage.id)
        return gone

    # --- reading ---------------------------------------------------------------------------------

    async def list(self, scopes: Sequence[Scope], *, limit: int) -> tuple[SessionInfo, ...]:
        """The newest sessions of ``scopes``, newest first."""
        found = self._index.sessions(scopes)[:limit]
        firsts = [episodes[0].passages[0] for _, _, episodes in found]
        lasts = [episodes[-1].passages[-1] for _, _, episodes in found]
        kept = await self._store.read(lambda c: table.fetch(c, list({*firsts, *lasts})))
        return tuple(
            SessionInfo(
                session=session,
                scope=scope,
                client=kept[first].client,
                branch=kept[first].branch,
                began_at=kept[first].said_at,
                ended_at=kept[last].said_at,
                passages=sum(len(episode.passages) for episode in episodes),
                opening=opening_of(kept[first]),
            )
            for (scope, session, episodes), first, last in zip(found, firsts, lasts, strict=True)
            if first in kept and last in kept
        )

    async def saying(self, scope: Scope, text: str) -> tuple[Passage, ...]:
        """The passages of ``scope`` that hold ``text``, in any case."""
        found = await self._store.read(lambda connection: table.saying(connection, scope, text))
        kept = await self._store.read(lambda connection: table.fetch(connection, found))
        return tuple(kept.values())

    async def get(self, ids: Sequence[str], scopes: Collection[Scope]) -> tuple[Passage, ...]:
        """The passages with ``ids`` that are in ``scopes``."""
        kept = await self._store.read(lambda connection: table.fetch(connection, list(ids)))
        return tuple(one for one in kept.values() if one.scope in scopes)

    async def show(self, scope: Scope, session: str) -> tuple[Passage, ...]:
        """All that is kept of a session."""
        ids = [id_ for one in self._index.episodes(scope, session) for id_ in one.passages]
        kept = await self._store.read(lambda connection: table.fetch(connection, ids))
        return tuple(kept[id_] for id_ in ids if id_ in kept)


async def read_forgotten(store: Store) -> ForgottenPassages:
    """What must not come back, where no archive of passages is open on ``store``."""
    return ForgottenPassages(await store.read(table.forgotten))


async def forget_unloaded(store: Store, scopes: Iterable[Scope], texts: Iterable[str]) -> None:
    """``forget_saying`` of each, where no archive of passages is open on ``store``."""

    def work(connection: DuckDBPyConnection) -> None:
        if table.forget_saying(connection, scopes, texts):
            store.database.mark_uncompacted()

    await store.write(partial(store.database.transact, work))


def _adds(passage: Passage, kept: tuple[Scope, str] | None) -> bool:
    """Whether ``passage`` is new, or says other than what is ``kept`` of it in the same scope."""
    return kept is None or (kept[0] == passage.scope and kept[1] != passage.text)


def _whole_sessions(rows: Sequence[Row]) -> tuple[list[list[Row]], list[Row]]:
    """The sessions that are complete, and the rows of the last one, which may go on."""
    parts = [
        list(part)
        for _, part in groupby(rows, key=lambda row: (row.passage.scope, row.passage.session))
    ]
    return parts[:-1], parts[-1] if parts else []
