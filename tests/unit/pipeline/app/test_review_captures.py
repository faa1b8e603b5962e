from __future__ import annotations

import itertools
import os
import subprocess
import time
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from subcog.bus.events import CaptureSettled, ReviewRequested
from subcog.bus.values import AUTO_CAPTURED, LEARN, Kept, Noted, Provenance, Recalled
from subcog.config.load import load_settings
from subcog.pipeline.app.archives import NotStored
from subcog.pipeline.app.review_captures import ReviewCaptures
from subcog.sinks.project.git import head_commit
from subcog.stages.capture.closings import find_closings
from subcog.stages.capture.review import Statement
from subcog.stages.capture.task_record import Work

from ....fakes import NOW, PLACE, FakeRecall, make_hit, make_memory

EVENT = ReviewRequested(
    trace="t", session="s", client="claude", place=PLACE, transcript="/t.jsonl", hook="Stop"
)
FIXED = "Fixed: the runner image has Node 22 now, so the e2e job starts again."
BLOCKER = make_memory(
    7, "CI is blocked: the runner image has no Node 22", namespace="blockers", tags=("ci",)
)


def stated(text, confidence=90, kind="decision", namespace="decisions"):
    note = Noted(
        kind=kind,
        namespace=namespace,
        text=text,
        summary=text,
        confidence_percent=confidence,
        start=0,
        end=len(text),
        earned=True,
    )
    return Statement(note=note, role="user", said_at_ms=1000, file="a.py")


NOW_MS = int(NOW.timestamp() * 1000)
SOLVED = replace(stated(FIXED, kind="resolution", namespace="blockers"), said_at_ms=NOW_MS)


class Gleaning:
    """A gleaner with a store that says ``outcome``."""

    def __init__(self, folder, **env):
        self.recall = FakeRecall()
        self.outcome = "stored"
        self.version = None
        self.captured = []
        numbers = itertools.count()
        self.gleaner = ReviewCaptures(
            settings=load_settings(folder / "none.toml", env).settings,
            recall=self.recall,
            capture=self.capture,
            new_id=lambda: f"{next(numbers):026d}",
            clock=lambda: NOW,
        )

    async def capture(self, request):
        self.captured.append(request)
        kept_as = None if self.outcome == "declined" else "mem_7"
        kept = Kept(outcome=self.outcome, namespace=request.namespace, memory_id=kept_as)
        memory = make_memory(7, version=self.version) if self.version else None
        return CaptureSettled(trace=request.trace, kept=kept, memory=memory)

    async def keep(self, *statements, event=EVENT):
        kept = []
        self.closed = await self.gleaner.keep(event, statements, kept)
        return kept


@pytest.fixture
def gleaning(tmp_path):
    return Gleaning(tmp_path)


async def test_what_is_kept_says_where_it_comes_from(gleaning):
    assert await gleaning.keep(stated("Use tabs.")) == ["Use tabs."]

    (request,) = gleaning.captured
    assert request.scope == PLACE.project
    assert (request.explicit, request.confidence_percent) == (False, 90)
    origin = request.provenance
    assert (origin.hook, origin.session, origin.client) == ("Stop", "s", "claude")
    assert (origin.file, origin.branch) == ("a.py", "main")


@pytest.fixture
def committed(tmp_path):
    """A place whose first commit was made after what is ``stated`` was said."""
    git = ("git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-C", str(tmp_path))
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    return replace(PLACE, root=str(tmp_path.resolve()))


def begin_branch(root, branch, at_s):
    subprocess.run(
        ["git", "-C", root, "checkout", "-q", "-b", branch],
        env=os.environ | {"GIT_COMMITTER_DATE": f"{at_s:.0f} +0000"},
        check=True,
    )


async def test_what_is_kept_names_the_commit_of_when_it_was_said(gleaning, committed):
    here = replace(EVENT, place=committed)
    now = replace(stated("Ship on Mondays."), said_at_ms=round(time.time() * 1000) + 5_000)
    undated = replace(stated("Log JSON."), said_at_ms=0)
    await gleaning.keep(stated("Use tabs."), now, undated, event=here)
    head = head_commit(committed.root)
    assert [one.provenance.commit for one in gleaning.captured] == ["", head, head]


