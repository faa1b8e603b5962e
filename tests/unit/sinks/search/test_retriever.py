import math
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from msgspec import structs

from subcog.bus.values import Memory, Query, Scope
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.index import Index
from subcog.sinks.search.retriever import (
    RERANK_BUDGET_S,
    RERANK_ENOUGH,
    RERANK_SURE,
    RERANK_TOP_K,
    RERANKED_AT_ONCE,
    THOROUGH_TOP_K,
    THREADS,
    Search,
)
from tests.waiting import PATIENCE_S

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Scope("project", "here")
QUESTION = Query(text="how do I hash passwords here?", scopes=(HERE,), limit=2)


class FakeStore:
    """A store of memories that remembers what was fetched, and where."""

    def __init__(self, *texts: str) -> None:
        self.memories = {
            f"m{n}": Memory(
                id=f"m{n}", scope=HERE, namespace="decisions", content=text, summary="",
                created_at=NOW, updated_at=NOW,
            )
            for n, text in enumerate(texts)
        }  # fmt: skip
        self.fetched: list[list[str]] = []
        self.threads: set[int] = set()

    def supersede(self, old: str, new: str) -> None:
        self.memories[old] = structs.replace(self.memories[old], superseded_by=new)

    def fetch(self, ids: Sequence[str], scopes: Sequence[Scope]) -> list[Memory]:
        self.fetched.append(list(ids))
        self.threads.add(threading.get_ident())
        known = (self.memories[i] for i in ids if i in self.memories)
        return [memory for memory in known if memory.scope in scopes]

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        return tuple(self.memories.values())[:limit]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


@pytest.fixture
def store() -> FakeStore:
    return FakeStore(
        "Passwords are hashed with argon2id.",
        "Deployments go through ArgoCD.",
        "Password resets expire after an hour.",
    )


def search(store: FakeStore, embedder: Embedder, *, ready: bool = True) -> Search:
    index = Index()
    for memory in store.memories.values():
        index.add(memory, embedder.encode(searchable(memory)))
    return Search(
        index,
        embedder if ready else None,
        fetch=store.fetch,
        latest=store.latest,
        clock=lambda: NOW,
    )


async def test_the_best_are_fetched_once_and_in_another_thread(
    store: FakeStore, embedder: Embedder
) -> None:
    with anyio.fail_after(PATIENCE_S):
        recalled = await search(store, embedder).recall(QUESTION)
    assert [hit.memory.id for hit in recalled.hits] == ["m0", "m2"]
    assert store.fetched == [["m0", "m2"]]
    assert threading.get_ident() not in store.threads
    assert (recalled.mode, recalled.degraded, recalled.total) == ("hybrid", None, 3)
    assert recalled.took_ms > 0


async def test_without_an_embedder_text_answers_and_says_so(
    store: FakeStore, embedder: Embedder
) -> None:
    recalled = await search(store, embedder, ready=False).recall(QUESTION)
    assert recalled.hits[0].memory.id == "m0"
    assert (recalled.mode, recalled.degraded) == ("text", "embedder.unavailable")


async def test_text_that_was_asked_for_is_no_lesser_answer(
    store: FakeStore, embedder: Embedder
) -> None:
    query = Query(text="hash passwords", scopes=(HERE,), mode="text")
    recalled = await search(store, embedder, ready=False).recall(query)
    assert (recalled.mode, recalled.degraded) == ("text", None)


async def test_an_embedder_that_comes_later_is_used_from_then_on(
    store: FakeStore, embedder: Embedder
) -> None:
    late = search(store, embedder, ready=False)
    late.embedder = embedder
    recalled = await late.recall(QUESTION)
    assert (recalled.mode, recalled.degraded) == ("hybrid", None)
    assert recalled.hits[0].vector > 0


async def test_an_embedder_that_did_not_make_the_vectors_is_not_used(
    store: FakeStore, embedder: Embedder
) -> None:
    made_elsewhere = search(store, embedder)
    stranger = Embedder("stranger", embedder._model)
    made_elsewhere.embedder = stranger
    recalled = await made_elsewhere.recall(QUESTION)
    assert (recalled.mode, recalled.degraded) == ("text", "embedder.changed")


