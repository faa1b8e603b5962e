from datetime import timedelta

import pytest

from subcog.bus.values import Scope
from subcog.stages.injection.candidate import Candidate, notes
from subcog.stages.injection.instructions import Instructed
from subcog.stages.injection.pack import Budget
from subcog.stages.injection.select import adds_nothing, choose
from tests.fakes import NOW, make_hit, make_memory

DAY = timedelta(days=1)


def candidate(number, content="", relevance=0.7, **changes):
    hit = make_hit(make_memory(number, content, **changes), relevance)
    return Candidate(hit=hit, weight=1.0, kind=None, clean=str)


def chosen(*candidates, ceiling=10):
    choice = choose(
        candidates,
        floor=0.5,
        beside=0.3,
        shown=frozenset(),
        ceiling=ceiling,
        budget=Budget(2000, 8000),
        now=NOW,
    )
    return choice, [c.memory.id for c in choice.chosen]


@pytest.mark.parametrize(
    ("better", "weaker"),
    [
        ("We use argon2id for hashing.", "we use argon2id for hashing"),
        ("We use argon2id for hashing, because of GPUs.", "We use argon2id for hashing."),
        ("Use pnpm for every package in this repo", "Use pnpm for any package in this repo"),
    ],
)
def test_two_that_say_the_same_are_one(better, weaker):
    assert adds_nothing(candidate(2, weaker), candidate(1, better))


@pytest.mark.parametrize(
    ("better", "weaker"),
    [
        ("Postgres listens on port 5432 here", "Postgres listens on port 5433 here"),
        ("We do not use Redis for the queue", "We use Redis for the queue"),
        ("Use pnpm", "Use uv"),
        ("Deploys run on Friday", "Backups run every night on the second host"),
    ],
)
def test_a_number_or_a_negation_makes_two_statements(better, weaker):
    assert not adds_nothing(candidate(2, weaker), candidate(1, better))


def test_equal_hashes_are_the_same_whatever_the_words():
    assert adds_nothing(candidate(1, "a", content_hash="h"), candidate(2, "b", content_hash="h"))


def test_of_two_that_say_the_same_the_better_stays():
    text = "We use argon2id for password hashing here"
    choice, ids = chosen(candidate(1, text, 0.9), candidate(2, text, 0.8))
    assert ids == [make_memory(1).id]
    assert choice.why[make_memory(2).id] == f"says the same as {make_memory(1).id}"


def test_the_reason_for_what_is_chosen_is_its_merit_alone():
    choice, (only,) = chosen(candidate(1, "We hash passwords with argon2id."))
    assert choice.why[only] == "relevance 0.70"


def test_what_adds_nothing_takes_nobodys_place():
    text = "We use argon2id for password hashing here"
    _, ids = chosen(candidate(1, text), candidate(2, text), candidate(3), ceiling=2)
    assert ids == [make_memory(1).id, make_memory(3).id]


def test_superseded_and_expired_memories_stay_out():
    choice, ids = chosen(
        candidate(1, superseded_by="mem_x"),
        candidate(2, valid_to=NOW - timedelta(days=1)),
        candidate(3, valid_to=NOW + timedelta(days=1)),
    )
    assert ids == [make_memory(3).id]
    assert choice.why[make_memory(1).id] == "superseded by mem_x"
    assert choice.why[make_memory(2).id] == "valid only until 2026-02-28"


def test_a_weight_below_one_can_push_a_memory_out():
    hit = make_hit(make_memory(1), 0.6)
    low = Candidate(hit=hit, weight=0.5, kind=None, clean=str)
    choice, ids = chosen(low)
    assert ids == []
    assert "× 0.5, the weight of decisions" in choice.why[make_memory(1).id]


def test_a_megabyte_of_one_word_is_cut_and_harmless():
    choice, ids = chosen(candidate(1, "x" * 1_000_000, 0.9))
    assert len(ids) == 1
    assert len(choice.text) < 1500


def test_short_texts_keep_their_lines():
    choice, _ = chosen(candidate(1, "first\nsecond", 0.6))
    assert "> first\n" in choice.text


