from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import tomllib
from pathlib import Path

import pytest

from subcog.hooks import client, spool
from subcog.stages.redaction import breaks
from subcog.stages.text.markup import strip_private
from tests.planted import TOKENS, some
from tests.waiting import ends_soon

CHECKOUT = Path(__file__).parents[3]
MARKED = {"session_id": "s", "cwd": "/p", "prompt": "[remember:decisions] argon2id, not bcrypt"}

REMINDER = "<system-reminder>Be brief</system-reminder>"


def entries(workshop):
    folder = workshop.data / "spool"
    names = sorted(folder.iterdir()) if folder.exists() else []
    return [json.loads(name.read_text()) for name in names]


def payload(prompt: str, **more: object) -> bytes:
    return json.dumps({**MARKED, "prompt": prompt, **more}).encode()


def test_the_pipe_sets_aside_what_may_hold_a_marker_by_the_same_hints():
    assert (*spool.HINTS, b"\\u") == client.HINTS
    assert all(spool.hints(b"x " + hint.upper()) for hint in spool.HINTS)
    assert spool.hints(b"\\u005bRemember]")


def test_capture_without_a_daemon_is_kept_and_the_user_is_told(workshop):
    done = workshop.hook(
        payload(MARKED["prompt"], transcript_path="/secret/place"),
        CLAUDECODE="1",
        CLAUDE_PROJECT_DIR="/p",
    )

    (entry,) = entries(workshop)
    assert entry == {
        "event": "UserPromptSubmit",
        "fields": {
            "project": "/p",
            "cwd": os.path.realpath(workshop.root),
            "client": "claude",
            "session": "",
            "scope": "",
        },
        "payload": MARKED,
    }
    assert "subcog: set aside safely" in json.loads(done.stdout)["systemMessage"]


def test_entry_is_for_its_owner_alone_and_nothing_else_lies_beside_it(workshop):
    workshop.hook(payload(MARKED["prompt"]))

    (file,) = (workshop.data / "spool").iterdir()
    assert len(bytes.fromhex(file.name.removesuffix(".json"))) == 16
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert file.parent.parent.stat().st_mode & 0o777 == 0o700


def test_entries_sort_by_time(workshop):
    for text in ("one", "two", "three"):
        workshop.hook(payload(f"[remember] {text}"))

    prompts = [entry["payload"]["prompt"] for entry in entries(workshop)]
    assert prompts == ["[remember] one", "[remember] two", "[remember] three"]


@pytest.mark.parametrize(
    "prompt",
    [
        "[remember] x",
        "  [Remember:decisions] x",
        "fix it\n[capture] x",
        "[capture:learnings] x",
        "@memory x",
        "@MEMORY:patterns x",
        "[remember : decisions] x",
        "\t[remember: no such place ] x",
        "- [remember] x",
        "【remember】x",
        "＠memory x",
    ],
)
def test_every_marker_at_the_start_of_a_line_is_kept(workshop, prompt):
    workshop.hook(payload(prompt))

    assert [entry["payload"]["prompt"] for entry in entries(workshop)] == [prompt]


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ("<private>pw</private>[remember] x", "[remember] x"),
        ("a\r[remember] x", "a\n[remember] x"),
        ("a\u2028[remember] x", "a\n[remember] x"),
        ("\f[remember] x", "\n[remember] x"),
        ("\ufeff[remember] x", "[remember] x"),
        ("[rem\u200bember] x", "[remember] x"),
        ("@mem\u00adory x", "@memory x"),
        ("\x1b[1m[remember] x\x1b[0m", "[remember] x"),
        ("\u00a0[remember] x", "\u00a0[remember] x"),
        ("3. ［capture：decisions］x", "3. ［capture：decisions］x"),
        (f"{REMINDER}[remember] x", f"{REMINDER}[remember] x"),
        (f"{REMINDER} @memory x", f"{REMINDER} @memory x"),
    ],
)
@pytest.mark.parametrize("escaped", [True, False])
def test_a_marker_behind_what_the_daemon_takes_out_is_one(tmp_path, prompt, kept, escaped):
    hook = client.Hook("UserPromptSubmit", "", {})
    hook.body = json.dumps({"prompt": prompt}, ensure_ascii=escaped).encode()

    assert hook.marked()
    assert "set aside" in spool.keep(hook.event, hook.fields, hook.body, os.fsencode(tmp_path))
    (file,) = (tmp_path / "spool").iterdir()
    assert json.loads(file.read_text())["payload"]["prompt"] == kept


def test_what_is_no_text_is_left_out_and_half_a_character_is_replaced(workshop):
    workshop.hook(payload("\ud800 lone\n@memory x", session_id=None, cwd=["x"]))

    assert entries(workshop)[0]["payload"] == {"prompt": "? lone\n@memory x"}


