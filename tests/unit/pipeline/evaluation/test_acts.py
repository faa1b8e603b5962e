import json
import os
from pathlib import Path

import pytest

from subcog.config.load import load_settings
from subcog.pipeline.evaluation.acts import (
    JudgedAct,
    JudgedOrder,
    Orders,
    Report,
    evaluate,
    figures,
)
from subcog.pipeline.evaluation.common import Shown, scratch_app

MEMORIES = [
    {
        "id": "a",
        "text": "Never run `make reset-db` on staging; use `make reset-local`.",
        "namespace": "gotchas",
        "created_at": "2026-03-02",
    },
    {"id": "b", "text": "OAuth callback URLs must match exactly.", "namespace": "gotchas"},
]
ORDERS = [
    {"id": "o1", "prompt": "add the GitHub OAuth login", "relevant": ["b"], "acceptable": []},
    {"id": "o2", "prompt": "rename foo to bar", "relevant": []},
]
ACTS = [
    {
        "id": "a1",
        "tool_name": "Bash",
        "tool_input": {"command": "make reset-db"},
        "relevant": ["a"],
    },
    {"id": "a2", "tool_name": "Bash", "tool_input": {"command": "make test"}, "relevant": []},
    {"id": "a3", "tool_name": "Read", "tool_input": {"file_path": "/p/a.py"}, "relevant": []},
]
SETTINGS = load_settings(Path(os.devnull), {}).settings


def run(folder: Path, **files: list[dict]) -> Report:
    for name, rows in ({"memories": MEMORIES, "orders": ORDERS, "acts": ACTS} | files).items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return evaluate(folder, settings=SETTINGS, progress=lambda done, total: None)


def test_acts_and_orders_go_through_the_product(tmp_path: Path) -> None:
    report = run(tmp_path)
    assert report.acts.by_tool.keys() == {"Bash", "Read"}
    for made in (report.acts, report.orders):
        assert made.precision == made.recall == made.silent_rate == 1.0
    assert (report.acts.acts, report.orders.orders) == (3, 2)
    assert report.median_tokens > 0
    assert report.latency_ms.keys() == {"p50", "p95", "p99"}
    assert "orders" in "\n".join(report.lines())


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"acts\.jsonl, line 1"):
        run(tmp_path, acts=[{"id": "a1"}])
    with pytest.raises(ValueError, match=r"memories\.jsonl, line 1"):
        run(tmp_path, memories=[MEMORIES[0] | {"created_at": "last spring"}])
    with pytest.raises(ValueError, match="no memories"):
        run(tmp_path, memories=[])


def shown(*ids: str, relevant: tuple[str, ...] = (), acceptable: tuple[str, ...] = ()) -> Shown:
    judged = JudgedOrder(id="o", prompt="?", relevant=relevant, acceptable=acceptable)
    return Shown(judged, frozenset(ids), 10, 1.0)


def test_what_may_be_shown_is_right_and_need_not_be_found() -> None:
    orders = [
        shown("a", "b", "x", relevant=("a", "c"), acceptable=("b",)),
        shown("x"),
        shown(),
    ]
    report = figures(orders, []).orders
    assert report == Orders(orders=3, precision=0.5, recall=0.5, silent_rate=0.5)


def test_a_share_of_nothing_is_none() -> None:
    act = JudgedAct(id="a", tool_name="Bash", tool_input=b"{}", relevant=())
    report = figures([], [Shown(act, frozenset(), 0, 1.0)]).acts
    assert (report.precision, report.recall, report.silent_rate) == (None, None, 1.0)
    assert report.by_tool["Bash"].acts == 1


async def test_an_error_within_the_product_comes_out_as_it_is() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        async with scratch_app(SETTINGS):
            raise ValueError("cannot be read")
