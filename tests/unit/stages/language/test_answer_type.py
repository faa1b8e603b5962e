import pytest

from subcog.bus.prompts import IntentType
from subcog.bus.values import NAMESPACES
from subcog.stages.language.answer_type import (
    MOST_DROP,
    MOST_LIFT,
    adjust_for_answer_type,
    answer_types,
    evidence,
    floors,
    load,
)
from tests.fakes import make_memory
from tests.waiting import ends_soon


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why do we host our own tracker?", {"reason"}),
        ("whom do I ask for access", {"person"}),
        ("how many orders come in at peak", {"number"}),
        ("how far is the migration", {"state"}),
        ("how do we return errors", {"way"}),
        ("any pitfalls with the hosting", {"exploratory"}),
        ("the importer", set()),
    ],
)
def test_what_a_question_wants(text, expected):
    assert answer_types(text, IntentType.GENERAL) == expected


def test_who_reports_trouble_wants_a_remedy():
    assert answer_types("labels print as squares", IntentType.TROUBLESHOOT) == {"remedy"}


def test_a_question_may_want_several_things():
    assert answer_types("who knows why this fails?", None) == {"person", "reason"}


def test_the_end_of_a_pasted_log_is_read_and_its_middle_is_not():
    log = "x" * 5000
    assert answer_types(f"{log}\nwhy is that?", None) == {"reason"}
    assert answer_types(f"{log} why {log}", None) == frozenset()


@pytest.mark.parametrize(
    "text", ["how does " + "a " * 100_000, "is " * 100_000, "what is a" * 9999]
)
def test_hostile_text_takes_no_time(text):
    with ends_soon():
        answer_types(text, None)


def test_there_is_evidence_for_every_name_in_the_table():
    wanted = answer_types("", IntentType.TROUBLESHOOT)
    wanted |= {name.split(":")[0] for name in load().weights}
    seen = {
        name
        for namespace in NAMESPACES
        for content in ("no figure", "42")
        for name in evidence(wanted, make_memory(content=content, namespace=namespace))
    }
    assert set(load().weights) <= seen


def test_what_counts_in_another_language_is_answered_by_a_number_alone():
    wanted = answer_types("wie viele broker haben wir?", None)
    assert "number by words" in wanted
    fits = make_memory(content="Wir betreiben drei Broker, 3 je Zone.", namespace="context")
    fails = make_memory(content="Der Broker steht im Keller.", namespace="context")
    spelt = make_memory(content="Wir betreiben drei Broker.", namespace="context")
    least, *more = (adjust_for_answer_type(0.5, wanted, one) for one in (fails, fits, spelt))
    assert least < more[0] == more[1]


def test_what_blocks_us_is_a_state_to_who_asks_for_one():
    blocker = make_memory(namespace="blockers", content="The key is locked")
    assert list(evidence(frozenset({"state"}), blocker)) == ["state: state"]
    assert list(evidence(frozenset({"remedy"}), blocker)) == ["remedy: problem"]


def test_a_person_is_found_in_the_facts_rather_than_in_a_problem():
    wanted = frozenset({"person"})
    fact, problem = (make_memory(namespace=name) for name in ("context", "gotchas"))
    assert (
        adjust_for_answer_type(0.5, wanted, fact)
        > 0.5
        > adjust_for_answer_type(0.5, wanted, problem)
    )


def test_a_number_is_not_found_where_there_is_none():
    wanted = frozenset({"number"})
    with_one, without = (make_memory(content=text) for text in ("It takes 40 s", "It takes long"))
    assert adjust_for_answer_type(0.5, wanted, with_one) > adjust_for_answer_type(
        0.5, wanted, without
    )


def test_nothing_in_particular_changes_nothing():
    assert adjust_for_answer_type(0.4, frozenset(), make_memory()) == 0.4


def test_a_namespace_of_another_version_counts_neither_way():
    assert (
        adjust_for_answer_type(0.4, frozenset({"person", "way"}), make_memory(namespace="ideas"))
        == 0.4
    )


@pytest.mark.parametrize("relevance", [0.0, 0.01, 0.4, 0.9, 1.0])
def test_the_correction_is_bounded_and_stays_a_probability(relevance):
    everything = frozenset(name.split(":")[0] for name in load().weights)
    for namespace in NAMESPACES:
        found = adjust_for_answer_type(
            relevance, everything, make_memory(namespace=namespace, content="none")
        )
        assert 0.0 <= found <= 1.0
        if 0.01 <= relevance <= 0.9:
            odds = found / (1 - found) / (relevance / (1 - relevance))
            assert 2.71828**-MOST_DROP - 1e-3 <= odds <= 2.71828**MOST_LIFT + 1e-3


PROMPTS = (
    "why do we cache?",
    "who owns this?",
    "how many retries are there?",
    "how do we deploy, and what is left to do?",
    "everything known about auth: status, limits, reasons, who, how should I, what is missing?",
    "the build is broken",
)


@pytest.mark.parametrize("text", PROMPTS)
@pytest.mark.parametrize("floor", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("intent", [IntentType.HOWTO, IntentType.TROUBLESHOOT, None])
def test_what_is_below_the_floor_of_its_namespace_cannot_reach_it(text, floor, intent):
    by_namespace = dict(floors(floor, answer_types(text, None)))
    wanted = answer_types(text, intent)
    for namespace in NAMESPACES:
        memory = make_memory(namespace=namespace, content="since 2019")
        assert (
            adjust_for_answer_type(by_namespace.get(namespace, floor) - 1e-6, wanted, memory)
            < floor
        )


def test_a_floor_is_no_lower_than_what_the_question_wants():
    by_namespace = dict(floors(0.4, frozenset({"person"})))
    assert by_namespace["context"] < 0.2
    assert by_namespace["patterns"] > 0.4


def test_without_a_floor_nothing_is_left_out():
    assert floors(0.0, frozenset({"person"})) == ()
