import json
from typing import get_args, get_type_hints

import msgspec
import pytest
from msgspec.structs import replace

from subcog.bus.enrichment import Enrichment, SimilarTask
from subcog.bus.events import PromptEnriched
from subcog.bus.prompts import (
    InjectedMemory,
    Marked,
    MemoryContext,
    ProjectFacts,
    Signal,
    WorkKind,
    WorkSignal,
)
from subcog.bus.values import Ended, Kept
from subcog.stages.inject import inject
from subcog.stages.parse import parse
from subcog.stages.respond import enriched_intent, kept_line, respond
from subcog.stages.text.envelope import MAX_UNITS
from subcog.stages.text.unicode import count_units
from tests.fakes import (
    NOW,
    FakeSessions,
    make_built,
    make_classified,
    make_hits,
    make_intent,
    make_parsed,
    make_prompt,
    make_quoting,
    make_settings,
)
from tests.waiting import ends_soon


def answer(built):
    return json.loads(respond(built).body)


def kept_answer(kept, marked=None):
    marked = marked or Marked(content="x", marker="[remember]")
    classified = make_classified(parsed=make_parsed(marked=(marked,)), kept=[kept])
    return answer(make_built(classified))["systemMessage"]


def test_nothing_to_say_is_an_empty_object():
    response = respond(make_built())
    assert response.body == b"{}"
    assert response.trace == "t1"


def test_the_context_goes_where_the_agent_reads_it_and_nowhere_else():
    assert answer(make_built(text="notes")) == {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "notes"}
    }


def test_an_explicit_capture_is_confirmed_to_the_user():
    kept = Kept(
        outcome="stored", namespace="decisions", memory_id="mem_1", summary="We use argon2id"
    )
    assert kept_answer(kept) == "subcog: kept as decision: We use argon2id (mem_1)"


def test_what_had_been_forgotten_is_said_to_be_kept_again():
    kept = Kept(
        outcome="stored", namespace="decisions", memory_id="mem_1", summary="a", was_forgotten=True
    )
    assert kept_answer(kept).endswith("(mem_1); you had forgotten it: it is kept again")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (
            Kept(outcome="merged", namespace="gotchas", memory_id="mem_1", summary="s"),
            "subcog: known already, merged into gotcha: s (mem_1)",
        ),
        (
            Kept(outcome="merged", namespace="gotchas", memory_id="mem_1", summary="s", reason="r"),
            "subcog: known already, merged into gotcha: s (mem_1); r",
        ),
        (
            Kept(outcome="pending", namespace="tech-debt", summary="s"),
            "subcog: will be kept as tech-debt: s",
        ),
        (
            Kept(outcome="declined", namespace="progress", summary="s", reason="too long"),
            "subcog: not kept as progress: too long",
        ),
        (
            Kept(outcome="failed", namespace="progress", summary="s", reason="the disk is full"),
            "subcog: could not be stored now as progress: the disk is full",
        ),
    ],
)
def test_each_outcome_is_told_apart(kept, said):
    assert kept_answer(kept) == said


@pytest.mark.parametrize("outcome", get_args(get_type_hints(Kept)["outcome"]))
def test_every_outcome_can_be_told(outcome):
    assert kept_answer(Kept(outcome=outcome, namespace="context")).startswith("subcog: ")


def test_what_was_redacted_is_named_by_kind():
    kept = Kept(outcome="stored", namespace="context", summary="s", redactions=("jwt", "email"))
    assert kept_answer(kept) == "subcog: kept as context: s; left out of it: email, jwt"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("[remember] <private>pin 1234</private>", True),
        ("[remember]", False),
        ("the private key [remember]", False),
        ("/note\n[remember] <private>pin</private>", False),
    ],
)
def test_who_marks_what_is_private_alone_reads_that_nothing_is_kept(text, is_told):
    built = make_built(make_classified(parsed=parse(make_prompt(text))))
    assert ("what you marked is private" in answer(built).get("systemMessage", "")) is is_told


def test_an_unknown_namespace_is_answered_with_those_that_exist():
    marked = Marked(content="x", marker="[remember:foo]", tag="foo")
    said = kept_answer(Kept(outcome="stored", namespace="learnings", summary="x"), marked)
    assert "there is no namespace 'foo', only decisions, learnings, patterns" in said


def test_a_summary_cannot_reach_the_terminal_with_escapes():
    kept = Kept(outcome="stored", namespace="context", summary="a\x1b[2J\nb\u202ec")
    assert kept_answer(kept) == "subcog: kept as context: a bc"


