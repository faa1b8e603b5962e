from datetime import UTC, datetime

import pytest

from subcog.bus.values import Memory, Query, Scope
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.index import Index
from subcog.sinks.search.retriever import Search
from tests.waiting import ends_soon

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE, THERE = Scope("project", "here"), Scope("project", "there")
TEXTS = {
    "keycloak": "Keycloak bekommt einen eigenen Realm pro Kommune, wegen der Passwortregeln.",
    "waage": "Die Tabelle wiegung ist append-only: ein Rohwert darf nie überschrieben werden.",
    "flyway": "Flyway-Migrationen gehen nur vorwärts, Spalten entfernen wir über zwei Releases.",
    "kafka": "We dropped Kafka: three brokers were too much for 40 messages an hour.",
    "追溯码": "药监追溯码接口对接停滞：对方测试环境的证书过期，要到三月底才能换新。",
    "shift": "シフト表の描画が遅かったので、職員ごとに仮想スクロールにした。",
}


def memory(name: str, text: str, scope: Scope = HERE) -> Memory:
    return Memory(
        id=name, scope=scope, namespace="decisions", content=text, summary="",
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip


@pytest.fixture(scope="module")
def search() -> Search:
    memories = {name: memory(name, text) for name, text in TEXTS.items()}
    memories["elsewhere"] = memory("elsewhere", TEXTS["flyway"], THERE)
    embedder = Embedder.load()
    index = Index(embedder)
    encoded = zip(
        memories.values(), embedder.encode_many([*TEXTS.values(), TEXTS["flyway"]]), strict=True
    )
    index.extend(encoded)

    def fetch(ids, scopes):
        return [memories[one] for one in ids]

    return Search(index, embedder, fetch=fetch, latest=None, clock=lambda: NOW)


def found(search: Search, text: str, **more) -> list[str]:
    query = Query(text=text, asked=text, scopes=(HERE,), **more)
    return [hit.memory.id for hit in search.recall_now(query).hits]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("warum hat jede kommune einen eigenen realm?", "keycloak"),
        ("wie entfernt man eine Spalte mit flyway migration?", "flyway"),
        ("追溯码那边现在卡在哪", "追溯码"),
        ("なんでシフト表が遅かったんだっけ", "shift"),
        ("warum haben wir kein Kafka mehr?", "kafka"),
    ],
)
def test_the_memory_that_has_the_rare_words_comes_first(
    search: Search, question: str, answer: str
) -> None:
    hits = search.recall_now(Query(text=question, asked=question, scopes=(HERE,))).hits
    assert hits[0].memory.id == answer
    assert hits[0].relevance > 0.45
    assert all(hit.relevance < 0.3 for hit in hits[1:])


def test_one_word_of_many_is_not_relevant(search: Search) -> None:
    assert not found(
        search,
        "wie viel kostet uns die Tabelle der Rechnungen beim Steuerberater?",
        min_relevance=0.3,
    )


def test_a_question_of_small_words_alone_finds_nothing(search: Search) -> None:
    assert found(search, "was war denn das jetzt?") == []
    assert found(search, "wie lange war das so in denn an?") == []


@pytest.mark.parametrize(
    ("texts", "question", "answers"),
    [
        (
            (
                "Der Nachtlauf dauert rund vier Stunden.",
                "Der Nachtlauf schreibt sein Protokoll in die Tabelle nacht_log.",
            ),
            "wie lange dauert der Nachtlauf?",
            {0},
        ),
        (
            (
                "Les exports partent chaque nuit vers Hetzner.",
                "Les exports partent chaque nuit vers OVH, plus vers Hetzner.",
            ),
            "vers où partent les exports la nuit ?",
            {0, 1},
        ),
    ],
)
def test_two_memories_on_one_subject_do_not_extinguish_each_other(
    search: Search, texts: tuple[str, str], question: str, answers: set[int]
) -> None:
    embedder = Embedder.load()
    memories = {str(at): memory(str(at), text) for at, text in enumerate(texts)}
    index = Index(embedder)
    index.extend(zip(memories.values(), embedder.encode_many(texts), strict=True))
    search = Search(
        index,
        embedder,
        fetch=lambda ids, scopes: [memories[one] for one in ids],
        latest=None,
        clock=lambda: NOW,
    )
    best = found(search, question, min_relevance=0.4)
    assert answers <= {int(id_) for id_ in best}
    assert int(best[0]) in answers


def test_filters_hold(search: Search) -> None:
    question = "warum hat jede kommune einen eigenen realm?"
    assert found(search, question, namespaces=("patterns",)) == []
    assert "elsewhere" not in found(search, "flyway spalten entfernen wir wie?")


def test_a_newer_version_replaces_the_older_and_its_grams() -> None:
    index = Index()
    embedder = Embedder.load()
    for text in (TEXTS["keycloak"], TEXTS["waage"]):
        index.add(memory("one", text), embedder.encode(text))
    question = index.encode_words("warum hat jede kommune einen realm", "de")
    query = Query(text="x", scopes=(HERE,))
    assert index.search(query, question, NOW).candidates == ()


def test_a_pasted_wall_of_words_is_searched_in_bounded_time(search: Search) -> None:
    with ends_soon():
        found(search, "warum ist das so " + "überlangeswortzusammensetzung" * 50_000)
