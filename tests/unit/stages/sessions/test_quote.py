from datetime import UTC, datetime, timedelta

import pytest

from subcog.bus.sessions import Passage, SessionHit
from subcog.bus.values import Provenance, Scope
from subcog.stages.sessions.quote import (
    out_of_context,
    outdated,
    overtaken,
    quote_sessions,
    refused,
    shown_keys,
)
from tests.fakes import make_memory

NOW = datetime(2026, 7, 1, tzinfo=UTC)
BEGAN = datetime(2026, 6, 3, 9, tzinfo=UTC)
SCOPE = Scope("project", "p")
TALK = (
    ("user", "The upstream blocks us with 429s"),
    ("agent", "I will lower the attempts to five."),
    ("user", "No. Seven. Eight trips it."),
    ("agent", "So MAX_ATTEMPTS is exactly 7."),
)


def hit(session="s1", talk=TALK, relevance=0.9, began=BEGAN):
    return SessionHit(
        session=session,
        scope=SCOPE,
        relevance=relevance,
        began_at=began,
        passages=tuple(
            Passage(
                id=f"psg_{session}{at}",
                session=session,
                scope=SCOPE,
                speaker=speaker,
                text=text,
                said_at=began + timedelta(minutes=at),
            )
            for at, (speaker, text) in enumerate(talk)
        ),
    )


def quoted(hits, **changes):
    given = {"memories": (), "shown": (), "max_tokens": 900, "floor": 0.45, "now": NOW}
    return quote_sessions(hits, "how many attempts", clean=str, **(given | changes))


def why(made, session="s1"):
    [verdict] = [one for one in made.verdicts if one.session == session]
    return verdict.why


def test_what_was_found_is_quoted_best_first_each_with_a_verdict():
    made = quoted([hit("s1"), hit("s2", relevance=0.6), hit("s3", talk=(), relevance=0.2)])
    assert [one.session for one in made.excerpts] == ["s1", "s2"]
    assert [(one.session, one.quoted) for one in made.verdicts] == [
        ("s1", True),
        ("s2", True),
        ("s3", False),
    ]
    assert why(made) == "relevance 0.90"
    assert why(made, "s3") == "relevance 0.20 is below the floor of 0.45"


def test_all_of_it_stays_inside_the_budget_and_the_best_gets_most():
    long = [(("user", "agent")[n % 2], f"turn {n} " + "and more of it " * 30) for n in range(14)]
    made = quoted([hit("s1", long), hit("s2", long)], max_tokens=400)
    assert made.tokens <= 400
    first, second = made.excerpts
    assert first.size.tokens > second.size.tokens


def test_what_the_session_has_seen_is_not_quoted_again():
    one = hit()
    made = quoted([one], shown=shown_keys(one.passages))
    assert made.excerpts == ()
    assert why(made) == "already shown in this session"


def test_a_session_that_went_on_is_shown_again():
    made = quoted([hit()], shown=shown_keys(hit(talk=TALK[:2]).passages))
    assert len(made.excerpts) == 1


def test_what_a_memory_beside_it_says_is_said_once():
    memory = make_memory(content="So MAX_ATTEMPTS is exactly 7.")
    [made] = quoted([hit()], memories=[memory]).excerpts
    assert "So MAX_ATTEMPTS" not in "\n".join(made.lines)
    assert "Seven. Eight trips it." in "\n".join(made.lines)


def test_a_session_of_which_memories_say_all_is_not_quoted():
    memory = make_memory(content="We ship on Tuesdays, never on Fridays.")
    made = quoted(
        [hit(talk=[("user", "We ship on Tuesdays, never on Fridays")])], memories=[memory]
    )
    assert made.excerpts == ()
    assert why(made) == "the memories beside it say the same"


