from __future__ import annotations

import pytest

from subcog.bus.sessions import Message, ToolCall, ToolResult
from subcog.stages.capture.task_record import (
    follow,
    outcome,
    record,
    tags_of,
)
from subcog.stages.redaction.redact import Redactor
from tests.waiting import ends_soon

ROOT = "/src/shop"
ORDER = "Hash the passwords of new users with argon2id"


def user(text, **more):
    return Message(role="user", text=text, **more)


def model(text, **more):
    return Message(role="assistant", text=text, **more)


def edits(*paths):
    calls = tuple(ToolCall(id=path, tool="Edit", paths=(path,)) for path in paths)
    return Message(role="assistant", calls=calls)


def runs(command, output="", *, failed=False):
    call = ToolCall(id=command, tool="Bash", command=command)
    result = ToolResult(id=command, failed=failed, text=output)
    return (
        Message(role="assistant", calls=(call,)),
        Message(role="user", results=(result,)),
    )


def worked(*messages, work=None):
    for message in messages:
        work = follow(work, message, session="s", root=ROOT)
    return work


def test_a_task_is_recorded_a_part_a_line():
    work = worked(
        user(ORDER),
        model("I will look."),
        edits("/src/shop/user.py", "/src/shop/hash.py", "/tmp/scratch.py"),
        *runs("pytest -q tests/test_user.py", "3 passed in 0.1s"),
        model("Replaced bcrypt by argon2id in the user model. All tests pass."),
    )

    assert record(work).split("\n") == [
        ORDER,
        "Approach: Replaced bcrypt by argon2id in the user model.",
        "Outcome: success (tests passed)",
        "Files: user.py, hash.py",
        "Tests: pytest -q tests/test_user.py: passed",
    ]
    assert tags_of(work) == ("success", "auto-captured")


def test_small_talk_and_questions_are_no_task():
    assert not worked(user("hello there, how are you?"), model("fine")).is_worth_recording
    assert not worked(user("how do I hash?"), *runs("ls -la"), model("so")).is_worth_recording
    assert worked(model("hm"), edits("/src/shop/a.py")) is None


def test_machine_turns_ask_for_nothing():
    work = worked(user("<task-notification>done</task-notification>"), user("/compact"))

    assert work is None


def test_what_follows_up_belongs_to_the_task():
    work = worked(user(ORDER), edits("/src/shop/user.py"))

    for more in (
        "now commit it",
        "thanks",
        "also write the documentation",
        "the user.py is odd in places",
        "write tests for the hashing of passwords",
    ):
        assert worked(user(more), work=work) is work


def test_another_subject_is_another_task():
    work = worked(user(ORDER), edits("/src/shop/tests/test_hash.py"), model("Done."))

    for order in (
        "Write a migration guide for release three",
        "Please add a test file for the new parser code",
        "Show new users a tour of the product",
    ):
        after = worked(user(order), work=work)
        assert after is not work
        assert after.id != work.id
        assert not after.is_worth_recording


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Fix the login test of the auth suite", "Fix the logout test of the auth suite"),
        ("fix the login test", "fix logout test"),
        ("Fix the login test", "ok, now fix the logout test"),
        ("Add the first name to the user form", "Add the last name to the user form"),
        ("fix the import of CSV files", "great. please fix the export of CSV files"),
        ("add an index on orders.created_at", "can you add an index on orders.customer_id"),
        ("Rename the column created to created_at", "Rename the column updated to updated_at"),
        ("Fix the flicker in Firefox", "Now the conflict detector. Two ships are at one berth."),
        ("Fix the flicker in Firefox", "great. now to the importer: it drops the last line"),
    ],
)
def test_an_order_about_something_else_is_another_task_though_it_reads_alike(first, then):
    work = worked(user(first), edits("/src/shop/tests/auth/suite.py"), model("Done."))
    after = worked(user(then), work=work)
    assert after is not work
    assert record(work).startswith(first[:1].upper() + first[1:])


@pytest.mark.parametrize(
    "more",
    [
        "run the integration tests",
        "ok, push it to origin",
        "now fix it in the templates as well",
        "make it a bit faster",
        "add tests and docs",
        "yes, fix the logout test",
        "but keep the logout test as it was",
        "the login test waits for the wrong cookie now",
        "Now the checkout crashes. It says KeyError.",
        "Now the app broke. Have a look at it.",
        "Now the login page. It has the same cookie.",
        "ok, now the docs. One line will do.",
    ],
)
def test_what_points_back_or_handles_what_is_there_is_no_other_task(more):
    work = worked(user("Fix the login test"), edits("/src/shop/tests/login.py"), model("Done."))
    assert worked(user(more), work=work) is work


