import json
import os
from datetime import date
from pathlib import Path

import pytest
from msgspec import to_builtins

from subcog.config.load import load_settings
from subcog.pipeline.evaluation.common import Shown
from subcog.pipeline.evaluation.injections import (
    JudgedPrompt,
    Part,
    Report,
    evaluate,
    figures,
)

MEMORIES = [
    {"id": "a", "text": "We use argon2id for password hashing.", "namespace": "decisions"},
    {"id": "b", "text": "Deployments go through ArgoCD, never by hand.", "tags": ["deploy"]},
    {"id": "c", "text": "The label printer takes only ISO-8859-1.", "namespace": "gotchas"},
]
PROMPTS = [
    {"id": "1", "prompt": "how do we hash passwords with argon2id?", "relevant": ["a"]},
    {"id": "2", "prompt": "rename foo to bar", "relevant": [], "kind": "order"},
    {"id": "3", "prompt": "how do we hash passwords with argon2id?", "relevant": ["a"]},
]
SETTINGS = load_settings(Path(os.devnull), {}).settings


def written(folder: Path, memories: list[dict], prompts: list[dict]) -> Path:
    for name, rows in (("memories", memories), ("prompts", prompts)):
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(lines + "\n")
    return folder


def run(folder: Path) -> Report:
    return evaluate(folder, settings=SETTINGS, progress=lambda done, total: None)


def answered(injected: tuple[str, ...], tokens: int = 10, **judged: object) -> Shown:
    fields = {"id": "p", "prompt": "?", "relevant": ()}
    return Shown(JudgedPrompt(**(fields | judged)), frozenset(injected), tokens, 1.0)


def test_the_product_answers_and_each_prompt_is_its_own_session(tmp_path: Path) -> None:
    report = run(written(tmp_path, MEMORIES, PROMPTS))
    assert set(to_builtins(report)) == {
        "prompts",
        "precision",
        "recall",
        "silent_rate",
        "by_kind",
        "median_tokens",
        "latency_ms",
    }
    assert (report.prompts, report.precision, report.recall) == (3, 1.0, 1.0)
    assert report.silent_rate == 1.0
    assert report.by_kind["order"] == Part(prompts=1, precision=None, recall=None, silent_rate=1.0)
    assert report.median_tokens > 0
    assert set(report.latency_ms) == {"p50", "p95", "p99"}


def test_acceptable_memories_are_right_but_not_wanted() -> None:
    made = figures(
        [
            answered(("a", "b", "x"), relevant=("a", "c"), acceptable=("b",)),
            answered((), relevant=("d",)),
        ]
    )
    assert (made.precision, made.recall) == (0.6667, 0.3333)


def test_silence_counts_where_nothing_is_relevant_even_for_what_is_acceptable() -> None:
    made = figures(
        [
            answered(("a",), acceptable=("a",), kind="unknown"),
            answered((), kind="unknown"),
            answered((), kind="chat"),
            answered((), relevant=("a",)),
        ]
    )
    assert made.silent_rate == 0.6667
    assert made.by_kind["unknown"].silent_rate == 0.5
    assert made.by_kind["search"].silent_rate is None


def test_tokens_are_those_of_prompts_that_got_something() -> None:
    made = figures([answered(("a",), 100), answered(("a",), 300), answered((), 0)])
    assert made.median_tokens == 200.0


def test_a_floor_that_nothing_reaches_injects_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path, MEMORIES, PROMPTS)
    env = {"SUBCOG_SEARCH_INTENT_CONTEXT_MIN_RELEVANCE": "1.0"}
    settings = load_settings(Path(os.devnull), env).settings
    report = evaluate(folder, settings=settings, progress=lambda done, total: None)
    assert (report.precision, report.recall, report.median_tokens) == (0.0, 0.0, 0.0)


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    folder = written(tmp_path, MEMORIES, PROMPTS)
    evaluate(folder, settings=SETTINGS, progress=lambda *step: heard.append(step))
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_a_table_for_people_names_every_kind(tmp_path: Path) -> None:
    text = "\n".join(run(written(tmp_path, MEMORIES, PROMPTS)).lines())
    assert [line.split()[0] for line in text.splitlines()[:4]] == ["kind", "search", "order", "all"]


@pytest.mark.parametrize(
    ("file", "line"),
    [("prompts", '{"id": "1"}'), ("memories", "{"), ("prompts", '{"id": 1}')],
)
def test_a_bad_line_is_named_by_file_and_number(tmp_path: Path, file: str, line: str) -> None:
    folder = written(tmp_path, MEMORIES, PROMPTS)
    with (folder / f"{file}.jsonl").open("a") as lines:
        lines.write(line)
    with pytest.raises(ValueError, match=rf"{file}.jsonl, line 4"):
        run(folder)


def test_nothing_to_evaluate_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no memories, or no prompts"):
        run(written(tmp_path, MEMORIES, []))


def test_an_id_used_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="more than once"):
        run(written(tmp_path, [*MEMORIES, MEMORIES[0]], PROMPTS))


def test_a_question_about_a_time_is_typed_on_the_day_that_is_given(tmp_path: Path) -> None:
    memories = [
        {"id": "a", "text": "The queue moved to valkey.", "created_at": "2026-10-04T10:00:00Z"},
        {"id": "b", "text": "The logo is green now.", "created_at": "2026-10-01T10:00:00Z"},
    ]
    prompts = [{"id": "1", "prompt": "what did we do yesterday?", "relevant": ["a"]}]
    folder = written(tmp_path, memories, prompts)

    def on(day: int) -> tuple[float, float]:
        report = evaluate(
            folder,
            settings=SETTINGS,
            progress=lambda done, total: None,
            today=date(2026, 10, day),
        )
        return report.precision, report.recall

    assert on(5) == (1.0, 1.0)
    assert on(2) == (0.0, 0.0)
    assert on(9) == (0.0, 0.0)
