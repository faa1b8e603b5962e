import ast
from pathlib import Path

import pytest

import subcog.stages.redact as module
from subcog.bus.events import CaptureDetected, CaptureRequested, CaptureSettled, StoreRequested
from subcog.bus.values import Provenance, Scope
from subcog.stages.redact import Redactor, redact
from subcog.stages.rules import BadRule, Rule

REDACTOR = Redactor.load()
TOKEN = "gh" + "p_" + "a1B2" * 9
ROOT = Path(module.__file__).parent.parent


def detected(content, **fields):
    given = {"text": content, "scope": Scope("project", "p")} | fields
    request = CaptureRequested(trace="t", id="mem_1", **given)
    return CaptureDetected(
        trace="t", request=request, namespace="decisions", tags=request.tags, content=content
    )


def test_clean_text_is_made_here_alone():
    made = [
        path.relative_to(ROOT).as_posix()
        for room in ("bus", "config", "hooks", "pipeline", "sinks", "stages")
        for path in (ROOT / room).glob("**/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == "CleanText"
    ]
    assert set(made) == {"stages/redact.py"}


def test_a_secret_is_named_where_it_stood():
    clean = REDACTOR.redact(f"use {TOKEN} and {TOKEN}, bob@" + "example.org knows")
    assert (
        clean.text
        == "use [redacted:github-token] and [redacted:github-token], [redacted:email] knows"
    )
    assert clean.redactions == ("github-token", "email")


def test_private_spans_go_first_and_leave_nothing():
    clean = REDACTOR.redact(f"a <private>{TOKEN}</private> b")
    assert clean.text == "a  b"
    assert clean.redactions == ("private",)


def test_an_invisible_character_hides_no_secret():
    assert TOKEN[:10] not in REDACTOR.redact(f"{TOKEN[:9]}\u200b\x1b[0m{TOKEN[9:]}").text


def test_two_secrets_that_overlap_become_one():
    assert REDACTOR.redact(f"token={TOKEN}").text == "token=[redacted:github-token]"


def test_only_the_password_of_a_connection_string_goes():
    text = "postgresql://app:" + "pw" + "@db:5432/app?sslmode=require"
    assert REDACTOR.redact(text).text == (
        "postgresql://app:[redacted:url-password]@db:5432/app?sslmode=require"
    )


@pytest.mark.parametrize(
    "rule",
    [
        Rule(name="x", pattern="("),
        Rule(name="x", pattern="a", group="secret"),
        Rule(name="x", pattern="a", group=1),
        Rule(name="x", pattern="a", check="no such check"),
        Rule(name="Not A Name", pattern="a"),
    ],
)
def test_one_bad_rule_refuses_to_start(rule):
    with pytest.raises(BadRule, match="cannot be used"):
        Redactor([Rule(name="good", pattern="b"), rule])


def test_no_rules_refuse_to_start():
    with pytest.raises(BadRule):
        Redactor([])


@pytest.mark.parametrize(
    "text", ["", "[[rule]]\nname = 'x'", "[[rule]]\nname='x'\npattern='a'\nz=1", "="]
)
def test_a_broken_file_refuses_to_start(tmp_path, text):
    file = tmp_path / "secrets.toml"
    file.write_text(text)
    with pytest.raises(BadRule):
        Redactor.load(file)


def test_what_goes_to_the_store_carries_no_raw_text_anywhere():
    origin = Provenance(file=f"src/{TOKEN}.py", branch=TOKEN, session="s")
    event = detected(f"the token is {TOKEN}.", tags=("ci", TOKEN.lower(), TOKEN), provenance=origin)
    stored = redact(event, redactor=REDACTOR)
    assert isinstance(stored, StoreRequested)
    assert TOKEN not in repr(stored)
    assert stored.content.text == "the token is [redacted:github-token]."
    assert stored.summary.text == "the token is [redacted:github-token]."
    assert stored.request.text == stored.content.text
    assert stored.request.provenance.session == "s"
    assert stored.trace == "t"
    assert "ci" in stored.tags


@pytest.mark.parametrize("content", [TOKEN, f"- {TOKEN}\n", "<private>all of it</private>"])
def test_where_nothing_is_left_it_is_declined(content):
    settled = redact(detected(content), redactor=REDACTOR)
    assert isinstance(settled, CaptureSettled)
    assert settled.kept.outcome == "declined"
    assert settled.kept.redactions
    assert TOKEN not in repr(settled)
