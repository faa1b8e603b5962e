import json

import pytest

from subcog.config.paths import find_paths
from subcog.pipeline.app.archives import LazyArchive
from subcog.pipeline.entrance.notices import MOST_SESSIONS, Afterwards, DamageNotice

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


def test_a_session_is_told_once_beside_its_answer_and_again_if_that_did_not_arrive():
    afterwards = Afterwards()
    afterwards.note("a", "subcog: kept")
    afterwards.note("", "nobody's")
    assert afterwards.beside("b", b"{}")[0] == b"{}"
    told, note_again = afterwards.beside("a", b"{}")
    assert told == b'{"systemMessage": "subcog: kept"}'
    assert afterwards.beside("a", b"{}")[0] == b"{}"
    note_again()
    afterwards.note("a", "subcog: kept", "subcog: another")
    assert afterwards.beside("a", b"{}")[0] == (
        b'{"systemMessage": "subcog: kept\\nsubcog: another"}'
    )


def test_only_the_latest_sessions_are_remembered():
    afterwards = Afterwards()
    for number in range(MOST_SESSIONS + 1):
        afterwards.note(str(number), "line")
    assert afterwards.beside("0", b"")[0] == b""
    assert afterwards.beside("1", b"")[0]
