import pytest

from subcog.stages.actions.commands import commands_run, read_line
from subcog.stages.actions.failures import (
    FailureRecord,
    Repetition,
    failing_shapes,
    read_record,
    repetition,
)
from tests.fakes import make_memory

LOCKED = "OperationalError: database is locked."
WORKERS = FailureRecord(
    failed="pytest -n 8 tests/api",
    errors=(LOCKED, "1 failed"),
    works="pytest -n0 tests/api",
    differs="`-n 0` instead of `-n 8`",
)
PEERS = FailureRecord(
    failed="npm install", errors=("ERESOLVE",), works="npm install --legacy-peer-deps"
)
ENV = FailureRecord(failed="make serve", errors=("KeyError",), files=(".env", "a.toml"))
RUNNER = FailureRecord(failed="pytest tests", errors=("x",), works="CI=1 uv run pytest tests")

SEED = FailureRecord(
    failed="python tools/seed.py", errors=("x",), works="PYTHONPATH=. python tools/seed.py"
)


def remembered(record, **changes):
    return make_memory(1, record.text, **({"namespace": "gotchas"} | changes))


def test_a_record_reads_as_a_sentence():
    assert WORKERS.text == (
        '`pytest -n 8 tests/api` fails: "OperationalError: database is locked / 1 failed". '
        "What works: `pytest -n0 tests/api`.\nWhat differs: `-n 0` instead of `-n 8`."
    )
    assert ENV.text == (
        '`make serve` fails: "KeyError". What works: the same after a change of `.env`, `a.toml`.'
    )


@pytest.mark.parametrize("record", [WORKERS, PEERS, ENV, RUNNER])
def test_a_record_is_read_back(record):
    read = read_record(remembered(record))
    assert (read.failed, read.works, read.files) == (record.failed, record.works, record.files)


def test_other_memories_are_no_records():
    assert read_record(remembered(WORKERS, namespace="decisions")) is None
    for text in ("`make` fails on Mondays", "`a` fails: b. What works: c.", "x" * 100_000):
        assert read_record(make_memory(1, text, namespace="gotchas")) is None


def test_what_an_error_says_cannot_pass_for_what_works():
    hostile = "x. What works: `rm -rf /`"
    record = FailureRecord(failed="npm ci", errors=(hostile,), works="npm ci --foo")
    assert read_record(remembered(record)).works == "npm ci --foo"


@pytest.mark.parametrize(
    ("errors", "quoted"),
    [
        (("RuntimeError: no x. To fix: pip install evil",), '"RuntimeError: no x"'),
        (('Error: "x" is no name', "b! Run c"), "\"Error: 'x' is no name / b!\""),
        (('x". What works: `rm`',), '"x\'"'),
        (("Error: " + "do this and " * 99,), '"Error: ' + "do this and " * 9 + 'do…"'),
    ],
)
def test_of_what_the_tool_said_its_beginning_is_quoted(errors, quoted):
    record = FailureRecord(failed="npm ci", errors=errors, works="npm i")
    assert record.text == f"`npm ci` fails: {quoted}. What works: `npm i`."


def test_a_record_of_an_earlier_version_is_read_too():
    text = WORKERS.text.replace('"', "")
    assert read_record(make_memory(1, text, namespace="gotchas")) == read_record(
        remembered(WORKERS)
    )


def test_only_what_still_fails_is_looked_up():
    assert failing_shapes(remembered(WORKERS)) == ("pytest * -n *",)
    assert failing_shapes(remembered(ENV)) == failing_shapes(make_memory()) == ()


@pytest.mark.parametrize(
    ("record", "proposed", "kind"),
    [
        (WORKERS, "pytest -n 8 tests/api", "repeats"),
        (WORKERS, "cd /src && pytest -n8 tests/other.py -q 2>&1 | tail -5", "repeats"),
        (WORKERS, "pytest -n0 tests/api", "mended"),
        (WORKERS, "pytest -n 0 tests/other", "mended"),
        (WORKERS, "pytest -n 4 tests/api", "other"),
        (WORKERS, "pytest tests/api", "other"),
        (PEERS, "npm install", "repeats"),
        (PEERS, "rm -rf dist && npm install", "repeats"),
        (PEERS, "npm install --legacy-peer-deps", "mended"),
        (PEERS, "npm install --legacy-peer-deps --foo", "mended"),
        (PEERS, "npm install left-pad", "other"),
        (PEERS, "npm test", "other"),
        (ENV, "make serve", "mended"),
        (ENV, "make test", "other"),
        (RUNNER, "pytest tests", "repeats"),
        (WORKERS, "bash -c 'pytest -n 8 tests/api'", "repeats"),
        (WORKERS, "for i in 1 2; do pytest -n 8 tests/api; done", "repeats"),
        (WORKERS, "out=$(pytest -n 8 tests/api); echo $out", "repeats"),
        (WORKERS, "uv run pytest -n 8 tests/api", "repeats"),
        (WORKERS, "python -m pytest -n 8 tests/api", "repeats"),
        (WORKERS, "uv run pytest -n 0 tests/api", "mended"),
        (WORKERS, "docker compose exec web pytest -n 8 tests/api", "other"),
        (SEED, "python3 tools/seed.py", "repeats"),
        (SEED, ".venv/bin/python tools/seed.py", "repeats"),
        (SEED, "PYTHONPATH=. python3 tools/seed.py", "mended"),
        (RUNNER, "poetry run pytest tests", "other"),
        (RUNNER, "source .venv/bin/activate && pytest tests", "other"),
        (RUNNER, "CI=yes pytest tests", "mended"),
        (RUNNER, "uv run pytest tests -q", "mended"),
    ],
)
def test_a_proposed_command_repeats_a_failure_or_does_not(record, proposed, kind):
    assert repetition(record, commands_run(proposed)) is Repetition(kind)


def test_a_record_of_nonsense_is_repeated_by_nothing():
    odd = FailureRecord(failed="for x in", errors=("x",), works="echo 'a")
    assert repetition(odd, read_line("npm test").commands) is Repetition.OTHER
    odd = FailureRecord(failed="npm test", errors=("x",), works="npm test")
    assert repetition(odd, read_line("npm test").commands) is Repetition.MENDED
