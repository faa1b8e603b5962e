"""Without the warm index DuckDB finds the candidates, and the same ranking decides."""

import random
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
import pytest_asyncio

from subcog.bus.values import Query
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder, Encoder
from subcog.sinks.search.index import Index
from subcog.sinks.search.retriever import Search
from subcog.sinks.search.sql_index import SqlIndex
from subcog.sinks.store.rows import Row
from tests.stores import ELSEWHERE, HERE, ME, START, make_row, opened

NOW = START + timedelta(days=1)
WORDS = (
    "deploy kubectl retry invoice rounding cents bcrypt password cart session race worker queue "
    "migration alembic postgres vacuum cache redis token expiry header proxy nginx rotate monday"
).split()
ARGON = "We hash passwords with argon2id, because bcrypt truncates at 72 bytes"
GERMAN = "Die Datenbank wird jede Nacht gesichert, und die Sicherung am Morgen geprüft"

pytestmark = pytest.mark.asyncio(loop_scope="module")


def memories():
    dice = random.Random(11)
    for number in range(10, 310):
        text = " ".join(dice.choices(WORDS, k=dice.randint(5, 30)))
        yield make_row(number, content=text, summary="", scope=dice.choice((HERE, ME))).memory
    yield make_row(1, content=ARGON, summary="", tags=("Auth", "hashing")).memory
    yield make_row(2, content=GERMAN, summary="").memory
    yield make_row(3, content=ARGON, summary="", scope=ELSEWHERE).memory
    yield make_row(4, content=f"Once: {ARGON}", summary="", valid_to=START).memory


class Both:
    """The same memories, found through a warm index and through SQL."""

    def __init__(self, store, embedder):
        self.store, self.encoder, self.index = store, Encoder(), Index(embedder)
        self.encoder.embedder = embedder
        self.search = Search(
            self.index, embedder, fetch=store.get_now, latest=store.latest, clock=lambda: NOW
        )

    async def keep(self, rows):
        await self.store.put(rows)
        self.index.extend((row.memory, row.encoding) for row in rows)
        await SqlIndex(self.store).fill()

    async def ask(self, text, *scopes, **fields):
        query = Query(text=text, scopes=scopes or (HERE, ME), **fields)
        warm = await self.search.recall(query)
        by_sql = await self.store.read(
            lambda cursor: self.search.recall_by_sql(cursor, query, self.encoder, "index.loading")
        )
        return warm, by_sql


@pytest.fixture(scope="module")
def embedder():
    return Embedder.load()


@asynccontextmanager
async def filled(folder, embedder):
    async with opened(folder / "s.duckdb") as store:
        both = Both(store, embedder)
        await both.keep([Row(m, embedder.encode(searchable(m))) for m in memories()])
        yield both


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(tmp_path_factory, embedder):
    """For all tests that change nothing."""
    async with filled(tmp_path_factory.mktemp("search"), embedder) as both:
        yield both


def ids(recalled):
    return [hit.memory.id for hit in recalled.hits]


async def test_what_answers_comes_first_and_is_as_relevant(both):
    warm, by_sql = await both.ask("how are passwords hashed, and why not by bcrypt?")

    assert ids(by_sql)[0] == ids(warm)[0] == make_row(1).memory.id
    assert by_sql.hits[0].relevance == pytest.approx(warm.hits[0].relevance, abs=0.1)
    assert (by_sql.degraded, by_sql.mode, by_sql.total) == ("index.loading", "hybrid", warm.total)


@pytest.mark.parametrize("mode", ["text", "vector"])
async def test_by_words_or_by_vectors_alone_it_is_the_same_order(both, mode):
    warm, by_sql = await both.ask("postgres migration vacuum", mode=mode)

    assert len(warm.hits) == 10
    theirs = {hit.memory.id: hit.order for hit in warm.hits}
    assert ids(by_sql) == sorted(ids(by_sql), key=lambda id_: -theirs.get(id_, 0))
    for hit in by_sql.hits:
        assert hit.order == pytest.approx(theirs[hit.memory.id], abs=1e-5)


async def test_the_same_floor_keeps_out_what_does_not_answer(both):
    warm, by_sql = await both.ask("which colour has the logo?", min_relevance=0.45)
    assert ids(warm) == ids(by_sql) == []


async def test_another_language_is_searched_for_by_its_words(both):
    warm, by_sql = await both.ask("Wie werden die Sicherungen der Datenbank geprüft?", HERE)

    assert ids(by_sql)[0] == make_row(2).memory.id
    assert by_sql.hits[0].relevance == pytest.approx(warm.hits[0].relevance, abs=1e-5)


@pytest.mark.parametrize(
    "fields",
    [
        {"namespaces": ("decisions",)},
        {"namespaces": ("gotchas",)},
        {"tags": ("auth", "HASHING")},
        {"tags": ("auth", "other")},
        {"since": START + timedelta(seconds=2)},
        {"until": START + timedelta(seconds=2)},
    ],
)
async def test_filters_let_the_same_through(both, fields):
    warm, by_sql = await both.ask("argon2id passwords", HERE, mode="text", **fields)
    assert (ids(by_sql), by_sql.total) == (ids(warm), warm.total)


async def test_neither_another_scope_nor_what_has_expired_is_found(both):
    _, by_sql = await both.ask("argon2id bcrypt passwords", HERE, limit=1000)
    assert {make_row(3).memory.id, make_row(4).memory.id}.isdisjoint(ids(by_sql))


async def test_what_is_forgotten_is_found_no_more(tmp_path, embedder):
    async with filled(tmp_path, embedder) as both:
        assert await both.store.forget(make_row(1).memory.id, [HERE])
        _, by_sql = await both.ask("argon2id bcrypt passwords", HERE, limit=1000)
        assert make_row(1).memory.id not in ids(by_sql)


async def test_words_alone_answer_while_there_is_no_embedding(both, monkeypatch):
    monkeypatch.setattr(both.encoder, "embedder", None)
    monkeypatch.setattr(both.search, "embedder", None)
    _, by_sql = await both.ask("argon2id passwords", HERE)

    assert ids(by_sql)[0] == make_row(1).memory.id
    assert by_sql.mode == "text"


async def test_an_empty_question_finds_nothing(both):
    _, by_sql = await both.ask("the of and", HERE, mode="text")
    assert ids(by_sql) == []


async def test_without_time_for_both_the_words_choose_and_the_vectors_still_measure(both):
    query = Query(text="how is argon2id used?", scopes=(HERE, ME), limit=100)

    def hurried(cursor):
        return both.search.recall_by_sql(cursor, query, both.encoder, "index.loading", within_s=0.0)

    hits = (await both.store.read(hurried)).hits
    assert hits[0].memory.id == make_row(1).memory.id
    assert hits[0].vector > 0.3
    assert all(hit.text > 0 for hit in hits)
    _, patient = await both.ask(query.text, limit=100)
    assert len(patient.hits) > len(hits)