def test_many_captures_are_counted_after_the_fifth():
    marked = tuple(Marked(content="x", marker="@memory") for _ in range(30))
    kept = [Kept(outcome="stored", namespace="context", summary="y" * 500) for _ in marked]
    classified = make_classified(parsed=make_parsed(marked=marked), kept=kept)
    lines = answer(make_built(classified))["systemMessage"].split("\n")
    assert len(lines) == 6
    assert lines[-1] == "subcog: and 25 more"
    assert sum(map(len, lines)) < MAX_UNITS - 8000


def detailed(**changes):
    parsed = make_parsed(
        make_prompt(detailed=True),
        signals=(Signal(kind="decision", phrase="we decided", start=0, end=10),),
    )
    return make_classified(make_hits(2), make_intent(65), parsed=parsed, **changes)


def test_details_are_those_of_the_specification():
    built = inject(
        detailed(),
        settings=make_settings(),
        quoting=make_quoting(),
        sessions=FakeSessions(),
        now=NOW,
    )
    context = answer(built)["metadata"]["memory_context"]
    assert list(context) == [
        "search_intent_detected",
        "intent_type",
        "topics",
        "injected_memories",
        "reminder",
        "suggested_resources",
    ]
    assert context["search_intent_detected"] is True
    assert context["intent_type"] == "howto"
    assert context["topics"] == ["password hashing"]
    assert list(context["injected_memories"][0]) == ["id", "namespace", "content_preview", "score"]
    assert context["injected_memories"][0]["score"] == round(built.verdicts[0].score, 4)
    assert context["reminder"] == "These memories may be relevant to the user's question."
    assert context["suggested_resources"][0] == "subcog://search/password%20hashing"


def test_details_tell_signals_confidence_and_why_nothing_came():
    built = inject(
        detailed(degraded=["embedder.unavailable"]),
        settings=make_settings(enabled=False),
        quoting=make_quoting(),
        sessions=FakeSessions(),
        now=NOW,
    )
    metadata = answer(built)["metadata"]
    assert metadata["signals"] == [{"kind": "decision", "phrase": "we decided"}]
    assert metadata["search_intent"]["confidence"] == 0.65
    assert metadata["abstained"] == "disabled"
    assert metadata["degraded"] == ["embedder.unavailable"]


def test_details_are_left_out_for_whom_did_not_ask():
    context = MemoryContext(
        search_intent_detected=True,
        injected_memories=(
            InjectedMemory(id="m", namespace="context", content_preview="p", score=1.0),
        ),
    )
    assert "metadata" not in answer(make_built(text="notes", context=context))


