import pytest

from subcog.stages.language.project_question import asked_of_project

TEST, LINT, BUILD, START = "test_command", "lint_command", "build_command", "start_command"
STACK, MANAGER, QUIRKS = "stack", "package_manager", "quirks"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("how do I run the tests?", (TEST,)),
        ("how do i run the tests", (TEST,)),
        ("How can we run the unit tests here?", (TEST,)),
        ("how to run tests", (TEST,)),
        ("hwo do i run the tets", (TEST,)),
        ("whats the test comand", (TEST,)),
        ("What\u2019s the test command?", (TEST,)),
        ("what is the command to run the tests?", (TEST,)),
        ("which command runs the tests", (TEST,)),
        ("what do I run to test this?", (TEST,)),
        ("can you tell me how to run the test suite?", (TEST,)),
        ("remind me how the tests are run", (TEST,)),
        ("test command?", (TEST,)),
        ("how should I run the tests in this repo?", (TEST,)),
        ("I fixed the login bug. How do I run the tests?", (TEST,)),
        ("what's the lint command", (LINT,)),
        ("i forgot the lint command", (LINT,)),
        ("which linter do we use", (LINT,)),
        ("what do we use for linting?", (LINT,)),
        ("is there a lint command?", (LINT,)),
        ("how do I build this?", (BUILD,)),
        ("how is this built?", (BUILD,)),
        ("does anyone know how to biuld the project?", (BUILD,)),
        ("how do I test and lint this", (TEST, LINT)),
        ("how do I build and start this?", (BUILD, START)),
        ("how do I start the dev server?", (START,)),
        ("how do I run this locally?", (START,)),
        ("which stack do we use?", (STACK,)),
        ("what's our tech stack?", (STACK,)),
        ("which language is this project written in?", (STACK,)),
        ("what is this app built with?", (STACK,)),
        ("which testing framework do we use?", (STACK,)),
        ("which package manager do we use?", (MANAGER,)),
        ("do we use npm or pnpm?", (MANAGER,)),
        ("how do I install the dependencies?", (MANAGER,)),
        ("what are the quirks of this project?", (QUIRKS,)),
        ("what commands are there?", (TEST, BUILD, LINT, START)),
    ],
)
def test_a_question_about_the_project_asks_for_a_part_of_it(text, facts):
    assert set(asked_of_project(text)) == set(facts)


@pytest.mark.parametrize(
    "text",
    [
        "run the tests",
        "run the tests?",
        "can you run the tests?",
        "please run the tests again",
        "fix the build",
        "build this",
        "lint the code",
        "start the server",
        "run the test command",
        "add a test command to the Makefile",
        "use pnpm",
        "we use npm",
        "the test command is make test",
        "thanks, the build works",
        "tests",
        "how do I run the migrations?",
        "how do I run a single test?",
        "how do I run the tests for the auth module on staging?",
        "how do I fix the tests?",
        "how do I write tests?",
        "how do I add a build step?",
        "how do I use this?",
        "how should we test this?",
        "how did you test this?",
        "how does this app start?",
        "how are the tests?",
        "how is the build?",
        "how long do the tests take?",
        "why does the build fail?",
        "what tests do we have?",
        "which tests did you run?",
        "did you run the tests?",
        "what should I test?",
        "what does this do?",
        "which stack should we use?",
        "should we use npm or pnpm?",
        "poetry or uv?",
        "what is a stack?",
        "what is the stack trace?",
        "how do I hash passwords?",
        "how do I deploy this?",
        "",
        "?",
    ],
)
def test_orders_chat_and_other_questions_do_not(text):
    assert asked_of_project(text) == ()


def test_what_is_pasted_or_endless_asks_nothing():
    assert asked_of_project("```\nhow do I run the tests?\n```\nthanks") == ()
    assert asked_of_project("how do I " + "run the tests " * 50_000) == ()
