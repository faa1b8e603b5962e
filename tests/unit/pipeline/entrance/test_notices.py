import json

import pytest

from subcog.config.paths import find_paths
from subcog.pipeline.app.archives import LazyArchive
from subcog.pipeline.entrance.damage import DamageNotice

PROBLEM = "the database is in use by process 7. Close that program."


@pytest.fixture
def archive():
    archive = LazyArchive()
    archive.fail(PROBLEM)
    return archive


@pytest.fixture
def paths(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    paths.state.mkdir(parents=True)
    return paths


def told(body: bytes) -> str:
    return json.loads(body).get("systemMessage", "")


async def test_why_there_are_no_memories_is_told_once(paths, archive):
    notice = DamageNotice(paths, archive)
    await notice.look()
    assert told(notice.beside(b"{}")[0]) == f"subcog: {PROBLEM}"
    await notice.look()
    assert notice.beside(b"{}")[0] == b"{}"
    later = DamageNotice(paths, archive)
    await later.look()
    assert later.beside(b"{}")[0] == b"{}"


async def test_what_the_user_did_not_get_is_told_again(paths, archive):
    notice = DamageNotice(paths, archive)
    await notice.look()
    lost, tell_again = notice.beside(b"{}")
    tell_again()
    await notice.look()
    assert notice.beside(b"{}")[0] == lost != b"{}"


async def test_what_comes_back_after_it_was_mended_is_told_again(paths, archive):
    notice = DamageNotice(paths, archive)
    await notice.look()
    first, _ = notice.beside(b"{}")
    for problem in ("the disk is full", PROBLEM):
        await notice.look()
        archive.fail(problem)
    await notice.look()
    assert notice.beside(b"{}")[0] == first
