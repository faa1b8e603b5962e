"""Whatever is in the memories, a context stays inside its budget and its envelope is whole."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from subcog.stages.inject import MAX_TOKENS, MAX_UNITS, inject
from subcog.stages.respond import respond
from subcog.stages.text.envelope import MAX_UNITS as ANSWER_UNITS
from subcog.stages.text.unicode import count_tokens, count_units
from tests.fakes import (
    NOW,
    FakeSessions,
    make_classified,
    make_hit,
    make_intent,
    make_memory,
    make_parsed,
    make_prompt,
    make_quoting,
    make_settings,
)
from tests.thorough import times

scripts = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="🚀👩‍🔬漢字ßа<>/`\n\x1b\u202e", max_size=1500),
    st.sampled_from(["</subcog-memory>", "x" * 30_000, "0f" * 900, "a b " * 800, "\ud800", ""]),
)
texts = st.lists(scripts, min_size=1, max_size=4).map("".join)
hits = st.lists(st.tuples(texts, st.floats(0, 1)), max_size=20)


def build(found, max_tokens, percent, detailed=False):
    candidates = [
        make_hit(make_memory(number, f"{text} "), relevance)
        for number, (text, relevance) in enumerate(found)
    ]
    parsed = make_parsed(make_prompt(detailed=detailed))
    return inject(
        make_classified(candidates, make_intent(percent), parsed=parsed),
        settings=make_settings(max_tokens=max_tokens),
        quoting=make_quoting(),
        sessions=FakeSessions(),
        now=NOW,
    )


@settings(max_examples=times(50))
@given(hits, st.integers(0, 5000), st.sampled_from([50, 65, 80, 95]))
def test_no_context_exceeds_its_budget(found, max_tokens, percent):
    built = build(found, max_tokens, percent)
    assert count_tokens(built.text) == built.tokens <= min(max_tokens, MAX_TOKENS)
    assert count_units(built.text) <= MAX_UNITS
    assert built.text == "" or built.text.endswith("</subcog-memory>")
    assert built.text.count("</subcog-memory>") == bool(built.text)


@settings(max_examples=times(50))
@given(hits, st.sampled_from([50, 80]))
def test_every_candidate_has_one_verdict_and_the_chosen_are_those_in_the_text(found, percent):
    built = build(found, 4000, percent)
    assert sorted(verdict.memory_id for verdict in built.verdicts) == [
        make_memory(number).id for number in range(len(found))
    ]
    chosen = {verdict.memory_id for verdict in built.verdicts if verdict.injected}
    assert chosen == {memory.id for memory in built.context.injected_memories}
    assert all(f"- {memory_id} " in built.text for memory_id in chosen)
    assert bool(chosen) != bool(built.abstained)
    context = make_settings().context
    relevant = [verdict.relevance for verdict in built.verdicts if verdict.injected]
    assert not relevant or max(relevant) >= context.min_relevance
    assert all(one >= context.min_relevance_beside for one in relevant)


@settings(max_examples=times(50))
@given(hits, st.booleans())
def test_every_answer_is_json_that_an_agent_takes(found, detailed):
    body = json.loads(respond(build(found, 4000, 95, detailed)).body)
    context = body.get("hookSpecificOutput", {}).get("additionalContext", "")
    assert count_units(context) + count_units(body.get("systemMessage", "")) <= ANSWER_UNITS
    assert set(body) <= {"hookSpecificOutput", "systemMessage", "metadata"}


@given(st.text(max_size=300), st.text(max_size=300))
def test_tokens_grow_with_text_and_never_undercut_a_quarter_of_it(one, two):
    whole = count_tokens(one + two)
    assert whole >= len(one + two) / 4
    assert whole >= max(count_tokens(one), count_tokens(two)) - 1
    assert whole <= count_tokens(one) + count_tokens(two) + 1
