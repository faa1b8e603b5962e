"""Memories that name code, through the installed command and the real hook."""

import itertools
import json
import subprocess

import pytest

from tests.waiting import eventually

AUTH = '''import time


def refresh_token(session):
    """Ask for a new token."""
    return session.ask(attempts=3)


def revoke_token(session):
    return session.drop()
'''
ABOUT_REFRESH = "refresh_token() in src/auth.py asks three times, since the provider drops requests"
ABOUT_REVOKE = (
    "revoke_token() in src/auth.py drops the session, since the provider keeps tokens alive"
)
QUESTION = "why does the provider matter for {}? explain the decision"


@pytest.fixture
def shop(fresh):
    write(fresh, "src/auth.py", AUTH)
    subprocess.run(["git", "init", "-q"], cwd=fresh.project, check=True)
    return fresh


def keep(house, text, namespace):
    """Capture ``text``, and wait until its places in the code are noted, which no capture does.

    On a busy machine there may be no time to find them, and it is captured again.
    """
    tries = itertools.count()

    def noted():
        if next(tries) % 10 == 0:
            house.capture(text, "--namespace", namespace)
        lines = map(json.loads, house.run("export").stdout.splitlines())
        return next((one for one in lines if one["content"] == text and one.get("anchors")), None)

    return eventually(noted)


def write(house, path, text):
    file = house.project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def rewrite(house, old, new):
    file = house.project / "src/auth.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def verdicts(house, prompt):
    said = house.ask("explain", prompt)
    return {one["memory_id"]: one["why"] for one in said["inject"]["verdicts"]}


def test_a_memory_of_a_changed_function_comes_with_a_remark(shop):
    kept = keep(shop, ABOUT_REFRESH, "decisions")
    before = shop.context(QUESTION.format("refresh_token"), "before")
    assert kept["id"] in before
    assert "since then" not in before
    rewrite(shop, "attempts=3", "attempts=5")
    after = shop.context(QUESTION.format("refresh_token"), "after")
    head = next(line for line in after.splitlines() if kept["id"] in line)
    assert head.endswith("· since then src/auth.py (refresh_token) changed")


def test_a_memory_of_a_deleted_function_does_not_come(shop):
    gone = keep(shop, ABOUT_REFRESH, "decisions")
    stays = keep(shop, ABOUT_REVOKE, "decisions")
    write(shop, "src/auth.py", "import time\n\n\n" + AUTH[AUTH.index("def revoke") :])
    prompt = QUESTION.format("refresh_token and revoke_token")
    context = shop.context(prompt)
    assert stays["id"] in context
    assert gone["id"] not in context
    why = verdicts(shop, prompt)[gone["id"]]
    assert why == "the code it is about is gone: src/auth.py (refresh_token)"


def test_nothing_is_said_of_code_that_moved_or_was_formatted(shop):
    kept = keep(shop, ABOUT_REFRESH, "decisions")
    rewrite(shop, "(attempts=3)", "(\n        attempts=3,  # as agreed\n    )")
    (shop.project / "lib").mkdir()
    (shop.project / "src/auth.py").rename(shop.project / "lib/sign_in.py")
    context = shop.context(QUESTION.format("refresh_token"))
    assert kept["id"] in context
    assert "since then" not in context
    [found] = shop.ask("recall", ABOUT_REFRESH)["memories"]
    place = {"path": "src/auth.py", "symbol": "refresh_token", "state": "moved"}
    assert found["code"] == {"state": "moved", "anchors": [place | {"now": "lib/sign_in.py"}]}


def test_a_memory_that_names_no_code_has_no_state(shop):
    shop.capture("We chose DuckDB, since one file is easy to copy", "--namespace", "decisions")
    [found] = shop.ask("recall", "why DuckDB")["memories"]
    assert found["code"] is None
    assert shop.ask("stale")["compared"] == 0


def test_stale_lists_what_changed_and_what_is_gone_oldest_first(shop):
    first = keep(shop, ABOUT_REFRESH, "decisions")
    second = keep(shop, ABOUT_REVOKE, "learnings")
    write(shop, "docs/guide.md", "Sign in first.\n")
    keep(shop, "The guide for new people is docs/guide.md", "context")
    rewrite(shop, "attempts=3", "attempts=4")
    rewrite(shop, "def revoke_token", "def end_session")
    said = shop.ask("stale")
    assert [one["id"] for one in said["memories"]] == [first["id"], second["id"]]
    assert [one["code"]["state"] for one in said["memories"]] == ["changed", "gone"]
    assert (said["looked_at"], said["compared"], said["unknown"]) == (3, 3, 0)
    told = shop.run("stale").stdout
    assert told.index(first["id"]) < told.index(second["id"])
    assert "src/auth.py (revoke_token): gone" in told
    assert "3 of 3 memories name code of this project; that of 2 has changed" in told


def test_a_new_text_is_tied_to_the_code_of_its_day(shop):
    kept = keep(shop, ABOUT_REFRESH, "decisions")
    rewrite(shop, "attempts=3", "attempts=5")
    assert [one["id"] for one in shop.ask("stale")["memories"]] == [kept["id"]]
    shop.ask("update", kept["id"], "refresh_token() in src/auth.py asks five times")
    eventually(lambda: shop.ask("stale")["compared"] == 1)
    assert shop.ask("stale")["memories"] == []


def test_the_places_travel_with_an_export(shop, tmp_path):
    keep(shop, ABOUT_REFRESH, "decisions")
    line = json.loads(shop.run("export").stdout)
    [anchor] = line["anchors"]
    assert (anchor["path"], anchor["symbol"]) == ("src/auth.py", "refresh_token")
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(line | {"anchors": [anchor | {"path": "../../etc/passwd"}]}) + "\n")
    done = shop.run("import", str(bad))
    assert done.returncode == 1
    assert '"anchors" are no places inside a project' in done.stderr


def test_a_changed_file_and_a_proposed_action_get_the_remark_too(shop):
    keep(
        shop,
        "Never call refresh_token() of src/auth.py in a loop: the provider bans the account",
        "gotchas",
    )
    rewrite(shop, "attempts=3", "attempts=9")
    payload = {
        "session_id": "edit",
        "cwd": str(shop.project),
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_input": {
            "file_path": str(shop.project / "src/auth.py"),
            "old_string": "attempts=3",
            "new_string": "attempts=9",
        },
        "tool_response": {"filePath": str(shop.project / "src/auth.py")},
    }
    said = shop.hook("PostToolUse", payload)["hookSpecificOutput"]["additionalContext"]
    assert "since then src/auth.py (refresh_token) changed" in said
    start = {"session_id": "new", "cwd": str(shop.project), "source": "startup"}
    keep(shop, "Open: refresh_token() of src/auth.py hangs", "blockers")
    rewrite(shop, "def refresh_token", "def renew")
    greeted = json.dumps(shop.hook("SessionStart", start))
    assert "hangs" not in greeted