@pytest.mark.parametrize(
    "then",
    [
        "also customers complain about the colours of the invoice. Marta wants blue ones",
        "now the CSV export for the auditor. columns shop, order, time, amount",
        "hm, growers in Norway would like a discount for pallets above forty crates",
        "nice!! next: the hourly digest went out twice on saturday",
        "ok today: the text messages. let's try plain ones first",
        "hmm there is a test that fails sometimes, test_gap_detection. did you see?",
        "yes please. gauges report every minute, and raw readings stay for ninety days",
    ],
)
def test_words_enough_about_something_else_are_another_task_however_they_open(then):
    work = worked(user("Fix the login test"), edits("/src/shop/tests/login.py"), model("Done."))
    assert worked(user(then), work=work) is not work


@pytest.mark.parametrize(
    "more",
    [
        "delete the stale sessions first",
        "yes, and a mail to the owner on each switch",
        "good. all lower case but for names",
        "it should also cover visitors who come back within the hour",
        "but visitors who come back within the hour stay signed in",
        "Now the checkout crashes with a KeyError in the callback of the payment provider",
        "also keep the cookie for visitors who come back within the hour",
    ],
)
def test_what_corrects_or_comes_before_it_is_the_same_task_in_whatever_words(more):
    work = worked(
        user("Fix the login test"),
        edits("/src/shop/tests/login.py"),
        model("Replaced the cookie, which was kept for an hour only."),
    )
    assert worked(user(more), work=work) is work


def test_a_reply_in_the_agents_words_keeps_what_was_asked():
    work = worked(
        user("which language should the messages have?"),
        model("I would write German, at most 160 characters each."),
        user("german, yes. under 160 characters, and no emojis in it"),
        edits("/src/shop/text.py"),
    )
    assert work.asked == "Which language should the messages have?"


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("hi, finish the export", "Finish the export"),
        ("Nah leave it. does the dashboard have tests?", "Does the dashboard have tests?"),
        ("works. So retention goes to 400 days", "Retention goes to 400 days"),
        ("no wildcards in the CORS rules", "No wildcards in the CORS rules"),
        (
            "2026-11-20 10:12:01 INFO engine BEGIN\n2026-11-20 10:12:01 INFO engine ROLLBACK\n"
            "what are these lines in the log",
            "What are these lines in the log",
        ),
    ],
)
def test_what_was_asked_is_without_greeting_reply_and_pasted_lines(said, asked):
    assert worked(user(said)).asked == asked


PASSED = runs("pytest", "3 passed")
SAID_SO = "the user said so"
LEFT = "the user left it for later"


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user("no, it still fails")], ("failure", SAID_SO)),
        ([user("that didn't work, the login test is broken")], ("failure", SAID_SO)),
        ([user("hm, still the same error")], ("failure", SAID_SO)),
        ([user("It’s not fixed.")], ("failure", SAID_SO)),
        ([user("still fails"), model("Odd. I see nothing wrong.")], ("failure", SAID_SO)),
        ([user("still fails"), user("hm")], ("failure", SAID_SO)),
        ([user("still fails"), edits("/src/shop/a.py"), *PASSED], ("success", "tests passed")),
        (
            [user("still fails"), edits("/src/shop/a.py"), model("Done.")],
            ("success", "tests passed"),
        ),
        ([user("still fails"), *PASSED, user("it works now")], ("success", SAID_SO)),
        ([user("revert it")], ("failure", "the user had it undone")),
        ([user("not now. leave it for later, remind me")], ("unfinished", LEFT)),
        ([user("have to go, we finish that tomorrow"), model("Left open.")], ("unfinished", LEFT)),
        ([user("leave it for later"), user("thanks")], ("unfinished", LEFT)),
        ([user("leave it for later"), *PASSED, model("Done.")], ("success", "tests passed")),
        (
            [model("Shall I also write docs for it?"), user("not now")],
            ("success", "tests passed"),
        ),
        (
            [model("Done. Shall I push?"), user("no, not now"), user("looks good, thanks")],
            ("success", "tests passed"),
        ),
        (
            [model("Let me know if you want a changelog entry."), user("skip it for now")],
            ("success", "tests passed"),
        ),
        ([model("Shall I go on with the rest?"), user("not now")], ("unfinished", LEFT)),
        (
            [user("never mind, undo that"), *PASSED, model("Reverted.")],
            ("failure", "the user had it undone"),
        ),
        (
            [user("undo that please"), edits("/src/shop/a.py"), model("Reverted.")],
            ("failure", "the user had it undone"),
        ),
        ([user("why does that work?")], ("success", "tests passed")),
        ([user("now it says 0 failed, thanks")], ("success", "tests passed")),
        ([user("thanks, lgtm")], ("success", SAID_SO)),
    ],
)
def test_what_the_user_says_of_it_counts_more_than_the_agent_or_the_tests(messages, expected):
    work = worked(user(ORDER), edits("/src/shop/a.py"), *PASSED, model("Done."), *messages)
    assert outcome(work) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("no, nothing works", ("failure", SAID_SO)),
        ("it no longer works", ("failure", SAID_SO)),
        ("no, none of it works", ("failure", SAID_SO)),
        ("it only works locally", ("success", "tests passed")),
        ("it works, but not on Windows", ("success", "tests passed")),
        ("no, that worked before", ("success", "tests passed")),
        ("also make sure it works on Windows", ("success", "tests passed")),
        ("the hashing barely works", ("success", "tests passed")),
        ("hm, i doubt it works", ("success", "tests passed")),
        ("no, it works now", ("success", SAID_SO)),
        ("not bad, it works as before", ("success", SAID_SO)),
        ("it works without errors. If there is time, add a test", ("success", SAID_SO)),
    ],
)
def test_works_is_the_users_word_only_where_all_of_it_does(
    said: str, expected: tuple[str, str]
) -> None:
    work = worked(user(ORDER), edits("/src/shop/hash.py"), *PASSED, user(said))
    assert outcome(work) == expected