async def test_what_the_store_no_longer_has_is_left_out(
    store: FakeStore, embedder: Embedder
) -> None:
    ready = search(store, embedder)
    del store.memories["m0"]
    recalled = await ready.recall(QUESTION)
    assert [hit.memory.id for hit in recalled.hits] == ["m2"]


async def test_nothing_found_fetches_nothing(store: FakeStore, embedder: Embedder) -> None:
    recalled = await search(store, embedder).recall(Query(text="x", scopes=(Scope("user", "u"),)))
    assert recalled.hits == ()
    assert store.fetched == []


async def test_the_latest_are_the_stores(store: FakeStore, embedder: Embedder) -> None:
    found = await search(store, embedder).latest((HERE,), limit=2)
    assert [memory.id for memory in found] == ["m0", "m1"]


async def test_a_namespace_with_a_floor_of_its_own_is_fetched_from_there_on(store, embedder):
    everything = await search(store, embedder).recall(structs.replace(QUESTION, limit=9))
    relevance = min(hit.relevance for hit in everything.hits)
    strict = structs.replace(QUESTION, limit=9, min_relevance=1.0)
    assert (await search(store, embedder).recall(strict)).hits == ()
    lower = structs.replace(strict, floors=(("decisions", relevance), ("patterns", 1.0)))
    assert (await search(store, embedder).recall(lower)).hits == everything.hits
    other = structs.replace(strict, min_relevance=0.0, floors=(("decisions", 1.0),))
    assert (await search(store, embedder).recall(other)).hits == ()


async def test_no_more_searches_run_at_once_than_an_interpreter_has_use_for(store, embedder):
    running, most, lock = 0, 0, threading.Lock()
    original = store.fetch

    def counting(ids, scopes):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.002)
        with lock:
            running -= 1
        return original(ids, scopes)

    store.fetch = counting
    searching = search(store, embedder)
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(searching.recall, QUESTION)
    assert most == THREADS


# --- what was replaced ---------------------------------------------------------------------------


def test_who_finds_what_was_replaced_gets_what_replaced_it(embedder: Embedder) -> None:
    store = FakeStore("We use Jenkins for CI builds.", "We migrated to GitHub Actions.")
    store.supersede("m0", "m1")
    asked = structs.replace(QUESTION, text="which CI builds do we use")
    (hit,) = search(store, embedder).recall_now(asked).hits
    assert (hit.memory.id, hit.instead_of) == ("m1", "m0")
    assert search(store, embedder).recall_now(asked).total == 1
    filtered = structs.replace(asked, namespaces=("decisions",))
    assert [one.instead_of for one in search(store, embedder).recall_now(filtered).hits] == [""]


def test_of_what_was_replaced_by_what_is_gone_nothing_is_found(embedder: Embedder) -> None:
    store = FakeStore("We use Jenkins for CI builds.", "Buttons are blue.")
    store.supersede("m0", "gone")
    asked = structs.replace(QUESTION, text="which CI builds do we use")
    assert "m0" not in [one.memory.id for one in search(store, embedder).recall_now(asked).hits]


def contradicting(**fields: object) -> FakeStore:
    store = FakeStore("We use Jenkins for CI builds.", "Woodpecker it is.", "Buttons are blue.")
    changed = {"contradicts": "m0", "updated_at": NOW + timedelta(days=1)} | fields
    store.memories["m1"] = structs.replace(store.memories["m1"], **changed)
    return store


@pytest.mark.parametrize("least", [0.0, 0.3])
def test_what_contradicts_a_memory_is_found_before_it_and_as_relevant(
    least: float, embedder: Embedder
) -> None:
    store = contradicting()
    asked = structs.replace(QUESTION, text="which CI builds do we use", min_relevance=least)
    newer, older = search(store, embedder).recall_now(asked).hits[:2]
    assert (newer.memory.id, older.memory.id) == ("m1", "m0")
    assert newer.relevance == older.relevance
    filtered = structs.replace(asked, namespaces=("decisions",))
    assert search(store, embedder).recall_now(filtered).hits[0].memory.id == "m0"