@pytest.mark.parametrize(
    "body",
    [
        payload("how do I hash passwords here?"),
        payload("what does [remember] do?"),
        payload("write to me@memory.example"),
        payload("@memoryless x"),
        payload("[remember] what a sub-agent was told", agent_id="a1"),
        payload("@memory.example x"),
        payload("> [remember] x"),
        payload("<pri<private></private>vate>\n[remember] x"),
        payload("<private>\n[remember] x\n</private> hello"),
        b'{"prompt": "half of',
        b'{"x": "@memory"}',
    ],
)
def test_nothing_else_is_kept(workshop, body):
    done = workshop.hook(body)

    assert entries(workshop) == []
    assert b"kept" not in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(
    "body",
    [
        b'{"prompt": "[remember] half of',
        b'{"prompt": "[remember] \xff"}',
        b'["[remember]"]',
        b'{"prompt": 7, "x": "[remember]"}',
        b"[" * 100_000 + b"[remember]",
        b'{"prompt": "\\u005BRemember] half of',
        b'{"prompt": "\\u0040mem\\u006Fry half of',
    ],
)
def test_what_may_be_marked_and_cannot_be_read_is_told(workshop, body):
    done = workshop.hook(body)

    assert entries(workshop) == []
    assert "cannot be read" in json.loads(done.stdout)["systemMessage"]


def test_what_is_only_written_with_escapes_and_cannot_be_read_is_not_told(workshop):
    done = workshop.hook(b'{"prompt": "\\u0022and\\u0022 half of')

    assert entries(workshop) == []
    assert b"kept" not in done.stdout


def test_a_marker_that_the_agent_has_escaped_is_one(workshop):
    workshop.hook(b'{"prompt": "\\u005bremember] x"}')

    assert [entry["payload"]["prompt"] for entry in entries(workshop)] == ["[remember] x"]


def test_an_entry_that_does_not_fit_leaves_nothing_behind(tmp_path):
    names = {b"id": b"0" * 32}
    data = os.fsencode(tmp_path)
    spool.write("UserPromptSubmit", names, MARKED, data)
    no_larger_than(100)
    try:
        with pytest.raises(OSError, match="File too large"):
            spool.write("UserPromptSubmit", names | {b"id": b"1" * 32}, MARKED, data)
    finally:
        no_larger_than(None)

    assert [file.name for file in (tmp_path / "spool").iterdir()] == ["0" * 32 + ".json"]


