"""What was done when, and what is known at all: asked through the real hook of a real daemon."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta

import pytest

from .test_passages import Talk

NOW = datetime.now().astimezone()
MONDAY = NOW.replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=NOW.weekday())
LAST_WEEK = MONDAY - timedelta(days=5)
LONG_AGO = NOW - timedelta(days=70)

NOTES = (
    ("The label queue runs on valkey, redis was too expensive.", "decisions", LAST_WEEK),
    ("Invoices are rounded per line, not per total.", "decisions", LAST_WEEK + timedelta(days=1)),
    ("Barcode printing finished, the reprint button is missing.", "progress", LAST_WEEK),
    ("Postal codes are validated against the carrier's list.", "decisions", LONG_AGO),
    ("The shop front is Svelte, the back office is Django.", "context", LONG_AGO),
)


@pytest.fixture(scope="module")
def known(shared):
    """A project that knows the notes, each from its own time."""
    shared.capture("Parcels over 30 kg go by freight.", "--namespace", "gotchas")
    pattern = json.loads(shared.run("export").stdout)
    file = shared.root / "notes.jsonl"
    file.write_text("\n".join(json.dumps(made_like(pattern, *note)) for note in NOTES))
    assert shared.ask("import", str(file), "--as-exported", "--yes")["stored"] == len(NOTES)
    return shared


def made_like(pattern, text, namespace, at):
    """An exported memory like ``pattern`` that was made at another time."""
    made = {"created_at": at.isoformat(), "updated_at": at.isoformat(), "content_hash": ""}
    own = {"id": f"mem_{uuid.uuid4().hex[:26]}", "content": text, "summary": text}
    return pattern | own | made | {"namespace": namespace}


def asked(house, text):
    return house.context(text, str(uuid.uuid4()))


def shown(context):
    return {text for text, _, _ in NOTES if text in context}


def notes(*numbers):
    return {NOTES[number][0] for number in numbers}


def test_what_was_decided_last_week_is_just_that(known):
    context = asked(known, "what did we decide last week?")
    assert shown(context) == notes(0, 1)
    assert f"· decisions · {LAST_WEEK:%Y-%m-%d}" in context


def test_what_was_done_last_week_is_all_of_it(known):
    assert shown(asked(known, "what did we do last week?")) == notes(0, 1, 2)
    assert shown(asked(known, "was haben wir letzte Woche gemacht?")) == notes(0, 1, 2)


def test_a_time_of_which_nothing_is_known_is_silent(known):
    assert asked(known, "what did we do three months ago?") == ""
    assert asked(known, "what did we decide yesterday about nothing?") == ""


def test_a_subject_is_searched_for_in_its_time(known):
    context = asked(known, "what did we decide last week about the label queue?")
    assert NOTES[0][0] in context
    assert NOTES[3][0] not in context


@pytest.mark.parametrize(
    "order",
    [
        "add a column for last week's date",
        "run the job from last Monday again",
        "revert what we did last week",
    ],
)
def test_an_order_with_a_time_in_it_gets_nothing(known, order):
    assert shown(asked(known, order)) == set()


def test_of_the_whole_the_project_itself_and_its_decisions_are_told(known):
    context = asked(known, "what do you know about this project?")
    assert notes(0, 1, 3, 4) <= shown(context)
    assert "More: subcog://topics" in context


def test_a_namespace_is_told_whole(known):
    assert shown(asked(known, "give me an overview of our decisions")) == notes(0, 1, 3)


def test_a_decision_that_was_kept_without_saying_so_is_told_with_the_others(fresh):
    fresh.capture("Parcels are sorted by postal code because routes change weekly.")
    fresh.capture("The label printer returns 429 after 100 requests a minute.")
    context = asked(fresh, "give me an overview of our decisions")
    assert "postal code" in context
    assert "429" not in context


def test_what_was_dealt_with_blocks_nobody(fresh):
    fresh.capture("The label printer's SDK crashes on ARM.", "--namespace", "blockers")
    closed = fresh.capture("The carrier's sandbox is down.", "--namespace", "blockers")
    fresh.ask("update", closed["id"], "--tags", "resolved")
    open_ones = asked(fresh, "What is blocking us?")
    assert "crashes on ARM" in open_ones
    assert "sandbox" not in open_ones
    assert "sandbox" in asked(fresh, "list all blockers")


def test_work_goes_on_where_it_was_left(fresh):
    fresh.capture("Carrier import finished, tracking is missing.", "--namespace", "progress")
    fresh.capture("Parcels over 30 kg go by freight.", "--namespace", "decisions")
    talk = Talk(fresh, 3)
    talk.clock = (NOW - timedelta(hours=20)).timestamp()
    talk.say("user", "The tracking page should poll the carrier every ten minutes.")
    talk.say("assistant", "It polls now; what is left is the error page of the tracking.")
    talk.end().wait()

    context = asked(fresh, "continue where we left off")

    assert "Carrier import finished" in context
    assert "30 kg" not in context
    assert "what is left is the error page" in context
    assert f"ses_{talk.session[:8]}" in context
    assert asked(fresh, "make the importer continue where it left off") == ""


def test_what_was_said_in_the_span_is_quoted(fresh):
    talk = Talk(fresh, 3)
    talk.clock = LAST_WEEK.timestamp()
    talk.say("user", "The tracking page should poll the carrier every ten minutes.")
    talk.say("assistant", "It polls now.")
    talk.end().wait()
    assert "every ten minutes" in asked(fresh, "what did we do last week?")
    assert asked(fresh, "what did we do in the last 2 hours?") == ""


def test_explain_tells_that_it_was_looked_up(known):
    told = known.ask("explain", "what did we decide last week?")
    injected = [one for one in told["inject"]["verdicts"] if one["injected"]]
    assert len(injected) == 2
    assert all("made on 20" in one["why"] for one in injected)
