from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from subcog.bus.triggers import Trigger
from subcog.bus.values import Memory, Provenance
from subcog.sinks.team.merge import fork_id, merge
from tests.stores import START, make_row

NOW = START + timedelta(days=9)
BASE = make_row(tags=("one",), confidence_percent=50).memory
FORK = "mem_00000000000000000000000009"


def after(memory: Memory, **fields: object) -> Memory:
    return replace(memory, version=memory.version + 1, **fields)


def texted(text: str, **fields: object) -> Memory:
    return after(BASE, content=text, summary=text[:9], content_hash=f"hash of {text}", **fields)


def join(theirs: Memory, mine: Memory, base: Memory | None = BASE):
    return merge(base, theirs, mine, fork_id=FORK, now=NOW)


def test_what_each_side_alone_changed_is_taken_from_it():
    theirs = texted("theirs", provenance=Provenance(author="anna", gate="updated"))
    mine = after(BASE, namespace="gotchas", valid_to=NOW)

    joined = join(theirs, mine).mine

    assert (joined.content, joined.summary, joined.content_hash) == (
        theirs.content,
        theirs.summary,
        theirs.content_hash,
    )
    assert (joined.namespace, joined.valid_to) == ("gotchas", NOW)
    assert (joined.version, joined.updated_at) == (3, NOW)
    assert joined.provenance.author == "anna"
    assert "merged" in joined.provenance.gate


def test_my_text_is_mine_where_they_changed_something_else():
    theirs = after(BASE, tags=("one", "two"), provenance=Provenance(author="anna"))
    mine = texted("mine")

    joined = join(theirs, mine).mine

    assert (joined.content, joined.tags) == ("mine", ("one", "two"))
    assert joined.provenance.author == "", "their tag does not make my text theirs"


@pytest.mark.parametrize(
    ("base", "theirs", "mine", "merged"),
    [
        (50, 50, 30, 30),  # only I changed it: mine, be it lower
        (50, 30, 50, 30),  # only they did
        (50, 50, 50, 50),
        (50, 20, 30, 30),  # both did: the higher one
        (50, 30, 20, 30),
        (50, 70, 60, 70),
    ],
)
def test_confidence_is_merged_from_three_sides(base, theirs, mine, merged):
    before = replace(BASE, confidence_percent=base)
    # Something else changed as well, so that there is a version to look at.
    joined = join(
        after(before, confidence_percent=theirs),
        after(before, confidence_percent=mine, tags=("one", "mine")),
        base=before,
    )
    assert joined.mine.confidence_percent == merged


def test_without_a_common_version_the_higher_confidence_counts():
    theirs, mine = replace(BASE, confidence_percent=20), replace(BASE, confidence_percent=30)
    assert join(theirs, mine, base=None).mine.confidence_percent == 30
    assert join(mine, theirs, base=None).mine is None


def test_tags_and_sources_of_both_stay_and_the_surer_counts():
    source = Provenance(session="s")
    theirs = after(BASE, tags=("one", "two"), confidence_percent=60)
    mine = after(BASE, tags=("one", "three"), confidence_percent=70, sources=(source,))

    joined = join(theirs, mine).mine

    assert joined.tags == ("one", "two", "three")
    assert joined.sources == (source,)
    assert joined.confidence_percent == 70


def test_a_tag_that_one_side_took_off_is_off():
    joined = join(texted("theirs"), after(BASE, tags=())).mine

    assert joined.tags == ()


def test_where_both_set_a_field_theirs_stays():
    theirs, mine = after(BASE, namespace="gotchas"), after(BASE, namespace="tasks")

    assert join(theirs, mine).mine is None


def test_nothing_is_left_to_say_where_both_did_the_same():
    theirs, mine = texted("the same"), texted("the same", updated_at=NOW)

    assert join(theirs, mine) == join(theirs, theirs)
    assert join(theirs, mine).mine is None


def test_of_two_texts_mine_becomes_a_memory_that_contradicts_theirs():
    mine = texted("mine", tags=("mine",), namespace="gotchas")

    joined = join(texted("theirs"), mine)

    assert joined.mine is None
    assert (joined.fork.id, joined.fork.version) == (FORK, 1)
    assert joined.fork.contradicts == BASE.id
    assert (joined.fork.content, joined.fork.tags) == ("mine", ("mine",))
    assert joined.fork.namespace == "gotchas"
    assert BASE.id in joined.fork.provenance.gate


def test_without_a_base_equal_texts_are_one_and_others_two():
    theirs, mine = replace(BASE, tags=("a",)), replace(BASE, tags=("b",), superseded_by="mem_s")

    joined = join(theirs, mine, None).mine

    assert (joined.tags, joined.superseded_by) == (("a", "b"), "mem_s")
    assert join(theirs, replace(BASE, content="other"), None).fork.content == "other"


def test_two_successors_contradict_each_other_and_theirs_stays():
    theirs, mine = after(BASE, superseded_by="mem_theirs"), after(BASE, superseded_by="mem_mine")

    joined = join(theirs, mine)

    assert joined.mine is None
    assert joined.contradicting == ("mem_mine", "mem_theirs")


@pytest.mark.parametrize(("theirs", "mine"), [("mem_s", "mem_s"), ("mem_s", None), (None, "mem_s")])
def test_one_successor_is_no_contradiction(theirs, mine):
    joined = join(after(BASE, superseded_by=theirs), after(BASE, superseded_by=mine))

    assert joined.contradicting is None
    assert (joined.mine.superseded_by if joined.mine else "mem_s") == "mem_s"


def test_a_fork_has_the_same_id_whoever_makes_it_and_another_for_another_text():
    mine = texted("mine")

    assert fork_id(mine) == fork_id(replace(mine, provenance=Provenance(author="me")))
    assert fork_id(mine) != fork_id(texted("other"))
    assert fork_id(mine)[:14] == mine.id[:14]
    assert len(fork_id(mine)) == len(mine.id)


def test_questions_and_triggers_go_with_their_text_and_else_with_who_changed_them():
    asked = after(BASE, questions=("mine?",), triggers=(Trigger(run="mine"),))
    joined = join(after(BASE, tags=("two",)), asked).mine
    assert (joined.questions, joined.triggers) == (asked.questions, asked.triggers)
    assert join(after(asked, tags=("two",)), texted("mine"), base=asked).mine.triggers == ()
    assert join(texted("theirs", questions=("theirs?",)), after(BASE, tags=())).mine.questions == (
        "theirs?",
    )
    assert join(after(BASE, tags=("two",)), texted("mine")).mine.questions == ()


def test_questions_that_they_gave_stay_where_i_corrected_the_text():
    theirs = after(BASE, questions=("theirs?",), triggers=(Trigger(run="theirs"),))
    joined = join(theirs, texted("mine")).mine
    assert joined.content == "mine"
    assert (joined.questions, joined.triggers) == (theirs.questions, theirs.triggers)
