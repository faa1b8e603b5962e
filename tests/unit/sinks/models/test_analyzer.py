import re
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.bus.values import Memory, Scope
from subcog.sinks.models import analyzer as module
from subcog.sinks.models.analyzer import BREAK, Analyzer, searchable, text_encoding, tokenize
from tests.fakes import make_memory
from tests.waiting import ends_soon

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def same(one: str, other: str) -> bool:
    words = Analyzer()
    return words.terms(one).tolist() == words.terms(other).tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("migrations", "migration"),
        ("running the tests", "run test"),
        ("parseHTTPResponse", "parse http response parsehttpresponse"),
        ("snake_case_name", "snake case name"),
        ("Mödling", "modling"),
        ("the of and it", ""),
        ("ERROR", "error"),
    ],
)
def test_texts_that_say_the_same_have_the_same_terms(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("port 8080", "port 8081"), ("ipv4", "ipv6"), ("cat", "dog"), ("東京", "大阪")],
)
def test_texts_that_differ_in_a_word_or_number_have_other_terms(one: str, other: str) -> None:
    assert not same(one, other)


@given(st.lists(st.text("abXY", min_size=1)), st.sampled_from((" ", "1", "_", ", ")))
def test_every_word_with_a_hump_counts_as_a_whole(words: list[str], between: str) -> None:
    pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|1", between.join(words))
    humped = [word for word in words if re.search("[a-z][A-Z]", word)]
    assert tokenize(between.join(words)) == pieces + humped


def test_a_long_run_without_a_hump_is_read_soon() -> None:
    with ends_soon():
        assert len(tokenize("anOdd " + "a" * 100_000)) == 4


def test_a_word_counts_as_often_as_it_occurs() -> None:
    terms = Analyzer().terms("retry, then retry, then Retry")
    assert len(terms) == 3
    assert len(np.unique(terms)) == 1


def test_terms_do_not_depend_on_the_order_of_words() -> None:
    assert (
        Analyzer().terms("passwords hashing").tolist()
        == Analyzer().terms("hashing passwords").tolist()
    )


def test_the_memory_of_stems_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHE_LIMIT", 10)
    words = Analyzer()
    before = words.terms("alpha")
    words.terms(" ".join(f"x{number}y" for number in "abcdefghijklmnopqrstuvw"))
    assert len(words._terms) <= 10
    assert words.terms("alpha").tolist() == before.tolist()


def memory(content: str, summary: str = "", tags: tuple[str, ...] = ()) -> Memory:
    return Memory(
        id="mem_1", scope=Scope("project", "p"), namespace="context", content=content,
        summary=summary, tags=tags, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def test_a_memory_is_found_by_content_summary_and_tags() -> None:
    text = searchable(memory("We chose Kafka.", "message queue", ("events", "infra")))
    assert text == "We chose Kafka.\nmessage queue\nevents infra"


def test_a_summary_that_is_cut_from_the_content_counts_once() -> None:
    assert searchable(memory("We chose Kafka for replay.", "We chose Kafka…")) == (
        "We chose Kafka for replay."
    )


def test_an_encoding_for_text_alone_has_terms_and_no_vectors() -> None:
    encoding = text_encoding("hash passwords", Analyzer())
    assert len(encoding.terms) == 8
    assert encoding.model == ""
    assert encoding.vectors == b""


def test_questions_are_searched_and_stand_apart_from_the_text():
    memory = make_memory(1, "We roll it out with ArgoCD.", questions=("how do we deploy?", "who?"))
    assert searchable(memory).split(BREAK)[1:] == ["how do we deploy?", "who?"]
    found = set(Analyzer().terms(searchable(memory)).tolist())
    assert set(Analyzer().terms("deploy ArgoCD").tolist()) <= found
