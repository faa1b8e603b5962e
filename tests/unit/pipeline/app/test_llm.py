import json
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from operator import itemgetter
from types import SimpleNamespace

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.bus import BusClosed
from subcog.bus.events import CaptureSettled, IntentRefined, SessionReviewed
from subcog.bus.prompts import DetectionSource, Vote
from subcog.bus.sessions import Passage
from subcog.bus.signals import asked, degraded
from subcog.bus.values import Kept, Recalled, Scope
from subcog.config.load import load_settings
from subcog.pipeline.app import llm as asking_module
from subcog.pipeline.app.llm import Consolidation, LanguageModelService
from subcog.sinks.sessions import Sessions
from tests.emissions import emitted
from tests.fakes import (
    NOW,
    PLACE,
    PROJECT,
    make_built,
    make_classified,
    make_hits,
    make_intent,
    make_parsed,
    make_prompt,
)
from tests.waiting import PATIENCE_S

NAMED = {"SUBCOG_LLM_MODEL": "openai/m"}


def settings(tmp_path, **env):
    return load_settings(tmp_path / "none.toml", NAMED | env).settings


@pytest.fixture
def told():
    with emitted(asked, itemgetter("outcome")) as outcomes:
        yield outcomes


@pytest.fixture
def sessions():
    return Sessions()


@pytest.fixture
def asking(tmp_path, sessions):
    async def publish(event):
        pass

    return LanguageModelService(settings(tmp_path), sessions=sessions, publish=publish, clean=str)


def refined(session="s1", before=None, after_percent=90):
    intent = make_intent(after_percent)
    vote = Vote(racer=DetectionSource.LLM, intent=intent, took_ms=600)
    parsed = make_parsed(make_prompt(session=session))
    classified = make_classified(make_hits(3), before, parsed=parsed)
    return IntentRefined(trace="t1", classified=classified, vote=vote, intent=intent)


async def everything(found):
    return found


def quoting(classified):
    """An ``inject`` that quotes how many candidates there are, for which intent."""
    count = len(classified.enriched.candidates)
    text = f"{count} for {classified.intent.confidence_percent}" if count else ""
    return make_built(classified, text)


async def late_context(asking, session="s1", current=everything, project=PROJECT):
    return await asking.late_context(session, project=project, current=current, inject=quoting)


async def test_what_the_late_answer_changes_is_given_once(asking, told):
    asking.refine(refined())
    assert await late_context(asking, "other") == ""
    assert await late_context(asking) == "3 for 90"
    assert await late_context(asking) == ""
    assert told == ["late_used"]


async def test_what_a_hook_had_no_time_to_tell_waits_for_the_next(asking, told):
    async def for_ever(found):
        await anyio.sleep_forever()

    asking.refine(refined())
    with anyio.move_on_after(0.01) as hook:
        await late_context(asking, current=for_ever)
    assert hook.cancelled_caught
    assert told == []
    assert await late_context(asking) == "3 for 90"
    assert told == ["late_used"]


async def test_what_changes_nothing_does_not_wait(asking, told):
    asking.refine(refined(before=make_intent(90)))
    assert told == ["late_unused"]
    assert await late_context(asking) == ""


async def test_a_prompt_without_a_session_has_nobody_to_wait_for(asking, told):
    asking.refine(refined(session=""))
    assert told == ["late_unused"]
    assert await late_context(asking, "") == ""


async def test_what_was_forgotten_meanwhile_is_not_given(asking, told):
    async def nothing(found):
        return replace(found, candidates=())

    asking.refine(refined())
    assert await late_context(asking, current=nothing) == ""
    assert told == ["late_unused"]


async def test_what_was_found_in_one_project_is_not_told_in_another(asking, told):
    asking.refine(refined())
    assert await late_context(asking, project=Scope("project", "other-0123456789ab")) == ""
    assert told == ["late_unused"]


async def test_a_session_that_ends_waits_no_longer(asking, sessions, told):
    asking.refine(refined())
    sessions.end("s1")
    assert told == ["late_unused"]
    assert await late_context(asking) == ""


async def test_a_bus_that_has_closed_takes_nothing_late(tmp_path):
    async def publish(event):
        raise BusClosed

    asking = LanguageModelService(
        settings(tmp_path), sessions=Sessions(), publish=publish, clean=str
    )
    assert await asking.racer.refined(refined()) is False


def test_a_missing_extra_is_a_problem_that_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(asking_module, "find_spec", lambda name: None)
    asking = LanguageModelService(settings(tmp_path), sessions=Sessions(), publish=None, clean=str)
    assert "pip install 'subcog[llm]'" in asking.status()["problem"]


def test_status_and_gauges_tell_the_breaker(asking):
    assert asking.status()["model"] == "openai/m"
    assert asking.status()["breaker"] == "closed"
    assert asking.gauges()["subcog_llm_breaker_state"][1] == 0


