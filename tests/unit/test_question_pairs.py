"""What the cross-encoder learns from, and how what it says is scored and fitted."""

import json

import numpy as np
import pytest

from perf import fit_reading, fit_relevance, question_pairs
from subcog.sinks.models.cross_encoder import MEMORY_TOKENS, QUESTION_TOKENS, PairTokenizer
from subcog.sinks.models.embedder import bundled_tokenizer
from subcog.sinks.search.retriever import RERANK_ENOUGH, RERANK_TOP_K
from subcog.stages.language.answer_type import load

KINDS = {"search", "unknown", "order", "chat"}
ANSWERED = {"search"}


def _rows(path):
    head, *rows = map(json.loads, path.read_text("utf-8").splitlines())
    assert head["licence"] == "MIT"
    return rows


def _flags(count, *rows):
    flags = np.zeros(count, dtype=bool)
    flags[list(rows)] = True
    return flags


def test_every_label_names_a_memory_of_its_project():
    counts = dict.fromkeys(("projects", "memories", *KINDS), 0)
    for name in question_pairs.names():
        memories = _rows(question_pairs.HERE / f"{name}.memories.jsonl")
        ids = {row["id"] for row in memories}
        assert len(ids) == len(memories), name
        counts["projects"] += 1
        counts["memories"] += len(ids)
        for row in _rows(question_pairs.HERE / f"{name}.prompts.jsonl"):
            relevant, acceptable = set(row["relevant"]), set(row["acceptable"])
            assert relevant | acceptable <= ids, row
            assert not relevant & acceptable, row
            assert bool(relevant) == (row["kind"] in ANSWERED), row
            counts[row["kind"]] += 1
    readme = (question_pairs.HERE / "README.md").read_text("utf-8")
    assert [name for name, count in counts.items() if f"{count:,}" not in readme] == []


def test_the_first_that_are_found_are_learned_from_and_all_that_is_right():
    order = np.arange(20, 0, -1.0)
    rows = question_pairs.chosen_rows(order, _flags(20, 1, 15), _flags(20, 2, 17))
    assert rows == [0, 1, 3, 4, 15]


def test_texts_are_shortened_as_the_product_does():
    tokens = PairTokenizer()
    words = " ".join("abcdefghijklmnopqrstuvwxyz" * 8)
    asked, told = tokens.query_ids(words), tokens.memory_ids(words)
    assert (len(asked), len(told)) == (QUESTION_TOKENS + 2, MEMORY_TOKENS + 1)
    assert asked[-2] == bundled_tokenizer().token_to_id("z")
    assert asked[-1] == told[-1] == bundled_tokenizer().token_to_id("[SEP]")


@pytest.mark.parametrize(
    ("scores", "area"), [([1.0, 2, 3, 4], 1.0), ([4.0, 3, 2, 1], 0.0), ([1.0, 3, 2, 4], 0.75)]
)
def test_the_area_is_how_often_right_is_above_wrong(scores, area):
    right = np.array([False, False, True, True])
    assert question_pairs.area_under_roc(np.array(scores), right) == area


def test_what_is_not_read_keeps_the_relevance_of_its_words():
    count = RERANK_TOP_K + 2
    case = fit_relevance.Case(
        "x", "whole", "search", np.full(count, 0.5), np.arange(count, 0, -1.0), _flags(count, 0),
        _flags(count), 1, [["reason: decision"]] * count, "why", [f"m{n}" for n in range(count)],
    )  # fmt: skip
    texts = {f"m{n}": f"text {n}" for n in range(count)}
    heard = []

    def say(question, text):
        heard.append((question, text))
        return 2.0

    seen = fit_reading.seen(case, texts, say)
    assert heard == [("why", f"text {n}") for n in range(RERANK_TOP_K)]
    by_words = 1 / (1 + np.exp(-load().named["reason: decision"]))
    for weight, read in ((0.1, RERANK_TOP_K), (1.0, RERANK_ENOUGH)):
        probable = fit_reading.after_reading(seen, ((np.array([0.0, weight, 0.0]), 0.0), {}))
        assert probable[:read] == pytest.approx(1 / (1 + np.exp(-2 * weight)))
        assert probable[read:] == pytest.approx(by_words)
