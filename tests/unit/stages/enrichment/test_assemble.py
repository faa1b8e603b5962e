from datetime import timedelta

import pytest

from subcog.bus.enrichment import ApplicablePattern, SimilarTask
from subcog.bus.prompts import ProjectFacts
from subcog.bus.values import Provenance, Scope
from subcog.stages.enrichment.assemble import (
    MIN_RELEVANCE,
    add_for_readers,
    assemble_enrichment,
    find_conflicts,
    in_one_sentence,
    relevant,
    suggest,
    with_references,
)
from subcog.stages.enrichment.guide_parser import read_guide
from subcog.stages.enrichment.matching import Subject
from subcog.stages.parse import parse
from tests.fakes import NOW, make_hit, make_memory, make_prompt


def found(text, *, hits=(), referenced=(), guides=(), near=lambda _, others: (None,) * len(others)):
    parsed = parse(make_prompt(text)).parsed
    made = assemble_enrichment(
        Subject(parsed, ProjectFacts()), hits=hits, guides=guides, near=near, now=NOW, tidy=str
    )
    made = with_references(
        made, parsed, hits=(*relevant(hits, made), *referenced), guides=guides, now=NOW, tidy=str
    )
    return add_for_readers(made, hits=hits, now=NOW, tidy=str)


def test_work_of_the_last_seven_days_is_recent_the_newest_first():
    ages = {1: 1, 2: 6.9, 3: 7.1, 4: 0.5}
    hits = [
        make_hit(make_memory(number, updated_at=NOW - timedelta(days=age)), 0.8)
        for number, age in ages.items()
    ]
    hits.append(make_hit(make_memory(5, namespace="preferences", updated_at=NOW), 0.8))
    recent = found("what did we do", hits=hits).recent_work
    assert [one.id[-1] for one in recent] == ["4", "1", "2"]


def test_what_is_hardly_relevant_bears_on_nothing():
    hit = make_hit(make_memory(1, updated_at=NOW), MIN_RELEVANCE - 0.01)
    assert found("what did we do", hits=[hit]).recent_work == ()


def test_what_lost_a_conflict_is_used_for_nothing_else():
    local = make_memory(1, "We use bcrypt for password hashing", namespace="patterns")
    wider = make_memory(
        2, "I use argon2id for password hashing", namespace="patterns", scope=Scope("user", "u")
    )
    hits = [make_hit(local, 0.9), make_hit(wider, 0.9)]
    made = found("add password hashing", hits=hits, guides=[read_guide(local), read_guide(wider)])
    assert [conflict.loser.id for conflict in made.conflicts] == [wider.id]
    assert [pattern.id for pattern in made.applicable_patterns] == [local.id]


def test_only_guides_that_may_be_alike_are_compared_by_vector():
    compared = []

    def near(_, others):
        compared.extend(others)
        return (0.5,) * len(others)

    guides = [
        read_guide(make_memory(1, "Implement Google OAuth", namespace="tasks")),
        read_guide(make_memory(2, "Rename foo to bar", namespace="tasks")),
        read_guide(make_memory(3, "OAuth: expires\nTech: oauth", namespace="gotchas")),
    ]
    assert found("Add user authentication", guides=guides, near=near).similar_tasks
    assert compared == ["Implement Google OAuth"]
    compared.clear()
    found("how does authentication work?", guides=guides, near=near)
    assert compared == []


def test_what_is_pointed_at_may_have_been_found_by_itself_alone():
    referenced = make_hit(make_memory(1, "Auth sessions live in Redis"), 0.3)
    made = found("fix the auth thing", referenced=[referenced])
    assert [one.id for one in made.resolved_references] == [referenced.memory.id]


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


TASK = SimilarTask(
    id="mem_1",
    input="Implement Google OAuth",
    similarity=0.87,
    outcome="success",
    approach=("NextAuth.js", "JWT in httpOnly cookies"),
    session="session-2024-12-15",
)
PATTERN = ApplicablePattern(
    id="mem_2", name="Hashing", approach="bcrypt", match_score=0.5, confidence=0.9
)


def made(*tasks, patterns=(), hits=()):
    return suggest(tasks, patterns, hits, str)


def test_what_worked_is_suggested_with_its_evidence():
    (one,) = made(TASK)
    assert one.approach == "Use NextAuth.js with JWT in httpOnly cookies"
    assert (one.confidence, one.source) == (0.87, "similar_task")
    assert one.evidence == "Worked in session-2024-12-15"


def test_what_failed_is_warned_of_and_what_is_open_says_nothing():
    failed = SimilarTask(
        id="mem_1", input="x", similarity=0.8, outcome="failure", approach=("polling",)
    )
    (one,) = made(failed)
    assert one.approach == "Not again: polling"
    assert one.evidence == "Failed in mem_1"
    for changes in ({"outcome": "unfinished", "approach": ("x",)}, {"outcome": "success"}):
        assert made(SimilarTask(id="mem_1", input="x", similarity=0.8, **changes)) == ()


def test_the_surest_comes_first_and_at_most_five_come():
    sure = make_hit(make_memory(1, "Use uv", namespace="preferences"), 0.95)
    unsure = make_hit(make_memory(2, "Use tabs", namespace="preferences"), 0.5)
    found = made(TASK, patterns=[PATTERN] * 6, hits=[sure, unsure])
    assert [one.source for one in found] == ["memory", "similar_task", *["pattern"] * 3]
    assert found[2].confidence == 0.45


@pytest.mark.parametrize(
    ("approach", "sentence"),
    [
        (("NextAuth.js",), "Use NextAuth.js"),
        (("A", "B", "C"), "Use A with B and C"),
        (("Added a login page", "stored tokens"), "Added a login page; stored tokens"),
    ],
)
def test_an_approach_becomes_a_sentence(approach, sentence):
    assert in_one_sentence(approach) == sentence
