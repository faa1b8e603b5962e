"""What happened lately: bounded, for whoever may see it, and as it happens."""

from datetime import UTC, datetime

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.events import CaptureSettled, MemoriesShown, MemoryForgotten, ResponseReady
from subcog.bus.prompts import Verdict
from subcog.bus.values import Kept, Scope, Shown
from subcog.sinks.page.activity import MAX_ENTRIES, Activity
from subcog.stages.redaction.redact import Redactor
from tests.fakes import make_built, make_classified, make_memory, make_parsed

SHOP, OTHER, ME = Scope("project", "shop"), Scope("project", "other"), Scope("user", "me")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
GITHUB_TOKEN = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyzAB"
JWT = (
    f"eyJhbGciOiJIUzI1NiJ9.{'eyJzdWIiOiIxMjM0NTY3ODkwIn0' * 48}.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV"
)


def make():
    return Activity(clock=lambda: NOW, stages=lambda trace: {})


def forgotten(number, scope=SHOP):
    return MemoryForgotten(trace="t", id=f"mem_{number}", scope=scope)


def test_only_the_last_is_held_and_numbers_go_on():
    activity = make()
    for number in range(MAX_ENTRIES + 5):
        activity.note_forgotten(forgotten(number))
    recent = activity.recent(frozenset({SHOP}))
    assert [recent[0].number, recent[-1].number, len(recent)] == [6, MAX_ENTRIES + 5, MAX_ENTRIES]
    assert activity.latest == MAX_ENTRIES + 5
    assert [e.number for e in activity.recent(frozenset({SHOP}), after=MAX_ENTRIES + 3)] == [
        MAX_ENTRIES + 4,
        MAX_ENTRIES + 5,
    ]


def test_a_project_sees_its_own_and_what_is_the_users():
    activity = make()
    activity.note_forgotten(forgotten(1, SHOP))
    activity.note_forgotten(forgotten(2, OTHER))
    activity.note_forgotten(forgotten(3, ME))
    shown = MemoriesShown(
        trace="t",
        session="s",
        hook="SessionStart",
        shown=(Shown(memory_id="mem_9", score=1.0, why="new"),),
        scopes=(OTHER, ME),
    )
    activity.note_shown(shown)
    assert [e.number for e in activity.recent(frozenset({SHOP, ME}))] == [1, 3]
    assert [e.number for e in activity.recent(frozenset({OTHER}))] == [2, 4]


def test_the_words_of_what_was_forgotten_are_gone_here_too():
    activity = make()
    kept = Kept(outcome="stored", namespace="context", memory_id=make_memory(1).id, summary="zebra")
    activity.note_capture(CaptureSettled(trace="t", kept=kept, memory=make_memory(1, "zebra")))
    built = make_built(make_classified(kept=(kept, replace(kept, memory_id="mem_other"))))
    verdicts = tuple(verdict(each) for each in (make_memory(1).id, "mem_other"))
    built = replace(built, verdicts=verdicts)
    activity.note_prompt(ResponseReady(trace="t", body=b"{}", built=built))
    memory = make_memory(1)
    activity.note_forgotten(MemoryForgotten(trace="t", id=memory.id, scope=memory.scope))
    capture, prompt, _ = activity.recent(frozenset({memory.scope, built_scope(built)}))
    assert capture.summary == "forgotten since"
    assert [one.summary for one in prompt.kept] == ["forgotten since", "zebra"]
    assert [one.summary for one in prompt.verdicts] == ["forgotten since", "zebra"]


@pytest.mark.parametrize("before", [590, 4590])
def test_nothing_is_shown_of_a_secret_that_was_cut(before):
    activity, redactor = make(), Redactor.load()
    secrets = f"word {JWT} {JWT} {JWT} " if before > 3 * len(JWT) else ""
    text = secrets + "word " * ((before - len(secrets)) // 5) + GITHUB_TOKEN + " and more" * 1000
    built = make_built(make_classified(parsed=make_parsed(text=text)))
    activity.note_prompt(ResponseReady(trace="t", body=b"{}", built=built))
    (prompt,) = activity.recent(frozenset({built_scope(built)}))
    told = prompt.told(lambda text: redactor.redact(text).text)
    assert told.startswith("word ")
    assert "ghp" not in told
    assert "eyJ" not in told


def test_a_prompt_without_blanks_is_shown_from_its_beginning():
    activity = make()
    built = make_built(make_classified(parsed=make_parsed(text=f"質問: {'あ' * 5000}")))
    activity.note_prompt(ResponseReady(trace="t", body=b"{}", built=built))
    (prompt,) = activity.recent(frozenset({built_scope(built)}))
    assert prompt.told(str).startswith(f"質問: {'あ' * 500}")


def verdict(memory_id):
    figures = dict.fromkeys(("text", "late", "vector", "relevance", "weight", "score"), 0.5)
    about = {"memory_id": memory_id, "namespace": "context", "summary": "zebra", "why": "close"}
    return Verdict(injected=True, **about, **figures)


def built_scope(built):
    return built.classified.enriched.prompt.place.project


async def test_whoever_looks_on_is_told_in_order_and_let_go_at_the_end():
    activity = make()
    with activity.watching(frozenset({SHOP})) as watch:
        activity.note_forgotten(forgotten(1, OTHER))
        for number in range(3):
            activity.note_forgotten(forgotten(number))
        assert [entry.number for entry in await watch.next()] == [2, 3, 4]
        with anyio.move_on_after(0.01) as waited:
            await watch.next()
        assert waited.cancelled_caught
        activity.close()
        assert await watch.next() == []
        assert watch.is_closed
    assert activity.watchers == 0