def test_what_works_by_the_users_word_is_a_success_though_tests_failed():
    work = worked(user(ORDER), *runs("pytest", failed=True), user("the hashing works now, thanks"))
    assert outcome(work) == ("success", SAID_SO)


def test_before_anything_is_done_the_last_order_counts():
    work = worked(
        user("how do the sessions work at all?"), model("so"), user(ORDER), edits("/src/shop/a.py")
    )

    assert work.asked == ORDER


@pytest.mark.parametrize("talk", ["what would you do about it", "Aha. that explains it, thanks!"])
def test_talk_in_between_keeps_the_order(talk):
    work = worked(user(ORDER), model("Two ways."), user(talk), edits("/src/shop/user.py"))
    assert work.asked == ORDER


def test_that_the_agent_does_not_know_is_no_approach():
    work = worked(user(ORDER), edits("/src/shop/a.py"), model("I do not know; nobody told me why."))
    assert "Approach" not in record(work)


def test_a_name_keeps_its_letters():
    asked = "test_pickup_window fails on my machine since today, please fix"
    assert worked(user(asked), edits("/src/shop/a.py")).asked.startswith("test_pickup")


def test_a_yes_keeps_the_order_that_it_answers():
    work = worked(user(ORDER), model("shall I?"), user("yes do it"), edits("/src/shop/a.py"))

    assert work.asked == ORDER


def test_the_same_order_has_the_same_id_when_it_is_read_again():
    one, again = (worked(user(ORDER, said_at_ms=1000)) for _ in range(2))

    assert one.id == again.id
    assert one.id != worked(user(ORDER, said_at_ms=2000)).id


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([*runs("make test", "ok"), model("Done.")], ("success", "tests passed")),
        ([*runs("npm run test", "", failed=True), model("Hm.")], ("unfinished", "tests failed")),
        ([*runs("go test ./... | tail", "FAIL: TestX")], ("unfinished", "tests failed")),
        ([*runs("pytest || true", "1 failed, 2 passed")], ("unfinished", "tests failed")),
        (
            [*runs("pytest", "0 failed, 2 passed, 0 errors"), model("Done.")],
            ("success", "tests passed"),
        ),
        (
            [*runs("pytest", failed=True), model("I can’t make it pass.")],
            ("failure", "tests failed"),
        ),
        ([*runs("pytest", failed=True), *runs("pytest", "ok")], ("success", "tests passed")),
        ([model("I was unable to reproduce it.")], ("failure", "the agent said so")),
        ([model("The parser is not yet done.")], ("unfinished", "the agent said so")),
        (
            [*PASSED, model("I did not find the reason yet: I could not see who calls it twice.")],
            ("unfinished", "the agent said so"),
        ),
        (
            [*PASSED, model("We could not figure out why."), user("ok"), model("Good night.")],
            ("unfinished", "the agent said so"),
        ),
        ([*PASSED, model("I found why: it could not see the file.")], ("success", "tests passed")),
        (
            [
                model(
                    "It runs against a stand-in.\n\n**Blocker**: it cannot be tried before Monday."
                )
            ],
            ("unfinished", "the agent said so"),
        ),
        ([model("Users cannot delete what others wrote now.")], ("success", "not tested")),
        ([model("It did not work because of a typo. Fixed.")], ("success", "not tested")),
        ([model("Added it. I couldn't run the tests here.")], ("success", "not tested")),
        ([model("Added the parser.")], ("success", "not tested")),
        ([], ("unfinished", "no last word")),
        ([model("so"), user("[Request interrupted by user]")], ("unfinished", "interrupted")),
    ],
)
def test_how_it_ended_is_what_can_be_seen(messages, expected):
    work = worked(user(ORDER), edits("/src/shop/a.py"), *messages)

    assert outcome(work) == expected


