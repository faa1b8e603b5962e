"""What an explanation and a trace look like: everything that was decided is on the page."""

from datetime import UTC, datetime

import msgspec
from rich.console import Console

from subcog.bus.enrichment import (
    ApplicablePattern,
    Conflict,
    Enrichment,
    Gotcha,
    ResolvedReference,
    Side,
    SimilarTask,
    Suggestion,
)
from subcog.bus.events import ResponseReady
from subcog.bus.prompt_results import ExplainResult, Trace
from subcog.bus.prompts import ProjectAnswer, ProjectFacts, Verdict
from subcog.bus.sessions import SessionVerdict
from subcog.pipeline.api.results import explain_answer
from subcog.pipeline.cli.explain_view import brief, explanation, trace_page
from subcog.stages.parse import parse
from tests.fakes import PROJECT, make_built, make_classified, make_prompt

SIDE = Side(id="mem_win", scope=PROJECT, summary="x", score=1.0, arithmetic="1.00 × 1 = 1.00")
KNOWN = Enrichment(
    similar_tasks=(
        SimilarTask(
            id="m1", input="Implement OAuth", similarity=0.8, outcome="failure", approach=("JWT",)
        ),
    ),
    applicable_patterns=(
        ApplicablePattern(id="m2", name="Hash", approach="bcrypt", match_score=0.5, confidence=1.0),
    ),
    known_gotchas=(Gotcha(id="m3", tech="nextjs", title="Env vars", problem="undefined"),),
    resolved_references=(
        ResolvedReference(text="the auth thing", id="m4", summary="Redis", confidence=0.7),
    ),
    suggestions=(
        Suggestion(approach="Use [bold]", confidence=0.9, source="memory", evidence="m5"),
    ),
    conflicts=(
        Conflict(about="name", winner=SIDE, loser=msgspec.structs.replace(SIDE, id="mem_lose")),
    ),
)


def drawn(page):
    console = Console(width=200, force_terminal=False)
    with console.capture() as capture:
        console.print(page)
    return capture.get()


def answer(text, enrichment=KNOWN):
    parsed = parse(make_prompt(text))
    classified = make_classified(parsed=parsed)
    enriched = msgspec.structs.replace(
        classified.enriched, enrichment=enrichment, project=ProjectFacts(name="shop", stack=("Go",))
    )
    built = make_built(
        msgspec.structs.replace(classified, enriched=enriched), abstained="no_intent"
    )
    ready = ResponseReady(trace="t1", body=b"{}", built=built)
    made = explain_answer(ready, stages={"parse": 0.3, "enrich": 2.0})
    return msgspec.json.decode(msgspec.json.encode(made), type=ExplainResult)


def test_a_page_shows_what_memory_has_on_a_prompt():
    page = drawn(explanation(answer("fix the auth thing like last time")))
    for told in (
        "kind of work bugfix, by the words fix",
        "“the auth thing” is m4, 70%: Redis",
        "“like last time” points at nothing that is known",
        "project shop, Go",
        "task 0.80 Implement OAuth (failure): JWT",
        "pattern 0.50 Hash: bcrypt",
        "gotcha [nextjs] Env vars: undefined",
        "suggests 0.90 Use [bold] (m5)",
        "mem_win",
        "over mem_lose",
        "parse 0.30 ms, enrich 2.00 ms",
        "nothing is injected: the prompt does not ask for anything",
    ):
        assert told in page


def test_a_page_tells_what_became_of_a_question_about_the_project():
    made = answer("how do I run the tests?", Enrichment())
    answers = (
        ProjectAnswer(fact="test_command", outcome="shown", source="Makefile"),
        ProjectAnswer(fact="stack", outcome="unknown"),
        ProjectAnswer(fact="quirks", outcome="already_shown"),
    )
    inject = msgspec.structs.replace(made.inject, answers=answers, abstained=None)
    page = drawn(explanation(msgspec.structs.replace(made, inject=inject, context="x")))
    for told in (
        "✓ project's test command: from Makefile",
        "· project's stack: its files do not tell",
        "· project's quirks: already shown in this session",
    ):
        assert told in page


def test_a_page_with_addresses_alone_still_tells_why_nothing_is_quoted():
    page = drawn(explanation(msgspec.structs.replace(answer("hm", Enrichment()), context="More:")))
    assert "nothing is injected: the prompt does not ask for anything" in page
    assert "More:" in page


def test_a_page_tells_what_was_read_from_what_words_alone_decided():
    told = answer("hm", Enrichment())
    read = Verdict(
        memory_id="mem_1",
        namespace="decisions",
        summary="x",
        text=0.5,
        late=0.4,
        vector=0.6,
        relevance=0.8,
        weight=1.0,
        score=0.8,
        injected=True,
        why="relevance 0.80",
        by_words=0.3,
    )
    unread = msgspec.structs.replace(read, relevance=0.7, score=0.7, by_words=None)
    inject = msgspec.structs.replace(told.inject, verdicts=(read, unread))
    told = msgspec.structs.replace(told, inject=inject)
    page = drawn(explanation(told))
    assert "vector 0.60 → first stage 0.30 → relevance 0.80 × weight 1.0 = 0.80" in page
    assert "vector 0.60 → relevance 0.70 × weight 1.0 = 0.70" in page


