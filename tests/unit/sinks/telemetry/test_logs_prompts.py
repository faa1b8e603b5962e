import json

import msgspec

from subcog.bus.enrichment import Conflict, Enrichment, Side
from subcog.bus.events import ResponseReady
from subcog.bus.prompts import InjectedMemory, MemoryContext, Verdict
from subcog.bus.signals import delivered, emit
from subcog.config.settings import TraceSettings
from subcog.sinks.telemetry.logs import STAGES, PromptLog, read_traces
from tests.fakes import (
    PROJECT,
    FixedClock,
    make_built,
    make_classified,
    make_intent,
    make_parsed,
    make_prompt,
)

TEXT = "how do I hash the passwords of Mallory?"


def traces(folder, **settings):
    defaults = {"enabled": True, "keep_text": False}
    return PromptLog(
        folder / "traces.jsonl",
        settings=TraceSettings(**(defaults | settings)),
        clock=FixedClock(),
        clean=lambda text: text.replace("Mallory", "…"),
    )


def answered(trace="t1", rehearsal=False):
    parsed = make_parsed(
        make_prompt(TEXT, trace=trace, rehearsal=rehearsal), words=("hash", "Mallory")
    )
    classified = make_classified(parsed=parsed, intent=make_intent(topics=("mallory",)))
    side = Side(id="mem_1", scope=PROJECT, summary="Mallory said", score=1, arithmetic="1 × 1")
    enriched = msgspec.structs.replace(
        classified.enriched,
        enrichment=Enrichment(conflicts=(Conflict(about="name", winner=side, loser=side),)),
    )
    verdict = Verdict(
        memory_id="mem_1", namespace="decisions", summary="Mallory", text=0.1, late=0.1,
        vector=0.1, relevance=0.7, weight=1.0, score=0.7, injected=True, why="relevance 0.70",
    )  # fmt: skip
    shown = InjectedMemory(id="mem_1", namespace="decisions", content_preview="Mallory", score=0.7)
    built = make_built(
        msgspec.structs.replace(classified, enriched=enriched),
        "a context about Mallory",
        context=MemoryContext(
            search_intent_detected=True, topics=("mallory",), injected_memories=(shown,)
        ),
        verdicts=(verdict,),
    )
    return ResponseReady(trace=trace, body=b"{}", built=built)


async def test_a_prompt_leaves_ids_timings_and_decisions_and_none_of_its_words(tmp_path):
    sink = traces(tmp_path)
    sink.watch()
    for stage in STAGES:
        emit(delivered, stage, event="x", trace="t1", took_s=0.002)
    emit(delivered, "metrics", event="x", trace="t1", took_s=9)
    sink.unwatch()
    await sink.note(answered())
    (trace,) = read_traces(tmp_path / "traces.jsonl")
    assert (trace["id"], trace["project"]) == ("t1", PROJECT.id)
    assert trace["stages_ms"] == dict.fromkeys(STAGES, 2.0)
    assert trace["took_ms"] == 10.0
    assert trace["inject"]["memories"] == ["mem_1"]
    assert trace["enrich"]["conflicts"][0]["loser"] == {"id": "mem_1", "score": "1 × 1"}
    assert len(trace["prompt"]["sha256"]) == 16
    written = json.dumps(trace).lower()
    for word in ("mallory", "password", "hash the"):
        assert word not in written


async def test_text_is_kept_redacted_and_only_where_it_is_wanted(tmp_path):
    await traces(tmp_path, keep_text=True).note(answered())
    (trace,) = read_traces(tmp_path / "traces.jsonl")
    assert trace["text"]["prompt"] == "how do I hash the passwords of …?"
    assert "Mallory" not in json.dumps(trace)


async def test_rehearsals_other_answers_and_a_switched_off_log_leave_nothing(tmp_path):
    sink = traces(tmp_path)
    await sink.note(answered(rehearsal=True))
    await sink.note(ResponseReady(trace="t2", body=b"{}"))
    await traces(tmp_path, enabled=False).note(answered())
    assert list(tmp_path.iterdir()) == []


async def test_a_full_disk_hurts_nobody(tmp_path, caplog):
    (tmp_path / "traces.jsonl").mkdir()
    await traces(tmp_path).note(answered())
    assert [record.message for record in caplog.records] == ["cannot write a prompt trace"]


async def test_the_newest_comes_first_and_a_damaged_line_is_left_out(tmp_path):
    sink = traces(tmp_path)
    await sink.note(answered("a"))
    with (tmp_path / "traces.jsonl").open("ab") as file:
        file.write(b"{half\n42\n")
    await sink.note(answered("b"))
    assert [trace["id"] for trace in read_traces(tmp_path / "traces.jsonl")] == ["b", "a"]


def test_what_is_timed_is_bounded(tmp_path):
    sink = traces(tmp_path)
    sink.watch()
    for number in range(2000):
        emit(delivered, "parse", event="x", trace=f"t{number}", took_s=0.001)
    sink.unwatch()
    assert sink.stages("t0") == {}
    assert sink.stages("t1999") == {"parse": 1.0}
