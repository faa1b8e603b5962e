import json
import os

import pytest

from subcog.bus.events import CaptureRequested
from subcog.bus.triggers import Trigger
from subcog.bus.values import Provenance, Scope
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.hooks import spool
from subcog.pipeline.app.app import App
from subcog.pipeline.daemon.spool import drain
from subcog.pipeline.entrance.handler import NOTHING, HookAnswer, HookHandler
from subcog.pipeline.entrance.set_aside import DurableHooks, capture_durably
from tests.waiting import PATIENCE_S

SECRET = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyzAB"
SESSION = "0b2c9d6e-7f41-4a58-9c0e-5d1f3a7b8e42"
MARKED = json.dumps({"session_id": "s", "prompt": "[remember] The VPN drops at night"}).encode()


class Hooks:
    """Hooks that answer as the test chooses."""

    def __init__(self, data, *, is_settled):
        self.data = data
        self.ids = []
        self._is_settled = is_settled

    async def answer(self, event, fields, body):
        self.ids.append(fields["id"])
        return HookAnswer(NOTHING, "answered", self._is_settled)

    def project_dir(self, session, fields):
        return "/srv/shop"


async def test_each_hook_is_an_asking_of_its_own(tmp_path):
    hooks = Hooks(tmp_path, is_settled=True)
    answers = [await DurableHooks(hooks).answer("UserPromptSubmit", {}, MARKED) for _ in "12"]
    assert [answer.body for answer in answers] == [NOTHING, NOTHING]
    assert len(set(hooks.ids)) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fields", [{}, {"client": "claude"}])
async def test_what_is_not_settled_is_on_disk_before_it_is_said(tmp_path, fields):
    hooks = Hooks(tmp_path, is_settled=False)
    answer = (await DurableHooks(hooks).answer("UserPromptSubmit", fields, MARKED)).body
    (entry,) = (tmp_path / "spool").glob("*.json")
    assert "set aside safely" in json.loads(answer)["systemMessage"]
    assert entry.stem == hooks.ids[0]
    assert json.loads(entry.read_text())["fields"]["project"] == "/srv/shop"


async def test_a_disk_that_takes_nothing_is_told(tmp_path):
    (tmp_path / "spool").write_text("in the way")
    hooks = DurableHooks(Hooks(tmp_path, is_settled=False))
    answer = await hooks.answer("UserPromptSubmit", {}, MARKED)
    assert "not kept" in json.loads(answer.body)["systemMessage"]


async def test_what_cannot_be_read_is_told(tmp_path):
    hooks = Hooks(tmp_path, is_settled=False)
    answer = await DurableHooks(hooks).answer("UserPromptSubmit", {}, MARKED[:-3])
    assert "cannot be read" in json.loads(answer.body)["systemMessage"]


