"""The chain of lesser answers: each link broken for real, alone and with its neighbour.

language model → local classifier → embedding → reading → search → any stage. Whatever breaks, the
hook exits 0 with valid output, the scrape counts it, and the log says it, without a word of the
prompt.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import eventually

from ..integration.house import House
from .ruins import hide, raising, ruin
from .scripted_model import BEHAVIOURS, scripted_model

ARGON = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
# Keywords alone are not sure of it, so that everybody is asked.
QUESTION = "where is password hashing of argon2id?"
LATE_MS = 100


@dataclass
class Fault:
    """How a part is broken, and what must be counted and logged about one prompt then."""

    env: dict[str, str] = field(default_factory=dict)
    damaged: dict[str, bytes] = field(default_factory=dict)
    hidden: str = ""
    model: str = ""
    held: bool = False
    counted: dict[str, dict[str, str]] = field(default_factory=dict)
    logged: tuple[tuple[str, str], ...] = ()  # level and sentence


LESSER = ("warning", "a degraded answer was given")
MODEL_LATE = Fault(
    model="never",
    counted={
        "subcog_fallback_total": {"from": "llm", "reason": "timeout"},
        "subcog_llm_requests_total": {"outcome": "timeout"},
        "subcog_degraded_total": {"stage": "classify", "reason": "model.timeout"},
    },
    logged=(LESSER,),
)
MODEL_ERROR = Fault(
    model="wrong shape",
    counted={
        "subcog_fallback_total": {"from": "llm", "reason": "malformed"},
        "subcog_llm_requests_total": {"outcome": "malformed"},
        "subcog_degraded_total": {"stage": "classify", "reason": "model.malformed"},
    },
    logged=(LESSER,),
)
LOCAL = Fault(
    damaged={"sinks/models/intents.json": b'{"about": "half a file of wei'},
    counted={
        "subcog_fallback_total": {"from": "local", "to": "keyword", "reason": "unavailable"},
        "subcog_degraded_total": {"stage": "classify", "reason": "local.unavailable"},
    },
    logged=(("error", "cannot load the local intent classifier"), LESSER),
)
EMBEDDER = Fault(
    env={"SUBCOG_EMBEDDING_MODEL": "/nonexistent/model"},
    counted={
        "subcog_fallback_total": {"from": "embedder", "to": "text", "reason": "unavailable"},
        "subcog_degraded_total": {"stage": "embedder", "reason": "embedder.unavailable"},
    },
    logged=(("error", "the embedding cannot be loaded"), LESSER),
)
READER = Fault(
    hidden="onnxruntime",
    counted={"subcog_degraded_total": {"stage": "reranker", "reason": "reranker.unavailable"}},
    logged=(("error", "a cross-encoder cannot be loaded"), LESSER),
)
SEARCH = Fault(
    held=True,
    counted={
        "subcog_fallback_total": {"from": "search", "to": "none", "reason": "unavailable"},
        "subcog_degraded_total": {"stage": "enrich", "reason": "search.unavailable"},
    },
    logged=(("error", "cannot open the memory store"), LESSER),
)
STAGE = Fault(
    damaged={"stages/respond.py": raising("stages/respond.py", "respond")},
    counted={
        "subcog_events_total": {"stage": "respond", "outcome": "failed"},
        "subcog_hooks_total": {"event": "UserPromptSubmit", "outcome": "failed"},
    },
    logged=(
        ("error", "a stage failed"),
        ("warning", "a hook was answered without context after an error"),
    ),
)
CHAIN = {
    "the model is late": (MODEL_LATE,),
    "the model errs": (MODEL_ERROR,),
    "no local classifier": (LOCAL,),
    "no embedding": (EMBEDDER,),
    "no reading": (READER,),
    "no search": (SEARCH,),
    "a stage fails": (STAGE,),
    "the model is late, no local classifier": (MODEL_LATE, LOCAL),
    "no local classifier, no embedding": (LOCAL, EMBEDDER),
    "no embedding, no reading": (EMBEDDER, READER),
    "no embedding, no search": (EMBEDDER, SEARCH),
    "no search, a stage fails": (SEARCH, STAGE),
}


QUICK = ("no embedding", "no search")
_sessions = map("chain-{}".format, itertools.count())


@pytest.fixture(scope="module")
def model():
    with scripted_model() as model:
        yield model


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A house with one memory, and no daemon running."""
    house = House(tmp_path_factory.mktemp("chain"))
    house.capture(ARGON, "--namespace", "decisions")
    house.run("daemon", "stop")
    house.served = None
    yield house
    house.close()


