import random
import time

import pytest

from subcog.bus.values import Action
from subcog.stages.moments.take_up import (
    KNOWN_CHARS,
    MOST_SHOWN,
    Showings,
    Use,
    is_about_memory,
    objection_of,
    speaks_of,
)
from tests.fakes import make_memory

_BARE = ["shown", "untraceable"]
POOL = "The connection pool is set up in src/db/pool.py, with max_overflow 37"
MIGRATE = "never run `alembic upgrade head` directly; use scripts/migrate.sh"
RECORD = (
    "`pytest -n 8 tests/api` fails: OperationalError: database is locked. "
    "What works: `pytest -n 0 tests/api`.\nWhat differs: `-n 0` instead of `-n 8`."
)
CACHE = "We keep sessions in Redis, with a time to live of 30 minutes"


def make_record():
    return make_memory(content=RECORD, namespace="gotchas")


def edit(path="src/other.py", new="x = 1", old=""):
    return Action(tool="Edit", paths=(path,), written=new, replaced=old)


def run(command):
    return Action(tool="Bash", command=command)


def shown(*memories, prompt="how is that set up?"):
    """What a session was shown with ``prompt``."""
    showings = Showings()
    showings.prompted(prompt)
    showings.show(memories, trace="prompt")
    return showings


def acted(showings, action, trace="t1"):
    return [use.kind for use in showings.acted(action, trace=trace)]


# --- taken up -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "action"),
    [
        (POOL, edit("/home/me/shop/src/db/pool.py")),
        (POOL, edit(new="create_engine(max_overflow=37)")),
        (MIGRATE, run("./scripts/migrate.sh --dry-run")),
        ("We use pnpm in the frontend, not npm", run("pnpm install")),
        ("The port of the test server is 5433", run("psql -p 5433")),
        ("Call verifyToken before parsing", edit(new="if (!verifyToken(t)) return")),
        ("Sessions end after 30 minutes", edit(new="# sessions end after 30 min")),
        ("The switch is `feature.new-checkout`", edit(new="feature.new-checkout: true")),
    ],
)
def test_an_action_takes_up_what_only_the_memory_named(content, action):
    assert acted(shown(make_memory(content=content)), action) == ["taken_up"]


@pytest.mark.parametrize(
    ("content", "prompt", "action"),
    [
        (POOL, "what is in pool.py?", edit("src/db/pool.py")),
        (POOL, "set max_overflow in src/db/pool.py", edit("src/db/pool.py", "max_overflow=3")),
        ("Invoices are numbered per tenant", "hi", edit(new="invoices per tenant")),
        (MIGRATE, "update the tables", run("alembic upgrade head")),
        ("We use pnpm in the frontend, not npm", "add react", run("npm install react")),
        (POOL, "what now?", edit("src/db/pools.py")),
    ],
)
def test_an_action_takes_up_nothing_that_was_known_or_spoken_against(content, prompt, action):
    assert acted(shown(make_memory(content=content), prompt=prompt), action) == []


def test_what_the_agent_did_before_the_memory_was_shown_is_its_own():
    showings = Showings()
    showings.proposed(edit("src/db/pool.py", "max_overflow"))
    showings.show([make_memory(content=POOL)], trace="t1")
    assert acted(showings, edit("src/db/pool.py", "max_overflow")) == []


def test_the_action_that_a_memory_was_shown_for_does_not_take_it_up():
    showings = Showings()
    showings.show([make_memory(content=POOL)], trace="t1")
    assert acted(showings, edit("src/db/pool.py"), trace="t1") == []
    assert acted(showings, edit("src/db/pool.py"), trace="t2") == ["taken_up"]


def test_what_stood_in_the_file_before_is_not_taken_up():
    showings = shown(make_memory(content="Call verifyToken before parsing"))
    assert acted(showings, edit(new="verifyToken(a)", old="verifyToken(b)")) == []


def test_what_is_known_only_later_is_taken_up_however_much_is_known():
    showings = Showings()
    showings.prompted("do the thing")
    showings.show([make_memory(content=POOL)], trace="p")
    showings.proposed(edit("src/db/pool.py"))
    showings.learn("y" * (KNOWN_CHARS - 100))
    assert acted(showings, edit("src/db/pool.py")) == ["taken_up"]
    showings.show([make_memory(2, content="see src/db/pool.py")], trace="p2")
    assert acted(showings, edit("src/db/pool.py"), trace="t2") == []


