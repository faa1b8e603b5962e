from datetime import timedelta

from subcog.bus.values import ProjectFacts, Scope
from subcog.stages.enrichment.assemble import MIN_RELEVANCE, assemble_enrichment
from subcog.stages.enrichment.guide_parser import read_guide
from subcog.stages.enrichment.matching import Subject
from subcog.stages.parse import parse
from tests.fakes import NOW, make_hit, make_memory, make_prompt


def found(text, *, hits=(), referenced=(), guides=(), near=lambda _, others: (None,) * len(others)):
    parsed = parse(make_prompt(text)).parsed
    return assemble_enrichment(
        parsed,
        Subject(parsed, ProjectFacts()),
        hits=hits,
        referenced=referenced,
        guides=guides,
        near=near,
        now=NOW,
        tidy=str,
    )


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