@pytest.mark.parametrize(
    "fields",
    [
        {"updated_at": NOW - timedelta(days=1)},
        {"valid_to": NOW},
        {"superseded_by": "m2"},
        {"contradicts": None},
        {"scope": Scope("project", "there")},
    ],
)
def test_what_contradicts_it_no_more_is_not_brought(
    fields: dict[str, object], embedder: Embedder
) -> None:
    store = contradicting()
    found = search(store, embedder)
    store.memories = contradicting(**fields).memories
    scopes = (HERE, Scope("project", "there"))
    asked = structs.replace(QUESTION, text="which CI builds do we use", scopes=scopes)
    assert [hit.memory.id for hit in found.recall_now(asked).hits][:1] == ["m0"]


def test_each_that_contradicts_it_and_still_does_is_brought_the_newest_first(
    embedder: Embedder,
) -> None:
    store = contradicting()
    later = {"contradicts": "m0", "updated_at": NOW + timedelta(days=2)}
    store.memories["m2"] = structs.replace(store.memories["m2"], **later)
    found = search(store, embedder)
    asked = structs.replace(QUESTION, text="which CI builds do we use")
    assert [hit.memory.id for hit in found.recall_now(asked).hits] == ["m2", "m1"]
    store.memories["m2"] = structs.replace(store.memories["m2"], valid_to=NOW)
    assert [hit.memory.id for hit in found.recall_now(asked).hits][:2] == ["m1", "m0"]


def test_what_contradicts_what_contradicts_it_is_brought_as_well_within_the_limit(
    embedder: Embedder,
) -> None:
    store = contradicting()
    later = {"contradicts": "m1", "updated_at": NOW + timedelta(days=2)}
    store.memories["m2"] = structs.replace(store.memories["m2"], **later)
    asked = structs.replace(QUESTION, text="which CI builds do we use", limit=3)
    found = search(store, embedder)
    assert [hit.memory.id for hit in found.recall_now(asked).hits] == ["m2", "m1", "m0"]
    few = structs.replace(asked, limit=2)
    assert [hit.memory.id for hit in found.recall_now(few).hits] == ["m2", "m1"]


def test_two_that_contradict_each_other_are_both_brought(embedder: Embedder) -> None:
    store = contradicting(updated_at=NOW)
    again = {"contradicts": "m1", "updated_at": NOW}
    store.memories["m0"] = structs.replace(store.memories["m0"], **again)
    asked = structs.replace(QUESTION, text="which CI builds do we use", min_relevance=0.3)
    hits = search(store, embedder).recall_now(asked).hits
    assert [hit.memory.id for hit in hits] == ["m1", "m0"]


# --- reading --------------------------------------------------------------------------------------


class FakeReranker:
    """A cross-encoder that finds ``answer`` alone to the point, and notes what it was shown."""

    def __init__(self, answer: str = "") -> None:
        self.answer = answer
        self.shown: list[tuple[str, str]] = []

    def score(self, question: str, text: str) -> float:
        self.shown.append((question, text))
        return 9.0 if self.answer and self.answer in text else -9.0


ASKED = structs.replace(QUESTION, limit=20, asked="And how do I hash passwords here?")
MANY = tuple(f"Passwords of the {n} service are hashed by {n} here" for n in "abcdefghij")


def reading(store: FakeStore, embedder: Embedder, reranker: FakeReranker) -> Search:
    searching = search(store, embedder)
    searching.reranker = reranker
    searching.rerank_budget_s = math.inf
    return searching


