"""What memory has on a prompt, through the real daemon: seen by explain, hook and trace."""

import json

import pytest

from tests.waiting import eventually

CONTEXT = """
project:
  name: "my-saas-app"
  type: "fullstack"

stack:
  language: "typescript"
  framework: "nextjs"
  version: "14"

commands:
  test: "pnpm test"
  build: "pnpm build"
  lint: "pnpm lint"

quirks:
  - "Always await Supabase calls"
  - "CSS modules for styling"
"""
TASK = """Implement Google OAuth
Approach: NextAuth.js; JWT in httpOnly cookie
Outcome: success
Files: src/auth.ts, src/session.ts"""
HASHING = """Password Hashing: bcrypt with cost 12
Applicable when: authentication, password
Confidence: 0.95"""
TOKENS = "JWT Token Strategy: Access 15min, refresh 7d, httpOnly"
PREFIX = "NEXT_PUBLIC prefix for client vars: Env vars undefined in browser"
ORDER = "Add user authentication"


def write_context(house, text):
    file = house.project / ".claude" / "memory" / "project-context.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def traces(house, count=1):
    """The traces of past prompts, which are written beside their answers."""

    def written():
        found = house.ask("trace")["traces"]
        return found if len(found) >= count else None

    return eventually(written)


def hooked(house, prompt, session="s1"):
    """The metadata that the hook gives to who asks for it."""
    payload = json.dumps({"session_id": session, "prompt": prompt})
    done = house.run("hook", "UserPromptSubmit", "--explain", stdin=payload)
    return json.loads(done.stdout)


def test_an_order_is_enriched_from_files_tasks_patterns_and_gotchas(house):
    write_context(house, CONTEXT)
    task = house.capture(TASK, "--namespace", "tasks")["id"]
    hashing = house.capture(HASHING, "--namespace", "patterns")["id"]
    tokens = house.capture(TOKENS, "--namespace", "patterns", "--tags", "authentication,jwt")["id"]
    prefix = house.capture(PREFIX, "--namespace", "gotchas", "--tags", "nextjs", "--scope", "user")[
        "id"
    ]
    house.capture("We render invoices with weasyprint", "--namespace", "decisions")

    known = house.ask("explain", ORDER)["enriched_intent"]

    assert known["raw_input"] == ORDER
    assert known["primary_intent"] == "FEATURE"
    assert known["intent_signals"] == [{"keyword": "Add", "type": "FEATURE"}]
    assert known["entities"] == [{"type": "feature", "value": "authentication"}]
    assert known["references"] == []
    assert known["project"] == {
        "name": "my-saas-app",
        "stack": "Next.js 14, TypeScript, Supabase",
        "test_cmd": "pnpm test",
        "build_cmd": "pnpm build",
        "lint_cmd": "pnpm lint",
        "quirks": ["Always await Supabase calls", "CSS modules for styling"],
    }
    memory = known["memory"]
    (similar,) = memory["similar_tasks"]
    assert similar["similarity"] > 0.7
    assert similar == {
        "similarity": similar["similarity"],
        "id": task,
        "input": "Implement Google OAuth",
        "outcome": "success",
        "approach": ["NextAuth.js", "JWT in httpOnly cookie"],
        "files": ["src/auth.ts", "src/session.ts"],
        "session": "",
    }
    first, second = memory["applicable_patterns"]
    assert (first["id"], first["name"]) == (hashing, "Password Hashing")
    assert first["approach"] == "bcrypt with cost 12"
    assert first["match_score"] >= 0.9
    assert first["confidence"] == 0.95
    assert (second["id"], second["name"]) == (tokens, "JWT Token Strategy")
    assert second["approach"] == "Access 15min, refresh 7d, httpOnly"
    assert 0.8 <= second["match_score"] <= first["match_score"]
    assert memory["known_gotchas"] == [
        {
            "id": prefix,
            "tech": "nextjs",
            "title": "NEXT_PUBLIC prefix for client vars",
            "problem": "Env vars undefined in browser",
        }
    ]
    of_task = next(one for one in known["suggestions"] if one["source"] == "similar_task")
    assert of_task["approach"] == "Use NextAuth.js with JWT in httpOnly cookie"
    assert of_task["confidence"] > 0.7
    assert of_task["evidence"] == f"Worked in {task}"
    assert known["context_tokens"] > 50

    # Who works on it reads what is about just that, and no more.
    answer = hooked(house, ORDER)
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert "Password Hashing" in context
    assert "JWT Token Strategy" in context
    assert "weasyprint" not in context
    assert "NEXT_PUBLIC" not in context
    # What is recent work as well depends on its relevance, and the cross-encoder may come between.
    hooks = answer["metadata"]["enriched_intent"]["memory"]
    assert hooks | {"recent_work": []} == memory | {"recent_work": []}

    page = house.run("explain", ORDER, "--full").stdout
    for told in ("Implement Google OAuth", "Password Hashing", "work feature", "my-saas-app"):
        assert told in page
    assert "parse" in page
    assert "took" in page


