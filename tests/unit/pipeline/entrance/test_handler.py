import msgspec
import pytest

from subcog.bus.events import CompactionStarted, ToolUsed
from subcog.bus.values import Action
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.agents.agent import Payload
from subcog.pipeline.app.app import App
from subcog.pipeline.entrance.handler import (
    LEAST_S,
    HookHandler,
    LoadShedding,
    _unanswered,
    trace_of,
    waited_s,
)
from tests.fakes import make_prompt


def test_an_identity_gives_a_trace_and_anything_else_none():
    assert len(trace_of("0" * 32)) == 26
    assert trace_of("") == trace_of("x" * 32) == trace_of("f" * 33) == ""


PLACE = make_prompt("x").place
TOOL = ToolUsed(trace="t", session="s", client="c", place=PLACE, action=Action(tool="Write"))
COMPACTION = CompactionStarted(trace="t", session="s", client="c", place=PLACE, transcript="")


def test_there_is_room_for_as_many_as_can_be_answered():
    load = LoadShedding(most=2)
    prompt = make_prompt("how do we deploy?")
    with load.inside():
        assert not load.sheds(prompt, left_s=0.1)
        with load.inside():
            assert load.sheds(prompt, left_s=0.1)
            assert load.sheds(TOOL, left_s=0.1)
        assert not load.sheds(prompt, left_s=0.1)


def test_a_room_is_free_again_after_a_failure():
    load = LoadShedding(most=1)
    with pytest.raises(RuntimeError), load.inside():
        raise RuntimeError
    assert not load.sheds(TOOL, left_s=0.1)


def test_who_comes_too_late_is_let_through():
    assert LoadShedding().sheds(make_prompt("how do we deploy?"), left_s=LEAST_S / 2)
    assert not LoadShedding().sheds(make_prompt("how do we deploy?"), left_s=2 * LEAST_S)


def test_a_prompt_without_an_answer_is_set_aside_where_its_author_marked_something():
    said = "[remember] we deploy on Mondays"
    prompts = (said, f"<ide_selection>\n{said}\n</ide_selection>", f"/note\n{said}")
    payloads = (*(Payload(prompt=prompt) for prompt in prompts), Payload(prompt=said, agent_id="a"))
    settled = [_unanswered("timeout", payload).is_settled for payload in payloads]
    assert settled == [False, True, True, True]


@pytest.mark.parametrize("asked", [make_prompt("[remember] we deploy on Mondays"), COMPACTION])
def test_what_is_to_be_kept_is_never_turned_away(asked):
    assert not LoadShedding(most=0).sheds(asked, left_s=-1.0)


def identity(moment_s):
    return f"{int(moment_s * 1000):012x}{'0' * 20}"


def test_a_hook_waits_from_when_it_began():
    assert waited_s(identity(1000.0), now=1000.25, since=0.0) == pytest.approx(0.25)


def test_the_time_before_the_memories_were_there_does_not_count():
    assert waited_s(identity(1000.0), now=1001.0, since=1000.9) == pytest.approx(0.1)


@pytest.mark.parametrize("text", ["", "zz", identity(1000.0 + 60), identity(1000.0 - 60)])
def test_a_time_of_another_clock_is_no_time(text):
    assert waited_s(text, now=1000.0, since=0.0) == 0.0


@pytest.mark.parametrize(
    ("keeps", "budget", "left_s"),
    [(False, "1100", 0.18), (True, "1100", 0.98), (True, "300", 0.28), (True, "100", 0.18)],
)
async def test_what_asks_to_keep_something_may_take_as_long_as_its_hook_waits(
    tmp_path, keeps, budget, left_s
):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    async with app.running():
        app.archive.fail("it is not needed here")
        left = HookHandler(app)._left_s({"budget_ms": budget}, keeps=keeps)
    assert left == pytest.approx(left_s)


async def test_a_session_that_is_compacted_in_another_directory_keeps_its_project(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    ungreeted = {"SUBCOG_HOOK_SESSION_START_ENABLED": "false"}
    app = App(load_settings(paths.config_file, ungreeted).settings, paths)
    entrance = HookHandler(app)
    async with app.running():
        for source, cwd in (("startup", "/p"), ("compact", "/p/vendor")):
            body = msgspec.json.encode({"session_id": "s", "source": source, "cwd": cwd})
            assert (await entrance.answer("SessionStart", {}, body)).outcome == "passed"
    assert entrance.project_dir("s", {}) == "/p"


async def test_why_there_are_no_memories_is_told_beside_an_answer_that_is_late(
    tmp_path, monkeypatch
):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    paths.state.mkdir(parents=True)
    app = App(load_settings(paths.config_file, {}).settings, paths)
    entrance = HookHandler(app)

    async def late(*_):
        raise TimeoutError

    monkeypatch.setattr(entrance, "_answer_call", late)
    async with app.running():
        app.archive.fail("the database is in use by process 7")
        await entrance.damage.look()
        body = msgspec.json.encode({"session_id": "s", "prompt": "how do we deploy?"})
        told, again = [(await entrance.answer("UserPromptSubmit", {}, body)).body for _ in range(2)]
    assert b"in use by process 7" in told
    assert b"in use" not in again
