"""What a file of instructions says of a memory: the same, otherwise, or nothing."""

import time

import pytest

from subcog.stages.injection.instructions import NOT_DENIED, Instructed, InstructionFile

FILE = """# Shop

## Commands

- Test: `make test`

## Rules

- We use pnpm for the frontend packages, never npm.
- The payment worker retries three times.
- Redis is the job queue.
- We use argon2id because bcrypt truncates.
- Passwords are salted with 16 bytes. Sessions last 30 minutes.
- We deploy with ArgoCD, and every release is tagged by the release bot on Tuesdays.
"""


@pytest.fixture(scope="module")
def told():
    return Instructed((InstructionFile("CLAUDE.md", FILE),))


@pytest.mark.parametrize(
    "memory",
    [
        "We use pnpm for the frontend packages, never npm",
        "We use argon2id because bcrypt truncates",
        "The payment worker retries three times.",
        "Passwords are salted with 16 bytes.",
        "We deploy with ArgoCD",
        "Passwords are salted with 16 bytes. The payment worker retries three times.",
    ],
)
def test_what_is_said_already_brings_nothing(told, memory):
    assert told.refusal(memory) == "already in CLAUDE.md"
    assert told.otherwise(memory) == NOT_DENIED


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("The payment worker retries seven times.", "The payment worker retries three times."),
        ("We can't use Redis as the job queue.", "Redis is the job queue."),
        ("Sessions last 45 minutes.", "Sessions last 30 minutes."),
    ],
)
def test_what_is_said_otherwise_is_named(told, memory, said):
    assert told.refusal(memory) is None
    found = told.otherwise(memory)
    assert (found.file, found.sentence.rstrip(".")) == ("CLAUDE.md", said.rstrip("."))


@pytest.mark.parametrize(
    "memory",
    [
        "Staging is reset every night",
        "The tests need a running PostgreSQL",
        "pnpm",
        "",
        "The payment worker retries three times. It logs each attempt to the ledger.",
        "We use pnpm for the frontend packages, never npm. " + "And more of it. " * 100,
    ],
)
def test_of_what_is_not_said_nothing_is_told(told, memory):
    assert (told.refusal(memory), told.otherwise(memory)) == (None, NOT_DENIED)


def test_the_opposite_in_the_same_words_is_not_said_already(told):
    assert told.refusal("We use npm for the frontend packages, never pnpm") is None


def test_a_hostile_file_takes_no_time(told):
    huge = "- We use pnpm for the frontend packages, never npm\n" * 20_000
    began = time.process_time()
    file = InstructionFile("CLAUDE.md", huge[: 128 * 1024])
    assert file.says("We use pnpm for the frontend packages, never npm")
    assert time.process_time() - began < 5
