"""What is held in memory is what was committed."""

import numpy as np

from subcog.sinks.store import caches
from subcog.sinks.store.caches import CurrentVersions, Fingerprints


def test_fingerprints_are_known_from_the_start_or_since():
    prints = Fingerprints(np.array([5, -3, 9], dtype=np.int64))
    prints.update([7, None, -(2**63)])

    assert all(each in prints for each in (5, -3, 9, 7, -(2**63)))
    assert not any(each in prints for each in (0, 6, 2**63 - 1))


def test_very_many_new_fingerprints_are_sorted_in(monkeypatch):
    monkeypatch.setattr(caches, "_FOLDED", 10)
    prints = Fingerprints(np.array([1_000], dtype=np.int64))
    for number in range(25):
        prints.update([number])

    assert all(number in prints for number in (*range(25), 1_000))
    assert len(prints._new) < 10


def test_a_memory_that_never_changed_is_in_its_first_version():
    changed = CurrentVersions({"a": 4})
    changed.note("a", 3)
    changed.note("b", 2)

    assert [changed.version(each) for each in "abc"] == [4, 2, 1]
