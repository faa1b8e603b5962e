from datetime import timedelta

import pytest

from subcog.bus.values import Provenance, Scope
from subcog.stages.enrichment.conflicts import find_conflicts
from tests.fakes import NOW, make_hit, make_memory

USER = Scope("user", "u")


def local(content, **changes):
    return make_hit(make_memory(1, content, **({"updated_at": NOW} | changes)), 0.6)


def wider(content, **changes):
    return make_hit(make_memory(2, content, scope=USER, **changes), 0.7)


@pytest.mark.parametrize(
    ("ours", "theirs", "about"),
    [
        ("We use bcrypt for password hashing", "I use argon2id for password hashing", "name"),
        ("Lines are at most 100 characters wide", "Lines are at most 80 characters wide", "number"),
        ("Never squash commits before merging", "Squash commits before merging", "negation"),
    ],
)
def test_two_sides_that_say_otherwise_are_a_conflict(ours, theirs, about):
    (conflict,) = find_conflicts([wider(theirs), local(ours)], NOW)
    assert conflict.about == about
    assert (conflict.winner.id, conflict.loser.id) == (
        "mem_" + "0" * 25 + "1",
        "mem_" + "0" * 25 + "2",
    )


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("We use bcrypt for password hashing", "I like short commit messages"),
        ("We use redis for the session cache", "We use redis for the session cache, with a ttl"),
        ("Deploys go through ArgoCD on Friday", "Deploys need two reviews at least"),
        ("Postgres holds orders and customers", "Postgres and redis hold orders and customers"),
    ],
)
def test_what_agrees_or_is_about_something_else_is_none(ours, theirs):
    assert find_conflicts([local(ours), wider(theirs)], NOW) == ()


def test_two_memories_of_the_same_side_are_left_to_their_authors():
    hits = [
        local("We use bcrypt for hashing passwords"),
        local("We use argon2 for hashing passwords"),
    ]
    assert find_conflicts(hits, NOW) == ()


def test_the_higher_effective_confidence_wins_and_shows_its_arithmetic():
    said_often = wider(
        "I use argon2id for password hashing", sources=(Provenance(),) * 9, confidence_percent=100
    )
    stale = local(
        "We use bcrypt for password hashing",
        updated_at=NOW - timedelta(days=400),
        confidence_percent=90,
    )
    (conflict,) = find_conflicts([said_often, stale], NOW)
    assert conflict.winner.id == said_often.memory.id
    assert conflict.winner.arithmetic == "1.00 × (1 + 0.15 × frequency 0.90) = 1.14"
    assert (
        conflict.loser.arithmetic == "0.90 × (1 + 0.15 × recency 0.00 + 0.15 × match 0.60) = 0.98"
    )


def test_a_project_that_is_less_sure_but_recent_wins():
    (conflict,) = find_conflicts(
        [
            wider("I use argon2id for password hashing", confidence_percent=90),
            local("We use bcrypt for password hashing", confidence_percent=80),
        ],
        NOW,
    )
    assert conflict.winner.scope.kind == "project"


def test_a_draw_goes_to_what_holds_everywhere():
    ours = make_memory(
        1, "We use bcrypt for password hashing", updated_at=NOW - timedelta(days=4000)
    )
    theirs = make_memory(2, "I use argon2id for password hashing", scope=USER)
    (conflict,) = find_conflicts([make_hit(ours, 0.0), make_hit(theirs, 0.0)], NOW)
    assert conflict.winner.score == conflict.loser.score == 1.0
    assert conflict.winner.id == theirs.id


@pytest.mark.parametrize(
    ("age_days", "recency"), [(0, "1.00"), (30, "0.50"), (60, "0.25"), (-9, "1.00")]
)
def test_recency_halves_every_thirty_days_and_is_at_most_one(age_days, recency):
    ours = local("We use bcrypt for password hashing", updated_at=NOW - timedelta(days=age_days))
    (conflict,) = find_conflicts([ours, wider("I use argon2id for password hashing")], NOW)
    side = next(s for s in (conflict.winner, conflict.loser) if s.id == ours.memory.id)
    assert f"recency {recency} " in side.arithmetic


def test_at_most_five_conflicts_are_told():
    ours = [
        make_hit(make_memory(n, f"We use bcrypt for password hashing in service{n}"), 0.6)
        for n in range(1, 4)
    ]
    theirs = [
        make_hit(make_memory(n, "I use argon2id for password hashing", scope=USER), 0.6)
        for n in range(4, 7)
    ]
    assert len(find_conflicts([*ours, *theirs], NOW)) == 5
