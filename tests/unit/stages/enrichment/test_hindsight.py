from datetime import UTC, datetime

import anyio
import pytest

from subcog.bus.prompts import Retrospect
from subcog.bus.sessions import Passage, SessionHit
from subcog.bus.values import Provenance
from subcog.stages.enrichment.hindsight import (
    LEFT_OFF_DAYS,
    MOST_LEFT_OFF,
    OF_THE_WHOLE,
    Hindsight,
    find_span,
    recollect,
)
from subcog.stages.language.time_question import dates_of_incident, read_time_question
from tests.fakes import PROJECT, FakeRecall, make_hit, make_memory, make_prompt
from tests.waiting import PATIENCE_S

# A Monday.
NOW = datetime(2026, 10, 5, 9, tzinfo=UTC)


def note(number, content, made, **changes):
    moment = datetime.fromisoformat(made).replace(tzinfo=UTC)
    times = {"created_at": moment, "updated_at": moment}
    return make_memory(number, content, **(times | changes))


class FakeChronicle:
    def __init__(self, memories, used=()):
        self.memories = sorted(memories, key=lambda one: one.created_at, reverse=True)
        self.used = list(used)

    async def made(self, scopes, *, limit, namespaces=(), within=None, by_use=False):
        found = [
            one
            for one in self.memories
            if one.scope in scopes
            and (not namespaces or one.namespace in namespaces)
            and (within is None or within.since <= one.created_at < within.until)
        ]
        if by_use:
            found.sort(key=lambda one: one.id not in self.used)
        return tuple(found[:limit])


class FakeTalk:
    """What was said in sessions, newest first."""

    def __init__(self, *hits):
        self.hits = hits

    async def find(self, text, place, *, session):
        return ()

    async def said(self, place, span, *, session, limit):
        return tuple(
            hit
            for hit in self.hits
            if hit.session != session and (span is None or span.since <= hit.began_at < span.until)
        )[:limit]


def session(name, began, *texts):
    moment = datetime.fromisoformat(began).replace(tzinfo=UTC)
    passages = tuple(
        Passage(
            id=f"psg_{name}{at}",
            session=name,
            scope=PROJECT,
            speaker="user",
            text=text,
            said_at=moment,
        )
        for at, text in enumerate(texts)
    )
    return SessionHit(
        session=name, scope=PROJECT, relevance=1.0, began_at=moment, passages=passages
    )


async def recollected(prompt, memories, *, talk=None, recall=None, used=(), limit=15):
    asked = read_time_question(prompt)
    assert asked is not None
    with anyio.fail_after(PATIENCE_S):
        return await recollect(
            asked,
            make_prompt(prompt),
            Hindsight(FakeChronicle(memories, used), lambda: NOW, UTC),
            recall=recall or FakeRecall(),
            conversations=talk,
            limit=limit,
            dates=dates_of_incident(prompt),
        )


def numbers(found):
    return [int(one.id.removeprefix("mem_")) for one in found.memories]


async def test_a_span_has_what_was_made_in_it_newest_first():
    notes = [
        note(1, "before", "2026-09-27T23:59:59"),
        note(2, "first", "2026-09-28T00:00:00"),
        note(3, "last", "2026-10-04T23:59:59", namespace="progress"),
        note(4, "after", "2026-10-05T00:00:00"),
    ]
    assert numbers(await recollected("what did we do last week?", notes)) == [3, 2]
    assert numbers(await recollected("what did we decide last week?", notes)) == [2]


async def test_where_nothing_was_made_nothing_is_found():
    notes = [note(1, "near", "2026-10-03T23:00:00")]
    found = await recollected("what did we do yesterday?", notes)
    assert (found.memories, found.sessions) == ((), ())


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("what happened on 14 August?", [1]),
        ("what happened in August?", [1]),
        ("what happened on the night of 2 to 3 September?", [2]),
        ("what happened on 3 September?", [2]),
        ("what happened on 15 August?", []),
        ("what happened in July?", []),
        ("what did we do in August?", []),
    ],
)
async def test_what_names_the_day_is_of_it_whenever_it_was_made(prompt, found):
    notes = [
        note(1, "On 14 August the loads stood still", "2026-09-20T10:00:00"),
        note(2, "Night of 2 to 3 September: mails went out twice", "2026-09-21T10:00:00"),
        note(3, "Algae grow from June to August", "2026-09-22T10:00:00"),
    ]
    recall = FakeRecall(hits=[make_hit(one) for one in notes])
    assert numbers(await recollected(prompt, notes, recall=recall)) == found