async def test_where_git_keeps_no_log_only_what_was_just_said_names_a_commit(gleaning, committed):
    (Path(committed.root) / ".git" / "logs" / "HEAD").unlink()
    here = replace(EVENT, place=replace(committed, branch="main"))
    for hook in ("Stop", LEARN):
        await gleaning.keep(stated(f"Quote {hook}."), event=replace(here, hook=hook))
    now, later = (one.provenance for one in gleaning.captured)
    assert (now.commit, now.branch) == (head_commit(committed.root), "main")
    assert (later.commit, later.branch) == ("", "")


async def test_what_is_kept_names_the_branch_of_when_it_was_said(gleaning, committed):
    now_s = time.time()
    for branch, at_s in (("topic", now_s), ("today", now_s + 3600)):
        begin_branch(committed.root, branch, at_s)
    now = replace(stated("Ship on Mondays."), said_at_ms=round(now_s * 1000) + 5_000)
    await gleaning.keep(now, event=replace(EVENT, place=replace(committed, branch="today")))
    assert [one.provenance.branch for one in gleaning.captured] == ["topic"]


async def test_the_surest_come_first_and_no_more_than_the_settings_say(tmp_path):
    gleaning = Gleaning(tmp_path, HOOK_STOP_MAX_CAPTURES="2", HOOK_PRE_COMPACT_MAX_CAPTURES="1")
    found = [stated("Use tabs.", 86), stated("Ship on Mondays.", 95), stated("Log JSON.", 90)]

    assert await gleaning.keep(*found) == ["Ship on Mondays.", "Log JSON."]
    before = replace(EVENT, hook="PreCompact")
    assert await gleaning.keep(*found, event=before) == ["Ship on Mondays."]


async def test_what_is_not_sure_enough_is_not_kept(gleaning):
    assert await gleaning.keep(stated("Use tabs.", 84)) == []


async def test_what_is_known_is_not_kept_again(gleaning):
    gleaning.recall.hits = [make_hit(late=0.95)]

    assert await gleaning.keep(stated("Use tabs.")) == []


@pytest.mark.parametrize(("hours", "kept"), [(-1, True), (1, False)])
async def test_a_blocker_that_was_closed_before_is_news_again(gleaning, hours, kept):
    closed_at = NOW + timedelta(hours=hours)
    closed = replace(BLOCKER, tags=("resolved",), updated_at=closed_at)
    gleaning.recall.hits = [make_hit(closed, late=0.95, vector=0.95)]
    again = stated(BLOCKER.content, kind="blocker", namespace="blockers")

    assert await gleaning.keep(replace(again, said_at_ms=NOW_MS)) == [BLOCKER.content] * kept


async def test_what_is_repeated_is_kept_once(gleaning):
    first = stated("We use argon2id because bcrypt truncates passwords.", 95)
    again = stated("Agreed: argon2id, because bcrypt truncates passwords.", 90)

    assert await gleaning.keep(first, again) == [first.note.text]


@pytest.mark.parametrize("outcome", ["failed", "pending"])
async def test_a_store_that_takes_nothing_is_told(gleaning, outcome):
    gleaning.outcome = outcome

    with pytest.raises(NotStored):
        await gleaning.keep(stated("Use tabs."))


async def test_without_a_search_nothing_is_kept_for_new(gleaning):
    gleaning.recall.raises = ConnectionError()

    with pytest.raises(NotStored):
        await gleaning.keep(stated("Use tabs."))


async def test_a_resolution_closes_the_blocker_that_it_is_about(gleaning):
    gleaning.recall.hits = [make_hit(BLOCKER, relevance=0.99, late=0.9)]

    await gleaning.keep(SOLVED)

    kept, closed = gleaning.captured
    assert gleaning.closed == [BLOCKER]
    assert kept.tags == ("auto-captured", "resolved", f"resolves-{BLOCKER.id}")
    assert (closed.revises, closed.text) == (BLOCKER.id, BLOCKER.content)
    assert closed.made_from == BLOCKER.version
    assert closed.tags == ("resolved", "ci")
    assert closed.provenance == BLOCKER.provenance