def test_what_is_stored_changed_or_forgotten_is_known_at_once(fresh):
    house = fresh

    def tasks():
        return house.ask("explain", ORDER)["enriched_intent"]["memory"]["similar_tasks"]

    assert tasks() == []
    task = house.capture(TASK, "--namespace", "tasks")["id"]
    assert [one["outcome"] for one in tasks()] == ["success"]
    house.ask("update", task, TASK.replace("success", "failure"))
    (found,) = tasks()
    assert (found["outcome"], found["id"]) == ("failure", task)
    house.ask("forget", task, "--yes")
    assert tasks() == []


def test_references_are_resolved_and_files_looked_at(fresh):
    house = fresh
    (house.project / "auth.py").write_text("")
    house.capture("Auth sessions live in Redis with a ttl of one day", "--namespace", "decisions")
    bug = house.capture("#412: the export hung on empty orders", "--namespace", "blockers")["id"]
    prompt = "fix auth.py and gone.py like the auth thing from yesterday, see #412"
    known = house.ask("explain", prompt)["enriched_intent"]
    assert {"type": "path", "value": "auth.py", "exists": True} in known["entities"]
    assert {"type": "path", "value": "gone.py", "exists": False} in known["entities"]
    assert known["primary_intent"] == "BUGFIX"
    resolved = {one["text"]: one for one in known["memory"]["resolved_references"]}
    assert resolved["#412"]["resolved_to"]["id"] == bug
    assert "Redis" in resolved["the auth thing from yesterday"]["resolved_to"]["summary"]


def test_the_project_and_the_user_disagree_and_one_of_them_is_left_out(house):
    local = house.capture("We use bcrypt for password hashing here", "--namespace", "decisions")
    wider = house.capture(
        "I use argon2id for password hashing", "--namespace", "decisions", "--scope", "user"
    )
    answer = house.ask("explain", "what do we use for password hashing?")
    (conflict,) = answer["enriched_intent"]["conflicts"]
    assert (conflict["winner"]["id"], conflict["loser"]["id"]) == (local["id"], wider["id"])
    assert conflict["about"] == "name"
    assert "recency" in conflict["winner"]["arithmetic"]
    assert local["id"] in answer["context"]
    assert wider["id"] not in answer["context"]
    assert (
        wider["id"] in house.run("explain", "what do we use for password hashing?", "--full").stdout
    )

    house.prompt("what do we use for password hashing?")
    (trace,) = traces(house)
    assert trace["enrich"]["conflicts"][0]["loser"]["id"] == wider["id"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ not: [yaml", "project_context.not_yaml"),
        (b"\xff\xfe\x00", "project_context.unreadable"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "project_context.anchors"),
        ('commands: {test: "rm\\u0007 -rf\\e[31m /"}', "project_context.unprintable"),
        ("x: " + "[" * 100 + "]" * 100, "project_context.shape"),
        ("x: y\n" * 100_000, "project_context.too_large"),
        (b"x" * 50_000_000, "project_context.too_large"),
    ],
    ids=["no yaml", "no text", "anchors", "control characters", "deep", "long", "50 MB"],
)  # fmt: skip
def test_a_hostile_context_file_is_a_note_and_no_trouble(shared, text, reason):
    write_context(shared, text)
    shared.start()
    answer = hooked(shared, "how do I deploy?")
    assert reason in answer["metadata"]["degraded"]
    assert answer["metadata"]["enriched_intent"]["project"]["test_cmd"] == ""
    assert max(traces(shared)[0]["stages_ms"].values()) < 5000
    (shared.project / ".claude" / "memory" / "project-context.yaml").unlink()


def test_past_prompts_are_traced_without_their_words(house):
    house.capture("We use argon2id for password hashing", "--namespace", "decisions")
    assert "no prompts traced yet" in house.run("trace").stdout
    house.prompt("how do I hash the zanzibar passwords?")
    house.prompt("rename zanzibar to foo")
    order, question = traces(house, 2)
    assert (order["inject"]["abstained"], question["classify"]["intent_type"]) == (
        "no_intent",
        "howto",
    )
    assert set(question["stages_ms"]) == {"parse", "enrich", "classify", "inject", "respond"}
    assert house.ask("trace", question["id"][:20]) in (order, question)
    assert question["inject"]["memories"][0] in house.run("trace", question["id"]).stdout
    assert "howto" in house.run("trace", "--limit", "2").stdout
    unknown = house.run("trace", "nonsense")
    assert (unknown.returncode, "no trace nonsense" in unknown.stderr) == (1, True)
    written = "".join(file.read_text() for file in house.paths.state.glob("traces*"))
    assert "zanzibar" not in written.lower()
    assert "password" not in written.lower()


def test_what_a_prompt_said_is_traced_where_it_is_wanted(house):
    house.env["SUBCOG_TRACE_KEEP_TEXT"] = "true"
    house.prompt("how do I hash passwords? <private>of Mallory</private>")
    (trace,) = traces(house)
    assert trace["text"]["prompt"] == "how do I hash passwords?"
    assert "how do I hash passwords?" in house.run("trace", trace["id"]).stdout
