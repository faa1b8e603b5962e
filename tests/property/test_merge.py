"""Whatever two sides made of a memory: joined, it holds what both said, and once is enough."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from subcog.bus.values import Memory, Provenance
from subcog.sinks.team.merge import fork_id, merge
from tests.stores import START, make_row

NOW = START + timedelta(days=9)
words = st.sampled_from(["", "one", "two", "three"])
links = st.sampled_from([None, "mem_a", "mem_b"])
times = st.sampled_from([None, START, NOW])
sides = st.builds(
    lambda text, **fields: make_row(content=text, summary=text, content_hash=text, **fields).memory,
    text=words,
    tags=st.lists(words, unique=True, max_size=3).map(tuple),
    namespace=st.sampled_from(["decisions", "gotchas", "tasks"]),
    confidence_percent=st.integers(0, 100),
    provenance=st.builds(Provenance, session=words),
    sources=st.lists(st.builds(Provenance, session=words), unique=True, max_size=2).map(tuple),
    valid_to=times,
    supersedes=links,
    superseded_by=links,
    contradicts=links,
)
bases = st.one_of(st.none(), sides)


def join(base: Memory | None, theirs: Memory, mine: Memory):
    return merge(base, theirs, mine, fork_id=fork_id(mine), now=NOW)


@given(bases, sides, sides)
def test_no_text_is_lost(base, theirs, mine):
    joined = join(base, theirs, mine)

    after = joined.mine or theirs
    kept = {after.content, joined.fork.content if joined.fork else after.content}
    if base is None or theirs.content != base.content:
        assert theirs.content in kept
    if base is None or mine.content != base.content:
        assert mine.content in kept


@given(bases, sides, sides)
def test_joined_once_there_is_nothing_left_to_join(base, theirs, mine):
    joined = join(base, theirs, mine)

    if joined.fork is None:
        assert join(base, joined.mine or theirs, mine).mine is None


@given(bases, sides)
def test_where_one_side_did_nothing_the_other_stays_as_it_is(base, side):
    assert join(base, side, side).mine is None
    if base is not None:
        assert join(base, side, base) == join(base, side, side)


@given(bases, sides, sides)
def test_who_comes_first_does_not_matter_to_what_is_not_set_by_both(base, theirs, mine):
    one, other = join(base, theirs, mine), join(base, mine, theirs)

    assert (one.fork is None) == (other.fork is None)
    assert (one.contradicting is None) == (other.contradicting is None)
    if one.fork is None:
        first, second = one.mine or theirs, other.mine or mine
        assert set(first.tags) == set(second.tags)
        assert set(first.sources) == set(second.sources)
        assert first.confidence_percent == second.confidence_percent
        assert first.content == second.content
