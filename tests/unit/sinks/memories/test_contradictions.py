from datetime import timedelta

import pytest
from msgspec.structs import replace

from subcog.bus.events import SupersedeRequested, TextStored
from subcog.sinks.models.cross_encoder import load_bundled, load_contradictions
from tests.archives import opened_desk
from tests.stores import ELSEWHERE, HERE

OLD = "Only admins can delete projects"
NEW = "Every member of a workspace is allowed to remove projects"


@pytest.fixture(scope="module")
def model():
    return load_contradictions()


@pytest.fixture(scope="module")
def reranker():
    return load_bundled()


@pytest.fixture
async def bench(tmp_path, model, reranker, monkeypatch):
    monkeypatch.setattr("subcog.sinks.models.cross_encoder.load_bundled", lambda: reranker)
    async with opened_desk(tmp_path) as bench:
        bench.archive.contradictions.load = lambda: model
        yield bench


async def kept(bench, text, **fields):
    bench.clock.now += timedelta(minutes=1)
    return (await bench.keep(text, **fields)).memory


async def noted(bench, memory):
    """What ``memory`` contradicts after its text was read."""
    event = TextStored(trace="t", memory=memory)
    for following in await bench.archive.contradictions.note(event):
        await bench.publish([following])
    return (await bench.current(memory.id)).contradicts


async def test_what_is_contradicted_in_other_words_is_noted_and_found_beside(bench):
    old, new = await kept(bench, OLD), await kept(bench, NEW)
    assert await noted(bench, new) == old.id
    assert await noted(bench, old) is None
    assert set(await bench.find("who can delete projects")) == {new.id, old.id}


@pytest.mark.parametrize(
    "other",
    [
        "Only admins can delete projects, and only with a second admin's consent",
        "Deleted projects can be brought back for a week",
        "The test suite needs four minutes",
    ],
)
async def test_what_holds_beside_it_is_not_noted(bench, other):
    await kept(bench, OLD)
    assert await noted(bench, await kept(bench, other)) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "We deploy the billing service with Argo CD, never by hand.",
            "The env var is BILLING_KEY",
        ),
        ("Migrations run in the release job", "The release branch is named release/x.y"),
        ("Levels are JSON files in assets/levels", "The level editor is a separate binary"),
        ("Crane 4 lifts 40 t", "Crane 5 lifts 60 t"),
        (  # no word in common
            "dvc pull hangs behind the office VPN - turn ipv6 off or use the hotspot",
            "Ines Barreto owns the POS feed, out on fridays, backup is Tomek",
        ),
        (  # one word in common
            "dvc pull hangs behind the office VPN - turn ipv6 off or use the hotspot",
            "vpn peers need an ok from Ruben",
        ),
    ],
)
async def test_short_statements_about_different_things_contradict_nothing(bench, older, newer):
    await kept(bench, older)
    assert await noted(bench, await kept(bench, newer)) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("本番ログは30日で削除される。", "タイムゾーンは必ずUTCで保存する。"),
        (OLD, "タイムゾーンは必ずUTCで保存する。"),
        (OLD, "Jedes Mitglied darf Projekte löschen, nicht nur Admins"),
    ],
)
async def test_what_is_not_english_is_not_read(bench, older, newer):
    await kept(bench, older)
    assert await noted(bench, await kept(bench, newer)) is None


async def test_a_task_and_what_is_replaced_contradict_nothing(bench):
    old = await kept(bench, OLD, namespace="tasks")
    new = await kept(bench, NEW)
    assert await noted(bench, new) is None
    await kept(bench, OLD, supersedes=old.id)
    again = await kept(bench, OLD, namespace="learnings")
    event = SupersedeRequested(trace="t", old=again.id, new=new.id, scopes=(HERE,))
    await bench.publish(await bench.archive.lifecycle.supersede(event))
    assert (await bench.current(new.id)).contradicts is None


async def test_two_commands_that_failed_contradict_nothing(bench):
    failed = "`{0}` fails: {1}. What works: `{2} {0}`.\nWhat differs: `{2}` is added."
    tags = ("failed-command", "auto-captured")
    denied = 'permission denied to create extension "btree_gist"'
    await kept(bench, failed.format("alembic upgrade head", denied, "PGUSER=postgres"), tags=tags)
    text = failed.format("pytest -n 8", "E IntegrityError: duplicate key", "DB_PER_WORKER=1")
    new = await kept(bench, text, tags=tags)
    assert (new.contradicts, await noted(bench, new)) == (None, None)


async def test_records_of_tasks_do_not_crowd_out_what_is_contradicted(bench):
    old = await kept(bench, OLD)
    for number in range(8):
        await kept(bench, f"{NEW}: part {number}", namespace="tasks")
    assert await noted(bench, await kept(bench, NEW)) == old.id


async def test_what_replaces_one_memory_may_contradict_another(bench):
    old, third = await kept(bench, OLD), await kept(bench, "Projects are archived on Mondays")
    new = await kept(bench, NEW, supersedes=third.id)
    assert await noted(bench, new) == old.id


async def test_what_was_said_again_contradicts_what_was_said_between(bench):
    old, new = await kept(bench, OLD), await kept(bench, NEW)
    again = await kept(bench, OLD)
    assert again.id == old.id
    assert await noted(bench, again) == new.id
    assert await noted(bench, new) is None


async def test_a_text_that_was_changed_or_forgotten_meanwhile_is_not_noted(bench):
    await kept(bench, OLD)
    new = await kept(bench, NEW)
    await kept(bench, "Projects are archived on Mondays", revises=new.id)
    assert await noted(bench, new) is None
    gone = TextStored(trace="t", memory=replace(new, id="mem_gone"))
    assert await bench.archive.contradictions.note(gone) == ()


async def test_another_project_and_a_missing_model_contradict_nothing(bench):
    await kept(bench, OLD, scope=ELSEWHERE)
    new = await kept(bench, NEW)
    assert await noted(bench, new) is None
    await kept(bench, OLD)
    later = await kept(bench, f"{NEW} from today")
    bench.archive.contradictions.load = lambda: None
    assert await noted(bench, later) is None


async def test_without_a_reranker_nothing_is_noted(bench, monkeypatch):
    monkeypatch.setattr("subcog.sinks.models.cross_encoder.load_bundled", lambda: None)
    await kept(bench, OLD)
    assert await noted(bench, await kept(bench, NEW)) is None
