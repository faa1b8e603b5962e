from datetime import UTC, datetime
from types import SimpleNamespace

from msgspec.structs import replace

from subcog.bus.sessions import Passage, SessionHit
from subcog.bus.values import LEARN, Provenance, Scope
from subcog.pipeline.api.params import ForgetSessionsParams, LearnParams
from subcog.pipeline.api.sessions import SessionCalls, _best_first
from subcog.pipeline.app.review import Reviews, ReviewState
from subcog.pipeline.entrance.places import Places
from tests.apps import opened
from tests.fakes import PLACE, OffTheLoop
from tests.stores import make_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE, BEFORE = Scope("project", "here"), Scope("project", "before")


def hit(session, relevance, scope=HERE, **more):
    return SessionHit(session=session, scope=scope, relevance=relevance, began_at=NOW, **more)


def test_sessions_of_several_scopes_come_best_first_and_pairs_stay_together():
    here = [hit("new", 0.6, replaces="old"), hit("old", 0.2, replaced_by="new"), hit("last", 0.3)]
    before = [hit("first", 0.9, BEFORE), hit("next", 0.4, BEFORE)]
    found = [one.session for one in _best_first([*here, *before])]
    assert found == ["first", "new", "old", "next", "last"]


async def test_what_was_captured_under_an_earlier_name_is_forgotten_with_its_session(tmp_path):
    captured = Provenance(hook=LEARN, session="s1")
    typed = Provenance(hook="cli", session="s1")
    rows = [make_row(1, scope=BEFORE), make_row(2, scope=BEFORE)]
    async with opened(tmp_path) as app:
        store = (await app.archive.get()).store
        made = zip(rows, (captured, typed), strict=True)
        await store.put([replace(r, memory=replace(r.memory, provenance=p)) for r, p in made])
        said = Passage(
            id="psg_0000000001us1",
            session="s1",
            scope=PLACE.project,
            speaker="user",
            text="something else that was said",
            said_at=app.clock(),
        )
        await (await app.passages.get()).add([said])
        app.sessions.state("s1").part(Reviews)[PLACE.project] = ReviewState()
        place = replace(PLACE, before=(BEFORE,))
        done = await SessionCalls(app, Places(app.projects, "u")).forget(
            ForgetSessionsParams(id="s1"), place
        )
        assert (done.passages, done.memories) == (1, 1)
        assert not app.sessions.state("s1").part(Reviews)
        assert [m.id for m in await store.latest([BEFORE], limit=9)] == [rows[1].memory.id]


async def test_a_transcripts_project_is_looked_up_off_the_event_loop(tmp_path):
    learned = []

    async def learn(event):
        learned.append(event.place.root)

    async def get():
        pass

    app = SimpleNamespace(
        archive=SimpleNamespace(get=get),
        reviewer=SimpleNamespace(learn=learn),
        new_id=lambda: "t",
    )
    calls = SessionCalls(app, Places(OffTheLoop(), "u"))
    params = LearnParams(transcript="t.jsonl", session="s", client="claude", cwd=str(tmp_path))
    await calls.learn(params, PLACE)
    assert learned == [str(tmp_path)]
