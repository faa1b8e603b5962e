import json
from pathlib import Path

import pytest
from msgspec import to_builtins

from subcog.pipeline.evaluation.retrieval import METRICS, MODES, evaluate, measures

MEMORIES = [
    {"id": "a", "text": "Passwords are hashed with argon2id.", "scope": "one"},
    {"id": "b", "text": "Deployments go through ArgoCD.", "scope": "one", "tags": ["deploy"]},
    {"id": "c", "text": "Passwords are hashed with bcrypt.", "scope": "two"},
]
QUERIES = [
    {"id": "1", "query": "how are passwords hashed", "relevant": ["a"], "scope": "one"},
    {"id": "2", "query": "deployments", "relevant": ["b", "missing"], "scope": "one"},
    {"id": "3", "query": "how are passwords hashed", "relevant": ["c"], "scope": "two"},
    {"id": "4", "query": "nothing is relevant", "relevant": [], "scope": "two"},
]


def written(folder: Path, memories: list[dict], queries: list[dict]) -> Path:
    for name, rows in (("memories", memories), ("queries", queries)):
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(lines + "\n")
    return folder


def quiet(done: int, total: int) -> None:
    pass


def test_the_result_has_the_documented_keys(tmp_path: Path) -> None:
    result = to_builtins(evaluate(written(tmp_path, MEMORIES, QUERIES), progress=quiet))
    assert set(result) == {"dataset", "memories", "queries", "modes", "latency_ms"}
    assert (result["dataset"], result["memories"], result["queries"]) == (tmp_path.name, 3, 3)
    assert set(result["modes"]) == set(MODES)
    for figures in result["modes"].values():
        assert set(figures) == {*METRICS, "interval"}
        assert set(figures["interval"]) == set(METRICS)
    assert set(result["latency_ms"]) == {"p50", "p95", "p99"}


def test_a_query_sees_its_own_scope_alone(tmp_path: Path) -> None:
    result = to_builtins(evaluate(written(tmp_path, MEMORIES, QUERIES), progress=quiet))
    for figures in result["modes"].values():
        assert figures["recall@1"] == pytest.approx((1 + 0.5 + 1) / 3)
        assert figures["mrr"] == 1.0


def test_a_query_without_a_scope_sees_everything(tmp_path: Path) -> None:
    query = {"id": "1", "query": "bcrypt argocd", "relevant": ["b", "c"]}
    result = to_builtins(evaluate(written(tmp_path, MEMORIES, [query]), progress=quiet))
    assert result["modes"]["text"]["recall@5"] == 1.0


def test_the_figures_are_the_same_every_time(tmp_path: Path) -> None:
    folder = written(tmp_path, MEMORIES, QUERIES)
    one, other = (evaluate(folder, progress=quiet).modes for _ in range(2))
    assert one == other


def test_intervals_hold_the_mean(tmp_path: Path) -> None:
    result = to_builtins(evaluate(written(tmp_path, MEMORIES, QUERIES), progress=quiet))
    figures = result["modes"]["hybrid"]
    for name in METRICS:
        low, high = figures["interval"][name]
        assert low <= figures[name] <= high


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    evaluate(written(tmp_path, MEMORIES, QUERIES), progress=lambda *step: heard.append(step))
    assert heard[-1] == (12, 12)
    assert heard == sorted(heard)


def test_measures_follow_their_definitions() -> None:
    found = ["x", "a", "y", "b"]
    values = dict(zip(METRICS, measures(found, frozenset("ab")), strict=True))
    assert values["recall@1"] == 0
    assert values["recall@5"] == 1
    assert values["hit@5"] == 1
    assert values["mrr"] == 0.5
    ideal = 1 + 1 / 1.5849625
    assert values["ndcg@10"] == pytest.approx((1 / 1.5849625 + 1 / 2.3219281) / ideal)


def test_past_the_tenth_nothing_counts() -> None:
    found = [f"x{n}" for n in range(10)] + ["a"]
    assert measures(found, frozenset("a")) == (0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("queries", "{", "line 5"),
        ("queries", '{"id": "q", "query": "x"}', "relevant"),
        ("memories", '{"id": "z"}', "text"),
        ("memories", '{"id": "a", "text": "again"}', "more than once"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, name: str, line: str, said: str) -> None:
    folder = written(tmp_path, MEMORIES, QUERIES)
    with (folder / f"{name}.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=said):
        evaluate(folder, progress=quiet)


def test_a_folder_without_the_files_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        evaluate(tmp_path, progress=quiet)


def test_a_folder_without_judgements_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no query"):
        evaluate(written(tmp_path, MEMORIES, QUERIES[3:]), progress=quiet)


def test_the_table_shows_every_mode(tmp_path: Path) -> None:
    table = "\n".join(evaluate(written(tmp_path, MEMORIES, QUERIES), progress=quiet).lines())
    assert all(mode in table for mode in MODES)
    assert "ndcg@10" in table