def test_what_was_said_before_a_memory_that_says_otherwise_is_not_quoted():
    said = [("user", "We ship on Fridays."), ("user", "Logs are kept for 30 days.")]
    rule = "We ship on Tuesdays"
    newer = make_memory(content=rule, updated_at=BEGAN + timedelta(days=1))
    [made] = quoted([hit(talk=said)], memories=[newer]).excerpts
    assert "Fridays" not in "\n".join(made.lines)
    assert "30 days" in "\n".join(made.lines)
    older = make_memory(content=rule, updated_at=BEGAN - timedelta(days=1))
    [made] = quoted([hit(talk=said)], memories=[older]).excerpts
    assert "Fridays" in "\n".join(made.lines)


def test_where_there_is_no_room_it_is_said():
    assert why(quoted([hit()], max_tokens=40)) == "does not fit into what is left of the budget"


def test_refusing_all_gives_each_the_reason():
    made = refused([hit()], "injection is switched off")
    assert (made.excerpts, why(made)) == ((), "injection is switched off")


OLD = BEGAN - timedelta(days=30)
RULE = "We can use Redis for the job queue"


def test_a_memory_that_a_later_session_contradicts_is_outdated():
    memory = make_memory(content=RULE, created_at=OLD, updated_at=OLD)
    later = hit(talk=[("user", "We can't use Redis for the job queue")])
    assert outdated([memory], [later], NOW) == {memory.id: "contradicted later in ses_s1"}


def test_a_memory_of_which_a_part_holds_stays_and_names_the_session_that_contradicts_the_rest():
    text = "Events go through RabbitMQ, dead letters expire after 3 days; the vhost is /rosterly"
    memory = make_memory(content=text, created_at=OLD, updated_at=OLD)
    later = hit(talk=[("user", "We moved from RabbitMQ to NATS")])
    assert outdated([memory], [later], NOW) == {}
    told = {memory.id: "ses_s1 spoke of it: where they differ, that holds"}
    assert overtaken([memory], [later], NOW) == told


@pytest.mark.parametrize(
    "said",
    [
        "maybe we can't use Redis for the job queue",
        "We can't use Redis for the job queue? just thinking aloud",
        "next year we won't use Redis for the job queue",
    ],
)
def test_a_memory_is_neither_outdated_nor_marked_by_a_proposal_or_a_plan(said):
    memory = make_memory(content=RULE, created_at=OLD, updated_at=OLD)
    later = hit(talk=[("user", said)])
    assert outdated([memory], [later], NOW) == {}
    assert overtaken([memory], [later], NOW) == {}


def test_neither_an_earlier_session_nor_the_agents_own_words_outdate_a_memory():
    memory = make_memory(content=RULE, created_at=OLD, updated_at=OLD)
    denied = "We can't use Redis for the job queue"
    earlier = hit(talk=[("user", denied)], began=OLD - timedelta(days=1))
    assert outdated([memory], [earlier], NOW) == {}
    assert outdated([memory], [hit(talk=[("agent", denied)])], NOW) == {}


def test_what_has_nothing_to_do_with_it_leaves_a_memory_alone():
    memory = make_memory(content=RULE, created_at=OLD, updated_at=OLD)
    assert outdated([memory], [hit()], NOW) == {}


def automatic(**changes):
    origin = Provenance(hook="Stop", session="s1")
    return make_memory(**({"tags": ("auto-captured",), "provenance": origin} | changes))


def test_an_automatic_memory_needs_the_session_that_it_was_said_in():
    memory = automatic()
    found = out_of_context([memory], [hit(talk=(), relevance=0.08)])
    assert found == {memory.id: "the session it was said in is relevant to 0.08 only"}


@pytest.mark.parametrize(
    ("changes", "relevance"),
    [({}, 0.2), ({"tags": ()}, 0.08), ({"provenance": Provenance(session="s2")}, 0.08)],
)
def test_what_was_kept_on_purpose_or_is_of_a_session_that_bears_on_it_stays(changes, relevance):
    assert out_of_context([automatic(**changes)], [hit(talk=(), relevance=relevance)]) == {}
