"""A memory is found by the questions and triggers that came with it, through the real hooks."""

from __future__ import annotations

import itertools

import pytest

from tests.waiting import eventually

from .conftest import neighbour
from .house import House
from .mcp_client import Lines

OTHERS = (
    "The staging database is emptied on Sundays",
    "Feature flags are read from a file at start, not from a service",
    "Timezone tests fail in March, when the clocks change",
    "Password reset tokens expire after 15 minutes, see src/auth/reset.py",
    "Deployments go through ArgoCD, from the branch release",
    "Invoices are numbered by the database, as two workers once gave out one",
)
TEXT = "Kestrel must see at least 512 MB or the importer is killed halfway"
QUESTIONS = (
    "why does the nightly load die before it is done?",
    "how much memory does the container need?",
)
ASKED = "Why does the nightly load stop before it has finished?"


@pytest.fixture
def house(fresh):
    for text in OTHERS:
        fresh.capture(text)
    return fresh


def capture(house: House, **arguments: object) -> dict[str, object]:
    """What the agent's own tool answers."""
    with Lines(house) as client:
        return client.tool("capture", **arguments)["structuredContent"]


def test_an_agents_questions_bring_its_memory_to_who_asks_in_other_words(house):
    kept = capture(house, text=TEXT, namespace="gotchas")
    assert house.context(ASKED, "before") == ""

    with Lines(house) as client:
        updated = client.tool("update", id=kept["id"], questions=list(QUESTIONS))
    assert updated["structuredContent"]["version"] == 2
    context = house.context(ASKED, "after")
    assert TEXT in context
    assert "nightly load die" not in context, "what finds a memory is not shown"
    assert house.context("How do we deploy?", "other").count("[gotchas]") == 0
    assert house.ask("get", kept["id"])["questions"] == list(QUESTIONS)


def test_who_supersedes_with_the_same_words_keeps_what_came_with_them(house):
    kept = capture(house, text=TEXT, questions=list(QUESTIONS))
    with Lines(house) as client:
        client.tool("supersede", old=kept["id"], text=TEXT.replace("Kestrel", "kestrel"))
    assert house.ask("get", kept["id"])["questions"] == list(QUESTIONS)


def test_too_many_or_too_long_questions_are_refused(house):
    many = [part for number in range(4) for part in ("--question", f"what is {number}?")]
    for given, said in ((many, "at most 3"), (["--question", "why? " * 50], "at most 200")):
        refused = house.run("capture", TEXT, *given)
        assert refused.returncode != 0
        assert said in refused.stderr
    assert house.context(ASKED, "refused") == ""


def test_questions_come_with_a_capture_and_with_what_supersedes(house):
    kept = capture(house, text=TEXT, questions=list(QUESTIONS))
    assert TEXT in house.context(ASKED, "captured")
    newer = "Kestrel must see at least 2 GB since the importer reads archives too"
    with Lines(house) as client:
        made = client.tool("supersede", old=kept["id"], text=newer, questions=list(QUESTIONS[:1]))
    assert house.ask("get", made["structuredContent"]["new"])["questions"] == [QUESTIONS[0]]
    assert newer in house.context(ASKED, "superseded")


def test_a_question_in_the_users_language_finds_an_english_memory(house):
    asked = "Warum stirbt die nächtliche Verarbeitung?"
    kept = capture(house, text=TEXT, questions=list(QUESTIONS))
    assert TEXT not in house.context(asked, "english")
    with Lines(house) as client:
        german = "weshalb stirbt die nächtliche Verarbeitung?"
        client.tool("update", id=kept["id"], questions=[*QUESTIONS, german])
    assert TEXT in house.context(asked, "german")


@pytest.mark.parametrize(
    ("questions", "said"),
    [(["why?"] * 4, "3"), (["x" * 201], "200"), ([""], "1"), ("why?", "array"), ([7], "str")],
)
def test_too_many_too_long_or_no_questions_are_refused(house, questions, said):
    with Lines(house) as client:
        answer = client.tool("capture", text=TEXT, questions=questions)
    assert answer["isError"]
    assert said in answer["content"][0]["text"]


@pytest.mark.parametrize("form", ["jsonl", "md"])
def test_from_the_command_line_they_are_given_shown_listed_and_taken_along(house, tmp_path, form):
    given = [f"--question={question}" for question in QUESTIONS]
    given += ["--trigger=run: kestrel run", '--trigger={"write": "512", "in": "*.yaml"}']
    given += ["--trigger=order: shrink the kestrel pod"]
    house.run("capture", TEXT, *given)
    [found] = house.ask("recall", "kestrel")["memories"]
    shown = house.run("get", found["id"]).stdout
    assert [line for line in shown.splitlines() if line.startswith("answers ")] == [
        f"answers {question}" for question in QUESTIONS
    ]
    assert "shown before run: kestrel run" in shown.splitlines()
    assert "shown before write: 512 in *.yaml" in shown.splitlines()
    assert "shown before order: shrink the kestrel pod" in shown.splitlines()
    triggers = [{"run": "kestrel run"}, {"write": "512", "in": "*.yaml"}]
    triggers += [{"order": "shrink the kestrel pod"}]
    without = house.ask("list", "--without-questions")["memories"]
    assert sorted(one["content"] for one in without) == sorted(OTHERS)

    exported = tmp_path / f"memories.{form}"
    (tmp_path / "other").mkdir()
    form = {"md": "markdown"}.get(form, form)
    exported.write_text(house.run("export", "--format", form).stdout)
    house.run("forget", found["id"], "--yes")
    house.run("undo")
    [back] = house.ask("recall", "kestrel")["memories"]
    again = house.ask("get", back["id"])
    assert (again["questions"], again["triggers"]) == (list(QUESTIONS), triggers)
    other = neighbour(house, tmp_path / "other")
    other.ask("import", str(exported))
    [copied] = other.ask("recall", "kestrel")["memories"]
    again = other.ask("get", copied["id"])
    assert (again["questions"], again["triggers"]) == (list(QUESTIONS), triggers)

    house.run("update", back["id"], "Kestrel needs no memory of its own any more")
    left = house.ask("get", back["id"])
    assert left["questions"] == left["triggers"] == []
    house.run("update", back["id"], "--trigger", "edit: kestrel/**")
    assert house.ask("get", back["id"])["triggers"] == [{"edit": "kestrel/**"}]