def test_a_page_tells_why_each_session_was_quoted_or_not(set_zone):
    """Its day is that of this machine's clock."""
    set_zone("Asia/Tokyo")
    told = answer("hm", Enrichment())
    quoted = SessionVerdict(
        session="s-1",
        began_at=datetime(2026, 10, 2, 20, tzinfo=UTC),
        relevance=0.8,
        outcome="quoted",
        why="relevance 0.80",
    )
    other = msgspec.structs.replace(
        quoted, session="s-2", outcome="not_relevant", why="below the floor"
    )
    inject = msgspec.structs.replace(told.inject, sessions=(quoted, other))
    told = msgspec.structs.replace(told, inject=inject)
    assert "s-1, a session of 2026-10-03" in drawn(brief(told))
    page = drawn(explanation(told))
    assert "✓ session s-1 of 2026-10-03: relevance 0.80" in page
    assert "· session s-2 of 2026-10-03: below the floor" in page


def test_in_brief_what_is_shown_comes_first_and_the_rest_is_counted():
    told = answer("hm", Enrichment())
    verdicts = tuple(verdict(f"mem_{number}", injected=number == 7) for number in range(8))
    inject = msgspec.structs.replace(told.inject, verdicts=verdicts)
    page = drawn(brief(msgspec.structs.replace(told, inject=inject)))
    marks = [line.split()[:3] for line in page.splitlines() if "[decisions]" in line]
    assert marks == [["✓", "[decisions]", "mem_7"]] + [
        ["·", "[decisions]", f"mem_{number}"] for number in range(3)
    ]
    assert "below the floor" in page
    assert "nothing is injected: the prompt does not ask for anything" in page
    assert "--full shows 4 more candidates" in page
    assert "parse" not in page


def verdict(id_, *, injected):
    return Verdict(
        memory_id=id_,
        namespace="decisions",
        summary=f"{id_} [bold]",
        text=0.5,
        late=0.4,
        vector=0.6,
        relevance=0.8,
        weight=1.0,
        score=0.8,
        injected=injected,
        why="relevance 0.80" if injected else "below the floor",
    )


def test_a_pattern_of_one_sentence_is_told_once():
    whole = "Every handler takes its database session from the dependency"
    pattern = msgspec.structs.replace(
        KNOWN.applicable_patterns[0], name="Every handler takes its database…", approach=whole
    )
    page = drawn(explanation(answer("Add auth", Enrichment(applicable_patterns=(pattern,)))))
    assert page.count("Every handler") == 1


def test_words_that_name_an_emoji_stay_words():
    told = answer("why :bug: here?", Enrichment())
    found = msgspec.structs.replace(verdict("mem_1", injected=True), summary="See :bug: [red]")
    inject = msgspec.structs.replace(told.inject, verdicts=(found,))
    told = msgspec.structs.replace(told, inject=inject, project="a:bug:b")
    assert drawn(brief(told)).count(":bug: [red]") == 1
    page = drawn(explanation(told))
    for quoted in ("why :bug: here?", "See :bug: [red]", "a:bug:b"):
        assert quoted in page


def test_what_is_not_known_takes_no_line():
    page = drawn(explanation(answer("hm", Enrichment())))
    for word in ("work", "task", "gotcha", "suggests", "conflict"):
        assert word not in page


def test_a_trace_has_a_row_for_each_stage(set_zone):
    set_zone("Asia/Tokyo")
    trace = {
        "id": "01abc",
        "time": "2026-03-01T12:00:00Z",
        "project": "shop",
        "text": {"prompt": "what [red] was said"},
        "prompt": {"sha256": "ff", "characters": 9, "entities": {"path": 2}, "work": ["BUGFIX"]},
        "enrich": {
            "candidates": 3, "similar_tasks": {"m1": 0.8}, "patterns": {}, "gotchas": [],
            "resolved": {}, "degraded": ["search.unavailable"],
            "conflicts": [
                {"winner": {"id": "a", "score": "1"}, "loser": {"id": "b", "score": "0"}}
            ],
        },
        "classify": {
            "intent_type": None, "confidence": 0.0, "source": None,
            "votes": [{"racer": "llm", "intent_type": None, "missing": "timeout", "took_ms": 9.0}],
        },
        "inject": {
            "abstained": "no_intent", "memories": [], "tokens": 0,
            "verdicts": [{"id": "m9", "injected": False, "why": "relevance 0.1"}],
            "sessions": [
                {"id": "s7", "began_at": "2026-02-02T20:00:00Z", "quoted": True, "why": "it fits"}
            ],
        },
        "stages_ms": {"parse": 0.5},
    }  # fmt: skip
    page = drawn(trace_page(msgspec.convert(trace, Trace)))
    for told in (
        "what [red] was said",
        "9 characters, sha256 ff",
        "work bugfix; names 2 path",
        "3 candidates, 1 similar tasks, 1 conflicts, search.unavailable",
        "a (1) over b (0)",
        "no search intent (llm timeout in 9.0 ms)",
        "· m9 relevance 0.1",
        "✓ session s7 of 2026-02-03: it fits",
        "parse 0.50 ms",
    ):
        assert told in page
