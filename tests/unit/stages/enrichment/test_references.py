from datetime import timedelta

import pytest

from subcog.bus.enrichment import SimilarTask
from subcog.stages.enrichment.guide_parser import read_guide
from subcog.stages.enrichment.references import MAX_REFERENCES, find_references, known_of, resolve
from tests.fakes import NOW, make_hit, make_memory
from tests.waiting import ends_soon


def hit(number, content, relevance=0.5, **changes):
    return make_hit(make_memory(number, content, **changes), relevance)


def resolved(text, *hits, tasks=(), guides=()):
    return resolve(find_references(text), known_of(hits, tasks, guides), NOW)


def test_a_thing_is_what_has_its_name():
    auth = hit(1, "Auth sessions live in Redis", 0.4)
    (found,) = resolved("what about the auth thing", auth, hit(2, "Invoices are PDFs", 0.6))
    assert (found.text, found.id) == ("the auth thing", auth.memory.id)
    assert 0.5 <= found.confidence < 1


def test_another_word_of_the_same_field_is_less_sure_than_the_name():
    by_field = resolved("the auth thing", hit(1, "Login uses OAuth", 0.4))
    by_name = resolved("the auth thing", hit(1, "auth uses OAuth", 0.4))
    assert by_field[0].confidence < by_name[0].confidence


def test_a_number_is_the_memory_that_has_it():
    hits = hit(1, "fixed in #1234", 0.9), hit(2, "PR #123: use uv", 0.1), hit(3, "PAY-42 is open")
    assert [one.id for one in resolved("see #123", *hits)] == [hits[1].memory.id]
    assert [one.id for one in resolved("see PAY-42", *hits)] == [hits[2].memory.id]
    assert resolved("see #99", *hits) == ()


def test_last_time_is_a_task_that_is_alike():
    task = read_guide(make_memory(7, "Implement Google OAuth", namespace="tasks"))
    alike = SimilarTask(id=task.memory_id, input=task.title, similarity=0.8, outcome="success")
    hits = [hit(1, "Prefer tabs", 0.9, namespace="preferences")]
    (found,) = resolved("add auth like last time", *hits, tasks=[alike], guides=[task])
    assert (found.id, found.confidence) == (task.memory_id, 0.8)


@pytest.mark.parametrize(
    ("age", "is_surer"), [(timedelta(hours=20), True), (timedelta(days=40), False)]
)
def test_a_time_prefers_what_is_of_it(age, is_surer):
    old = hit(1, "the auth cache was turned off", 0.5, updated_at=NOW - age)
    (found,) = resolved("the auth thing from yesterday", old) or (None,)
    assert (found is not None) == is_surer


def test_nothing_sure_is_nothing():
    assert resolved("the auth thing", hit(1, "Invoices are PDFs", 0.9)) == ()
    assert resolved("like last time") == ()
    assert resolved("rename foo", hit(1, "foo", 0.9)) == ()


@pytest.mark.parametrize(
    ("text", "reference", "kind", "about"),
    [
        ("do the auth thing from yesterday", "the auth thing from yesterday", "subject", "auth"),
        ("what about the auth thing?", "the auth thing", "subject", "auth"),
        ("run that migration again", "that migration", "subject", "migration"),
        ("what about the bug we fixed", "the bug we fixed", "subject", "bug"),
        ("the cache problem from two weeks ago", None, "subject", "cache problem"),
        ("as we discussed, use uv", "as we discussed", "time", ""),
        ("same as last time", "same as last time", "time", ""),
        ("do it like last time", "like last time", "time", ""),
        ("see PR #123", "PR #123", "number", "123"),
        ("see #123", "#123", "number", "123"),
        ("see PAY-42 there", "PAY-42", "number", "PAY-42"),
    ],
)
def test_what_points_back_is_found_with_what_it_names(text, reference, kind, about):
    found = {(one.text, one.kind, one.about) for one in find_references(text)}
    assert (reference or text, kind, about) in found


@pytest.mark.parametrize(
    "text",
    ["rename foo to bar", "make the button blue", "that is fine", "I like that", "a#1b", "/x#12"],
)
def test_a_text_that_points_at_nothing_has_none(text):
    assert find_references(text) == ()


def test_the_longest_phrase_counts_and_each_but_once():
    (found,) = find_references("the auth thing from yesterday")
    assert found.text == "the auth thing from yesterday"
    assert len(find_references("#1 #1 #1")) == 1
    assert len(find_references(" ".join(f"#{n}" for n in range(50)))) == MAX_REFERENCES


def test_hostile_text_is_read_in_linear_time():
    with ends_soon():
        for unit in ("the the ", "the x from ", "that thing ", "#1", "the a b c ", "like ", "A-1"):
            find_references(unit * 8000)