@pytest.fixture
def all_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stores here are small and their texts short: words alone think little of any."""
    monkeypatch.setattr("subcog.sinks.search.retriever.RERANK_MIN_RELEVANCE", 0.0)


def test_what_words_think_nothing_of_is_neither_read_nor_fetched(embedder: Embedder) -> None:
    store, reranker = FakeStore(*MANY, "Buttons are blue."), FakeReranker()
    asked = structs.replace(ASKED, text="blue buttons", min_relevance=0.45)
    reading(store, embedder, reranker).recall_now(asked)
    assert [text for _, text in reranker.shown] == ["decisions: Buttons are blue."]


@pytest.mark.usefixtures("all_read")
def test_the_first_of_a_question_are_read_as_it_was_typed_and_no_more(embedder: Embedder) -> None:
    store, reranker = FakeStore(*MANY), FakeReranker()
    words_alone = search(store, embedder).recall_now(ASKED).hits
    hits = reading(store, embedder, reranker).recall_now(ASKED).hits
    first = [
        (ASKED.asked, f"decisions: {hit.memory.content}") for hit in words_alone[:RERANK_TOP_K]
    ]
    assert sorted(reranker.shown) == sorted(first)
    assert [hit.memory for hit in hits] == [hit.memory for hit in words_alone]
    assert hits[RERANK_TOP_K:] == words_alone[RERANK_TOP_K:]
    assert len(hits) > RERANK_TOP_K
    for read, before in zip(hits[:RERANK_TOP_K], words_alone, strict=False):
        assert read.by_words == before.relevance
        assert read.relevance < before.relevance


@pytest.mark.usefixtures("all_read")
@pytest.mark.parametrize(("broad", "count"), [(False, RERANK_ENOUGH), (True, RERANK_TOP_K)])
def test_after_enough_sure_ones_no_further_one_is_read_unless_all_are_asked_for(
    embedder: Embedder, broad: bool, count: int
) -> None:
    store, reranker = FakeStore(*MANY), FakeReranker("Passwords")
    asked = structs.replace(ASKED, broad=broad)
    recalled = reading(store, embedder, reranker).recall_now(asked)
    assert len(reranker.shown) == count
    assert all(hit.relevance >= RERANK_SURE for hit in recalled.hits[:count])
    assert recalled.hits[count:] == search(store, embedder).recall_now(asked).hits[count:]
    assert recalled.degraded is None


ROLLED_OUT = "Everything gets rolled out by ArgoCD when main is tagged."
HOW_TO_DEPLOY = Query(text="deploy", scopes=(HERE,), asked="how do we deploy?")


def test_what_says_it_in_other_words_is_read_in_these_as_well(embedder: Embedder) -> None:
    store, reranker = FakeStore("Buttons are blue.", ROLLED_OUT), FakeReranker("rolled out")
    searching = reading(store, embedder, reranker)
    hit = searching.recall_now(HOW_TO_DEPLOY).hits[0]
    assert reranker.shown[:2] == [
        (question, f"decisions: {ROLLED_OUT}")
        for question in ("how do we deploy?", "how do we roll out?")
    ]
    before = search(store, embedder).recall_now(HOW_TO_DEPLOY).hits[0]
    assert hit.memory.content == ROLLED_OUT
    assert hit.by_words is not None
    assert hit.by_words > before.relevance


def test_what_other_words_are_not_enough_for_is_as_relevant_as_without_them(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    searching = reading(FakeStore("Buttons are blue.", ROLLED_OUT), embedder, FakeReranker())
    with_them = {hit.memory.id: hit for hit in searching.recall_now(HOW_TO_DEPLOY).hits}
    monkeypatch.setattr("subcog.sinks.search.retriever.MOST_WORDINGS", 0)
    without = {hit.memory.id: hit for hit in searching.recall_now(HOW_TO_DEPLOY).hits}
    assert with_them["m1"].relevance <= without["m1"].relevance


@pytest.mark.parametrize("changed", [{"pasted": True}, {"asked": ""}])
def test_other_words_are_not_searched_for_a_paste_or_where_nothing_was_typed(
    embedder: Embedder, changed: dict[str, Any]
) -> None:
    store, reranker = FakeStore("Buttons are blue.", ROLLED_OUT), FakeReranker("rolled out")
    searching = reading(store, embedder, reranker)
    searching.recall_now(structs.replace(HOW_TO_DEPLOY, **changed))
    assert "how do we roll out?" not in [question for question, _ in reranker.shown]


@pytest.mark.usefixtures("all_read")
def test_two_are_read_at_once_and_no_more_than_one_after_the_other(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Together(FakeReranker):
        both = threading.Barrier(2)

        def score(self, question: str, text: str) -> float:
            self.both.wait(PATIENCE_S)
            return super().score(question, text)

    monkeypatch.setattr("subcog.sinks.search.retriever.RERANKED_AT_ONCE", 2)
    store = FakeStore(*MANY)
    together, alone = Together(), FakeReranker()
    hits = reading(store, embedder, together).recall_now(ASKED).hits
    monkeypatch.setattr("subcog.sinks.search.retriever.RERANKED_AT_ONCE", 1)
    assert hits == reading(store, embedder, alone).recall_now(ASKED).hits
    assert sorted(together.shown) == sorted(alone.shown)


@pytest.mark.usefixtures("all_read")
def test_what_answers_comes_up_from_below_the_floor_and_what_does_not_goes(
    embedder: Embedder, store: FakeStore
) -> None:
    plain = search(store, embedder).recall_now(ASKED).hits
    best, second = plain[0].relevance, plain[1].relevance
    between = structs.replace(ASKED, min_relevance=(best + second) / 2)
    assert [hit.memory.id for hit in search(store, embedder).recall_now(between).hits] == ["m0"]
    reranker = FakeReranker(plain[1].memory.content)
    (hit,) = reading(store, embedder, reranker).recall_now(between).hits
    assert hit.memory == plain[1].memory
    assert hit.by_words == second < between.min_relevance <= hit.relevance


@pytest.mark.usefixtures("all_read")
def test_the_floor_of_a_namespace_is_one_for_words_and_not_for_what_was_read(
    embedder: Embedder, store: FakeStore
) -> None:
    everything = structs.replace(ASKED, min_relevance=0.5, floors=(("decisions", 0.0),))
    answer = "Passwords are hashed with argon2id."
    hits = reading(store, embedder, FakeReranker(answer)).recall_now(everything).hits
    assert [hit.memory.content for hit in hits] == [answer]


def test_who_only_searches_waits_for_no_reading(embedder: Embedder, store: FakeStore) -> None:
    reranker = FakeReranker()
    hits = reading(store, embedder, reranker).recall_now(QUESTION).hits
    assert reranker.shown == []
    assert hits == search(store, embedder).recall_now(QUESTION).hits
    assert [hit.by_words for hit in hits] == [None, None]


def test_a_thorough_search_reads_what_words_think_nothing_of_and_orders_by_relevance(
    embedder: Embedder,
) -> None:
    answer = "The hash is argon2id."
    store, reranker = FakeStore(*MANY, answer), FakeReranker(answer)
    asked = structs.replace(ASKED, limit=2, thorough=True)
    searching = reading(store, embedder, reranker)
    hits = searching.recall_now(asked).hits
    assert len(reranker.shown) == len(store.memories)
    assert hits[0].memory.content == answer
    assert [hit.relevance for hit in hits] == sorted((hit.relevance for hit in hits), reverse=True)
    assert len(hits) == asked.limit


def test_a_thorough_search_reads_so_many_and_no_more_and_has_time_for_them(
    embedder: Embedder,
) -> None:
    store, reranker = FakeStore(*(f"{text} {n}" for text in MANY for n in range(3))), FakeReranker()
    searching = reading(store, embedder, reranker)
    searching.rerank_budget_s = -1.0
    recalled = searching.recall_now(structs.replace(ASKED, limit=50, thorough=True))
    assert len(reranker.shown) == THOROUGH_TOP_K
    assert len(recalled.hits) == len(store.memories)
    assert (recalled.degraded, searching.cut) == (None, 0)


async def test_a_thorough_search_keeps_no_prompt_waiting(embedder: Embedder) -> None:
    reading_on = threading.Event()

    class Held(FakeReranker):
        def score(self, question: str, text: str) -> float:
            if question != ASKED.asked:
                reading_on.wait(PATIENCE_S)
            return super().score(question, text)

    searching = reading(FakeStore(*MANY), embedder, Held())
    slow = structs.replace(ASKED, asked="and slowly?", thorough=True)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(2 * THREADS):
                tasks.start_soon(searching.recall, slow)
            await anyio.lowlevel.checkpoint()
            recalled = await searching.recall(structs.replace(ASKED, asked=""))
            reading_on.set()
    assert recalled.hits


def test_before_there_is_a_reader_words_alone_decide(embedder: Embedder, store: FakeStore) -> None:
    plain = structs.replace(ASKED, asked="")
    searching = search(store, embedder)
    assert searching.recall_now(ASKED).hits == searching.recall_now(plain).hits


@pytest.mark.usefixtures("all_read")
def test_what_is_gone_from_the_store_is_not_read(embedder: Embedder, store: FakeStore) -> None:
    reranker = FakeReranker()
    searching = reading(store, embedder, reranker)
    del store.memories["m0"]
    searching.recall_now(ASKED)
    assert {text for _, text in reranker.shown} == {
        "decisions: Password resets expire after an hour.",
        "decisions: Deployments go through ArgoCD.",
    }


def test_where_reading_takes_too_long_words_decide_for_the_rest_and_that_is_told(
    embedder: Embedder,
) -> None:
    store, reranker = FakeStore(*MANY), FakeReranker()
    searching = reading(store, embedder, reranker)
    assert (searching.recall_now(ASKED).degraded, searching.cut) == (None, 0)
    reranker.shown.clear()
    searching.rerank_budget_s = -1.0
    recalled = searching.recall_now(ASKED)
    assert reranker.shown == []
    assert recalled.hits == search(store, embedder).recall_now(ASKED).hits
    assert (recalled.mode, recalled.degraded, searching.cut) == (ASKED.mode, "reranker.cut", 1)


def test_what_contradicts_is_read_once_and_not_when_time_is_over(embedder: Embedder) -> None:
    store = contradicting()
    answer = "Lunch is at noon."
    for id_, text, days in (("m2", answer, 2), ("m3", "Buttons are blue.", 3)):
        store.memories[id_] = structs.replace(
            store.memories["m2"], id=id_, content=text, contradicts="m1",
            updated_at=NOW + timedelta(days=days),
        )  # fmt: skip
    store.memories["m1"] = structs.replace(store.memories["m1"], content="No CI builds any more.")
    reranker = FakeReranker(answer)
    searching = reading(store, embedder, reranker)
    asked = structs.replace(QUESTION, text="which CI builds", asked="which CI builds?", limit=9)
    ids = [hit.memory.id for hit in searching.recall_now(asked).hits]
    assert ids[:4] == ["m2", "m3", "m1", "m0"]
    assert [text for _, text in reranker.shown].count(f"decisions: {answer}") == 1
    reranker.shown.clear()
    searching.rerank_budget_s = -1.0
    assert [hit.memory.id for hit in searching.recall_now(asked).hits][:2] == ["m3", "m2"]
    assert reranker.shown == []


def test_what_was_read_as_an_answer_is_not_read_again_beside_what_it_contradicts(
    embedder: Embedder,
) -> None:
    store = FakeStore(*(f"CI builds run on {ci}." for ci in ("Jenkins", "Woodpecker", "Tekton")))
    for at in (1, 2):
        changed = {"contradicts": "m0", "updated_at": NOW + timedelta(days=at)}
        store.memories[f"m{at}"] = structs.replace(store.memories[f"m{at}"], **changed)
    reranker = FakeReranker("Woodpecker")
    asked = structs.replace(QUESTION, text="which CI builds", asked="which CI builds?", limit=9)
    found = reading(store, embedder, reranker).recall_now(asked).hits
    assert {hit.memory.id for hit in found} == {"m0", "m1", "m2"}
    assert len(reranker.shown) == len(set(reranker.shown)) == 3


async def test_a_question_that_waited_for_its_turn_is_not_read_late(embedder: Embedder) -> None:
    class Slow(FakeReranker):
        def score(self, question: str, text: str) -> float:
            until = time.perf_counter() + RERANK_BUDGET_S
            while time.perf_counter() <= until:
                pass
            return super().score(question, text)

    reranker = Slow()
    searching = reading(FakeStore(*MANY), embedder, reranker)
    searching.rerank_budget_s = RERANK_BUDGET_S
    async with anyio.create_task_group() as tasks:
        for _ in range(3 * THREADS):
            tasks.start_soon(searching.recall, ASKED)
    assert len(reranker.shown) <= THREADS * RERANKED_AT_ONCE


def test_of_what_is_asked_in_another_script_words_decide_and_not_letters(
    embedder: Embedder,
) -> None:
    reranker = FakeReranker()
    searching = reading(
        FakeStore("Пароли хешируются через argon2id.", "Кнопки синие, ссылки подчёркнуты."),
        embedder,
        reranker,
    )
    asked = "Кнопки синие, ссылки какие?"
    query = Query(text=asked, asked=asked, scopes=(HERE,), min_relevance=0.45, limit=9)
    assert [hit.memory.id for hit in searching.recall_now(query).hits] == ["m1"]
    assert reranker.shown == []
