import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog.bus.values import Encoding, Memory, Provenance, Query, Scope
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.index import Index
from subcog.sinks.search.ranking import Ranking
from tests.thorough import times

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Scope("project", "here")
THERE = Scope("project", "there")
ME = Scope("user", "me")
NONE = Encoding(model="", vectors=b"", words=b"", lengths=b"")

PASSWORDS = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
DEPLOY = "Deployments go through ArgoCD; never kubectl apply by hand in production."
FLAKY = "The flaky checkout test was a race between the cart worker and the session cleanup."
MONEY = "Invoices are rounded per line, half up, and stored as integer cents."


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


def memory(name: str, content: str, scope: Scope = HERE, **more: object) -> Memory:
    fields = {
        "namespace": "decisions",
        "summary": "",
        "created_at": NOW,
        "updated_at": NOW,
        **more,
    }
    return Memory(id=name, scope=scope, content=content, **fields)  # type: ignore[arg-type]


class Indexed:
    """An index with what is said to it, and short ways to ask it."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.index = Index(embedder)

    def add(self, *memories: Memory) -> "Indexed":
        for one in memories:
            self.index.add(one, self.embedder.encode(searchable(one)))
        return self

    def search(self, text: str, *scopes: Scope, **more: object) -> Ranking:
        query = Query(text=text, scopes=scopes or (HERE,), **more)  # type: ignore[arg-type]
        return self.index.search(query, self.index.encode_query(text), NOW)

    def ids(self, text: str, *scopes: Scope, **more: object) -> list[str]:
        return [one.id for one in self.search(text, *scopes, **more).candidates]


@pytest.fixture
def indexed(embedder: Embedder) -> Indexed:
    return Indexed(embedder)


@pytest.fixture
def four(indexed: Indexed) -> Indexed:
    texts = {"a": PASSWORDS, "b": DEPLOY, "c": FLAKY, "d": MONEY}
    return indexed.add(*(memory(name, text) for name, text in texts.items()))


# --- relevance, absolute --------------------------------------------------------------------------


@pytest.mark.parametrize("with_embedder", [True, False])
@pytest.mark.parametrize(
    ("content", "question"),
    [
        (PASSWORDS, "how do I hash passwords here?"),
        (DEPLOY, "how do we deploy to production"),
        (FLAKY, "why is the checkout test flaky"),
        (MONEY, "are invoices rounded per line?"),
    ],
)
def test_the_only_memory_is_clearly_relevant_to_its_question(
    indexed: Indexed, content: str, question: str, with_embedder: bool
) -> None:
    indexed.add(memory("a", content))
    if not with_embedder:
        indexed.index.embedder = None
    assert indexed.search(question).candidates[0].relevance > 0.7


@pytest.mark.parametrize(
    "question",
    [
        "how do I center a div in css?",
        "what is the capital of france",
        "python list comprehension with condition",
        "ok thanks",
        "explain what a monad is",
        "☃",
    ],
)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_question_that_nothing_answers_has_low_relevance_everywhere(
    indexed: Indexed, question: str, count: int
) -> None:
    texts = [PASSWORDS, DEPLOY, FLAKY, MONEY][:count]
    indexed.add(*(memory(f"m{n}", text) for n, text in enumerate(texts)))
    assert all(one.relevance < 0.2 for one in indexed.search(question).candidates)
    indexed.index.embedder = None
    assert all(one.relevance < 0.2 for one in indexed.search(question).candidates)


def test_relevance_is_the_same_whatever_the_limit(four: Indexed) -> None:
    question = "how do I hash passwords here?"
    assert (
        four.search(question, limit=1).candidates[0] == four.search(question, limit=4).candidates[0]
    )


def test_an_empty_question_finds_nothing(four: Indexed) -> None:
    assert four.ids("") == []
    assert four.ids("   ") == []


def test_the_memories_with_each_word_in_one_of_its_forms_are_counted(four: Indexed) -> None:
    four.add(memory("there", DEPLOY, THERE))
    having = four.index.having
    assert having((("went", "deployments"), ("hand",)), (HERE,)) == 1
    assert having((("deploy",), ("the",)), (HERE, THERE)) == 2
    assert having((("deploy",), ("invoice",)), (HERE,)) == 0
    assert having((("the",),), (HERE,)) == 0


def test_a_misspelt_word_is_told_by_the_living_memories_of_the_scopes(four: Indexed) -> None:
    four.add(memory("there", DEPLOY, THERE))
    asked = "wich pasword is for deployed invoices".split()
    assert four.index.meant(asked, (HERE,)) == {"wich": "which", "pasword": "password"}
    assert four.index.meant(asked, (THERE,)) == {"wich": "which"}
    for known in four.ids("password"):
        four.index.remove(known)
    assert four.index.meant(asked, (HERE,)) == {"wich": "which"}


def test_an_empty_index_finds_nothing(indexed: Indexed) -> None:
    assert indexed.search("anything").candidates == ()
    assert indexed.search("anything").total == 0


@pytest.mark.parametrize("mode", ["hybrid", "text", "vector"])
def test_every_mode_puts_the_answer_first(four: Indexed, mode: str) -> None:
    assert four.ids("hashing of passwords", mode=mode)[0] == "a"


def test_words_that_merely_mean_the_same_are_found_by_vectors(four: Indexed) -> None:
    assert four.ids("credentials encryption algorithm")[0] == "a"
    assert four.ids("credentials encryption algorithm", mode="text") == []


# --- what is added, replaced, removed -------------------------------------------------------------


def test_a_newer_version_takes_the_place_of_the_older(four: Indexed) -> None:
    four.add(memory("a", "Sessions live in Redis for two hours.", version=2))
    assert four.ids("redis sessions")[0] == "a"
    assert "a" not in four.ids("argon2id", mode="text")
    assert four.index.stats.memories == {str(HERE): 4}


def test_a_removed_memory_is_not_found_and_removing_twice_is_nothing(four: Indexed) -> None:
    four.index.remove("a")
    four.index.remove("a")
    four.index.remove("never there")
    assert "a" not in four.ids("hash passwords")


def test_a_memory_that_moves_to_another_scope_leaves_the_first(four: Indexed) -> None:
    four.add(memory("a", PASSWORDS, THERE, version=2))
    assert "a" not in four.ids("hash passwords", HERE)
    assert four.ids("hash passwords", THERE) == ["a"]


def test_each_memory_that_contradicts_another_is_known_while_it_does(four: Indexed) -> None:
    four.add(memory("x", "It is scrypt.", contradicts="a"))
    four.add(memory("y", "It is bcrypt.", contradicts="a"))
    assert four.index.contradicted_by("a") == ("x", "y")
    four.add(memory("y", "Logins are counted.", version=2))
    assert four.index.contradicted_by("a") == ("x",)
    four.index.remove("x")
    assert four.index.contradicted_by("a") == ()


def test_a_superseded_memory_is_found_by_a_search_alone_and_not_counted(four: Indexed) -> None:
    before = four.index.count
    four.add(memory("a", PASSWORDS, superseded_by="z", version=2))
    assert "a" in four.ids("hash passwords")
    assert "a" not in four.index
    assert four.index.interned_id("a") is None
    assert four.index.count == four.index.stats.memories[str(HERE)] == before - 1
    assert "a" not in [id_ for id_, _ in four.index.nearest(PASSWORDS, HERE, k=9)]
    four.add(memory("a", PASSWORDS, version=3))
    assert four.index.count == before
    assert "a" in four.index


def test_an_index_that_was_cleared_counts_nothing(four: Indexed) -> None:
    four.add(memory("a", PASSWORDS, superseded_by="z", version=2))
    four.index.clear()
    assert four.index.count == 0
    four.add(memory("b", PASSWORDS))
    assert four.index.count == four.index.stats.memories[str(HERE)] == 1


def test_a_memory_that_has_ended_is_hidden_and_one_that_ends_later_is_not(indexed: Indexed) -> None:
    indexed.add(
        memory("past", PASSWORDS, valid_to=NOW - timedelta(seconds=1)),
        memory("future", PASSWORDS, valid_to=NOW + timedelta(days=1)),
    )
    assert indexed.ids("hash passwords") == ["future"]


@pytest.mark.parametrize("given", [{}, {"namespaces": ("decisions",)}])
def test_what_is_superseded_and_has_ended_is_left_out_of_the_total_once(
    indexed: Indexed, given: dict[str, object]
) -> None:
    past = NOW - timedelta(seconds=1)
    indexed.add(
        memory("gone", PASSWORDS, superseded_by="now", valid_to=past),
        memory("old", PASSWORDS, superseded_by="now"),
        memory("now", PASSWORDS),
    )
    assert indexed.search("hash passwords", **given).total == 1
    for version in range(2, 80):
        indexed.add(memory("now", PASSWORDS, version=version))
    assert len(indexed.index.scope_indexes([HERE])[0][1].table.ids) < 80, "it was compacted"
    assert indexed.search("hash passwords", **given).total == 1


def test_loading_many_is_the_same_as_adding_each(embedder: Embedder) -> None:
    memories = [memory(f"m{n}", f"{text} part {n}") for n in range(5) for text in (FLAKY, MONEY)]
    one_by_one, at_once = Indexed(embedder), Indexed(embedder)
    one_by_one.add(*memories)
    at_once.index.extend((m, embedder.encode(searchable(m))) for m in memories)
    for question in ("checkout part 3", "invoice rounding"):
        assert one_by_one.search(question) == at_once.search(question)


# --- filters --------------------------------------------------------------------------------------


@pytest.fixture
def filtered(indexed: Indexed) -> Indexed:
    return indexed.add(
        memory("old", PASSWORDS, namespace="learnings", created_at=NOW - timedelta(days=9)),
        memory("tagged", PASSWORDS, tags=("Auth", "crypto")),
        memory("branch", PASSWORDS, provenance=Provenance(branch="feature/x")),
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"namespaces": ("learnings",)}, {"old"}),
        ({"namespaces": ("learnings", "decisions")}, {"old", "tagged", "branch"}),
        ({"namespaces": ("unknown",)}, set()),
        ({"tags": ("auth",)}, {"tagged"}),
        ({"tags": ("auth", "crypto")}, {"tagged"}),
        ({"tags": ("auth", "other")}, set()),
        ({"since": NOW - timedelta(days=1)}, {"tagged", "branch"}),
        ({"until": NOW - timedelta(days=1)}, {"old"}),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "text", "vector"])
def test_filters_let_through_what_they_name(
    filtered: Indexed, given: dict[str, object], expected: set[str], mode: str
) -> None:
    ranking = filtered.search("hash passwords", mode=mode, **given)
    assert {one.id for one in ranking.candidates} == expected
    assert ranking.total == len(expected)


def test_a_branch_is_a_facet_that_settles_ties_and_no_wall(filtered: Indexed) -> None:
    assert filtered.ids("hash passwords", branch="feature/x")[0] == "branch"
    assert len(filtered.ids("hash passwords", branch="feature/x")) == 3


# --- scopes ---------------------------------------------------------------------------------------


def test_several_scopes_are_ranked_as_one(indexed: Indexed) -> None:
    indexed.add(memory("p", DEPLOY, HERE), memory("u", PASSWORDS, ME), memory("t", FLAKY, THERE))
    found = indexed.search("hash passwords", HERE, ME)
    assert [one.id for one in found.candidates] == ["u", "p"]
    assert found.candidates[0].scope == ME
    assert found.total == 2


WORDS = st.sampled_from(["kafka", "postgres", "cache", "deploy", "invoice", "retry", "token"])
ACTION = st.tuples(
    st.sampled_from(["add", "remove"]),
    st.sampled_from("abcdef"),
    st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
    st.sampled_from([HERE, THERE, ME]),
)


@settings(max_examples=times(60))
@given(
    actions=st.lists(ACTION, max_size=25), question=WORDS, asked=st.sampled_from([HERE, THERE, ME])
)
def test_any_history_ends_as_an_index_made_of_what_is_left_and_no_scope_sees_another(
    embedder: Embedder, actions: list[tuple[str, str, str, Scope]], question: str, asked: Scope
) -> None:
    lived, left = Indexed(embedder), {}
    for what, id_, text, scope in actions:
        if what == "add":
            left[id_] = memory(id_, text, scope)
            lived.add(left[id_])
        else:
            left.pop(id_, None)
            lived.index.remove(id_)
    found = lived.search(question, asked).candidates
    assert all(left[one.id].scope == asked == one.scope for one in found)
    fresh = Indexed(embedder).add(*left.values()).search(question, asked).candidates
    rounded = [{one.id: round(one.relevance, 3) for one in ranked} for ranked in (found, fresh)]
    assert rounded[0] == rounded[1]


def test_an_index_with_many_dead_rows_is_compacted(indexed: Indexed) -> None:
    for version in range(1, 200):
        indexed.add(memory("a", f"{PASSWORDS} version {version}", version=version))
    scope_index = indexed.index.scope_indexes((HERE,))[0][1]
    assert scope_index.rows < 150
    assert indexed.ids("hash passwords") == ["a"]


# --- encodings ------------------------------------------------------------------------------------


def test_a_memory_without_an_encoding_is_found_by_text(four: Indexed) -> None:
    four.index.add(memory("e", "Zookeeper was retired in favour of KRaft."), NONE)
    assert four.ids("zookeeper")[0] == "e"
    assert four.index.stats.unencoded == 1


def test_an_encoding_of_another_model_is_left_aside(four: Indexed) -> None:
    one = memory("e", "Zookeeper was retired in favour of KRaft.")
    other = msgspec.structs.replace(four.embedder.encode(searchable(one)), model="other")
    four.index.add(one, other)
    assert four.ids("zookeeper")[0] == "e"
    assert four.index.stats.unencoded == 1


@pytest.mark.parametrize("broken", ["vectors", "words", "lengths"])
def test_a_damaged_encoding_is_left_aside(four: Indexed, broken: str) -> None:
    one = memory("e", "Zookeeper was retired in favour of KRaft.")
    whole = four.embedder.encode(searchable(one))
    cut = msgspec.structs.replace(whole, **{broken: getattr(whole, broken)[:-1]})
    four.index.add(one, cut)
    assert four.ids("zookeeper")[0] == "e"
    assert four.index.stats.unencoded == 1


def test_memories_from_before_the_embedder_came_are_found_beside_later_ones(
    embedder: Embedder,
) -> None:
    late = Indexed(embedder)
    late.index.embedder = None
    late.index.add(memory("early", DEPLOY), NONE)
    assert late.ids("deployments") == ["early"]
    late.index.embedder = embedder
    late.add(memory("late", PASSWORDS))
    assert late.ids("hash passwords")[0] == "late"
    assert late.ids("deployments")[0] == "early"


def test_terms_are_made_again_where_they_were_not_kept(four: Indexed) -> None:
    one = memory("e", "Zookeeper was retired.")
    encoding = msgspec.structs.replace(four.embedder.encode(searchable(one)), terms=b"")
    four.index.add(one, encoding)
    assert four.ids("zookeepers", mode="text") == ["e"]


def test_bytes_are_counted(four: Indexed) -> None:
    before = four.index.stats.bytes
    four.add(*(memory(f"x{n}", FLAKY) for n in range(100)))
    assert four.index.stats.bytes > before > 0


def test_searching_beside_a_writer_never_fails(embedder: Embedder) -> None:
    indexed = Indexed(embedder).add(memory("first", PASSWORDS))
    stop = threading.Event()
    troubles: list[Exception] = []

    def read() -> None:
        try:
            while not stop.is_set():
                found = indexed.ids("hash passwords", namespaces=("decisions",))
                assert "first" in found
        except (AssertionError, IndexError, ValueError, RuntimeError, TypeError) as error:
            troubles.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for n in range(times(200)):
        indexed.add(memory(f"n{n % 40}", f"{DEPLOY} step {n}"))
    stop.set()
    for reader in readers:
        reader.join(10)
    assert troubles == []


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())  # those of earlier tests may end meanwhile
    yield
    assert set(threading.enumerate()) <= before


def test_an_id_is_given_back_as_the_index_holds_it(indexed: Indexed) -> None:
    one = memory("mem_one", PASSWORDS)
    indexed.add(one)
    assert indexed.index.interned_id("_".join(["mem", "one"])) is one.id
    indexed.index.remove("mem_one")
    assert indexed.index.interned_id("mem_one") is None


def test_a_settled_index_finds_what_it_found_before(embedder: Embedder) -> None:
    index = Index(embedder)
    for start in range(0, 60, 20):
        many = [memory(f"m{n}", f"{PASSWORDS} {n}") for n in range(start, start + 20)]
        index.extend((one, embedder.encode(one.content)) for one in many)
    query = Query(text="password 41", scopes=(HERE,))
    before = index.search(query, index.encode_query(query.text), NOW)
    index.fold_postings()
    assert index.search(query, index.encode_query(query.text), NOW) == before
    assert before.candidates[0].id == "m41"
