import pytest
from msgspec.structs import replace

from subcog.bus.events import IntentRefined
from subcog.bus.prompts import DetectionSource, IntentType, Vote
from subcog.stages.classify import changes_context, with_intent
from tests.fakes import make_classified, make_hits, make_intent, make_settings


def refined(before, after, hits=None):
    vote = Vote(racer=DetectionSource.LLM, intent=after, took_ms=600)
    classified = make_classified(make_hits(3) if hits is None else hits, before)
    return IntentRefined(trace="t1", classified=classified, vote=vote, intent=after)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (None, make_intent(90), True),
        (make_intent(30), make_intent(90), True),
        (make_intent(65), make_intent(65, intent_type=IntentType.LOCATION), True),
        (make_intent(65), make_intent(90), True),
        (make_intent(65), make_intent(70), False),
        (make_intent(90), make_intent(65), False),
        (make_intent(65), None, False),
        (None, make_intent(30), False),
    ],
)
def test_only_what_lets_other_memories_in_is_a_change(before, after, changes):
    assert changes_context(refined(before, after), settings=make_settings()) is changes


def test_without_candidates_there_is_nothing_to_add():
    event = refined(None, make_intent(90), hits=())
    assert not changes_context(event, settings=make_settings())


def test_where_injection_is_off_nothing_changes():
    event = refined(None, make_intent(90))
    assert not changes_context(event, settings=make_settings(enabled=False))


def test_the_prompt_is_given_as_it_would_have_been_classified():
    event = refined(None, make_intent(90))
    hits = event.classified.enriched.candidates[:1]
    found = replace(event.classified.enriched, candidates=hits)
    classified = with_intent(event, found)
    assert classified.intent == event.intent
    assert classified.enriched.candidates == hits
    assert classified.votes == (*event.classified.votes, event.vote)
    assert classified.enriched.prompt == event.classified.enriched.prompt
