from __future__ import annotations

from msgspec.structs import replace

from subcog.bus.sessions import Message, ToolCall
from subcog.stages.capture.review import MAX_FOUND, SessionReader, batches

DECISION = "We decided to use {name} for the {what} because the older one is far too slow."
ORDER = "Hash the passwords of new users with argon2id"


def said(text, role="user"):
    return Message(role=role, text=text)


def edit(path):
    return Message(role="assistant", calls=(ToolCall(id="t", tool="Edit", paths=(path,)),))


def test_what_is_found_and_what_is_done_add_up():
    study = SessionReader(session="s", root="/p")
    study.read([said(f"{ORDER}. {DECISION.format(name='argon2id', what='hashes')}")])
    study.read([edit("/p/a.py"), said("Write a migration guide for release three")])

    assert [s.note.kind for s in study.found] == ["decision"]
    assert [list(work.files) for work in study.finished] == [["a.py"]]
    assert study.finished[0].ended
    assert study.work.asked.startswith("Write a migration guide")


def test_what_is_found_is_bounded():
    study = SessionReader(session="s", root="/p")
    for number in range(2 * MAX_FOUND):
        study.read([said(DECISION.format(name=f"library{number}", what=f"part{number}"))])

    assert len(study.found) == MAX_FOUND


def test_what_is_not_sure_enough_is_not_even_remembered():
    study = SessionReader(session="s", root="/p", min_confidence=1.0)
    study.read([said(DECISION.format(name="argon2id", what="hashes"))])

    assert study.found == ()


def test_a_sub_agent_works_for_the_task_of_its_session():
    study = SessionReader(session="s", root="/p")
    study.read([said(ORDER)])
    sub = SessionReader(session="s", root="/p", agent=True, work=study.work)
    sub.read([said("Rewrite everything from scratch, all of it"), edit("/p/a.py")])

    assert sub.work is study.work
    assert list(study.work.files) == ["a.py"]


def test_batches_are_small_and_leave_nothing_out():
    messages = [said("x" * size) for size in (10, 9_000, 3_000, 3_000, 3_000, 50_000, 1)]

    parts = list(batches(messages))

    assert [message for part in parts for message in part] == messages
    assert [len(part) for part in parts] == [2, 3, 1, 1]
    assert list(batches([])) == []


def test_the_next_message_takes_back_what_was_kept_for_the_change_alone():
    study = SessionReader(session="s", root="/p")
    moved = "The platform was moved from Kafka to NATS, it now uses NATS instead of Kafka."
    study.read([replace(said(moved), said_at_ms=1)])
    (noted,) = study.found
    assert not noted.note.earned
    study.read([replace(said("no wait, scrap that"), said_at_ms=2)])
    assert study.taken_back == (noted,)
    assert study.found == ()


def test_of_what_may_be_taken_back_the_latest_is_remembered():
    study = SessionReader(session="s", root="/p")
    for number in range(40):
        label = f"**Decision**: {DECISION.format(name=f'tool {number}', what='export')}"
        study.read([replace(said(label, role="assistant"), said_at_ms=number + 1)])
    assert [one.said_at_ms for one in study.last.stated] == list(range(9, 41))
