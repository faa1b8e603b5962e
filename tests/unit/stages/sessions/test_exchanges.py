import pytest

from subcog.bus.sessions import Message, ToolCall, ToolResult
from subcog.stages.sessions.exchanges import (
    MAX_AGENT_CHARS,
    MAX_USER_CHARS,
    UNREAD,
    ExchangeReader,
    prose,
)


def reader(**given):
    options = {"clean": str, "own": str.strip, "relative": str} | given
    return ExchangeReader("s1", **options)


def said(role, text, at, **more):
    return Message(role=role, text=text, said_at_ms=at, **more)


def texts(found):
    return [(one.speaker, one.text) for one in found]


TALK = (
    said("user", "How many attempts?", 1_000),
    said("assistant", "Let me look.", 2_000),
    said("assistant", "Ten today; I suggest five.", 3_000),
    said("user", "No, seven. Eight trips it.", 4_000),
    said("assistant", "Exactly seven, then.", 5_000),
)


SAID = [
    ("user", "How many attempts?"),
    ("agent", "Ten today; I suggest five."),
    ("user", "No, seven. Eight trips it."),
    ("agent", "Exactly seven, then."),
]


def test_the_users_words_and_the_agents_last_words_of_each_exchange_are_kept():
    one = reader()
    one.read(TALK)
    assert texts(one.take()) == SAID


LOG = "```\n2026-09-01 lease lost\n```"


@pytest.mark.parametrize("text", [LOG, "> they wrote that", "private", "", "x" * 300_000])
def test_a_message_of_the_user_of_which_nothing_is_kept_ends_the_exchange_too(text):
    one = reader(own=lambda text: UNREAD if text == "private" else text.strip())
    one.read(TALK[:3])
    one.read([said("user", text, 6_000), said("assistant", "The clock drifts.", 7_000)])
    assert texts(one.take()) == [*SAID[:2], ("agent", "The clock drifts.")]
    one.read([said("assistant", "Restart chrony.", 8_000)])
    (last,) = one.take()
    assert last.text == "Restart chrony."


def test_what_no_person_said_ends_no_exchange():
    one = reader(own=lambda text: "" if text == "machine" else text)
    result = ToolResult(id="t", text="output", failed=False)
    one.read(
        [*TALK[:2], said("user", "machine", 2_100), said("user", "", 2_200, results=(result,))]
    )
    one.read(TALK[2:3])
    assert texts(one.take()) == SAID[:2]


def test_of_an_exchange_in_which_something_was_forgotten_nothing_is_said():
    for gone, left in ((4_000, SAID[:2]), (3_000, [SAID[0], *SAID[2:]])):
        one = reader()
        kept = one.read(TALK, lambda message, gone=gone: message.said_at_ms == gone)
        assert [one for one in texts(one.take()) if one != ("agent", "Let me look.")] == left
        assert len(kept) == (3 if gone == 4_000 else 4)


def test_what_goes_on_with_what_was_forgotten_is_not_said():
    one = reader(is_forgotten=True)
    one.read(TALK[2:])
    assert texts(one.take()) == SAID[2:]
    one.forget()
    one.read([said("assistant", "It is seven.", 6_000)])
    assert one.take() == ()


@pytest.mark.parametrize("cuts", [(1,), (2,), (3,), (1, 2, 3, 4)])
def test_however_it_is_cut_into_slices_the_same_ids_come_out(cuts):
    whole, parts = reader(), reader()
    whole.read(TALK)
    kept = {}
    at = 0
    for cut in (*cuts, len(TALK)):
        parts.read(TALK[at:cut])
        kept |= {one.id: one for one in parts.take()}
        at = cut
    assert kept == {one.id: one for one in whole.take()}


def test_reading_the_same_again_gives_the_same():
    first, second = reader(), reader()
    first.read(TALK)
    second.read(TALK)
    assert first.take() == second.take()


def test_what_was_taken_does_not_come_again():
    one = reader()
    one.read(TALK)
    one.take()
    assert one.take() == ()


def test_an_agent_that_says_more_replaces_what_it_concluded():
    one = reader()
    one.read(TALK[:2])
    before = one.take()[-1]
    one.read(TALK[2:3])
    [after] = one.take()
    assert after.id == before.id
    assert after.text == "Ten today; I suggest five."


