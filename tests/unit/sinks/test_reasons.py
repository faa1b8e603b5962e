import pytest

from subcog.bus.events import MemoriesShown
from subcog.bus.values import Shown, Verdict
from subcog.sinks.reasons import Reason, Reasons
from tests.fakes import make_built, make_classified, make_parsed, make_prompt


def verdict(memory_id, injected=True, why="the best"):
    return Verdict(
        memory_id=memory_id,
        namespace="decisions",
        summary="x",
        text=0.0,
        late=0.0,
        vector=0.0,
        relevance=0.5,
        weight=1.0,
        score=0.5,
        injected=injected,
        why=why,
    )


def built(*verdicts, session="s1", **changes):
    prompt = make_prompt(session=session, **changes)
    classified = make_classified(parsed=make_parsed(prompt))
    return make_built(classified, verdicts=verdicts)


def test_why_a_memory_was_shown_is_known_in_its_session_alone():
    reasons = Reasons()
    reasons.note(built(verdict("mem_1"), verdict("mem_2", injected=False)))

    assert reasons.of("s1", "mem_1") == Reason(0.5, "the best")
    assert reasons.of("s1", "mem_2") is None
    assert reasons.of("s2", "mem_1") is None


@pytest.mark.parametrize("changes", [{"rehearsal": True}, {"session": ""}])
def test_what_nobody_was_shown_is_not_remembered(changes):
    reasons = Reasons()
    reasons.note(built(verdict("mem_1"), **changes))
    assert reasons.of(changes.get("session", "s1"), "mem_1") is None


def test_what_was_shown_first_goes_first():
    reasons = Reasons(max_sessions=2, max_memories=2)
    reasons.note(built(verdict("mem_1"), verdict("mem_2"), verdict("mem_3")))
    for session in ("s2", "s1", "s3"):
        reasons.note(built(verdict("mem_3"), session=session))

    assert reasons.of("s1", "mem_1") is None
    assert reasons.of("s1", "mem_2")
    assert reasons.of("s2", "mem_3") is None
    assert reasons.of("s3", "mem_3")


def test_why_a_memory_was_shown_at_another_moment_is_known_too():
    reasons = Reasons()
    one = Shown(memory_id="mem_1", score=0.9, why="names the file")
    reasons.note_shown(MemoriesShown(trace="t1", session="s1", hook="PostToolUse", shown=(one,)))
    assert reasons.of("s1", "mem_1") == Reason(0.9, "PostToolUse: names the file")
