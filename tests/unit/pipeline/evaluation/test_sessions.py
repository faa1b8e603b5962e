"""Evaluation of sessions: the figures, and a small set through the product itself."""

import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from subcog.config.load import load_settings
from subcog.pipeline.evaluation.sessions import (
    JudgedPrompt,
    JudgedSession,
    Turn,
    evaluate,
    figures,
    items_of,
    share,
)

OLD = "Payment retries are seven attempts, and the delay doubles from forty seconds."
NEW = "Payment retries are five attempts from today, since the bank bills every single one."
BEGAN = datetime(2026, 10, 1, tzinfo=UTC)
SESSIONS = tuple(
    JudgedSession(id=name, started_at=BEGAN, turns=(Turn("user", text),))
    for name, text in (("old", OLD), ("new", NEW))
)


def prompt(kind, facts=(), sessions=("old", "new")):
    return JudgedPrompt(id="p", prompt="x", kind=kind, sessions=sessions, facts=facts)


def context(*items):
    return "\n".join(f"- session x\n  > user: {item}" for item in items)


def test_items_are_taken_out_of_an_envelope():
    assert items_of(f"<note>\n{context('a', 'b')}") == [
        "session x\nuser: a\n",
        "session x\nuser: b",
    ]


def test_a_share_counts_content_words_alone():
    assert share("the retries are seven", "Seven retry, no: 7 retries!") == 1.0
    assert share("seven attempts", "seven") == 0.5
    assert share("the", "x") == 0.0


def test_the_figures_count_facts_silence_and_which_session_comes_first():
    prompts = [
        prompt("decided", ("seven attempts", "purple cows graze")),
        prompt("amended", ("five attempts",)),
        prompt("amended", ("five attempts",)),
        prompt("unknown", (), ()),
        prompt("unknown", (), ()),
    ]
    contexts = [context(OLD), context(NEW, OLD), context(OLD, NEW), "", context(OLD)]

    report = figures(SESSIONS, prompts, contexts, Counter(decisions=3))

    assert (report.facts, report.shown) == (4, 0.75)
    assert report.newest_first == 0.5
    assert report.silent == 0.5
    assert report.notes_per_session == 1.5
    assert "shown         0.750" in "\n".join(report.lines())


def test_sessions_of_any_age_go_through_the_product(tmp_path):
    talk = [
        {"role": "user", "text": "How many retries should the payment worker make on a card?"},
        {"role": "assistant", "text": "Three is usual; the bank bills every attempt, though."},
        {"role": "user", "text": OLD},
    ]
    session = {"id": "a/b", "started_at": "2019-10-01T09:00:00+00:00", "turns": talk}
    prompts = [
        {
            "id": "a",
            "prompt": "How many retries does the payment worker make on a card?",
            "kind": "decided",
            "sessions": ["a/b"],
            "facts": ["payment retries are seven attempts"],
        },
        {"id": "b", "prompt": "Which colour has the logo of the bakery?", "kind": "unknown"},
    ]
    (tmp_path / "sessions.jsonl").write_text(json.dumps(session))
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, prompts)))
    heard = []

    report = evaluate(
        tmp_path,
        settings=load_settings(tmp_path / "none.toml", {}).settings,
        progress=lambda *moved: heard.append(moved),
    )

    assert (report.shown, report.silent) == (1.0, 1.0)
    assert report.tokens > 0
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_an_empty_set_is_refused(tmp_path):
    for name in ("sessions", "prompts"):
        (tmp_path / f"{name}.jsonl").touch()
    with pytest.raises(ValueError, match="holds no sessions"):
        evaluate(tmp_path, settings=None, progress=print)


def test_a_prompt_that_amends_nothing_is_refused(tmp_path):
    session = {"id": "s", "started_at": "2019-10-01T09:00:00+00:00", "turns": []}
    (tmp_path / "sessions.jsonl").write_text(json.dumps(session))
    (tmp_path / "prompts.jsonl").write_text('{"id": "p", "prompt": "x", "kind": "amended"}')
    with pytest.raises(ValueError, match="prompt p is amended"):
        evaluate(tmp_path, settings=None, progress=print)
