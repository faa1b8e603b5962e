"""The handlers of a whole app, where what they do must hold whatever happens in between."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from functools import partial

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.bus import StageFailed
from subcog.bus.events import (
    CaptureRequested,
    ChangeSettled,
    ExpireRequested,
    ForgetRequested,
    ForgetSettled,
    IntentRefined,
    ResponseReady,
    ReviewRequested,
    SessionStarted,
)
from subcog.bus.prompts import DetectionSource, Vote
from subcog.bus.sessions import Passage, SessionHit
from subcog.bus.values import AUTO_CAPTURED, Provenance, Query, Scope
from subcog.pipeline.app.app import App
from subcog.pipeline.app.llm import LanguageModelService
from subcog.sinks.passages.archive import PassageArchive
from subcog.sinks.passages.table import forgotten
from subcog.sinks.store.errors import StoreUnavailable
from tests.apps import opened
from tests.fakes import PLACE, make_built, make_classified, make_intent, make_parsed, make_prompt
from tests.stores import everything
from tests.waiting import PATIENCE_S, until

TEXT = "The quartzite deploy key rotates on the first Monday of each month"


async def remembered(app: App) -> str:
    """The id of a memory of ``TEXT``, which a session says too."""
    request = CaptureRequested(
        trace=app.new_id(),
        id=f"mem_{app.new_id()}",
        text=TEXT,
        scope=PLACE.project,
        namespace="decisions",
        explicit=True,
    )
    settled = await app.captures.capture(request)
    said = Passage(
        id="psg_0000000001us1",
        session="s1",
        scope=PLACE.project,
        speaker="user",
        text=f"remember: {TEXT}",
        said_at=app.clock(),
        client="claude-code",
    )
    assert await (await app.passages.get()).add([said]) == 1
    await until(lambda: app.archive.loaded.index.count)
    return settled.memory.id


async def forget(app: App, memory_id: str) -> ForgetSettled:
    event = ForgetRequested(trace=app.new_id(), id=memory_id, scopes=(PLACE.project,))
    return await app.bus.request(event, ForgetSettled, within_s=PATIENCE_S)


async def traces_of(app: App, memory_id: str) -> list[object]:
    """Where a memory, or what a session says of it, can still be read."""
    archive, passages = await app.archive.get(), await app.passages.get()
    return [
        *await archive.store.get([memory_id], [PLACE.project]),
        *await archive.fetch([memory_id], (PLACE.project,)),
        *await passages.saying(PLACE.project, TEXT),
        *([] if archive.index.interned_id(memory_id) is None else ["index"]),
    ]


async def test_where_sessions_cannot_be_searched_nothing_is_forgotten_and_it_says_so(tmp_path):
    async with opened(tmp_path) as app:
        memory_id = await remembered(app)
        passages = app.passages.depart()
        app.passages.fail("the sessions cannot be loaded")
        with pytest.raises(StageFailed) as failed:
            await forget(app, memory_id)
        assert f"{memory_id} is not forgotten" in str(failed.value.__cause__)
        assert "cannot be loaded" in str(failed.value.__cause__)

        app.passages.arrive(passages)
        assert (await forget(app, memory_id)).found
        await until(partial(_is_gone, app, memory_id))


async def test_where_sessions_are_switched_off_what_was_kept_of_them_is_forgotten_too(tmp_path):
    async with opened(tmp_path) as app:
        memory_id = await remembered(app)
        passages = app.passages.depart()
        off = replace(app.settings.sessions, enabled=False)
        app.settings = replace(app.settings, sessions=off)
        assert (await forget(app, memory_id)).found
        assert await passages.saying(PLACE.project, TEXT) == ()
        barred = await passages._store.read(forgotten)
        assert [one.passage for one in barred] == ["psg_0000000001us1", ""]


async def test_what_says_an_earlier_text_or_under_an_earlier_scope_is_forgotten_too(tmp_path):
    before = Scope("project", "of-before")
    async with opened(tmp_path) as app:
        memory_id = await remembered(app)
        store, passages = (await app.archive.get()).store, await app.passages.get()
        [memory] = await store.get([memory_id], [PLACE.project])
        newer = "The quartzite deploy key rotates every second Tuesday from now on"
        [row] = await everything(store)
        await store.put([replace(row, memory=replace(memory, version=2, content=newer))])
        [old] = await passages.saying(PLACE.project, TEXT)
        await passages.add([replace(old, id="psg_0000000002us1", scope=before, text=newer)])
        scopes = (PLACE.project, before)
        event = ForgetRequested(trace=app.new_id(), id=memory_id, scopes=scopes)
        assert (await app.bus.request(event, ForgetSettled, within_s=PATIENCE_S)).found
        assert await passages.saying(PLACE.project, TEXT) == ()
        assert await passages.saying(before, newer) == ()


async def test_what_is_forgotten_before_its_transcript_is_read_does_not_come_back(tmp_path):
    async with opened(tmp_path) as app:
        memory_id = await remembered(app)
        passages = await app.passages.get()
        [known] = await passages.saying(PLACE.project, TEXT)
        unread = replace(known, text=f"We are done.\n[remember] {TEXT}\n\nGo on", session="s2")
        answer = replace(unread, text=f"Sure. I noted: **{TEXT.lower()}.** What next?")
        assert (await forget(app, memory_id)).found
        said = [replace(one, id=f"psg_000000000{n}us2") for n, one in enumerate((unread, answer))]
        assert await passages.add(said) == 0
        later = replace(said[0], said_at=app.clock() + timedelta(minutes=1))
        text = "The quartzite deploy key rotates on some day"
        other = replace(said[1], text=text, said_at=known.said_at - timedelta(minutes=1))
        assert await passages.add([later, other]) == 2


async def test_forgetting_that_fails_midway_can_be_asked_for_again(tmp_path, monkeypatch):
    async with opened(tmp_path) as app:
        memory_id = await remembered(app)

        def refuse(*_: object) -> None:
            raise StoreUnavailable("disk.full", "the disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(PassageArchive, "_delete", refuse)
            with pytest.raises(StageFailed):
                await forget(app, memory_id)
        assert (await forget(app, memory_id)).found
        await until(partial(_is_gone, app, memory_id))


async def test_a_deletion_that_is_committed_when_nobody_waits_any_more_is_followed(
    tmp_path, monkeypatch
):
    async with opened(tmp_path) as app:
        memory_id = await remembered(app)
        database = (await app.archive.get()).store.database
        began, go, note = threading.Event(), threading.Event(), database.note_forgotten

        def slowly(*given: object) -> None:
            began.set()
            go.wait(PATIENCE_S)
            note(*given)

        monkeypatch.setattr(database, "note_forgotten", slowly)
        async with anyio.create_task_group() as asking:
            asking.start_soon(forget, app, memory_id)
            await until(began.is_set)
            asking.cancel_scope.cancel()
        go.set()
        await until(partial(_is_gone, app, memory_id))


async def test_a_change_that_is_committed_when_nobody_waits_any_more_is_followed(
    tmp_path, monkeypatch
):
    async with opened(tmp_path) as app:
        memory_id = await remembered(app)
        store = (await app.archive.get()).store
        began, go, put = threading.Event(), threading.Event(), store.put

        async def noticed(*given: object) -> object:
            began.set()
            return await put(*given)

        async def found() -> bool:
            query = Query(text=TEXT, scopes=(PLACE.project,))
            return bool((await app.archive.recall(query)).hits)

        async def expire() -> None:
            event = ExpireRequested(trace=app.new_id(), id=memory_id, scopes=(PLACE.project,))
            await app.bus.request(event, ChangeSettled, within_s=PATIENCE_S)

        monkeypatch.setattr(store, "put", noticed)
        assert await found()
        async with anyio.create_task_group() as asking:
            asking.start_soon(store.write, partial(go.wait, PATIENCE_S))
            asking.start_soon(expire)
            await until(began.is_set)
            asking.cancel_scope.cancel()
        go.set()

        async def is_gone() -> bool:
            return not await found()

        await until(is_gone)


async def test_what_was_forgotten_under_an_earlier_name_is_learned_of_no_transcript(tmp_path):
    today = Scope("project", "github.com/acme/shop")
    other = "The harbour's containers are painted turquoise, since the customs office asks for it"
    said = [f"Done.\n\n**Decision**: {text}" for text in (TEXT, other)]
    transcript = tmp_path / "s2.jsonl"
    lines = [
        {"type": "assistant", "timestamp": f"2026-02-01T12:0{n}:00Z", "message": {"content": text}}
        for n, text in enumerate(said)
    ]
    transcript.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    async with opened(tmp_path) as app:
        assert (await forget(app, await remembered(app))).found
        await app.reviewer.learn(
            ReviewRequested(
                trace=app.new_id(),
                session="s2",
                client="claude",
                place=replace(PLACE, project=today, before=(PLACE.project,)),
                transcript=str(transcript),
                hook="Stop",
            )
        )
        kept = await (await app.archive.get()).store.page([today], limit=9)
        assert [memory.content for memory in kept] == [other]


async def test_a_session_is_told_of_what_it_kept_unasked_and_of_no_later_change(tmp_path):
    async with opened(tmp_path) as app:

        async def keep(session: str, **changes: object) -> str:
            request = CaptureRequested(
                trace=app.new_id(),
                id=f"mem_{app.new_id()}",
                text=TEXT,
                scope=PLACE.project,
                namespace="blockers",
                tags=(AUTO_CAPTURED,),
                provenance=Provenance(session=session),
            )
            return (await app.captures.capture(replace(request, **changes))).kept.memory_id

        kept = await keep("a")
        assert app.sessions.take_unasked("a") == ("blockers",)
        assert await keep("b") == kept
        await keep("a", revises=kept, tags=(AUTO_CAPTURED, "resolved"))
        assert app.sessions.take_unasked("a") == app.sessions.take_unasked("b") == ()
        assert list(app.sessions.state("b").captured) == [kept]
        used, gone = "We use RabbitMQ for the events", "We moved from RabbitMQ to NATS"
        old = await keep("b", text=used)
        assert app.sessions.take_replaced("b") == ()
        await keep("b", text=gone, own_words=True)
        assert app.sessions.take_replaced("b") == (old,)
        asked = await keep("b", text="We use Celery for the jobs", tags=())
        unasked = {"own_words": True, "explicit": False}
        new = await keep("b", text="We moved from Celery to Dramatiq", **unasked)
        assert app.sessions.take_replaced("b") == ()
        assert app.sessions.take_denied("b") == ((asked, new),)


async def test_what_the_user_is_to_be_told_waits_for_a_prompt_of_theirs(tmp_path):
    async with opened(tmp_path) as app:
        app.sessions.note_replaced("s1", "mem_1")
        prompt = make_prompt(session="s1")
        for machine, told in ((True, False), (False, True)):
            parsed = make_parsed(prompt, machine=machine)
            answer = app.handlers._respond(make_built(make_classified(parsed=parsed)))
            assert (b"replaced mem_1" in answer.body) is told


async def test_a_late_answer_is_counted_and_quotes_nothing_that_was_forgotten(tmp_path):
    async with opened(tmp_path) as app:
        memory_id = await remembered(app)
        app.llm = LanguageModelService(
            app.settings, sessions=app.sessions, publish=app.bus.publish, clean=str
        )
        hits = (await app.archive.recall(Query(text=TEXT, scopes=(PLACE.project,)))).hits
        said = await (await app.passages.get()).saying(PLACE.project, TEXT)
        session = SessionHit(
            session="s1", scope=PLACE.project, relevance=0.9, began_at=app.clock(), passages=said
        )
        prompt = replace(make_prompt(TEXT, session="s9"), place=PLACE)
        asked = make_classified(hits, parsed=make_parsed(prompt))
        classified = replace(asked, enriched=replace(asked.enriched, sessions=(session,)))
        intent = make_intent(95)
        vote = Vote(racer=DetectionSource.LLM, intent=intent, took_ms=600)
        late = IntentRefined(trace="t", classified=classified, vote=vote, intent=intent)

        async def ask() -> str:
            app.sessions.put_late_answer(late)
            return await app.handlers.late_context(
                "s9", project=PLACE.project, max_tokens=2000, hook="PreToolUse", by=app.new_id()
            )

        assert TEXT in await ask()
        reason = await until(lambda: app.sessions.reason("s9", memory_id))
        assert reason.why.startswith("PreToolUse")
        app.sessions.forget_shown("s9")
        await forget(app, memory_id)
        assert "quartzite" not in await ask()


async def _is_gone(app: App, memory_id: str) -> bool:
    return not await traces_of(app, memory_id)


async def test_a_greeting_leaves_a_disk_that_hangs_behind(tmp_path, monkeypatch):
    answers = threading.Event()
    start = SessionStarted(trace="t", session="s", client="c", place=PLACE, source="startup")
    async with opened(tmp_path) as app:
        monkeypatch.setattr(app.projects, "facts", lambda root: answers.wait(PATIENCE_S))
        try:
            with pytest.raises(TimeoutError):
                await app.bus.request(start, ResponseReady, within_s=0.1)
            assert await app.bus.settle(PATIENCE_S / 2)
        finally:
            answers.set()