def test_it_is_told_once():
    showings = shown(make_memory(content=POOL))
    assert acted(showings, edit("src/db/pool.py")) == ["taken_up"]
    assert acted(showings, edit("src/db/pool.py"), trace="t2") == []


def test_an_answer_takes_up_a_value():
    memory = make_memory(content="JWT tokens are signed with RS256 and expire after 15 minutes")
    showings = shown(memory, prompt="how long do our JWT tokens live?")
    assert showings.answered("I do not know.") == []
    (use,) = showings.answered("They live for 15 minutes.")
    assert use == Use(memory.id, "taken_up", "the answer has its value")


def test_nothing_that_is_told_quotes_anybody():
    showings = shown(make_memory(content="The key is `hunter2-secret-key`"))
    (use,) = showings.acted(run("echo hunter2-secret-key"), trace="t1")
    assert "hunter2" not in use.detail


# --- hostile --------------------------------------------------------------------------------------

COMMON = (
    "python node npm pnpm yarn git docker kubernetes postgres redis react django flask pytest ruff "
    "mypy webpack vite typescript javascript rust go java kafka nginx terraform aws graphql"
).split()


def test_a_memory_stuffed_with_names_is_not_always_used():
    stuffed = make_memory(content="Notes: " + ", ".join(COMMON))
    showings = shown(stuffed)
    for number, command in enumerate(("git status", "npm test", "docker ps", "pytest -q")):
        assert acted(showings, run(command), trace=f"t{number}") == []


def test_one_that_names_a_lot_is_used_where_enough_of_it_is_met():
    files = [f"src/area{n}/part_{n}.py" for n in range(6)]
    showings = shown(make_memory(content="Touch " + " and ".join(files)))
    assert acted(showings, edit(files[0])) == []
    assert acted(showings, edit(files[1], new=f"import {files[2]}"), trace="t2") == ["taken_up"]


def test_a_huge_output_takes_up_a_name_by_chance_only_where_it_is_pointed_at():
    generated = "\n".join(f"line {n}" for n in range(900)) + "max_overflow"
    showings = shown(make_memory(content="Set max_overflow"))
    assert acted(showings, edit(new=generated[-6_000:])) == []
    assert acted(showings, run("grep max_overflow src"), trace="t2") == ["taken_up"]


def test_texts_of_any_shape_are_bounded():
    rng = random.Random(7)
    junk = "".join(rng.choice("`./_-:()<>@# \n\0\udce4aZ9ſİ") for _ in range(200_000))
    showings = shown(*(make_memory(n, content=junk[n:]) for n in range(80)))
    assert len(showings) == MOST_SHOWN
    began = time.process_time()
    showings.acted(Action(tool="Write", written=junk, command=junk, paths=(junk,)), trace="t")
    showings.failed(run(junk), junk, trace="t2")
    showings.answered(junk)
    showings.prompted(junk)
    assert time.process_time() - began < 20
    assert len(showings._known) <= KNOWN_CHARS


# --- quoted ---------------------------------------------------------------------------------------


def test_an_id_in_an_answer_or_a_command_quotes_the_memory():
    memory = make_memory(content="Invoices are numbered per tenant")
    assert shown(memory).answered(f"as {memory.id} says") == [
        Use(memory.id, "quoted", "named by its id")
    ]
    more = f"As {memory.id} says, I numbered them. I did not update the docs."
    assert [use.kind for use in shown(memory).answered(more)] == ["quoted"]
    assert shown(memory).answered(f"I would forget {memory.id}. It is old.") == []
    assert acted(shown(memory), run(f"subcog get {memory.id}")) == ["quoted"]
    assert acted(shown(memory), run(f"subcog forget {memory.id}")) == []
    assert shown(memory).answered("as mem_01jd00000000000000000000zz says") == []


