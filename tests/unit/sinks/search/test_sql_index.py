"""SQL alone ranks as the warm index does: the same memories, the same scores, the same order."""

import random

import numpy as np
import pytest
import pytest_asyncio
from msgspec.structs import replace

from subcog.bus.values import Query
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.index import Index
from subcog.sinks.search.ranking import begin, measure
from subcog.sinks.search.sql_index import SqlIndex
from subcog.sinks.sql.views import show_scopes
from subcog.sinks.store.rows import Row
from tests.stores import ELSEWHERE, HERE, ME, make_row, opened

MEMORIES = 400
WORDS = (
    "deploy argocd kubectl retry invoice rounding cents argon2id bcrypt password cart session "
    "checkout race worker queue migration alembic postgres index vacuum cache redis token expiry "
    "header proxy nginx certificate rotate monday release branch tag changelog lint type mypy test"
).split()
QUESTIONS = (
    "how do we deploy with argocd",
    "why is the password hashed by argon2id and not by bcrypt",
    "checkout race between cart worker and session",
    "which postgres index needs a vacuum",
    " ".join(WORDS),
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def embedder():
    return Embedder.load()


def rows(embedder):
    dice = random.Random(5)
    for number in range(1, MEMORIES + 1):
        text = " ".join(dice.choices(WORDS, k=dice.randint(4, 40)))
        scope = dice.choice((HERE, HERE, ME, ELSEWHERE))
        memory = make_row(number, content=f"{text}. {text}", summary="", scope=scope).memory
        yield Row(memory, embedder.encode(searchable(memory)))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(tmp_path_factory, embedder):
    """The same memories in a warm index and in a store, for all tests, which write nothing."""
    made = list(rows(embedder))
    index = Index(embedder)
    index.extend((row.memory, row.encoding) for row in made)
    async with opened(tmp_path_factory.mktemp("index") / "s.duckdb") as store:
        await store.put(made)
        await SqlIndex(store).fill()
        yield index, store


def warm(index, text, mode, scopes):
    """(id, BM25 or cosine) of every candidate of the warm index."""
    question, query = index.encode_query(text), Query(text=text, scopes=scopes)
    parts = [
        begin(scope, found, query, question, make_row().memory.created_at)
        for scope, found in index.scope_indexes(scopes)
    ]
    features = measure(parts, mode, question, index.embedder, candidates=MEMORIES)
    values = features.text if mode == "text" else features.vector
    ids = [part.index.table.ids[row] for part in parts for row in part.candidate_rows]
    return {id_: float(value) for id_, value in zip(ids, values, strict=True)}


def by_sql(store, call, argument, scopes):
    def work(cursor):
        show_scopes(cursor, [str(scope) for scope in scopes])
        return cursor.execute(f"FROM {call}", {"given": argument}).fetchall()

    return store.read(work)


@pytest.mark.parametrize("scopes", [(HERE,), (HERE, ME)])
@pytest.mark.parametrize("text", QUESTIONS)
async def test_bm25_is_that_of_the_warm_index(both, text, scopes):
    """Scores that differ by less than single precision are a tie, in whatever order."""
    index, store = both
    terms = index.encode_query(text).terms.tolist()
    found = await by_sql(store, "memory_bm25($given)", terms, scopes)

    expected = warm(index, text, "text", scopes)
    assert {id_ for id_, _ in found} == {id_ for id_, score in expected.items() if score > 0}
    ours = np.array([score for _, score in found])
    theirs = np.array([expected[id_] for id_, _ in found])
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert (np.diff(ours) <= 0).all()
    assert (np.diff(theirs) <= 1e-5 * theirs[1:]).all()  # the same order


async def test_equal_scores_stand_in_the_order_of_their_ids(tmp_path, embedder):
    same = [make_row(number, content="we deploy with argocd", summary="") for number in (3, 1, 2)]
    async with opened(tmp_path / "s.duckdb") as store:
        await store.put([replace(row, encoding=embedder.encode("deploy argocd")) for row in same])
        await SqlIndex(store).fill()
        terms = embedder.encode_query("deploy").terms.tolist()
        found = await by_sql(store, "memory_bm25($given)", terms, [HERE])

    assert [id_ for id_, _ in found] == sorted(row.memory.id for row in same)


@pytest.mark.parametrize("text", QUESTIONS[:3])
async def test_the_cosine_is_that_of_the_warm_index(both, text):
    index, store = both
    vector = index.encode_query(text).vector.tolist()
    found = dict(await by_sql(store, "memory_cosine($given)", vector, [HERE]))

    expected = warm(index, text, "vector", (HERE,))
    assert found.keys() == expected.keys()
    for id_, cosine in expected.items():
        assert max(found[id_], 0) == pytest.approx(cosine, abs=1e-5)


async def test_a_vector_of_another_length_is_near_nothing(both):
    assert await by_sql(both[1], "memory_cosine($given)", [1.0, 0.0], [HERE]) == []


async def test_one_scope_of_several_can_be_ranked(both):
    index, store = both
    terms = index.encode_query("deploy").terms.tolist()
    here = await by_sql(store, f"memory_bm25($given, scopes := ['{HERE}'])", terms, (HERE, ME))

    assert here == await by_sql(store, "memory_bm25($given)", terms, (HERE,))


async def test_a_scope_that_is_not_shown_cannot_be_asked_for(both):
    index, store = both
    terms = index.encode_query("deploy").terms.tolist()
    call = f"memory_bm25($given, scopes := ['{ELSEWHERE}'])"

    assert await by_sql(store, call, terms, (HERE,)) == []
    assert await by_sql(store, "memory_bm25($given)", terms, ()) == []


async def test_grams_of_another_language_are_noted_too(tmp_path, embedder):
    text = "Die Datenbank wird jede Nacht gesichert und danach geprüft"
    memory = make_row(1, content=text, summary="").memory
    index = Index(embedder)
    async with opened(tmp_path / "s.duckdb") as store:
        await store.put([Row(memory, embedder.encode(text))])
        await SqlIndex(store).fill()
        terms = index.encode_words("Wie ist die Sicherung der Datenbanken geregelt?", "de").terms
        found = await by_sql(store, "memory_bm25($given)", terms.tolist(), [HERE])

    assert [id_ for id_, _ in found] == [memory.id]
