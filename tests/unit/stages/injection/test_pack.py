import pytest

from subcog.stages.injection.pack import Budget, Offer, pack
from subcog.stages.text.envelope import Note, wrap
from subcog.stages.text.unicode import count_tokens, count_units
from tests.fakes import NOW


def offer(name, *texts, value=0.7):
    notes = tuple(Note(id=name, namespace="context", created_at=NOW, text=text) for text in texts)
    return Offer(name, value, lambda: notes)


def packed(offers, ceiling=10, tokens=2000, units=8000):
    return pack(offers, ceiling=ceiling, budget=Budget(tokens, units), now=NOW)


def cost(*texts):
    return count_tokens(wrap([note for text in texts for note in offer("m", text).notes], now=NOW))


def test_everything_fits_into_enough_and_stays_in_its_order():
    result = packed([offer("a", "one"), offer("b", "two"), offer("c", "three")])
    assert result.ids == ("a", "b", "c")
    assert result.tokens == count_tokens(result.text)
    assert result.refused == {}


def test_nothing_is_packed_into_nothing():
    assert packed([]).text == ""
    assert packed([offer("a", "one")], tokens=0).ids == ()
    assert packed([offer("a", "one")], ceiling=0).refused == {"a": "over the ceiling of 0"}


def test_two_that_are_worth_more_together_come_before_a_long_one():
    long = "word " * 80
    offers = [offer("long", long, value=0.9), offer("a", "one"), offer("b", "two")]
    result = packed(offers, tokens=cost(long) + 10)
    assert result.ids == ("a", "b")
    assert result.refused == {"long": "does not fit into what is left of the budget"}


def test_the_shorter_note_of_a_memory_is_taken_where_the_longer_does_not_fit():
    result = packed([offer("a", "word " * 300, "word and more")], tokens=cost("word and more"))
    assert result.ids == ("a",)
    assert "word and more" in result.text


def test_one_beyond_the_ceiling_stands_in_for_one_that_does_not_fit():
    offers = [offer("a", "word " * 300, value=0.9), offer("b", "two"), offer("c", "three")]
    result = packed(offers, ceiling=2, tokens=cost("two", "three") + 5)
    assert result.ids == ("b", "c")


def test_units_are_a_budget_too():
    rockets = "🚀" * 300
    result = packed([offer("a", rockets), offer("b", "two")], tokens=9999, units=400)
    assert result.ids == ("b",)
    assert count_units(result.text) <= 400


@pytest.mark.parametrize("tokens", range(60, 260, 3))
def test_the_text_itself_is_inside_the_budget_where_estimates_do_not_add_up(tokens):
    # Of some texts the marks decide what they cost, of others the length.
    offers = [offer("marks", "a.b:c;d!e?" * 4, value=0.9)]
    offers += [offer(f"gaps{number}", f"a{' ' * 90}b") for number in range(9)]
    assert count_tokens(packed(offers, tokens=tokens).text) <= tokens


def test_what_stands_in_is_written_only_when_it_is_needed():
    written = []

    def lazy(name):
        note = Note(id=name, namespace="context", created_at=NOW, text=name)
        return Offer(name, 0.7, lambda: written.append(name) or (note,))

    assert packed([lazy("a"), lazy("b"), lazy("c")], ceiling=2).ids == ("a", "b")
    assert sorted(written) == ["a", "b"]