def test_a_context_that_is_too_long_is_left_out_whole():
    assert "hookSpecificOutput" in answer(make_built(text="🚀" * (MAX_UNITS // 2)))
    assert answer(make_built(text="🚀" * (MAX_UNITS // 2 + 1))) == {}


def test_a_lone_surrogate_does_not_break_the_answer():
    text = answer(make_built(text="a\ud800b"))["hookSpecificOutput"]["additionalContext"]
    assert count_units(text) == 3


SURE = Signal(
    kind="decision",
    phrase="we use argon2id",
    start=0,
    end=15,
    namespace="decisions",
    confidence_percent=90,
)


def suggested(*signals, suggest=True, text="we use argon2", **changes):
    classified = make_classified(parsed=make_parsed(signals=signals, text=text, **changes))
    return json.loads(respond(make_built(classified), suggest=suggest).body)


def test_to_a_question_nothing_is_suggested():
    assert "systemMessage" not in suggested(SURE, text="We took bcrypt, never argon2. Why?")
    assert "systemMessage" in suggested(SURE, text="Why? We took bcrypt, never argon2.")


@pytest.mark.parametrize("signal", [replace(SURE, kind="resolution", namespace="blockers"), SURE])
def test_nothing_is_suggested_for_a_report_or_beside_an_order(signal):
    text = "customers got the discount twice" if signal is not SURE else "we use argon2"
    work = (WorkSignal(kind=WorkKind.BUGFIX, keyword="fix"),) if signal is SURE else ()
    assert "systemMessage" not in suggested(signal, text=text, work=work)


def test_a_sure_statement_without_a_marker_is_suggested_once():
    surer = replace(SURE, phrase="never bcrypt\nagain", confidence_percent=95)
    assert suggested(SURE, surer) == {
        "systemMessage": "subcog: this reads like a decision: “never bcrypt again” "
        "To be sure that it is kept, begin the line with [remember:decisions]."
    }


NOTE = InjectedMemory(id="mem_1", namespace="decisions", content_preview="", score=1.0)


def noticed(built, *kept):
    return json.loads(respond(built, notices=True, kept=kept).body).get("systemMessage", "")


def test_a_line_tells_what_was_shown_and_what_was_kept():
    context = MemoryContext(search_intent_detected=True, injected_memories=(NOTE, NOTE))
    injected = make_built(context=context)
    assert noticed(injected) == "subcog: 2 notes for this prompt"
    assert noticed(injected, "decisions", "gotchas", "decisions", "context") == (
        "subcog: 2 notes for this prompt · kept 2 decisions, 1 gotcha, 1 context"
    )
    assert noticed(make_built(), "learnings") == "subcog: kept 1 learning"
    assert noticed(make_built()) == ""
    assert "systemMessage" not in answer(injected)


def test_a_line_tells_what_contradicts_a_memory_that_was_asked_for_and_how_to_decide():
    body = respond(make_built(), notices=True, kept=["decisions"], denied=[("mem_1", "mem_2")]).body
    assert json.loads(body)["systemMessage"] == (
        "subcog: kept 1 decision · mem_2 contradicts mem_1, which you asked to keep"
        " (if that no longer holds: subcog supersede mem_1 mem_2)"
    )


def test_a_line_tells_of_what_is_marked_in_a_paste():
    marked = Marked(content="use uv", marker="[remember]", namespace="learnings")
    for refused, what in (
        ((marked,), "a line with [remember] stands"),
        ((marked, marked), "2 marked lines stand"),
    ):
        classified = make_classified(parsed=make_parsed(refused=refused))
        assert json.loads(respond(make_built(classified)).body)["systemMessage"] == (
            f"subcog: {what} in what looks pasted, so nothing of that is kept;"
            " if you mean it, send it by itself"
        )


def test_a_line_tells_of_a_marker_with_nothing_to_keep():
    classified = make_classified(parsed=make_parsed(empty=("[remember]",)))
    assert json.loads(respond(make_built(classified)).body)["systemMessage"] == (
        "subcog: nothing is kept by [remember]: there is no text behind it to keep"
    )


def test_a_line_tells_which_memory_was_replaced_unasked_and_how_to_undo_that():
    body = respond(make_built(), notices=True, kept=["decisions"], replaced=["mem_1"]).body
    assert json.loads(body)["systemMessage"] == (
        "subcog: kept 1 decision · replaced mem_1 (to undo that: subcog restore mem_1)"
    )


def test_a_line_tells_what_holds_again_since_its_successor_was_taken_back():
    ended = Ended(memory_id="mem_2", version=1, summary="pnpm", how="taken back", restored="mem_1")
    body = respond(make_built(), notices=True, closed=[ended]).body
    assert json.loads(body)["systemMessage"] == (
        "subcog: taken back: “pnpm”, so mem_1 holds again"
        " (to undo that: subcog restore mem_2 --version 1)"
    )


def test_what_no_person_typed_is_answered_without_a_notice():
    assert noticed(make_built(make_classified(parsed=make_parsed(machine=True))), "gotchas") == ""


def test_a_line_shows_that_more_was_kept_than_it_tells():
    kept = Kept(outcome="stored", namespace="decisions", memory_id="m", summary="No bloc.")
    more = Marked(content="No bloc. Too much boilerplate.", marker="[remember]")
    assert kept_line(kept, more) == "subcog: kept as decision: No bloc. … (m)"
    assert kept_line(kept, replace(more, content="No bloc.")) == (
        "subcog: kept as decision: No bloc. (m)"
    )


def test_a_notice_stands_below_what_became_of_a_marker():
    marked = Marked(content="x", marker="[remember]")
    kept = Kept(outcome="stored", namespace="decisions", memory_id="mem_1")
    built = make_built(make_classified(parsed=make_parsed(marked=(marked,)), kept=[kept]))
    first, second = noticed(built, "gotchas").split("\n")
    assert first.startswith("subcog: kept as decision")
    assert second == "subcog: kept 1 gotcha"


def test_a_secret_is_not_repeated_in_a_suggestion():
    classified = make_classified(parsed=make_parsed(signals=(SURE,)))
    assert respond(make_built(classified), suggest=True, clean=lambda text: "[gone]").body == b"{}"


@pytest.mark.parametrize(
    "text",
    [
        "remember that we store all prices as integer cents",
        "ok, thanks\nplease remember: Jonas owns the payments code",
        "Don’t forget: the VAT rate for pitches is 7 %",
        "keep in mind that the demo customer is number 4711",
    ],
)
def test_who_asks_in_prose_to_remember_reads_how(text):
    message = suggested(text=text)["systemMessage"]
    assert message.endswith("begin the line with [remember].")
    assert text.splitlines()[-1] in message


@pytest.mark.parametrize(
    "text",
    [
        "forget what I said about the retro",
        "ok, thanks\nPlease forget everything that I told you about the retro.",
        "forget what we decided about the retro!",
    ],
)
def test_who_asks_in_prose_to_forget_reads_how(text):
    message = suggested(text=text)["systemMessage"]
    assert '`subcog recall "retro"`' in message
    assert "`subcog forget ID`" in message


def test_a_command_that_is_shown_holds_words_alone():
    message = suggested(text='forget what I said about $(id)"; `rm -rf`')["systemMessage"]
    assert '`subcog recall "id rm rf"`' in message


@pytest.mark.parametrize(
    "text",
    [
        "forget it",
        "forget about that",
        "what did I say about the retro?",
        "don't forget what I said about the retro",
        "can you forget what I said about the retro?",
    ],
)
def test_who_names_nothing_to_forget_reads_nothing_of_it(text):
    assert "subcog forget" not in str(suggested(text=text))


@pytest.mark.parametrize(
    "text",
    [
        "remember when we decided on the token lifetimes of the api",
        "remember that bug with the price of the order?",
        "I remember that we had five of those",
        "remember this",
    ],
)
def test_who_asks_what_was_or_says_nothing_to_keep_reads_nothing(text):
    assert suggested(text=text) == {}


def test_a_question_with_a_long_object_in_it_is_read_soon():
    pairs = ", ".join(f'"k{number}": {number}' for number in range(2000))
    with ends_soon():
        assert suggested(text=f"Remember {{{pairs}}} is that ok?") == {}


@pytest.mark.parametrize(
    ("signal", "changes"),
    [
        (SURE, {"suggest": False}),
        (SURE, {"machine": True}),
        (SURE, {"marked": (Marked(content="x", marker="[remember]"),)}),
        (replace(SURE, confidence_percent=84), {}),
        (replace(SURE, namespace=""), {}),
    ],
)
def test_nothing_is_suggested_that_is_unsure_marked_or_unwanted(signal, changes):
    assert suggested(signal, **changes) == {}


def enriched(text, enrichment=None, **facts):
    parsed = parse(make_prompt(text))
    return PromptEnriched(
        trace="t",
        prompt=parsed.prompt,
        parsed=parsed.parsed,
        project=ProjectFacts(**facts),
        enrichment=enrichment or Enrichment(),
    )


def test_what_is_unknown_is_there_and_empty():
    made = enriched_intent(enriched("hm"))
    assert made["primary_intent"] is None
    assert made["project"]["stack"] == made["project"]["test_cmd"] == ""
    assert made["memory"]["similar_tasks"] == made["suggestions"] == made["conflicts"] == []
    assert made["context_tokens"] == 0


def test_words_are_ordered_by_rarity_and_paths_say_whether_they_are_there():
    known = Enrichment(existing_paths=("a.py",), rarity=(("redis", 0.9), ("queue", 0.2)))
    made = enriched_intent(enriched("queue redis a.py b.py", known))
    assert [one["word"] for one in made["retrieval_words"]][:2] == ["redis", "queue"]
    assert [(one["value"], one.get("exists")) for one in made["entities"]] == [
        ("redis", None),
        ("a.py", True),
        ("b.py", False),
    ]


def test_the_tokens_are_those_of_what_is_known():
    few = enriched_intent(enriched("hm", name="shop"))["context_tokens"]
    task = SimilarTask(id="m", input="Implement OAuth", similarity=0.8, outcome="success")
    more = enriched_intent(enriched("hm", Enrichment(similar_tasks=(task,)), name="shop"))
    assert 0 < few < more["context_tokens"]


def test_whatever_a_prompt_holds_it_is_json():
    made = enriched_intent(enriched("fix \ud800 the a\ud800b.py thing #1 and add \udfff"))
    assert json.loads(msgspec.json.encode(made))["primary_intent"] == "BUGFIX"
