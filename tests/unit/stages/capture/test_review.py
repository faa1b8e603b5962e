from __future__ import annotations

import pytest
from msgspec.structs import replace

from subcog.bus.sessions import Message, ToolCall, ToolResult
from subcog.bus.values import Hit, Memory, Noted
from subcog.stages.capture.review import (
    Statement,
    choose,
    find_statements,
    is_known,
    memory_id,
    repeats,
    resolved,
    tags_of,
    within,
)
from subcog.stages.text.envelope import Note, wrap

from ....fakes import NOW, PROJECT

DECISION = "We decided to use argon2id for password hashing because bcrypt truncates at 72 bytes."


def said(text, role="user", **more):
    return Message(role=role, text=text, **more)


def texts(*messages, **how):
    return [statement.note.text for statement in find_statements(messages, **how)]


def noted(text="Use tabs.", confidence=90, kind="decision", namespace="decisions"):
    return Noted(
        kind=kind,
        namespace=namespace,
        text=text,
        summary=text,
        confidence_percent=confidence,
        start=0,
        end=len(text),
    )


def statement(*args, at=0, **more):
    return Statement(note=noted(*args, **more), role="user", said_at_ms=at)


def hit(late, vector=0.5, relevance=1.0, memory_id="mem_1"):
    memory = Memory(
        id=memory_id,
        scope=PROJECT,
        namespace="blockers",
        content="CI is blocked",
        summary="CI is blocked",
        created_at=NOW,
        updated_at=NOW,
    )
    return Hit(memory=memory, text=0.5, late=late, vector=vector, order=1.0, relevance=relevance)


def test_what_user_and_model_say_is_found():
    assert texts(said(DECISION)) == [DECISION]
    assert texts(said(DECISION, "assistant")) == [DECISION]


@pytest.mark.parametrize(
    "text",
    [
        wrap([Note(id="mem_1", namespace="decisions", created_at=NOW, text=DECISION)], now=NOW),
        f"<system-reminder>\n{DECISION}\n</system-reminder>",
        f"<private>{DECISION}</private>",
        f"<task-notification>\n{DECISION}\n</task-notification>",
        f"<local-command-stdout>Compacted: {DECISION}</local-command-stdout>",
        f"This session is being continued from a previous conversation. {DECISION}",
        f"[remember:decisions] {DECISION}",
        f"```\n{DECISION}\n```",
        f"> {DECISION}",
    ],
    ids=lambda text: text[:24],
)
def test_what_is_not_the_speakers_own_is_not_heard(text):
    assert texts(said(text)) == []


def test_what_a_tool_returned_is_not_heard():
    result = ToolResult(id="t", failed=False, text=DECISION)

    assert texts(Message(role="user", results=(result,))) == []


def test_a_sub_agent_is_heard_in_its_own_transcript_and_what_it_was_told_is_not():
    aside = said(DECISION, "assistant", aside=True)

    assert texts(aside) == []
    assert texts(aside, agent=True) == [DECISION]
    assert texts(said(DECISION, "user", aside=True), agent=True) == []


def test_a_private_span_stays_private_in_a_message_of_any_length():
    long = f"{'x ' * 30_000}<private>{'x ' * 6_000}\n\n{DECISION}\n\n</private>{'y ' * 1000}"

    assert texts(said(long, "assistant")) == []
    assert texts(said(long.replace("private>", "other>"), "assistant")) == [DECISION]


FILLER = f"The weather is {'very ' * 60}nice.\n\n" * 500


def test_of_a_long_answer_the_beginning_and_the_end_are_read():
    assert texts(said(f"{DECISION}\n{FILLER}", "assistant")) == [DECISION]
    assert texts(said(f"{FILLER}\n\n{DECISION}", "assistant")) == [DECISION]


def test_of_a_long_prompt_the_end_is_not_heard_since_it_may_be_what_was_pasted():
    assert texts(said(f"{DECISION}\n{FILLER}")) == [DECISION]
    assert texts(said(f"Look at this:\n\n{FILLER}\n\n{DECISION}")) == []


def test_the_end_of_a_long_answer_is_not_heard_where_it_is_code():
    code = f"Here it is:\n```\n{FILLER}\n\n{DECISION}\n\n```\n"

    assert texts(said(code, "assistant")) == []
    assert texts(said(f"{code}\n{DECISION}", "assistant")) == [DECISION]


def test_what_is_longer_than_anybody_says_is_not_read_at_all():
    assert texts(said(f"{DECISION}\n{FILLER}{FILLER}")) == []