@pytest.fixture
def broken(request, house, model, tmp_path):
    """The house with these faults; afterwards it is whole again.

    Its daemon is started by the first who asks. The model's worker takes seconds to start, so that
    of the last test runs on where the environment is the same.
    """
    whole, holder = dict(house.env), None
    damaged = {}
    for fault in request.param:
        house.env |= fault.env
        damaged |= fault.damaged
        if fault.model:
            model.send = BEHAVIOURS[fault.model]
            house.env |= naming(model)
        if fault.hidden:
            house.env |= hide(tmp_path / "hidden", fault.hidden)
    if damaged:
        house.env |= ruin(tmp_path / "ruin", damaged)
    if house.env != house.served:
        house.close()
        house.paths.log.unlink(missing_ok=True)
    if any(fault.held for fault in request.param):
        holder = duckdb.connect(house.paths.database)
    yield request.param
    house.served = house.env
    if holder is not None:
        house.close()
        holder.close()
        house.served = None
    house.env = whole


def naming(model):
    return {
        "SUBCOG_LLM_MODEL": "openai/scripted",
        "SUBCOG_LLM_API_BASE": model.base,
        "SUBCOG_SEARCH_INTENT_LLM_POLICY": "always",
        "SUBCOG_SEARCH_INTENT_LLM_LATE_MS": str(LATE_MS),
    }


def warm(house):
    """Have the model's worker ready, as after the start of a session."""
    house.hook("SessionStart", {"session_id": "another", "source": "startup"})
    eventually(lambda: house.ask("status")["llm"]["worker"] == "ready")


def settle(house):
    eventually(lambda: house.ask("status")["llm"]["asking"] == 0)


def so_far(house):
    """What was counted and logged before, where the daemon of the last test runs on."""
    if house.env != house.served:
        return [], 0
    return scrape(house), len(house.log())


def scrape(house):
    """Every sample: its name, its labels, and its value."""
    families = text_string_to_metric_families(house.metrics())
    return [(s.name, s.labels, s.value) for family in families for s in family.samples]


def count(samples, name, labels):
    return sum(v for n, found, v in samples if n == name and labels.items() <= found.items())


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(faults, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, faults in CHAIN.items()
    ],
    indirect=True,
)
def test_whatever_breaks_the_hook_answers_and_the_scrape_and_the_log_say_so(house, broken):
    if any(fault.model for fault in broken):
        warm(house)
    if READER in broken:
        house.run("daemon", "start")
        eventually(lambda: READER.logged[0] in lines(house))  # it is loaded after all else
    before, logged = so_far(house)
    payload = {"session_id": next(_sessions), "cwd": str(house.project), "prompt": QUESTION}
    done = house.run("hook", "UserPromptSubmit", "--explain", stdin=json.dumps(payload))
    if any(fault.model for fault in broken):
        settle(house)

    assert done.returncode == 0, done.stderr
    check_answer(json.loads(done.stdout), broken)
    samples = scrape(house)
    for name, labels in counted(broken):
        assert count(samples, name, labels) == count(before, name, labels) + 1, (name, labels)
    prompts = ("subcog_hooks_total", {"event": "UserPromptSubmit"})
    assert count(samples, *prompts) == count(before, *prompts) + 1
    check_log(house, broken, since=logged)


def counted(faults):
    for fault in faults:
        for name, labels in fault.counted.items():
            # Where nothing is searched, nothing takes the place of the embedding either.
            if fault is not EMBEDDER or SEARCH not in faults or name != "subcog_fallback_total":
                yield name, labels


def check_answer(answer, faults):
    if STAGE in faults:
        assert answer == {}
        return
    metadata = answer["metadata"]
    context = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
    if SEARCH in faults:
        assert context == ""
        assert metadata["abstained"] == "search_unavailable"
        assert metadata["degraded"] == ["search.unavailable"]
    else:
        assert ARGON in context
        assert metadata["abstained"] is None
        # A busy machine may leave no time to rerank, whatever else is broken.
        degraded = [one for one in metadata["degraded"] if one != "reranker.cut"]
        assert degraded == (["embedder.unavailable"] if EMBEDDER in faults else [])
    source = metadata["search_intent"]["source"]
    assert source == ("keyword" if LOCAL in faults else "hybrid")


def lines(house, since=0):
    """Level and sentence of every line in the log, without the first ``since``."""
    return {(entry["level"], entry["what"]) for entry in house.log()[since:]}


def check_log(house, faults, *, since):
    for fault in faults:
        assert set(fault.logged) <= lines(house, since)
    reasons = {entry["reason"] for entry in house.log()[since:] if entry["what"] == LESSER[1]}
    expected = [fault.counted.get("subcog_degraded_total", {}) for fault in faults]
    if any(fault.held for fault in faults):  # nor can it be counted what was shown
        reasons -= {"store.unavailable"}
    assert reasons == {labels["reason"] for labels in expected if labels}
    assert "argon2id" not in Path(house.paths.log).read_text()
