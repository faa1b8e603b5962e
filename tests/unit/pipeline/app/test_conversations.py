"""What was said in sessions, before and after its archive is there."""

import anyio
import pytest

from subcog.config.load import load_settings
from subcog.pipeline.app.conversations import Conversations
from subcog.stages.ports import RecallUnavailable

from ....fakes import PLACE


class Archive:
    async def find(self, text, scope, *, session):
        return (text, scope, session)


def conversations(tmp_path, **settings):
    loaded = load_settings(tmp_path / "none.toml", settings).settings
    return Conversations(loaded.sessions)


@pytest.mark.anyio
async def test_who_asks_while_the_sessions_load_gets_the_answer_when_they_are_there(tmp_path):
    said, answers = conversations(tmp_path), []

    async def ask():
        answers.append(await said.find("x", PLACE, session="s"))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            said.arrive(Archive())
    assert answers == [("x", PLACE.project, "s")]


@pytest.mark.anyio
async def test_who_has_no_time_left_is_refused_and_so_is_who_asks_after_a_failure(tmp_path):
    said = conversations(tmp_path)
    with anyio.fail_after(0.01), pytest.raises(RecallUnavailable, match="still being loaded"):
        await said.archive()
    said.fail("the disk is full")
    with anyio.fail_after(10), pytest.raises(RecallUnavailable, match="the disk is full"):
        await said.archive()


@pytest.mark.anyio
async def test_where_sessions_are_off_or_the_project_is_excluded_nobody_waits(tmp_path):
    off = conversations(tmp_path, SUBCOG_SESSIONS_ENABLED="false")
    excluded = conversations(tmp_path, SUBCOG_SESSIONS_EXCLUDE=PLACE.root)
    with anyio.fail_after(10):
        assert await off.find("x", PLACE, session="s") == ()
        assert await excluded.find("x", PLACE, session="s") == ()
        with pytest.raises(RecallUnavailable, match="switched off"):
            await off.archive()