def test_a_statement_knows_the_file_that_was_changed_before_it():
    write = Message(
        role="assistant", calls=(ToolCall(id="t", tool="Write", paths=("/src/shop/auth/a.py",)),)
    )
    (found,) = find_statements([write, said(DECISION, "assistant")], root="/src/shop")

    assert found.file == "auth/a.py"


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/p/a/b.py", "a/b.py"),
        ("a/b.py", "a/b.py"),
        ("/etc/passwd", ""),
        ("../x", ""),
        ("/p/../x", ""),
    ],
)
def test_a_path_counts_from_the_project_on(path, inside):
    assert within(path, "/p") == inside


def test_the_surest_are_chosen_in_the_order_they_were_said():
    found = [statement("a", 95), statement("b", 80), statement("c", 86), statement("d", 90)]

    chosen = choose(found, min_confidence=0.85, limit=2)

    assert [s.note.text for s in chosen] == ["a", "d"]
    assert choose(found, min_confidence=0.85, limit=0) == ()


def test_what_was_said_twice_counts_once():
    chosen = choose([statement("Use  tabs."), statement("use tabs.")], min_confidence=0, limit=9)

    assert len(chosen) == 1


@pytest.mark.parametrize(("earned", "role"), [(True, "user"), (False, "assistant")])
def test_what_the_agent_echoes_stays_the_users_if_it_may_be_kept(earned, role):
    said = Statement(note=replace(noted(), earned=earned), role="user")
    echo = Statement(note=replace(noted("use tabs."), earned=True), role="assistant")

    for both in ([said, echo], [echo, said]):
        assert [one.role for one in choose(both, min_confidence=0, limit=9)] == [role]


def test_the_same_statement_has_the_same_id_wherever_it_is_read():
    one = statement("Use tabs.", at=1000)

    assert memory_id(one, PROJECT) == memory_id(statement("use  tabs.", 70, at=1000), PROJECT)
    assert memory_id(one, PROJECT) != memory_id(statement("Use tabs.", at=2000), PROJECT)
    assert memory_id(one, PROJECT) != memory_id(statement("Use spaces.", at=1000), PROJECT)


def test_a_resolution_is_no_open_blocker():
    solved = statement("fixed", kind="resolution", namespace="blockers")

    assert tags_of(solved, "PreCompact") == ("auto-captured", "pre-compact", "resolved")
    assert tags_of(statement(), "Stop") == ("auto-captured",)
    assert tags_of(statement(), "SubagentStop") == ("auto-captured", "sub-agent")


def test_another_value_is_new_however_alike_the_words_are():
    found = hit(late=0.95)
    old = replace(found, memory=replace(found.memory, content="The session timeout is 15 minutes"))
    assert not is_known("The session timeout is 30 minutes", [old])
    assert is_known("The session timeout is 15 minutes", [old])


def test_a_repetition_is_known_and_a_change_of_mind_is_new():
    assert is_known("As noted, we use argon2id.", [hit(late=0.91)])
    assert is_known("Hashes are argon2id.", [hit(late=0.3, vector=0.95)])
    assert not is_known("We use Redis.", [hit(late=0.2)])
    assert not is_known("We no longer use argon2id.", [hit(late=0.91)])
    assert not is_known("We don't use argon2id.", [hit(late=0.91)])
    assert not is_known("We don’t use argon2id.", [hit(late=0.91)])
    assert not is_known("We use Redis.", [])


def test_the_record_of_a_task_does_not_make_a_statement_known():
    record = hit(late=0.95)
    record = replace(record, memory=replace(record.memory, namespace="tasks"))

    assert not is_known("We use Redis for sessions.", [record])


def test_who_says_it_again_repeats_it():
    assert repeats("Noted: argon2id for password hashing, because of bcrypt.", [DECISION])
    assert not repeats(DECISION.replace("decided to use", "no longer use"), [DECISION])
    assert not repeats("We decided to use Redis for the sessions.", [DECISION])
    assert not repeats(DECISION, [])


def test_a_resolution_is_about_a_blocker_only_where_that_is_clear():
    near, nearer = hit(0.52), hit(0.66, memory_id="mem_2")

    assert resolved([near, nearer]) is nearer
    assert resolved([hit(0.6), hit(0.66)]) is None
    assert resolved([hit(0.3)]) is None
    assert resolved([hit(0.9, relevance=0.4)]) is None
    assert resolved([]) is None