async def test_a_task_that_went_on_in_the_span_is_of_it():
    went_on = datetime(2026, 10, 4, 12, tzinfo=UTC)
    notes = [note(1, "task", "2026-08-01T09:00:00", namespace="tasks", updated_at=went_on)]
    assert numbers(await recollected("what did we do yesterday?", notes)) == [1]
    assert numbers(await recollected("what did we do in August?", notes)) == [1]
    assert numbers(await recollected("what did we do in September?", notes)) == []


async def test_what_was_said_in_the_span_comes_with_it():
    talk = FakeTalk(
        session("new", "2026-10-04T10:00:00", "hello"), session("old", "2026-09-01T10:00:00", "x")
    )
    found = await recollected("what did we do yesterday?", [], talk=talk)
    assert [hit.session for hit in found.sessions] == ["new"]
    assert (await recollected("which blockers did we hit yesterday?", [], talk=talk)).sessions == ()


async def test_of_decisions_only_what_decides_is_quoted():
    said = ("can you look at this?", "Let's use valkey from now on.")
    talk = FakeTalk(session("new", "2026-10-04T10:00:00", *said))
    [hit] = (await recollected("what did we decide yesterday?", [], talk=talk)).sessions
    assert [passage.text for passage in hit.passages] == [said[1]]
    idle = FakeTalk(session("new", "2026-10-04T10:00:00", said[0]))
    assert (await recollected("what did we decide yesterday?", [], talk=idle)).sessions == ()


@pytest.mark.parametrize(
    ("prompt", "told", "found"),
    [
        ("what has happened since 2.5.0 went out?", "Release fw 2.5.0 rolled out today.", [3]),
        ("what happened before the 2.5.0 release?", "Release fw 2.5.0 rolled out today.", [1]),
        ("what came up since 2.5.0 is live?", "2.5.0 is live since 10 September 2026.", [3, 2]),
        ("what changed since the release?", "Version 2.5.0 was released.", [3]),
        ("what changed since the migration to Postgres?", "We migrated to Postgres.", [3]),
        ("what changed since the release?", "The release is planned.", []),
        ("what happened since 2.6.0 went out?", "Release 2.5.0 rolled out.", []),
    ],
)
async def test_an_event_happened_when_a_memory_says_so(prompt, told, found):
    event = note(2, told, "2026-09-20T10:00:00")
    notes = [note(1, "one", "2026-08-01T10:00:00"), event, note(3, "two", "2026-09-25T10:00:00")]
    recall = FakeRecall(hits=[make_hit(event)])
    assert numbers(await recollected(prompt, notes, recall=recall)) == found


async def test_a_subject_has_the_span_alone():
    asked = read_time_question("what did we decide last week about Kafka")
    hindsight = Hindsight(FakeChronicle([]), lambda: NOW, UTC)
    span = await find_span(asked, make_prompt(), hindsight, FakeRecall())
    assert span.since == datetime(2026, 9, 28, tzinfo=UTC)
    assert await find_span(Retrospect(), make_prompt(), hindsight, FakeRecall()) is None


async def test_work_was_left_at_its_newest_notes_and_the_last_session():
    notes = [
        note(1, "own", "2026-10-05T08:00:00", namespace="progress",
             provenance=Provenance(session="s1")),
        note(2, "new", "2026-10-04T08:00:00", namespace="progress"),
        note(3, "next", "2026-10-02T08:00:00", namespace="tasks"),
        note(4, "no work", "2026-10-04T08:00:00"),
        note(5, "old", "2026-09-20T08:00:00", namespace="progress"),
    ]  # fmt: skip
    talk = FakeTalk(session("s1", "2026-10-05T08:00:00", "x"), session("s0", "2026-10-04", "y"))
    found = await recollected("where did we leave off?", notes, talk=talk)
    assert numbers(found) == [2, 3]
    assert [hit.session for hit in found.sessions] == ["s0"]
    assert LEFT_OFF_DAYS < 14


