import pytest

from subcog.stages.actions.error_lines import MAX_LINE_CHARS, salient_lines, salient_terms
from tests.waiting import ends_soon

TRACEBACK = """Exit code 1
Traceback (most recent call last):
  File "/home/u/shop/app/db.py", line 3, in <module>
    import psycopg2
ModuleNotFoundError: No module named 'psycopg2'"""
RUST = """Exit code 101
   Compiling shop v0.1.0 (/home/u/shop)
error[E0277]: the trait bound `Foo: Handler<_, _>` is not satisfied
  --> src/main.rs:10:5
help: consider borrowing"""
NODE = """Exit code 1
\x1b[31mError: connect ECONNREFUSED 127.0.0.1:5432\x1b[0m
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1555:16)"""


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (TRACEBACK, ("ModuleNotFoundError: No module named 'psycopg2'",)),
        (RUST, ("error[E0277]: the trait bound `Foo: Handler<_, _>` is not satisfied",)),
        (NODE, ("Error: connect ECONNREFUSED 127.0.0.1:5432",)),
        ("Exit code 137\nKilled", ("Killed",)),
        ("first line\nsecond line", ("second line",)),
    ],
)
def test_the_line_that_says_what_is_wrong_is_found(output, lines):
    assert salient_lines(output) == lines


@pytest.mark.parametrize(
    "output",
    [
        "",
        "Exit code 1",
        "Exit code 1\n\n",
        "Process exited with code 2\n",
        "error",
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
        "[Request interrupted by user for tool use]",
        "The user doesn't want to proceed with this tool use.",
    ],
)
def test_a_failure_that_says_nothing_of_its_cause_has_no_such_line(output):
    assert salient_lines(output) == ()


def test_what_differs_from_run_to_run_is_left_out():
    said = (
        "2026-03-01 12:00:00,123 PoolError: cannot open /home/u/shop/var/jobs.db at 0x7f3a2b10 "
        "in worker 12345678, request 3fa85f64-5717-4562-b3fc-2c963f66afa6 (queue.py:88)"
    )
    assert salient_lines(said) == (
        "PoolError: cannot open jobs.db at in worker , request (queue.py)",
    )


def test_what_every_error_says_is_no_telling_word():
    assert salient_terms(["ModuleNotFoundError: No module named 'psycopg2'"]) == ("psycopg2",)
    assert salient_terms(["AssertionError: assert False"]) == ()
    assert "5432" in salient_terms(["Error: connect ECONNREFUSED 127.0.0.1:5432"])


@pytest.mark.parametrize(
    "output", ["x" * 1_000_000, "error " * 200_000, "/a" * 400_000, "\n" * 10**6]
)
def test_an_output_of_any_size_gives_short_lines(output):
    assert all(len(line) <= MAX_LINE_CHARS for line in salient_lines(output))


@pytest.mark.parametrize("unit", [" ", "\n", "x", "/a", "<"])
def test_of_a_flood_only_the_ends_are_read(unit):
    with ends_soon():
        salient_lines(unit * 5_000_000)