def test_a_memory_that_is_read_by_its_id_is_quoted_shown_or_not():
    memory = make_memory()
    assert [use.kind for use in shown(memory).read(memory.id)] == ["quoted"]
    showings = Showings()
    assert [use.kind for use in showings.read("mem_other")] == ["quoted"]
    assert showings.read("mem_other") == []
    assert [use.kind for use in showings.read("mem_third")] == ["quoted"]


# --- corrected ------------------------------------------------------------------------------------


def test_a_correction_right_after_is_seen():
    pool, other = make_memory(1, content=POOL), make_memory(2, content="Invoices have numbers")
    showings = shown(pool, other)
    (use,) = showings.prompted("no, that's outdated: the connection pool is in src/db/engine.py")
    assert (use.memory_id, use.kind) == (pool.id, "corrected")


def test_a_later_objection_is_about_something_else():
    showings = shown(make_memory(content=POOL))
    assert showings.prompted("thanks, go on") == []
    assert showings.prompted("no, that's outdated: the pool is elsewhere") == []


def test_an_objection_without_the_subject_counts_for_none():
    showings = shown(make_memory(content=POOL))
    assert showings.prompted("no, that's wrong, we use tabs here") == []


# --- heeded ---------------------------------------------------------------------------------------


def test_what_works_instead_is_heeded():
    assert acted(shown(make_record()), run("pytest -n 0 tests/api")) == ["heeded"]
    assert acted(shown(make_record()), run("ls tests/api")) == []


def test_a_command_that_was_not_finished_proves_nothing():
    showings = shown(make_record())
    uses = showings.acted(run("pytest -n 0 tests/api"), trace="t", unfinished=True)
    assert uses == []


def test_the_same_failure_came_anyway():
    error = "E   sqlite3.OperationalError: database is locked"
    (use,) = shown(make_record()).failed(run("pytest -n 8 tests/api"), error, trace="t")
    assert use.kind == "failed_anyway"
    assert shown(make_record()).failed(run("pytest -n 8 tests/api"), "SyntaxError", trace="t") == []
    assert shown(make_record()).failed(run("make serve"), error, trace="t") == []


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        (POOL, ["shown"]),
        ("Releases are cut on Thursday, since nobody is around to help on Fridays", _BARE),
    ],
)
def test_what_names_nothing_to_look_out_for_is_marked(content, kinds):
    uses = Showings().show([make_memory(content=content)], trace="p")
    assert [use.kind for use in uses] == kinds


def test_what_the_prompt_named_already_is_nothing_to_look_out_for():
    showings = Showings()
    showings.prompted(f"is it still so that {POOL}?")
    kinds = [use.kind for use in showings.show([make_memory(content=POOL)], trace="p")]
    assert kinds == _BARE


@pytest.mark.parametrize(
    "prompt",
    [
        "no, that's outdated: sessions live in Postgres now",
        "That's wrong. We don't keep sessions in Redis any more",
        "we no longer use redis for sessions",
        "No — we moved off Redis for the sessions last month",
        "stop using redis for that",
        "Nope, sessions are not in Redis",
    ],
)
def test_an_objection_that_names_the_subject_is_seen(prompt):
    assert speaks_of(objection_of(prompt), CACHE)


@pytest.mark.parametrize(
    "prompt",
    [
        "no problem, now add sessions for redis",
        "no idea why, but redis keeps the sessions too long",
        "How long do we keep sessions in redis?",
        "now add a test for the redis sessions",
        "yes, that's right, redis keeps the sessions",
        "actually, show me the session code of redis first",
        "```\nthat's wrong: sessions in redis\n```",
        "go on. " * 200 + "that's outdated: sessions in redis",
    ],
)
def test_what_objects_to_nothing_is_no_objection(prompt):
    assert objection_of(prompt) == ""


@pytest.mark.parametrize("prompt", ["no, that's wrong", "we don't want tabs here, use spaces"])
def test_an_objection_to_something_else_does_not_speak_of_it(prompt):
    assert objection_of(prompt)
    assert not speaks_of(objection_of(prompt), CACHE)


def test_an_objection_may_say_that_a_note_is_meant():
    assert is_about_memory(objection_of("that memory is outdated"))
    assert not is_about_memory(objection_of("that approach is outdated"))