async def test_where_work_was_left_is_told_by_few_notes():
    notes = [note(n, f"step {n}", f"2026-10-0{n}T08:00:00", namespace="tasks") for n in range(1, 6)]
    assert numbers(await recollected("where were we?", notes)) == [5, 4, 3, 2][:MOST_LEFT_OFF]


async def test_the_whole_is_told_by_a_few_of_each_kind():
    notes = [
        note(n, f"word{n} other{n} thing{n}", f"2026-0{1 + n % 9}-11T08:00:00", namespace=namespace)
        for n, namespace in enumerate(["context", "decisions", "patterns", "gotchas"] * 8)
    ]
    found = (await recollected("what do you know about this project?", notes)).memories
    kinds = [one.namespace for one in found]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == OF_THE_WHOLE
    assert kinds == sorted(kinds, key=list(OF_THE_WHOLE).index)


async def test_a_namespace_is_given_whole_and_what_is_used_comes_first():
    notes = [
        note(n, f"word{n} other{n}", f"2026-03-{n:02}T08:00:00", namespace="decisions")
        for n in range(1, 21)
    ]
    prompt = "give me an overview of our decisions"
    assert len(numbers(await recollected(prompt, notes, limit=30))) == 20
    [used] = [one for one in notes if one.content == "word9 other9"]
    few = numbers(await recollected(prompt, notes, used=[used.id], limit=3))
    assert 9 in few


async def test_memories_on_the_same_topic_do_not_crowd_the_others_out():
    same = [note(n, f"cache keys expire after {n} minutes", f"2026-09-1{n}T08:00:00",
                 namespace="context") for n in range(1, 6)]  # fmt: skip
    other = note(9, "the team deploys on fridays", "2026-09-14T08:00:00", namespace="context")
    found = (await recollected("tell me about the project", [*same, other])).memories
    assert other in found
    assert len(found) == OF_THE_WHOLE["context"]


async def test_what_contradicts_a_memory_of_the_whole_comes_with_it_the_newer_first():
    old = note(1, "cache keys expire after 5 minutes", "2026-09-11T08:00:00", namespace="context")
    several = [note(n, f"word{n} other{n} thing{n}", f"2026-09-1{n}T08:00:00", namespace="context")
               for n in range(2, 6)]  # fmt: skip
    said, made = "cache keys expire after 9 minutes", "2026-09-19T08:00:00"
    for link in (None, old.id):
        new = note(9, said, made, namespace="context", contradicts=link)
        found = await recollected("tell me about the project", [old, *several, new], used=[old.id])
        assert numbers(found).index(9) + 1 == numbers(found).index(1)


@pytest.mark.parametrize("question", ["what did we decide last week?", "overview of our decisions"])
@pytest.mark.parametrize("linked", [True, False])
async def test_what_outdates_a_decision_comes_with_it_from_any_namespace(question, linked):
    old = note(1, "cache keys expire after 5 minutes", "2026-09-29T08:00:00", namespace="decisions")
    other = note(2, "labels are printed in batches", "2026-09-30T08:00:00", namespace="decisions")
    new = note(9, "cache keys expire after 9 minutes now", "2026-10-02T08:00:00",
               namespace="context", contradicts=old.id if linked else None)  # fmt: skip
    found = numbers(await recollected(question, [old, other, new]))
    assert set(found) == {9, 2, 1}
    assert found.index(9) < found.index(1)


async def test_another_projects_memories_are_not_of_this_whole():
    mine = make_prompt().place.user
    notes = [note(1, "mine", "2026-09-14T08:00:00", scope=mine, namespace="context")]
    assert numbers(await recollected("tell me about the project", notes)) == []