def test_a_less_relevant_one_comes_along_with_one_that_answers():
    answer, beside, less = (candidate(n, relevance=0.8 - 0.2 * n) for n in (1, 2, 3))
    assert chosen(answer, beside, less)[1] == [answer.memory.id, beside.memory.id]
    choice, ids = chosen(answer, candidate(4, relevance=0.2))
    assert "below the floor of 0.30 beside what is shown" in choice.why[make_memory(4).id]
    choice, ids = chosen(beside, less)
    assert ids == []
    assert "below the floor of 0.50" in choice.why[beside.memory.id]


def test_what_is_out_of_date_brings_nothing_along():
    outdated = candidate(1, relevance=0.9, superseded_by="mem_x")
    assert chosen(outdated, candidate(2, relevance=0.4))[1] == []


# --- what was read --------------------------------------------------------------------------------

PERSON = frozenset({"person"})


def told(relevance, by_words, namespace="decisions", **more):
    hit = make_hit(make_memory(1, namespace=namespace), relevance, by_words=by_words)
    return Candidate(hit=hit, kind=None, clean=str, **({"weight": 1.0} | more))


def test_what_was_read_is_not_corrected_for_what_the_question_wants():
    read = told(0.7, 0.4, "patterns", wanted=PERSON)
    assert read.relevance == 0.7
    assert told(0.7, None, "patterns", wanted=PERSON).relevance < 0.7


def test_the_merit_of_what_was_read_says_both_figures():
    assert told(0.7, 0.4).merit == "relevance 0.70, 0.40 by its words alone"
    weighted = told(0.7, 0.4, weight=1.2, wanted=PERSON)
    assert weighted.merit.startswith("relevance 0.70, 0.40 by its words alone")
    assert told(0.7, None).merit == "relevance 0.70"


def test_the_floors_hold_for_what_was_read_as_for_words():
    read = told(0.3, 0.9)
    choice, ids = chosen(read)
    assert ids == []
    assert choice.why[read.memory.id] == "relevance 0.30 is below the floor of 0.50"
    assert chosen(told(0.6, 0.1))[1] == [make_memory(1).id]


# --- contradictions -------------------------------------------------------------------------------

CAN, CANNOT = "We can use Redis for the job queue", "We can't use Redis for the job queue"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CAN, CANNOT),
        (CANNOT, CAN),
        (CAN, "We can’t use Redis for the job queue"),
        ("The job queue was Redis", "The job queue wasn't Redis"),
        ("The session timeout is 15 minutes", "The session timeout is 30 minutes"),
    ],
)
def test_of_two_that_contradict_each_other_the_newer_is_chosen(old, new):
    older = candidate(2, old, 0.9, updated_at=NOW - timedelta(days=1))
    newer = candidate(1, new, 0.6, updated_at=NOW)
    choice, ids = chosen(older, newer)
    assert ids == [newer.memory.id]
    assert choice.why[older.memory.id] == f"contradicted by {newer.memory.id}, which is newer"


def test_of_two_that_contradict_each_other_at_one_time_the_later_id_is_chosen():
    first = candidate(1, CAN, 0.9, updated_at=NOW)
    second = candidate(2, CANNOT, 0.6, updated_at=NOW)
    assert chosen(first, second)[1] == [second.memory.id]


def test_what_was_noted_as_contradicted_in_other_words_gives_way_to_the_newer():
    older = candidate(1, "Surge parameters get their sign-off from Ilse", 0.9, updated_at=NOW - DAY)
    said = "Tomasz approves the price multiplier curve"
    newer = candidate(2, said, 0.6, updated_at=NOW, contradicts=older.memory.id)
    choice, ids = chosen(older, newer)
    assert ids == [newer.memory.id]
    assert choice.why[older.memory.id] == f"contradicted by {newer.memory.id}, which is newer"


def test_what_is_contradicted_in_part_is_shown_beside_the_newer_and_says_so():
    said = "The gateway times out after 8 s, so our client gives up at 7 s and retries twice"
    older = candidate(1, said, 0.9, updated_at=NOW - DAY)
    fields = {"updated_at": NOW, "contradicts": older.memory.id}
    newer = candidate(2, "The gateway times out after 12 s now", 0.6, **fields)
    choice, ids = chosen(older, newer)
    assert set(ids) == {older.memory.id, newer.memory.id}
    assert f"since then partly outdated by {newer.memory.id}" in choice.text