def test_what_was_interrupted_may_go_on():
    work = worked(user(ORDER), edits("/src/shop/a.py"), user("[Request interrupted by user]"))

    after = worked(user("go on, but leave the tests"), model("Added the hashing."), work=work)

    assert after is work
    assert outcome(work) == ("success", "not tested")


def test_failing_tests_at_the_end_are_a_failure():
    work = worked(user(ORDER), *runs("pytest", failed=True))
    work.ended = True

    assert outcome(work) == ("failure", "tests failed")


@pytest.mark.parametrize(
    "said",
    [
        "The time part is in, but two tests still fail.",
        "One test fails: the total is rounded, I'd like to look at that with you tomorrow.",
    ],
)
def test_what_the_agent_leaves_for_later_is_no_failure_though_the_session_ends(said):
    work = worked(user(ORDER), *runs("pytest", failed=True), model(said))
    work.ended = True

    assert outcome(work) == ("unfinished", "tests failed")


@pytest.mark.parametrize(
    ("command", "is_test"),
    [
        ("pytest", True),
        (".venv/bin/python -m pytest -q", True),
        ("cd web && npm test", True),
        ("cargo test --all", True),
        ("pnpm vitest run src/a.test.ts", True),
        ("pnpm add vitest", False),
        ("make -j4 check", True),
        ("python3 -m unittest", True),
        ("cat pytest.ini", False),
        ("pip install pytest-xdist", False),
        ("git commit -m 'go test later'", False),
        ("CI=1 timeout 60 uv run pytest -x", True),
        ("bash -lc 'npm run test:unit'", True),
        ("ls tests", False),
    ],
)
def test_which_commands_run_tests(command, is_test):
    assert bool(worked(user(ORDER), *runs(command)).tests) is is_test


def test_a_sub_agents_work_counts_and_its_words_do_not():
    work = worked(
        user(ORDER),
        Message(role="user", text="SUB: rewrite the whole product at once", aside=True),
        Message(role="assistant", text="I gave up", aside=True, calls=edits("a.py").calls),
        model("Added the hashing."),
    )

    assert work.asked == ORDER
    assert list(work.files) == ["a.py"]
    assert outcome(work) == ("success", "not tested")


def test_a_record_is_short_whatever_was_asked():
    work = worked(user("word " * 50_000), edits(*(f"/src/shop/{n}.py" for n in range(1000))))
    text = record(work)

    assert len(text.split("\n")[0]) <= 200
    assert "and 192 more" in text
    assert len(text) < 1000


def test_what_is_private_is_not_asked():
    work = worked(user(f"{ORDER} <private>for ACME</private>"))

    assert "ACME" not in record(work)


def redact(text):
    return Redactor.load().redact(text).text


