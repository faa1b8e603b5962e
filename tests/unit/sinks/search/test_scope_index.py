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


def scores(shelf: ScopeIndex, *terms: int) -> dict[str, float]:
    found = shelf.find(np.array(terms, dtype=np.uint32), shelf.rows)
    weights = np.ones(len(terms), dtype=np.float32)
    values = shelf.bm25(found, weights, shelf.terms_total / len(shelf), shelf.rows)
    return dict(zip(shelf.table.ids, values.tolist(), strict=True))


def test_more_occurrences_score_more_and_longer_memories_less() -> None:
    shelf = ScopeIndex(4)
    shelf.extend([entry("once", 1, 2), entry("twice", 1, 1), entry("long", 1, 2, 3, 4, 5, 6)])
    found = scores(shelf, 1)
    assert found["twice"] > found["once"] > found["long"] > 0


def test_bm25_follows_its_formula() -> None:
    shelf = ScopeIndex(4)
    shelf.extend([entry("a", 1, 1, 2), entry("b", 3)])
    norm = 1.2 * (1 - 0.75 + 0.75 * 3 / 2)
    assert scores(shelf, 1)["a"] == pytest.approx(2.2 * 2 / (2 + norm))
    assert scores(shelf, 1)["b"] == 0


def test_without_filters_or_dead_rows_everything_is_allowed() -> None:
    shelf = ScopeIndex(4)
    shelf.extend([entry("a", 1), entry("b", 2)])
    assert shelf.allowed(ANY, NOW, shelf.rows) is None


def test_the_dead_and_the_ended_are_not_allowed() -> None:
    shelf = ScopeIndex(4)
    shelf.extend([entry("a", 1), entry("b", 2, valid_to=NOW), entry("c", 3)])
    shelf.remove("c")
    allowed = shelf.allowed(ANY, NOW, shelf.rows)
    assert allowed is not None
    assert allowed.tolist() == [True, False, False]


def test_the_last_of_equal_ids_counts() -> None:
    shelf = ScopeIndex(4)
    shelf.extend([entry("a", 1), entry("a", 2)])
    assert len(shelf) == 1
    assert scores(shelf, 2)["a"] > 0


def test_a_copy_without_the_dead_answers_as_before() -> None:
    shelf = ScopeIndex(4)
    shelf.extend([entry(f"m{n}", n, 7, tags=("even",) if n % 2 == 0 else ()) for n in range(20)])
    for n in range(0, 20, 3):
        shelf.remove(f"m{n}")
    kept = shelf.kept()
    before = {name: score for name, score in scores(shelf, 7).items() if name in shelf.row_of}
    assert scores(kept, 7) == pytest.approx({name: before[name] for name in kept.table.ids})
    tagged = kept.allowed(Query(text="", scopes=(HERE,), tags=("EVEN",)), NOW, kept.rows)
    assert tagged is not None
    names = [name for name, flag in zip(kept.table.ids, tagged, strict=True) if flag]
    assert names == [f"m{n}" for n in range(0, 20, 2) if n % 3]


def test_moments_are_compared_to_the_microsecond() -> None:
    later = NOW + timedelta(microseconds=1)
    assert microseconds(later) - microseconds(NOW) == 1
