from datetime import timedelta

from subcog.bus.values import Scope, copies
from tests.fakes import NOW, PROJECT, make_memory

USER, ORGANISATION = Scope("user", "u"), Scope("org", "local")


def copy(number, scope=PROJECT, **changes):
    return make_memory(number, scope=scope, content_hash="h", **changes)


def standing(*memories):
    return {id_: one.id for id_, one in copies(memories).items()}


def test_the_projects_copy_stands_for_the_users_and_the_organisations():
    ours, mine, project = copy(1, ORGANISATION), copy(2, USER), copy(3)
    assert standing(ours, mine, project) == {ours.id: project.id, mine.id: project.id}
    assert standing(ours, mine) == {ours.id: mine.id}


def test_of_one_scope_the_first_stands():
    assert standing(copy(2), copy(1, namespace="gotchas")) == {copy(1).id: copy(2).id}


def test_a_copy_in_force_stands_for_one_that_was_replaced():
    replaced = copy(1, superseded_by="mem_x")
    assert standing(replaced, copy(2, USER)) == {replaced.id: copy(2).id}


def test_other_texts_and_texts_without_a_hash_are_no_copies():
    assert not copies([make_memory(1, "a"), make_memory(2, "a"), copy(3)])


def test_copies_count_as_seen_together_until_one_of_them_changes():
    first, other = copy(1), copy(2, USER, content="ALPHA")
    assert first.seen_key[1] == other.seen_key[1]
    assert copy(1, superseded_by="mem_x").seen_key[1] != other.seen_key[1]


def test_a_memory_is_over_from_the_moment_on_at_which_it_ends():
    ends = make_memory(1, valid_to=NOW)
    assert [ends.is_over(NOW + timedelta(seconds=by)) for by in (-1, 0, 1)] == [False, True, True]
    assert not make_memory(2).is_over(NOW)