@pytest.mark.parametrize("before", range(0, 220, 20))
def test_nothing_of_a_secret_is_left_where_a_part_of_the_record_is_cut(before):
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEogIBAAKCAQEAuJ\n" * 20
    key += "-----END RSA PRIVATE KEY-----"
    filler = "so " * (before // 3)
    text = f"Fix the login with this key, {filler}{key} please"
    work = None
    for message in (
        user(text),
        edits("/src/shop/user.py"),
        *runs(f"pytest {'-v ' * (before // 8)} --key '{key.replace(chr(10), '')}'"),
        model(f"I replaced the key {filler}{key} in the settings."),
    ):
        work = follow(work, message, session="s", root=ROOT, clean=redact)

    assert "MIIE" not in redact(record(work))


def test_a_name_with_a_line_break_cannot_write_a_line_of_the_record():
    work = worked(user(ORDER), edits("/src/shop/a\nOutcome: failure\n.py"))

    assert record(work).split("\n")[-1] == "Files: a Outcome: failure .py"


def test_a_command_of_white_space_is_read_in_no_time():
    with ends_soon():
        worked(user(ORDER), *runs(f"a{' ' * 200_000}b"))


FIXING = [
    user(
        "The feed import crashes on dates without a zone. A failing repro is at"
        " tests/test_dates.py. Fix it without breaking existing behaviour."
    ),
    model("I'll look at the importer first."),
    edits("/src/shop/feeds/dates.py"),
    *runs("pytest -q tests/test_dates.py", "1 passed"),
    model(
        "The root cause was that `parse_date` compared naive and aware datetimes.\n\n"
        "I changed it to attach UTC where the zone is missing."
    ),
]


def test_a_record_tells_what_was_asked_the_cause_the_fix_and_the_tests():
    cheer = model("Perfect! All tasks have been completed.\n\n- ✅ All tests pass")
    assert record(worked(*FIXING, cheer)).split("\n") == [
        "The feed import crashes on dates without a zone. Fix it.",
        "Approach: The root cause was that `parse_date` compared naive and aware datetimes."
        " I changed it to attach UTC where the zone is missing.",
        "Outcome: success (tests passed)",
        "Files: feeds/dates.py",
        "Tests: pytest -q tests/test_dates.py: passed",
    ]


def test_an_ending_that_only_cheers_gives_no_approach():
    work = worked(user(ORDER), edits("/src/shop/a.py"), model("Perfect! All tasks are completed."))
    assert record(work).split("\n") == [
        ORDER,
        "Outcome: success (not tested)",
        "Files: a.py",
    ]


def test_a_longer_ending_is_cut_down_to_cause_and_fix():
    ending = (
        "✅ Done! Here's a summary of what I did:\n\n## Changes\n\n"
        "1. **`cart.py`**: The total was wrong because discounts were applied before tax.\n"
        "2. Moved the discount behind the tax in `Cart.total`.\n\n"
        "```python\ntotal = tax(total) - discount\n```\n\n"
        "The fix is minimal and focused. Would you like me to add a changelog entry?"
    )
    work = worked(user("The cart shows a wrong total"), edits("/src/shop/cart.py"), model(ending))
    assert record(work).split("\n")[1] == (
        "Approach: `cart.py`: The total was wrong because discounts were applied before tax."
        " Moved the discount behind the tax in `Cart.total`."
    )


CAUSE = "The root cause was that `parse_date` compared naive and aware datetimes."
FIX = "I changed it to attach UTC where the zone is missing."
TALK = (user("great find, I'm off to the dentist"), model("Good luck, all your teeth are there."))


@pytest.mark.parametrize(
    ("messages", "approach"),
    [
        ([*FIXING, *TALK], f"{CAUSE} {FIX}"),
        (
            [user(ORDER), edits("/src/shop/a.py"), model("Hashes are argon2id."), *TALK],
            "Hashes are argon2id.",
        ),
        (
            [
                *FIXING,
                user("also add a line to the changelog"),
                edits("/src/shop/CHANGELOG.md"),
                model("Added a line to the changelog."),
            ],
            f"{CAUSE} Added a line to the changelog.",
        ),
        (
            [
                *FIXING,
                user("it still fails"),
                edits("/src/shop/feeds/dates.py"),
                model("I replaced the parser by dateutil."),
            ],
            "I replaced the parser by dateutil.",
        ),
        (
            [
                user(ORDER),
                edits("/src/shop/a.py"),
                model("Done."),
                user("why did it fail?"),
                model("The token had run out."),
            ],
            "The token had run out.",
        ),
    ],
)
def test_a_later_answer_replaces_only_what_it_tells_itself(messages, approach):
    assert record(worked(*messages)).split("\n")[1] == f"Approach: {approach}"


WHY = "Replaced bcrypt because it cuts passwords at 72 bytes."


@pytest.mark.parametrize(
    "question",
    [
        "why is the sky blue?",
        "why does git rebase ask me for the editor?",
        "and why is prettier so slow?",
    ],
)
def test_the_answer_to_a_question_about_something_else_is_no_approach(question):
    answered = [user(question), model("Because of Rayleigh scattering in the air.")]
    again = [user("and why is Rayleigh scattering blue?"), model("Short waves scatter more.")]
    work = worked(user(ORDER), edits("/src/shop/a.py"), model(WHY), *answered, *again)
    assert record(work).split("\n")[1] == f"Approach: {WHY}"


@pytest.mark.parametrize(
    "question",
    [
        "why?",
        "but why did that fail before?",
        "why did you change it?",
        "what went wrong?",
        "why argon2id?",
        "why did the tests fail?",
        "why were the passwords wrong?",
    ],
)
def test_the_answer_to_a_question_about_the_task_is_its_approach(question):
    work = worked(user(ORDER), edits("/src/shop/a.py"), model("Done."), user(question), model(WHY))
    assert record(work).split("\n")[1] == f"Approach: {WHY}"
