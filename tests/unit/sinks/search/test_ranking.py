from datetime import UTC, datetime

import pytest

from subcog.bus.values import Memory, Query, Scope
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.index import Index
from subcog.sinks.search.ranking import CANDIDATES, Ranking

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE, ME = Scope("project", "here"), Scope("user", "me")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


def index_of(embedder: Embedder, *given: tuple[str, str, Scope]) -> Index:
    index = Index(embedder)
    for name, text, scope in given:
        one = Memory(
            id=name, scope=scope, namespace="context", content=text, summary="",
            created_at=NOW, updated_at=NOW,
        )  # fmt: skip
        index.add(one, embedder.encode(text))
    return index


def encode_query(index: Index, text: str, **more: object) -> Ranking:
    query = Query(text=text, scopes=(HERE, ME), **more)  # type: ignore[arg-type]
    return index.search(query, index.encode_query(text), NOW)


def test_a_memory_scores_the_same_in_whichever_scope_it_lies(embedder: Embedder) -> None:
    texts = {"a": "Kafka keeps one topic a site.", "b": "Postgres holds the orders."}
    together = encode_query(
        index_of(embedder, *((n, t, HERE) for n, t in texts.items())), "kafka topics"
    )
    apart = encode_query(
        index_of(embedder, ("a", texts["a"], HERE), ("b", texts["b"], ME)), "kafka topics"
    )
    for one, other in zip(together.candidates, apart.candidates, strict=True):
        assert one.id == other.id
        assert one.relevance == pytest.approx(other.relevance, abs=1e-5)
        assert one.order == pytest.approx(other.order, abs=1e-5)


def test_order_falls_and_raw_parts_are_fractions(embedder: Embedder) -> None:
    given = [(f"m{n}", f"Kafka {'topic ' * n} on site {n}", HERE) for n in range(8)]
    candidates = encode_query(index_of(embedder, *given), "kafka topic of site 3").candidates
    assert [one.order for one in candidates] == sorted(
        (one.order for one in candidates), reverse=True
    )
    for one in candidates:
        assert all(0 <= part <= 1.001 for part in (one.text, one.late, one.vector, one.relevance))


def test_a_limit_beyond_the_usual_candidates_is_met(embedder: Embedder) -> None:
    count = 3 * CANDIDATES
    index = index_of(embedder, *((f"m{n}", f"Kafka on site {n}", HERE) for n in range(count)))
    ranking = encode_query(index, "kafka", limit=count)
    assert len(ranking.candidates) == ranking.total == count


def test_a_long_question_is_searched_by_its_rarest_words(embedder: Embedder) -> None:
    filler = [(f"m{n}", f"common words number{n} in every note", HERE) for n in range(30)]
    index = index_of(embedder, ("rare", "zookeeper was retired", HERE), *filler)
    words = " ".join(f"number{n}" for n in range(30))
    ranking = encode_query(
        index, f"{words} {words} common words every note zookeeper", mode="text", limit=50
    )
    assert "rare" in [one.id for one in ranking.candidates]