def test_the_prompt_of_the_server_names_those_that_have_none(house):
    kept = capture(house, text=TEXT, questions=list(QUESTIONS))
    with Lines(house) as client:
        asked = client.ask("prompts/get", {"name": "add_questions"})["result"]
    text = asked["messages"][0]["content"]["text"]
    assert all(other in text for other in OTHERS)
    assert kept["id"] not in text


REFUND = {"write": "Refund.create(", "in": "src/**", "unless": ["idempotency_key"]}
RULE = "Refunds went out twice in March since nobody could tell one try from the next"


def propose(house: House, session: str, tool: str, **given: str) -> str:
    """What the agent reads before it uses a tool."""
    payload = {
        "session_id": session,
        "cwd": str(house.project),
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": given,
    }
    answer = house.hook("PreToolUse", payload) or {}
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def test_an_agents_triggers_bring_its_memory_before_the_act(house):
    file = str(house.project / "src" / "pay.py")
    text = "stripe.Refund.create(charge)"
    plain = capture(house, text=RULE)
    assert propose(house, "before", "Write", file_path=file, content=text) == ""

    triggers = [REFUND, {"run": "stripe refunds create", "unless": ["--idempotency"]}]
    with Lines(house) as client:
        client.tool("update", id=plain["id"], triggers=triggers)
    told = propose(house, "write", "Write", file_path=file, content=text)
    assert RULE in told
    assert "unless" not in told, "what finds a memory is not shown"
    assert RULE in propose(house, "run", "Bash", command="stripe refunds create --charge ch_1")
    for session, tool, given in (
        ("keyed", "Write", {"file_path": file, "content": f"{text[:-1]}, idempotency_key=key)"}),
        ("other", "Write", {"file_path": str(house.project / "a.py"), "content": text}),
        ("safe", "Bash", {"command": "stripe refunds create --idempotency k"}),
        ("look", "Bash", {"command": "stripe refunds list"}),
    ):
        assert propose(house, session, tool, **given) == "", given
    assert propose(house, "write", "Write", file_path=file, content=text) == "", "once a session"


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        ({}, "one of"),
        ({"run": "a", "write": "b"}, "one of"),
        ({"run": "*"}, "every action"),
        ({"run": "x" * 201}, "200"),
        ({"run": "a", "unless": ["b"] * 9}, "8"),
        ({"run": "a", "when": "b"}, "when"),
    ],
)
def test_what_is_no_trigger_is_refused(house, trigger, said):
    with Lines(house) as client:
        answer = client.tool("capture", text=TEXT, triggers=[trigger])
    assert answer["isError"]
    assert said in answer["content"][0]["text"]


def test_a_wrong_trigger_on_the_command_line_is_told(house):
    for wrong, why in (
        ("npm install", '"run: …"'),
        (
            '{"run": "npm", "where": "src"}',
            "there is no where, only run, write, edit, in, unless, order",
        ),
        ('{"run": 7}', "Expected `str`"),
        ("run: *", "every action"),
    ):
        told = house.run("capture", TEXT, "--trigger", wrong)
        assert told.returncode == 2
        assert why in " ".join(told.stderr.split())


def test_an_order_brings_what_says_that_such_work_needs_it(house):
    needed = "Money is whole pence everywhere: a reserve was once off by one"
    orders = ["add a refund endpoint", "store the unit price of an order line"]
    kept = capture(house, text=needed, namespace="gotchas")
    order = "Add an endpoint that refunds a part of a payment"
    assert needed not in house.context(order, "before")

    with Lines(house) as client:
        client.tool("update", id=kept["id"], triggers=[{"order": one} for one in orders])
    told = house.context(order, "after")
    assert needed in told
    assert "refund endpoint" not in told, "what finds a memory is not shown"
    assert "is to be known before such work" in house.run("explain", "--full", order).stdout
    for session, harmless in (
        ("tests", "Run the tests of the importer again"),
        ("other", "Add a search field to the customer list"),
        ("docs", "Fix the typo in the endpoint documentation heading"),
    ):
        assert needed not in house.context(harmless, session), harmless

    also = "Finance signs off whatever pays money back, through the ledger team"
    other = capture(house, text=also, namespace="decisions", triggers=[{"order": orders[0]}])
    both = house.context(order, "both")
    assert needed in both
    assert also in both, "two may be needed for the same order"
    house.ask("expire", other["id"])
    assert also not in house.context(order, "expired")

    house.run("daemon", "stop")
    house.start()
    sessions = itertools.count()
    eventually(lambda: needed in house.context(order, f"restarted {next(sessions)}"))
    house.run("forget", kept["id"], "--yes")
    assert needed not in house.context(order, "forgotten")
