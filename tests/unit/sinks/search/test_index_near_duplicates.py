from datetime import UTC, datetime

import pytest

from subcog.bus.values import Memory, Scope
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.index import Index

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Scope("project", "here")
TEXT = "We use argon2id for password hashing because bcrypt truncates at 72 bytes."


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


@pytest.fixture
def index(embedder: Embedder) -> Index:
    index = Index(embedder)
    for id_, namespace, text in (
        ("a", "decisions", TEXT),
        ("b", "decisions", "Deployments go through ArgoCD only."),
        ("c", "gotchas", "Password fields must not be trimmed."),
    ):
        one = Memory(
            id=id_, scope=HERE, namespace=namespace, content=text, summary="",
            created_at=NOW, updated_at=NOW,
        )  # fmt: skip
        index.add(one, embedder.encode(searchable(one)))
    return index


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "We use argon2id for password hashing, because bcrypt truncates at 72 bytes",
        "we use Argon2id for hashing passwords because bcrypt truncates at 72 bytes.",
    ],
)
def test_the_same_in_nearly_the_same_words_is_a_duplicate(index: Index, text: str) -> None:
    ((found, similarity),) = index.nearest(text, HERE, "decisions", 1)
    assert found == "a"
    assert similarity > 0.9


@pytest.mark.parametrize(
    "text",
    [
        "We use argon2id for password hashing because bcrypt truncates at 64 bytes.",
        "We do not use argon2id for password hashing because bcrypt truncates at 72 bytes.",
        "We use scrypt for password hashing because bcrypt truncates at 72 bytes.",
        "Passwords are hashed with argon2id.",
        "Bcrypt hashing of a password takes 200 ms on the staging machines.",
    ],
)
def test_what_says_something_else_about_the_same_is_none(index: Index, text: str) -> None:
    ((_, similarity),) = index.nearest(text, HERE, "decisions", 1)
    assert similarity < 0.9


def test_a_changed_word_makes_another_memory_though_the_direction_is_the_same(
    index: Index, embedder: Embedder
) -> None:
    text = "Sessions live in Redis for two hours."
    one = Memory(
        id="d", scope=HERE, namespace="decisions", content=text, summary="",
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    index.add(one, embedder.encode(text))
    ((found, similarity),) = index.nearest("Sessions live in Redis for two days.", HERE, None, 1)
    assert found == "d"
    assert similarity < 0.9


def test_the_best_come_first_and_namespaces_are_kept_apart(index: Index) -> None:
    everywhere = index.nearest(TEXT, HERE)
    assert everywhere[0][0] == "a"
    assert [pair[1] for pair in everywhere] == sorted((p[1] for p in everywhere), reverse=True)
    assert [found for found, _ in index.nearest(TEXT, HERE, "gotchas")] == ["c"]
    assert index.nearest(TEXT, HERE, "unknown") == []


def test_other_scopes_are_not_compared(index: Index) -> None:
    assert index.nearest(TEXT, Scope("project", "there")) == []


def test_removed_memories_are_not_compared(index: Index) -> None:
    index.remove("a")
    assert "a" not in [found for found, _ in index.nearest(TEXT, HERE)]


def test_an_encoding_is_compared_without_an_embedder_and_a_text_is_not(
    index: Index, embedder: Embedder
) -> None:
    index.embedder = None
    assert index.nearest(TEXT, HERE) == []
    assert index.nearest(embedder.encode(TEXT), HERE)[0][0] == "a"