async def test_a_resolution_closes_what_waits_for_what_it_says_to_be_there(gleaning):
    waits = replace(BLOCKER, content="Publishing waits for the privacy policy URL from legal")
    gleaning.recall.hits = [make_hit(waits, relevance=0.5, late=0.3)]
    said = "The privacy policy URL is online, and the app was submitted."

    await gleaning.keep(
        replace(stated(said, kind="resolution", namespace="blockers"), said_at_ms=NOW_MS)
    )

    assert [request.revises for request in gleaning.captured] == [None, waits.id]


@pytest.mark.parametrize(
    ("blocker", "statement"),
    [
        (replace(BLOCKER, tags=("resolved",)), SOLVED),
        (BLOCKER, stated(FIXED)),
        (replace(BLOCKER, superseded_by="mem_8"), SOLVED),
        (replace(BLOCKER, scope=PLACE.user), SOLVED),
        (replace(BLOCKER, scope=PLACE.organisation), SOLVED),
        (replace(BLOCKER, updated_at=NOW + timedelta(hours=1)), SOLVED),
    ],
    ids=["closed already", "no resolution", "superseded", "the user's", "the team's", "later"],
)
async def test_a_blocker_is_left_alone(gleaning, blocker, statement):
    gleaning.recall.hits = [make_hit(blocker, relevance=0.99, late=0.66)]

    await gleaning.keep(statement)

    assert [request.revises for request in gleaning.captured] == [None]


RETURNS = make_memory(8, "Returns are handled by Ute in Kassel, 30 days instead of the legal 14")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("small thing: returns are now handled by Ayla in Fulda instead of Ute", True),
        ("small thing: returns are handled by Ayla in Fulda instead of Ute", False),
        ("maybe returns are now handled by Ayla in Fulda instead of Ute", False),
        ("small thing: refunds are now booked by Ayla in Fulda instead of Jo", False),
        ("Returns of the competitor are now handled by Ayla in Fulda instead of Ute", False),
    ],
    ids=["a change", "no change", "supposed", "of something else", "of others"],
)
async def test_what_earns_no_memory_is_kept_where_it_says_that_another_one_is_outdated(
    gleaning, text, kept
):
    gleaning.recall.hits = [make_hit(RETURNS)]
    said = stated(text)
    said = replace(said, note=replace(said.note, earned=False))
    assert await gleaning.keep(said) == ([text] if kept else [])


async def test_what_the_same_message_takes_back_replaces_nothing(gleaning):
    gleaning.recall.hits = [make_hit(RETURNS)]
    said = stated("small thing: returns are now handled by Ayla in Fulda instead of Ute")
    said = replace(said, note=replace(said.note, earned=False, doubted=True))
    assert await gleaning.keep(said) == []


async def test_what_was_changed_meanwhile_is_not_told_to_be_closed(gleaning):
    gleaning.recall.hits = [make_hit(BLOCKER)]
    said = find_closings("The runner image is fixed now.")
    for outcome, closed in (("stored", [BLOCKER]), ("declined", [])):
        gleaning.outcome = outcome
        assert await gleaning.gleaner.close(EVENT, said) == closed


async def test_what_may_mean_two_blockers_closes_no_task_either(gleaning):
    waiting = ("is blocked by the runner", "waits for the certificate")
    blockers = [
        make_memory(number, f"The staging deploy {state}.", namespace="blockers")
        for number, state in enumerate(waiting, start=1)
    ]
    task = make_memory(3, "Staging deploy of the new shop", namespace="tasks")

    async def recall(query):
        among = [one for one in (*blockers, task) if one.namespace in query.namespaces]
        return Recalled(hits=tuple(map(make_hit, among)), mode="hybrid", total=3, took_ms=0.1)

    gleaning.recall.recall = recall
    said = find_closings("The staging deploy is done now.")
    assert await gleaning.gleaner.close(EVENT, said) == []
    blockers.clear()
    assert await gleaning.gleaner.close(EVENT, said) == [task]


