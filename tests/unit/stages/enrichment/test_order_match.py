import pytest

from subcog.bus.triggers import Trigger
from subcog.stages.breaches.stated import warning_keys
from subcog.stages.breaches.triggers import ORDERED, order_keys
from subcog.stages.enrichment.order_match import FLOOR, features, needed_for
from tests.fakes import make_memory

ORDER = "add an endpoint for refunds"


def memory(number, *orders):
    triggers = tuple(Trigger(order=one) for one in orders)
    return make_memory(number, f"text {number}", triggers=triggers)


def near(**of):
    """Cosines by the first word of a text."""
    return lambda _, others: tuple(of.get(other.split()[0], 0.1) for other in others)


def test_the_nearest_of_its_orders_and_its_text_count_and_the_lead_before_others():
    found = [(memory(1, "refund one", "route"), 4.0), (memory(2, "route"), 3.0)]
    first, second = features(ORDER, found, near(refund=0.8, route=0.5, text=0.3))
    assert first == pytest.approx((0.8, 0.3, 4.0, 0.8 - 0.5 / 7, 4.0 - 3.0 / 7))
    assert second == pytest.approx((0.5, 0.3, 3.0, 0.5 - 0.8 / 7, 3.0 - 4.0 / 7))


def test_two_that_are_needed_for_the_same_order_both_come():
    found = [(memory(n, "refund"), 9.0) for n in range(2)]
    assert len(needed_for(ORDER, found, near(refund=0.9, text=0.2))) == 2


def test_only_what_is_likely_comes_best_first():
    found = [(memory(n, word), 8.0) for n, word in enumerate(("far", "near", "nearest"))]
    rated = needed_for(ORDER, found, near(far=0.1, near=0.79, nearest=0.8, text=0.6))
    assert [one.id for one, _ in rated] == [make_memory(2).id, make_memory(1).id]
    assert rated[0][1] > rated[1][1] >= FLOOR
    assert needed_for(ORDER, [], near()) == []


def test_without_vectors_nothing_can_tell():
    found = [(memory(1, "refund"), 9.0)]
    assert needed_for(ORDER, found, lambda _, others: (None,) * len(others)) == []


def test_an_order_has_a_key_a_word_and_what_is_needed_for_it_the_same():
    assert order_keys("Add the refund endpoints, add them") == (
        "order add",
        "order refund",
        "order endpoint",
    )
    keys = warning_keys(memory(1, "add refund endpoint", "bump the base image"))
    assert set(keys) == {ORDERED, *order_keys("add refund endpoint bump base image")}
    assert warning_keys(memory(1)) == ()