def test_files_changed_in_an_exchange_stand_with_its_conclusion():
    call = ToolCall(id="1", tool="Edit", paths=("/p/src/a.py", "/elsewhere/b.py"))
    one = reader(relative=lambda path: path.removeprefix("/p/") if path.startswith("/p/") else "")
    one.read(
        [
            said("user", "Fix the retrier", 1),
            said("assistant", "", 2, calls=(call,)),
            said("user", "", 3, results=(ToolResult(id="1", failed=False, text="secret output"),)),
            said("assistant", "Fixed.", 4),
        ]
    )
    asked, concluded = one.take()
    assert asked.files == ()
    assert concluded.files == ("src/a.py",)
    assert "secret output" not in asked.text + concluded.text


def test_lines_of_a_sub_agent_are_passed_over_in_the_sessions_own_transcript():
    one = reader()
    one.read([said("user", "You are a reviewer", 1, aside=True), *TALK[:1]])
    assert texts(one.take()) == [("user", "How many attempts?")]


def test_of_a_sub_agents_transcript_its_conclusion_alone_counts():
    one = reader(agent=True)
    one.read([said("user", "You are a reviewer", 1), said("assistant", "Let me look.", 2)])
    one.read([said("assistant", "Two defects found.", 3)])
    assert texts(one.take()) == [("agent", "Two defects found.")]


def test_what_is_kept_was_redacted():
    one = reader(clean=lambda text: text.replace("hunter2", "[redacted]"))
    call = ToolCall(id="t", tool="Write", paths=("keys/hunter2.txt",))
    one.read(
        [said("user", "the password is hunter2", 1), said("assistant", "Ok", 2, calls=(call,))]
    )
    asked, done = one.take()
    assert asked.text == "the password is [redacted]"
    assert done.files == ("keys/[redacted].txt",)


def test_nothing_is_kept_of_what_is_not_the_speakers_own():
    one = reader(own=lambda text: "" if "notification" in text else text)
    one.read([said("user", "<task-notification>", 1), said("assistant", "   ", 2)])
    assert one.take() == ()


def test_a_long_answer_keeps_its_beginning_and_its_end():
    text = "It begins here. " + "and on " * 2_000 + "So the limit is 7."
    one = reader()
    one.read([said("user", "why", 1), said("assistant", text, 2)])
    kept = one.take()[-1].text
    assert len(kept) <= MAX_AGENT_CHARS + 2
    assert kept.startswith("It begins here.")
    assert kept.endswith("So the limit is 7.")


def test_of_a_long_prompt_the_beginning_is_kept():
    one = reader()
    one.read([said("user", "the rule is 7 " + "x " * 9_000, 1)])
    [kept] = one.take()
    assert len(kept.text) <= MAX_USER_CHARS
    assert kept.text.startswith("the rule is 7")


LOG = "\n".join(f"2026-05-01 12:00:0{n} ERROR upstream said 429" for n in range(5))
TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n  File "b.py", line 4'


@pytest.mark.parametrize("paste", [LOG, TRACE, "```\nx = 1\n```", "> he said no", "x" * 2_000])
def test_what_was_pasted_is_not_what_was_said(paste):
    assert prose(f"Look at this:\n{paste}\nIt must stop at 7.") == (
        "Look at this:\nIt must stop at 7."
    )


@pytest.mark.parametrize(
    ("prompt", "own"),
    [
        (
            "what now?\n\nFrom: m@x.org\nSubject: TLS\n\nHi,\n\nit is off.\n\nRegards,\nAnn",
            "what now?",
        ),
        ("proofread:\nThe pin was removed.", "proofread:"),
        ("implement this issue:\n\n### Summary\nThe pin was removed.", "implement this issue:"),
        ("ann  10:31 AM\nthe pin is gone\nbob  10:32 AM\nok\n\nis she right?", "is she right?"),
        ("Goal: seven\nLimit: eight", "Goal: seven\nLimit: eight"),
        ("### Task\nStop at 7.", "### Task\nStop at 7."),
    ],
)
def test_what_a_user_hands_over_is_not_what_they_said(prompt, own):
    assert prose(prompt) == own
    assert prose("The page says:\nStop at 7.", "assistant") == "The page says:\nStop at 7."


@pytest.mark.parametrize(
    "text",
    [
        "- first seven\n- then eight\n- never nine",
        "1. one\n2. two\n3. three",
        '"00042" came in as "42"',
        "a.py:3: is where it fails",
    ],
)
def test_what_looks_a_little_like_a_paste_stays(text):
    assert prose(text) == text