async def test_a_record_is_revised_from_the_version_that_was_written_last(gleaning):
    work = Work(id="mem_1", asked="Hash the passwords", files={"a.py": None})
    for written, file in ((3, "b.py"), (None, "c.py"), (5, "d.py"), (6, "e.py")):
        gleaning.version, gleaning.outcome = written, "stored" if written else "declined"
        work.files[file] = None
        await gleaning.gleaner.record(EVENT, [work])
    gleaning.outcome = "pending"
    for file in ("f.py", "g.py"):
        work.files[file] = None
        with pytest.raises(NotStored):
            await gleaning.gleaner.record(EVENT, [work])

    assert [request.made_from for request in gleaning.captured] == [None, 3, 3, 5, 6, None]


async def test_a_task_is_recorded_and_then_revised(gleaning):
    work = Work(id="mem_1", asked="Hash the passwords", files={"a.py": None}, closing="Done.")
    await gleaning.gleaner.record(EVENT, [work])
    await gleaning.gleaner.record(EVENT, [work])
    work.interrupted = True
    await gleaning.gleaner.record(EVENT, [work])

    first, second = gleaning.captured
    assert (first.id, first.revises, first.namespace) == ("mem_1", None, "tasks")
    assert second.revises == "mem_7"
    assert second.tags == ("unfinished", "auto-captured")


@pytest.mark.parametrize(
    ("older", "revises"),
    [("Hash the passwords", True), ("hash the passwords.", True), ("Hash the tokens", False)],
)
async def test_a_record_of_the_same_order_and_of_no_other_tells_how_it_ended_now(
    gleaning, older, revises
):
    record = make_memory(
        8, f"{older}\nOutcome: unfinished (interrupted)", tags=("unfinished", AUTO_CAPTURED)
    )
    gleaning.recall.hits = [make_hit(record, relevance=0.99)]
    work = Work(id="mem_1", asked="Hash the passwords", files={"a.py": None})

    await gleaning.gleaner.record(EVENT, [work])

    (request,) = gleaning.captured
    assert request.revises == (record.id if revises else None)
    assert request.made_from == (record.version if revises else None)
    assert request.verbatim


@pytest.mark.parametrize(
    ("session", "hours", "recorded"), [("later", 1, False), ("s", 1, True), ("earlier", -1, True)]
)
async def test_a_transcript_that_is_read_again_leaves_what_a_later_session_recorded(
    gleaning, session, hours, recorded
):
    text = "Hash the passwords\nOutcome: success (tests passed)"
    record = replace(
        make_memory(8, text, tags=("success", AUTO_CAPTURED)),
        provenance=Provenance(hook="Stop", session=session),
        updated_at=NOW + timedelta(hours=hours),
    )
    gleaning.recall.hits = [make_hit(record, relevance=0.99)]
    said_at_ms = int(NOW.timestamp() * 1000)
    work = Work(id="mem_1", asked="Hash the passwords", said_at_ms=said_at_ms, files={"a.py": None})

    assert await gleaning.gleaner.record(EVENT, [work]) == recorded

    assert [request.revises for request in gleaning.captured] == [record.id] * recorded


async def test_a_record_that_was_declined_once_is_revised_all_the_same_later(gleaning):
    work = Work(id="mem_1", asked="Hash the passwords", files={"a.py": None})
    for outcome, file in (("stored", "b.py"), ("declined", "c.py"), ("stored", "d.py")):
        gleaning.outcome = outcome
        work.files[file] = None
        await gleaning.gleaner.record(EVENT, [work])

    assert [request.revises for request in gleaning.captured] == [None, "mem_7", "mem_7"]


async def test_tasks_without_work_or_wish_are_not_recorded(gleaning, tmp_path):
    await gleaning.gleaner.record(EVENT, [Work(id="mem_1", asked="How are you?")])
    unwanted = Gleaning(tmp_path, SUBCOG_CAPTURE_TASKS_ENABLED="false")
    done = Work(id="mem_1", asked="Hash the passwords", files={"a.py": None})
    await unwanted.gleaner.record(EVENT, [done])

    assert gleaning.captured == unwanted.captured == []