def parts_of_an_app(tmp_path, **env):
    """What of the model's part a process imports that builds an app."""
    code = (
        "import os, sys; from pathlib import Path;"
        "from subcog.config.load import load_settings; from subcog.config.paths import find_paths;"
        "from subcog.pipeline.app.app import App;"
        "app = App(load_settings(Path('x'), os.environ).settings, find_paths(os.environ));"
        "parts = ('litellm', 'tenacity', 'subcog.pipeline.app.llm',"
        " 'subcog.sinks.llm.language_model');"
        "print(*[part for part in parts if part in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"SUBCOG_HOME": str(tmp_path)} | NAMED | env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    "env",
    [
        {"SUBCOG_LLM_MODEL": ""},
        {"SUBCOG_SEARCH_INTENT_USE_LLM": "false"},
        {"SUBCOG_SEARCH_INTENT_LLM_POLICY": "never"},
        {"SUBCOG_SEARCH_INTENT_ENABLED": "false"},
    ],
)
def test_where_no_model_is_to_be_asked_nothing_of_it_is_imported(tmp_path, env):
    assert parts_of_an_app(tmp_path, **env) == []


def test_where_a_model_is_named_all_is_there_but_litellm(tmp_path):
    there = ["tenacity", "subcog.pipeline.app.llm", "subcog.sinks.llm.language_model"]
    assert parts_of_an_app(tmp_path) == there


class Said:
    """A session that only the user spoke in, as ``Conversations`` keep it."""

    def __init__(self, *texts):
        self.passages = [
            Passage(
                id=f"psg_{number}",
                session="s",
                scope=PROJECT,
                speaker="user",
                text=text,
                said_at=NOW,
            )
            for number, text in enumerate(texts, 1)
        ]

    async def all_of(self, place, session):
        return tuple(self.passages)

    @asynccontextmanager
    async def holding(self, place, session):
        yield {one.id for one in self.passages}


async def nothing_known(query):
    return Recalled(hits=(), mode="fused", total=0, took_ms=0.0)


async def test_what_is_forgotten_while_the_model_thinks_makes_no_memory():
    rules = ("Tests run on a copy of the database.", "Invoices are merged by their number.")
    said = Said(*rules, "Thanks.", "That is all.")
    kept = []

    class Model:
        async def complete(self, system, question, **limits):
            del said.passages[0]
            made = [
                {"text": text, "namespace": "decisions", "sources": [number]}
                for number, text in enumerate(rules, 1)
            ]
            return json.dumps({"memories": made})

    async def capture(request):
        kept.append(request.text)
        return CaptureSettled(trace=request.trace, kept=Kept(outcome="stored", namespace="x"))

    service = Consolidation(
        Model(),
        conversations=said,
        recall=SimpleNamespace(recall=nothing_known),
        capture=capture,
        clean=str,
        new_id=lambda: "t",
    )
    await service.consolidate(SessionReviewed(trace="t", session="s", client="c", place=PLACE))
    assert kept == [rules[1]]


async def test_a_capture_that_never_settles_ends_what_nothing_can_be_forgotten_in(monkeypatch):
    monkeypatch.setattr(asking_module, "CAPTURE_S", 0.01)
    rule = "Tests run on a copy of the database."
    said = Said(rule, "Invoices are merged.", "Thanks.", "That is all.")

    class Model:
        async def complete(self, system, question, **limits):
            made = {"text": rule, "namespace": "decisions", "sources": [1]}
            return json.dumps({"memories": [made]})

    async def capture(request):
        await anyio.sleep_forever()

    service = Consolidation(
        Model(),
        conversations=said,
        recall=SimpleNamespace(recall=nothing_known),
        capture=capture,
        clean=str,
        new_id=lambda: "t",
    )
    with anyio.fail_after(PATIENCE_S), emitted(degraded) as told:
        await service.consolidate(SessionReviewed(trace="t", session="s", client="c", place=PLACE))
    assert [facts["reason"] for _, facts in told] == ["store.unavailable"]


@pytest.mark.anyio
async def test_of_a_long_session_only_what_the_model_reads_is_cleaned_and_in_a_thread():
    texts = [f"{number} {'x' * 1000}" for number in range(100)]
    cleaned, asked_about = [], []

    class Model:
        async def complete(self, system, question, **limits):
            asked_about.append(question)
            return ""

    def clean(text):
        cleaned.append(threading.current_thread())
        return text.replace("x", "y")

    event = SessionReviewed(trace="t", session="s", client="c", place=PLACE)
    service = Consolidation(
        Model(), conversations=Said(*texts), recall=None, capture=None, clean=clean, new_id=str
    )
    await service.consolidate(event)
    assert "99 yyy" in asked_about[0]
    assert "x" * 10 not in asked_about[0]
    assert 0 < len(cleaned) < len(texts) / 2
    assert threading.main_thread() not in cleaned
