"""Many sessions at once, beside stores of several sizes and models that answer well, late or never.

    python -m pytest perf/test_load.py -s -q

Nothing may be lost and no session may see another's: that gates. Times are reported.
``SUBCOG_LOAD_SESSIONS``, ``_PROMPTS`` and ``_TOOLS`` (for each session), ``_MEMORIES`` (such as
``1000,10000,100000``) and ``_HOOKS`` (hook processes for each model) make it larger.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from subcog.sinks.project.identity import Projects
from tests.fault.scripted_model import BEHAVIOURS, scripted_model
from tests.integration.house import PATIENCE_S, House

from .corpus import fill
from .load import Load, wait_for_metrics
from .report import say

SESSIONS = int(os.environ.get("SUBCOG_LOAD_SESSIONS", "10"))
PROMPTS = int(os.environ.get("SUBCOG_LOAD_PROMPTS", "20"))
TOOLS = int(os.environ.get("SUBCOG_LOAD_TOOLS", "40"))
MEMORIES = [int(one) for one in os.environ.get("SUBCOG_LOAD_MEMORIES", "1000").split(",")]
HOOKS = int(os.environ.get("SUBCOG_LOAD_HOOKS", "15"))
MODELS = {"fast": "20 ms", "slow": "250 ms", "dead": "never"}


@contextmanager
def opened(root: Path, **env: str) -> Iterator[House]:
    house = House(root, installed=True)
    house.env |= env
    try:
        yield house
    finally:
        house.close()


@pytest.mark.parametrize("memories", MEMORIES)
def test_sessions_at_once(tmp_path: Path, memories: int) -> None:
    with opened(tmp_path) as house:
        load = Load(house, sessions=SESSIONS, prompts=PROMPTS, tools=TOOLS)
        place = Projects().place(project_dir=str(load.project("heron")), cwd="", user="x")
        house.paths.data.mkdir(parents=True, mode=0o700)
        fill(house.paths.database, place.project, memories)
        house.start()
        wait_for_metrics(house)
        load.capture()
        load.run()
        print(f"\n{SESSIONS} sessions at once, {memories:,} memories in one of their projects")
        for event, took_ms in load.took_ms.items():
            say(f"  {event}", took_ms, target="none", key=f"load.{event}.{memories}")
            print(f"  ended: {dict(load.outcomes(event))}")
        total = load.sent.total()
        print(f"  {total} events in {load.took_s:.1f} s, {total / load.took_s:.0f}/s")
        assert list(load.problems()) == []


@pytest.mark.parametrize("name", ["off", *MODELS])
def test_hooks_beside_a_model(tmp_path: Path, name: str) -> None:
    """Each hook a process, with the budget that it has by default, on a prompt that is unsure."""
    with scripted_model() as model:
        asked = {
            "SUBCOG_HOOK_TOTAL_MS": "200",
            "SUBCOG_LLM_MODEL": "openai/scripted",
            "SUBCOG_LLM_API_BASE": model.base,
            "SUBCOG_SEARCH_INTENT_LLM_POLICY": "always",
        }
        env = asked if name in MODELS else {"SUBCOG_HOOK_TOTAL_MS": "200"}
        with opened(tmp_path, **env) as house:
            house.start()
            house.prompt("hello")
            if name in MODELS:
                _wait_for_the_worker(house)
                model.send = BEHAVIOURS[MODELS[name]]
            took_ms = [_hook_ms(house, number) for number in range(HOOKS)]
            held = (house.ask("status").get("llm") or {}).get("breaker", "none")
    say(f"whole hook, model {name}", took_ms, target="p99 215", key=f"load.model.{name}")
    print(f"  the model was asked {len(model.asked)} times; breaker {held}")


def _hook_ms(house: House, number: int) -> float:
    payload = {"session_id": f"s{number}", "prompt": f"please tidy module number {number}"}
    began = time.perf_counter()
    with house.start_hook("UserPromptSubmit") as process:
        process.communicate(json.dumps(payload).encode(), timeout=PATIENCE_S)
    assert process.returncode == 0
    return (time.perf_counter() - began) * 1000


def _wait_for_the_worker(house: House) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while house.ask("status")["llm"]["worker"] != "ready":
        assert time.monotonic() < deadline, "the model's worker does not start"