def no_larger_than(size: int | None) -> None:
    """Let no file that this process writes grow beyond ``size`` bytes, as on a full disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def test_what_hooks_that_were_killed_left_takes_no_room(workshop):
    folder = workshop.data / "spool"
    folder.mkdir(parents=True)
    for number in range(spool.MAX_ENTRIES):
        (folder / f"{number}.tmp").touch()

    done = workshop.hook(payload(MARKED["prompt"]))

    assert "set aside safely" in json.loads(done.stdout)["systemMessage"]


def test_marker_in_another_event_is_not_kept(workshop):
    workshop.hook(payload(MARKED["prompt"]), "PostToolUse")

    assert entries(workshop) == []


def test_a_value_that_is_given_away_is_hidden_wherever_it_stands(workshop):
    value = "Tr0ub4dor" + "-Nine"
    workshop.hook(payload(f"[remember] {value} opens the vault, for password = {value} here"))

    (entry,) = entries(workshop)
    assert entry["payload"]["prompt"] == (
        "[remember] [redacted:password] opens the vault, for password = [redacted:password] here"
    )


def test_secrets_and_private_text_never_touch_the_disk(workshop):
    secret = "demo_" + "0123abcd"
    workshop.hook(
        payload(
            f"[remember] the key is {secret}, password = hunter2 <private>mine</private>\n"
            "<PRIVATE reason='x'>a <private>b</private> c</private>fine <private>to the end"
        )
    )

    (entry,) = entries(workshop)
    assert entry["payload"]["prompt"] == (
        "[remember] the key is [redacted:demo_token], password = [redacted:password] \nfine "
    )
    for folder, _, files in os.walk(workshop.home):
        for file in files:
            with open(os.path.join(folder, file)) as source:
                text = source.read()
            assert secret not in text
            assert "hunter2" not in text
            assert "mine" not in text


@pytest.mark.parametrize(
    "rules",
    [
        None,
        "",
        "not toml [",
        "rule = []",
        "rule = 3",
        "[[rule]]\nname = 'a'",
        "[[rule]]\nname = 'a'\npattern = '('",
        "[[rule]]\nname = 'a'\npattern = 'ok'\ngroup = 'none'",
        "[[rule]]\nname = 'a'\npattern = 'ok'\ngroup = 1",
        "[[rule]]\nname = 'a'\npattern = 'ok'\n[[rule]]\nname = 'b'\npattern = 5",
    ],
)
def test_without_every_rule_nothing_is_kept_and_the_user_is_told(workshop, rules):
    file = workshop.root / "hooks" / "secrets.toml"
    file.unlink() if rules is None else file.write_text(rules)

    done = workshop.hook(payload(MARKED["prompt"]))

    assert entries(workshop) == []
    assert "not kept" in json.loads(done.stdout)["systemMessage"]


def test_the_plugin_which_is_one_folder_alone_has_the_rules_with_it(workshop):
    listed = json.loads((CHECKOUT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    shutil.rmtree(workshop.root / "hooks")
    shutil.copytree(CHECKOUT / listed[0]["source"], workshop.root / "hooks")
    secret = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyzAB"

    workshop.hook(payload(f"[remember] the key is {secret}"))

    (entry,) = entries(workshop)
    assert secret not in entry["payload"]["prompt"]


def test_spool_that_cannot_be_written_is_told(workshop):
    workshop.data.mkdir(parents=True)
    (workshop.data / "spool").write_text("a file")

    done = workshop.hook(payload(MARKED["prompt"]))

    assert "not kept" in json.loads(done.stdout)["systemMessage"]


def test_spool_does_not_grow_for_ever(workshop):
    folder = workshop.data / "spool"
    folder.mkdir(parents=True)
    for number in range(spool.MAX_ENTRIES):
        (folder / f"{number}.json").touch()

    done = workshop.hook(payload(MARKED["prompt"]))

    assert "too many" in json.loads(done.stdout)["systemMessage"]


def test_text_too_long_to_set_aside_is_told(workshop):
    done = workshop.hook(payload("[remember] " + "x" * spool.MAX_PROMPT_CHARS))

    assert entries(workshop) == []
    assert "too long" in json.loads(done.stdout)["systemMessage"]


def test_capture_that_a_silent_daemon_may_have_taken_is_kept_under_the_same_id(workshop):
    daemon = workshop.daemon(b"")
    daemon.answers = (daemon.silence,)

    done = workshop.hook(payload(MARKED["prompt"]))

    (file,) = (workshop.data / "spool").iterdir()
    assert file.name == daemon.requests[0][1]["id"] + ".json"
    assert "set aside safely" in json.loads(done.stdout)["systemMessage"]


def test_capture_is_kept_when_the_daemon_hangs_up_on_it_twice(workshop):
    workshop.daemon(b"")

    workshop.hook(payload(MARKED["prompt"]))

    assert len(entries(workshop)) == 1


def test_private_spans_that_removal_puts_together_end_soon():
    text = f"a {'</pri' * 15_000}</private>{'vate>' * 15_000} mine"
    with ends_soon():
        assert spool.without_private(text) == strip_private(text)


@pytest.fixture(scope="module")
def rules_parsed_once():
    """A hook parses the file for its one prompt, which takes ten times as long as the rest."""
    with open(spool.RULES, "rb") as source:
        parsed = tomllib.load(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tomllib, "load", lambda _: parsed)
        yield


@pytest.mark.usefixtures("rules_parsed_once")
@pytest.mark.parametrize(("rule", "make"), TOKENS, ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("gap", ["\n", "\n> ", "' +\n  '"])
def test_a_token_that_a_line_break_cuts_in_two_is_not_written_down(rule, make, gap):
    secret = make(random.Random(7))
    for at in range(2, len(secret), max(1, len(secret) // 8)):
        text = f"use {secret[:at]}{gap}{secret[at:]} there\nand not here"
        clean = spool.clean(text, spool.RULES)
        assert not (secret[:at] in clean and secret[at:] in clean), clean
        assert clean.startswith("use "), clean
        assert clean.endswith("and not here"), clean


def test_lines_that_hold_no_token_stay_as_they_are():
    rng = random.Random(7)
    token = "gh" + "p_" + some(rng, 36)
    text = f"We use path/to\nfile2.py, then\n{token}\nThen go on with release-2026-11\nand v2"
    assert spool.clean(text, spool.RULES) == text.replace(token, "[redacted:github-token]")


@pytest.mark.parametrize(
    "text",
    [
        "[remember]\nsrc.Http2ServerConnection.open is deprecated",
        "[remember] see items[0]\n# src.Http2ServerConnection.open is used",
        "[remember] `ghp_{}`, see items[0]\nsrc.Http2ServerConnection.open is used",
        "[remember] ghp_{}\nsrc/Http2/ServerConnection.java is next",
    ],
)
def test_words_below_a_bracket_that_marks_no_secret_stay(text):
    token = some(random.Random(5), 36)
    clean = spool.clean(text.format(token), spool.RULES)
    assert clean == text.replace("ghp_{}", "[redacted:github-token]")


@pytest.mark.parametrize("rest", ["Kq7vRr2TfLx9WmBn4ZcYpD8s", "9f86d081884c7d659a2feaa0c55ad015"])
def test_the_rest_of_a_secret_on_the_next_line_goes_with_it(rest):
    start = "3f786850e387550fdab836ed7e6dc881de23001b"
    text = f"[remember] DB_PASSWORD={start}\n{rest} is the password"
    clean = spool.clean(text, spool.RULES)
    assert clean.startswith("[remember] DB_PASSWORD=[redacted:")
    assert rest not in clean
    assert clean.endswith("] is the password")


def test_the_daemon_sees_the_same_line_breaks():
    assert breaks._WRAPPED.pattern == spool.WRAP.pattern
