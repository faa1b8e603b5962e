import threading

import anyio
import anyio.to_thread
import pytest

from subcog.bus.events import ActionProposed
from subcog.bus.values import Action, Place, Scope
from subcog.pipeline.entrance import places as module
from subcog.pipeline.entrance.places import Places
from subcog.sinks.project.identity import Projects
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.anyio


class HangingProjects(Projects):
    """A disk on which ``/stale`` does not answer until it is told to."""

    def __init__(self):
        super().__init__()
        self.answers = threading.Event()
        self.looks = []

    def place(self, *, project_dir, cwd, user) -> Place:
        self.looks.append(project_dir or cwd)
        if self.looks[-1] == "/stale":
            self.answers.wait(PATIENCE_S)
        return super().place(project_dir=project_dir, cwd=cwd, user=user)


async def test_a_directory_that_hangs_holds_up_nobody_and_costs_one_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WITHIN_S", 0.05)
    projects = HangingProjects()
    places = Places(projects, "u")
    try:
        with anyio.fail_after(PATIENCE_S):
            for _ in range(2 * module._THREADS):
                with pytest.raises(TimeoutError):
                    await places.find({"project": "/stale"})
        assert projects.looks == ["/stale"]
        monkeypatch.setattr(module, "WITHIN_S", PATIENCE_S)
        assert (await places.find({}, str(tmp_path))).root == str(tmp_path)
    finally:
        projects.answers.set()

    async def answers() -> bool:
        try:
            found = await places.find({"cwd": "/stale"})
        except TimeoutError:
            return False
        return found.root == "/stale" and not places._disk._hanging

    await until(answers)


async def test_a_hook_that_hangs_up_leaves_a_directory_that_answers_as_it_is(tmp_path):
    places = Places(Projects(), "u")
    for _ in range(3):
        with anyio.move_on_after(0):
            await places.find({"project": str(tmp_path)})
    await until(lambda: all(look.is_over for look in places._disk._hanging.values()))
    assert (await places.find({"project": str(tmp_path)})).root == str(tmp_path)


async def test_a_directory_is_not_refused_as_its_client_has_just_left():
    projects = HangingProjects()
    places, fields = Places(projects, "u"), {"project": "/stale"}
    try:
        with anyio.move_on_after(0.05):
            await places.find(fields)
        assert not places._disk._hanging["/stale"].is_over
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(places.find, fields)
                await until(lambda: len(projects.looks) == 2)
                projects.answers.set()
    finally:
        projects.answers.set()


async def test_a_name_over_http_of_a_directory_that_hangs_takes_no_thread_of_the_others(
    monkeypatch,
):
    monkeypatch.setattr(module, "WITHIN_S", 0.05)
    places, answers, looks = Places(Projects(), "u"), threading.Event(), []

    def hangs(path) -> bool:
        looks.append(path)
        return answers.wait(PATIENCE_S)

    monkeypatch.setattr(module.os.path, "isdir", hangs)
    try:
        with anyio.fail_after(PATIENCE_S):
            for _ in range(2 * module._THREADS):
                with pytest.raises(TimeoutError):
                    await places.is_directory("/stale")
        assert looks == ["/stale"]
        assert anyio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
    finally:
        answers.set()


@pytest.mark.parametrize(("cwd", "known"), [("/work/shop/api", "/work/shop/api"), ("/stale", "")])
async def test_a_file_that_does_not_answer_takes_no_directory_away(monkeypatch, cwd, known):
    monkeypatch.setattr(module, "WITHIN_S", 0.05)
    answers = threading.Event()
    monkeypatch.setattr(module, "_real", lambda paths: answers.wait(PATIENCE_S) and {})
    user = Scope("user", "u")
    place = Place(project=user, root="/work/shop", user=user, trees=("/work/shop",))
    action = Action(tool="Write", paths=("/stale/a.py",))
    event = ActionProposed(trace="t", session="s", client="c", place=place, action=action)
    try:
        found = await Places(Projects(), "u").resolve(event, cwd)
    finally:
        answers.set()
    assert (found.action.directory, found.action.paths) == (known, action.paths)


async def test_who_says_that_it_has_no_project_is_the_user_alone():
    user = Scope("user", "u")
    found = await Places(Projects(), "u").find({"scope": "user", "project": "/stale"})
    assert found == Place(project=user, root="", user=user, organisation=user)
