from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from subcog.bus.values import Memory, Query, Scope
from subcog.sinks.search.scope_index import Entry, ScopeIndex, microseconds

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Scope("project", "here")
ANY = Query(text="", scopes=(HERE,))


def entry(name: str, *terms: int, **more: object) -> Entry:
    fields = {"namespace": "context", "created_at": NOW, **more}
    memory = Memory(id=name, scope=HERE, content="", summary="", updated_at=NOW, **fields)  # type: ignore[arg-type]
    return Entry(memory, np.sort(np.array(terms, dtype=np.uint32)), None)


def scores(scope_index: ScopeIndex, *terms: int) -> dict[str, float]:
    found = scope_index.find(np.array(terms, dtype=np.uint32), scope_index.rows)
    weights = np.ones(len(terms), dtype=np.float32)
    values = scope_index.bm25(
        found, weights, scope_index.terms_total / len(scope_index), scope_index.rows
    )
    return dict(zip(scope_index.table.ids, values.tolist(), strict=True))


def test_more_occurrences_score_more_and_longer_memories_less() -> None:
    scope_index = ScopeIndex(4)
    scope_index.extend([entry("once", 1, 2), entry("twice", 1, 1), entry("long", 1, 2, 3, 4, 5, 6)])
    found = scores(scope_index, 1)
    assert found["twice"] > found["once"] > found["long"] > 0


def test_bm25_follows_its_formula() -> None:
    scope_index = ScopeIndex(4)
    scope_index.extend([entry("a", 1, 1, 2), entry("b", 3)])
    norm = 1.2 * (1 - 0.75 + 0.75 * 3 / 2)
    assert scores(scope_index, 1)["a"] == pytest.approx(2.2 * 2 / (2 + norm))
    assert scores(scope_index, 1)["b"] == 0


def test_without_filters_or_dead_rows_everything_is_allowed() -> None:
    scope_index = ScopeIndex(4)
    scope_index.extend([entry("a", 1), entry("b", 2)])
    assert scope_index.allowed(ANY, NOW, scope_index.rows) is None


def test_the_dead_and_the_ended_are_not_allowed() -> None:
    scope_index = ScopeIndex(4)
    scope_index.extend([entry("a", 1), entry("b", 2, valid_to=NOW), entry("c", 3)])
    scope_index.remove("c")
    allowed = scope_index.allowed(ANY, NOW, scope_index.rows)
    assert allowed is not None
    assert allowed.tolist() == [True, False, False]


def test_the_last_of_equal_ids_counts() -> None:
    scope_index = ScopeIndex(4)
    scope_index.extend([entry("a", 1), entry("a", 2)])
    assert len(scope_index) == 1
    assert scores(scope_index, 2)["a"] > 0


def test_a_copy_without_the_dead_answers_as_before() -> None:
    scope_index = ScopeIndex(4)
    scope_index.extend(
        [entry(f"m{n}", n, 7, tags=("even",) if n % 2 == 0 else ()) for n in range(20)]
    )
    for n in range(0, 20, 3):
        scope_index.remove(f"m{n}")
    compacted = scope_index.compacted()
    before = {
        name: score for name, score in scores(scope_index, 7).items() if name in scope_index.row_of
    }
    assert scores(compacted, 7) == pytest.approx(
        {name: before[name] for name in compacted.table.ids}
    )
    tagged = compacted.allowed(Query(text="", scopes=(HERE,), tags=("EVEN",)), NOW, compacted.rows)
    assert tagged is not None
    names = [name for name, flag in zip(compacted.table.ids, tagged, strict=True) if flag]
    assert names == [f"m{n}" for n in range(0, 20, 2) if n % 3]


def test_moments_are_compared_to_the_microsecond() -> None:
    later = NOW + timedelta(microseconds=1)
    assert microseconds(later) - microseconds(NOW) == 1