def test_several_that_contradict_a_part_each_are_all_shown_before_it_and_named():
    said = "Gauges report every 60 seconds, and we keep raw readings for 90 days"
    older = candidate(1, said, 0.9, updated_at=NOW - DAY)
    told = ("Gauges report every 120 seconds now", "Raw readings are kept for 400 days now")
    fields = {"updated_at": NOW, "contradicts": older.memory.id}
    newer = [candidate(at, text, 0.3, **fields) for at, text in enumerate(told, start=2)]
    choice, ids = chosen(*newer, older)
    assert ids == [newer[0].memory.id, newer[1].memory.id, older.memory.id]
    assert f"partly outdated by {newer[1].memory.id}, {newer[0].memory.id}" in choice.text


def test_what_a_plan_will_outdate_is_shown_unmarked_until_then():
    older = candidate(1, "Beta builds go to TestFlight every Thursday", 0.9, updated_at=NOW - DAY)
    said = "In two weeks beta builds will go to TestFlight daily"
    fields = {"contradicts": older.memory.id}
    plan = candidate(2, said, 0.9, updated_at=NOW, **fields)
    choice, ids = chosen(older, plan)
    assert set(ids) == {older.memory.id, plan.memory.id}
    assert "outdated" not in choice.text
    over = candidate(2, said, 0.9, updated_at=NOW - 20 * DAY, **fields)
    first = candidate(1, older.memory.content, 0.9, updated_at=NOW - 30 * DAY)
    assert chosen(first, over)[1] == [over.memory.id]


def test_what_was_noted_of_another_time_or_place_leaves_the_older_in_force():
    said = "Alerts during the day go to the Slack channel #grid"
    older = candidate(1, said, 0.9, updated_at=NOW - DAY)
    fields = {"updated_at": NOW, "contradicts": older.memory.id}
    newer = candidate(2, "Alerts at night now go to Priya instead of Sanne", 0.6, **fields)
    assert set(chosen(older, newer)[1]) == {older.memory.id, newer.memory.id}


def test_a_memory_of_another_scope_outdates_nothing_by_saying_so():
    older = candidate(1, "Surge parameters get their sign-off from Ilse", 0.9, updated_at=NOW - DAY)
    said = "Tomasz approves the price multiplier curve"
    fields = {"contradicts": older.memory.id, "scope": Scope("org", "acme")}
    newer = candidate(2, said, 0.6, updated_at=NOW, **fields)
    assert chosen(older, newer)[1] == [older.memory.id, newer.memory.id]


HOLD_10 = (
    "Henrike wants 10, couriers block the slots otherwise. change it\n"
    "Approach: Changed `HOLD_MINUTES` to 10.\n"
    "Outcome: success (tests passed)\nFiles: app/slots.py, app/held.py"
)
HOLD_15 = (
    "Henrike just wrote: hold time back to 15 min, 10 was too short\n"
    "Approach: `HOLD_MINUTES` is 15 again.\n"
    "Outcome: success (tests passed)\nFiles: app/held.py and 2 more"
)
DROPS = (
    "Tobi measured with the O2 sims, they drop after 28 seconds already. so 20 not 30\n"
    "Approach: `KEEPALIVE` is now 20 seconds.\n"
    "Outcome: success (tests passed)\nFiles: app/bridge.py"
)
GAUGE = (
    "Ok make a gauge\nApproach: `HOLD_MINUTES` is 12 in the panel.\n"
    "Outcome: success (tests passed)\nFiles: app/panel.py"
)


@pytest.mark.parametrize(
    ("older", "newer", "is_outdated"),
    [(HOLD_10, HOLD_15, True), (DROPS, HOLD_15, False), (GAUGE, HOLD_15, False)],
    ids=["the same file", "another subject", "another file"],
)
def test_the_record_of_a_task_outdates_none_of_other_files(older, newer, is_outdated):
    first = candidate(1, older, 0.9, namespace="tasks", updated_at=NOW - DAY)
    second = candidate(2, newer, 0.6, namespace="tasks", updated_at=NOW)
    why = chosen(first, second)[0].why[first.memory.id]
    text = chosen(first, second)[0].text
    assert ("contradicted by" in why or "partly outdated" in text) == is_outdated


