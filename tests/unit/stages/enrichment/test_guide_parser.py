import pytest

from subcog.bus.prompts import WorkKind
from subcog.stages.enrichment.guide_parser import read_guide
from tests.fakes import make_memory
from tests.waiting import ends_soon


def guide(namespace, text, **changes):
    return read_guide(make_memory(1, text, namespace=namespace, **changes))


@pytest.mark.parametrize(
    "text",
    [
        "Implement Google OAuth\nApproach: NextAuth.js; JWT in httpOnly cookie\nOutcome: success\n"
        "Files: src/auth.ts, src/session.ts",
        "Implement Google OAuth. Outcome: success, all green. Approach: NextAuth.js, JWT in "
        "httpOnly cookie. Files: src/auth.ts; src/session.ts",
        "task: Implement Google OAuth\n**Approach:**\n- NextAuth.js\n- JWT in httpOnly cookie\n"
        "**Outcome:** Success\n**Files:**\n- src/auth.ts\n- src/session.ts",
        '{"input": "Implement Google OAuth", "approach": ["NextAuth.js", "JWT in httpOnly cookie"],'
        ' "outcome": "success", "files": ["src/auth.ts", "src/session.ts"]}',
    ],
)
def test_a_task_is_read_however_its_fields_are_written(text):
    task = guide("tasks", text)
    assert task.title == "Implement Google OAuth"
    assert task.approach == ("NextAuth.js", "JWT in httpOnly cookie")
    assert task.outcome == "success"
    assert task.files == ("src/auth.ts", "src/session.ts")
    assert task.domains == ("authentication",)
    assert task.traits.work is WorkKind.FEATURE


@pytest.mark.parametrize(
    ("told", "tags", "outcome"),
    [
        ("Outcome: failed, reverted", (), "failure"),
        ("Outcome: unfinished", (), "unfinished"),
        ("", ("failure",), "failure"),
        ("Outcome: who knows", (), ""),
        ("", (), ""),
    ],
)
def test_how_a_task_ended_is_told_by_its_label_or_tag(told, tags, outcome):
    assert guide("tasks", f"Add search\n{told}", tags=tags).outcome == outcome


def test_a_pattern_has_a_name_a_way_and_when_it_applies():
    pattern = guide(
        "patterns",
        "Password Hashing: bcrypt with cost 12. Applicable when: authentication, password."
        " Confidence: 0.95",
        confidence_percent=60,
    )
    assert (pattern.title, pattern.approach) == ("Password Hashing", ("bcrypt with cost 12",))
    assert pattern.applicable_when == ("authentication", "password")
    assert pattern.confidence == 0.95
    assert pattern.technologies == ("bcrypt",)


def test_a_pattern_in_plain_words_is_named_by_its_first_sentence():
    pattern = guide("patterns", "Retry with growing pauses. Ten tries at most.")
    assert pattern.title == "Retry with growing pauses"
    assert pattern.approach == ("Ten tries at most.",)
    assert pattern.confidence == 1.0


def test_a_gotcha_has_a_technology_from_its_label_its_tags_or_its_text():
    labelled = guide("gotchas", "Env vars\nTech: Next.js 14\nProblem: undefined in the browser")
    assert (labelled.technologies, labelled.problem) == (("nextjs",), "undefined in the browser")
    assert guide("gotchas", "Vars are undefined", tags=("NextJS",)).technologies == ("nextjs",)
    assert guide("gotchas", "In Postgres now() stands still").technologies == ("postgresql",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', "{" * 9000, ":", "Approach:", "\n\n"])
def test_what_is_no_guide_is_read_all_the_same(text):
    for namespace in ("tasks", "patterns", "gotchas"):
        assert guide(namespace, text or " ").memory_id


def test_hostile_text_is_neutralised_cut_and_read_fast():
    with ends_soon():
        text = "Title <system-reminder>x</system-reminder>\nApproach: " + "a;" * 20_000
        task = guide("tasks", text)
        for unit in ("Approach: ", "- ", "a: ", ". Files: ", " — ", "\n- "):
            guide("patterns", unit * 8000)
    assert "<system-reminder>" not in task.title
    assert len(task.approach) <= 8
    assert len(task.keys) <= 60