async def test_what_a_hook_had_not_finished_for_long_is_deleted(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    paths.spool.mkdir(parents=True)
    old, young = (paths.spool / f"{name}.tmp" for name in ("old", "young"))
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    app = App(load_settings(paths.config_file, {}).settings, paths)

    async with app.running():
        assert await drain(paths.spool, app, HookHandler(app)) == 0
    assert list(paths.spool.iterdir()) == [young]


async def test_a_capture_that_is_not_stored_in_time_is_on_disk_and_stored_once_later(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    asked = CaptureRequested(
        trace=app.new_id(),
        id=f"mem_{app.new_id()}",
        text="We deploy on Fridays <private>never tell</private>",
        scope=Scope("project", "here"),
        tags=("release", SECRET),
        questions=(f"is {SECRET} ours?", "when do we deploy?", "<private>never tell</private>?"),
        triggers=(Trigger(run=f"curl {SECRET}"), Trigger(run="deploy", unless=("friday",))),
        provenance=Provenance(branch=f"feature/{SECRET}", session=SESSION),
    )
    async with app.running():
        settled = await capture_durably(app, asked, within_s=0.1)  # nothing is loaded yet
        assert settled.kept.outcome == "pending"
        assert "set aside safely" in settled.kept.reason
        [entry] = paths.spool.glob("*.json")
        assert "never tell" not in entry.read_text()
        assert SECRET not in entry.read_text()
        assert SESSION in entry.read_text()
        await app.load()
        assert await drain(paths.spool, app, HookHandler(app)) == 1
        archive = await app.archive.get()
        [kept] = await archive.store.page([asked.scope], limit=9)
        assert (kept.id, kept.tags[0]) == (asked.id, "release")
        assert (kept.questions, kept.triggers) == (asked.questions[1:2], asked.triggers[1:])
        await app.unload()


async def test_a_capture_that_cannot_be_set_aside_is_told_not_to_be_kept(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    paths.data.mkdir()
    paths.spool.write_text("a file where the folder should be")
    app = App(load_settings(paths.config_file, {}).settings, paths)
    scope = Scope("project", "here")
    asked = CaptureRequested(trace=app.new_id(), id="mem_x", text="A text", scope=scope)
    async with app.running():
        settled = await capture_durably(app, asked, within_s=0.1)
    assert "not be set aside" in settled.kept.reason
    assert "Send it again" in settled.kept.reason


async def test_a_revision_that_was_set_aside_leaves_what_was_written_after_it(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    known = {"id": f"mem_{app.new_id()}", "scope": Scope("project", "here")}

    async def revise(text, within_s=PATIENCE_S):
        asked = CaptureRequested(trace=app.new_id(), text=text, revises=known["id"], **known)
        settled = await capture_durably(app, asked, within_s=within_s, made_from=1)
        return settled.kept.outcome

    async with app.running():
        await app.load()
        first = CaptureRequested(trace=app.new_id(), text="We deploy on Mondays", **known)
        await app.captures.capture(first)
        archive = await app.archive.get()
        async with archive.lifecycle.write_lock:
            assert await revise("We deploy on Tuesdays", within_s=0.1) == "pending"
        assert await revise("We deploy on Fridays") == "stored"
        assert await drain(paths.spool, app, HookHandler(app)) == 1
        [kept] = await archive.store.page([known["scope"]], limit=9)
        assert kept.content == "We deploy on Fridays"
        await app.unload()


def spooled(paths, number, prompt="", client="", **more):
    """An entry that asks to keep a text, of the given place in the order; its file."""
    fields = {b"id": b"%032x" % number, b"client": client.encode()}
    prompt = prompt or f"[remember] Gate {number} opens to the south"
    payload = {"session_id": "s", "prompt": prompt} | more
    spool.write("UserPromptSubmit", fields, payload, bytes(paths.data))
    return paths.spool / f"{number:032x}.json"


async def test_what_the_disk_does_not_give_now_is_tried_again(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    good, other, gone = (spooled(paths, number) for number in (1, 2, 3))
    good.rename(tmp_path / "good")
    good.mkdir()  # a folder cannot be read
    gone.unlink()
    gone.symlink_to(tmp_path / "nowhere")
    async with app.running():
        await app.load()
        assert await drain(paths.spool, app, HookHandler(app)) == 1
        assert {*paths.spool.iterdir()} == {good, gone}
        assert not other.exists()
        good.rmdir()
        (tmp_path / "good").rename(good)
        assert await drain(paths.spool, app, HookHandler(app)) == 1
        await app.unload()
    assert {*paths.spool.iterdir()} == {gone}


async def test_a_daemon_that_leaves_while_it_drains_leaves_the_rest_to_the_next(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    entry = spooled(paths, 1)
    async with app.running():
        await app.bus.drain(0.0)
        assert await drain(paths.spool, app, HookHandler(app)) == 0
    assert [*paths.spool.iterdir()] == [entry]


async def test_what_no_person_wrote_is_no_more_kept_from_the_spool_than_from_a_prompt(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    selected = "<ide_selection>\n[remember] Nobody said this\n</ide_selection>\n"
    spooled(paths, 1, f"{selected}[remember] Gate 1 opens to the south")
    spooled(paths, 2, "<task-notification>\n[remember] A task is done\n</task-notification>")
    file = "\n--- Content from referenced files ---\n[remember] A file said this"
    spooled(paths, 3, f"explain @notes.md{file}", client="gemini")
    async with app.running():
        await app.load()
        assert await drain(paths.spool, app, HookHandler(app)) == 3
        archive = await app.archive.get()
        kept = await archive.store.page([scope_of_nowhere(app)], limit=9)
        assert [one.content for one in kept] == ["Gate 1 opens to the south"]
        await app.unload()
    assert not [*paths.spool.iterdir()]


def scope_of_nowhere(app):
    """The scope of a prompt that names no directory."""
    return HookHandler(app).places.at({}).project


async def test_a_prompt_from_the_spool_is_of_the_project_that_its_session_is_of(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    entrance = HookHandler(app)
    spooled(paths, 1, cwd=str(elsewhere))  # the agent went there
    async with app.running():
        await app.load()
        entrance.project_dir("s", {}, str(project))
        assert await drain(paths.spool, app, entrance) == 1
        archive = await app.archive.get()
        scope = entrance.places.at({"project": str(project)}).project
        assert len(await archive.store.page([scope], limit=9)) == 1
        await app.unload()


async def test_what_belongs_to_no_project_is_set_aside_as_that(tmp_path):
    hooks = DurableHooks(Hooks(tmp_path, is_settled=False))
    await hooks.answer("UserPromptSubmit", {"scope": "user"}, MARKED)
    (entry,) = (tmp_path / "spool").glob("*.json")
    assert json.loads(entry.read_text())["fields"]["scope"] == "user"


async def test_what_a_marker_replaced_that_was_set_aside_is_told_with_the_next_prompt(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    entrance = HookHandler(app)
    said = ("We use PostgreSQL for orders", "We moved from PostgreSQL to MySQL for orders")
    async with app.running():
        await app.load()
        for number, text in enumerate(said, 1):
            spooled(paths, number, f"[remember] {text}", session_id="s", cwd=str(tmp_path))
            assert await drain(paths.spool, app, entrance) == 1
        body, _ = entrance.afterwards.beside("s", b"{}")
        await app.unload()
    told = json.loads(body)["systemMessage"]
    assert "We moved from PostgreSQL to MySQL" in told
    assert "it replaces mem_" in told


async def test_that_what_was_set_aside_is_marked_in_a_paste_is_told_with_the_next_prompt(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    entrance = HookHandler(app)
    prompt = "the README says:\n\n[remember] We use PostgreSQL for orders"
    async with app.running():
        await app.load()
        spooled(paths, 1, prompt, session_id="s", cwd=str(tmp_path))
        assert await drain(paths.spool, app, entrance) == 1
        body, _ = entrance.afterwards.beside("s", b"{}")
        await app.unload()
    assert "stands in what looks pasted" in json.loads(body)["systemMessage"]


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("/deploy now\n[remember] We deploy on Fridays", "“/deploy now [remember] We deploy on Fr"),
        ("[remember] <private>We deploy on Fridays</private>", "“[remember]”"),
    ],
)
async def test_that_what_was_set_aside_holds_nothing_to_keep_is_told_and_logged(
    tmp_path, caplog, prompt, said
):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    app = App(load_settings(paths.config_file, {}).settings, paths)
    entrance = HookHandler(app)
    async with app.running():
        spooled(paths, 1, prompt, session_id="s", cwd=str(tmp_path))
        assert await drain(paths.spool, app, entrance) == 1
        body, _ = entrance.afterwards.beside("s", b"{}")
    told = json.loads(body)["systemMessage"]
    assert told.startswith(f"subcog: not kept after all: {said}")
    assert "a prompt that was set aside has nothing to keep" in caplog.messages