def test_the_record_of_a_failed_command_outdates_none_of_another_one():
    failed = "`{0}` fails: {1}. What works: `{2} {0}`.\nWhat differs: `{2}` is added."
    fields = {"namespace": "gotchas", "tags": ("failed-command", "auto-captured")}
    denied = 'permission denied to create extension "btree_gist"'
    text = failed.format("uv run alembic upgrade head", denied, "PGUSER=postgres")
    older = candidate(1, text, 0.9, updated_at=NOW - DAY, **fields)
    text = failed.format("uv run pytest -n 8", "IntegrityError", "LOCKERHUB_DB_PER_WORKER=1")
    newer = candidate(2, text, 0.6, updated_at=NOW, contradicts=older.memory.id, **fields)
    choice, ids = chosen(older, newer)
    assert set(ids) == {older.memory.id, newer.memory.id}
    assert "outdated" not in choice.text


def test_what_was_worded_anew_since_is_contradicted_by_nothing_older():
    older = candidate(1, "Surge parameters get their sign-off from Ilse again", 0.9, updated_at=NOW)
    said = "Tomasz approves the price multiplier curve"
    newer = candidate(2, said, 0.6, updated_at=NOW - DAY, contradicts=older.memory.id)
    assert chosen(older, newer)[1] == [older.memory.id, newer.memory.id]


def test_what_was_contradicted_is_not_shown_after_the_newer_one_was():
    older = candidate(1, CAN, 0.9, updated_at=NOW - timedelta(days=1))
    newer = candidate(2, CANNOT, 0.8, updated_at=NOW)
    choice = choose(
        [older, newer],
        floor=0.5,
        beside=0.3,
        shown=frozenset({newer.memory.seen_key}),
        ceiling=10,
        budget=Budget(2000, 8000),
        now=NOW,
    )
    assert choice.chosen == ()
    assert choice.already_shown


def test_the_newer_word_stands_in_for_an_older_one_that_is_more_relevant():
    older = candidate(1, "Deploys are done by ArgoCD", 0.9, updated_at=NOW - timedelta(days=1))
    newer = candidate(2, "Flux now, ArgoCD is gone", 0.3, updated_at=NOW)
    other = candidate(3, "Logs are kept for 30 days", 0.1, updated_at=NOW)
    assert chosen(older, newer, other)[1] == [newer.memory.id]


def test_what_has_nothing_to_do_with_the_prompt_hides_no_answer():
    answer = candidate(1, "The SMTP relay is mail.internal", 0.95)
    guessed = candidate(2, "The relay needs STARTTLS", 0.05, updated_at=NOW)
    assert chosen(answer, guessed)[1] == [answer.memory.id]


def test_what_a_contradicted_memory_says_counts_for_nothing():
    oldest = candidate(1, CANNOT, 0.9, updated_at=NOW - timedelta(days=2))
    older = candidate(2, CAN, 0.8, updated_at=NOW - timedelta(days=1))
    newest = candidate(3, CANNOT, 0.7, updated_at=NOW)
    choice, ids = chosen(oldest, older, newest)
    assert ids == [oldest.memory.id]
    assert "contradicted by" in choice.why[older.memory.id]
    assert choice.why[newest.memory.id] == f"says the same as {oldest.memory.id}"


def test_a_blocker_that_was_closed_is_no_news_and_says_so():
    blocked, solved = "Postmark blocks our mails", "Postmark no longer blocks our mails"
    closed = candidate(
        1, blocked, namespace="blockers", tags=("resolved",), version=2, updated_at=NOW
    )
    resolution = candidate(2, solved, namespace="blockers", updated_at=NOW - timedelta(days=1))
    choice, ids = chosen(closed, resolution)
    assert ids == [resolution.memory.id]
    assert "contradicted by" in choice.why[closed.memory.id]
    (note,) = notes(closed, Instructed())
    assert note.since == "resolved"
