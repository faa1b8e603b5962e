"""Planted secrets through every entrance of the real processes; then every byte is searched."""

import json
import os
import re
import shutil
import subprocess

import duckdb
import pytest

from tests import thorough
from tests.planted import corpus

from .house import PYTHON, House

PIECE_CHARS = 12
SECRETS_A_TEXT = 60
SOURCES = os.path.join(os.path.dirname(__file__), "../..")
SEEDS = thorough.times(2, 5)
PLANTED = list(corpus(range(SEEDS)))
TOKEN = next(secret for rule, _, secret in PLANTED if rule == "github-token")
AWS_KEY = next(secret for rule, _, secret in PLANTED if rule == "aws-access-key")


def pieces(secret):
    """Every 12 characters of it in a row; all of it where it is shorter."""
    last = max(1, len(secret) - PIECE_CHARS + 1)
    return {secret[at : at + PIECE_CHARS].encode() for at in range(last)}


LEAKS = set().union(*(pieces(secret) for _, _, secret in PLANTED))
LEAKS |= set().union(*(pieces(secret.lower()) for secret in (TOKEN, AWS_KEY)))
SHORT = [leak for leak in LEAKS if len(leak) < PIECE_CHARS]
# What a leak may stand in: a database is mostly bytes that no secret has.
RUN = re.compile(b"[%s]{%d,}" % (re.escape(bytes(set().union(*LEAKS))), PIECE_CHARS))


def leaks_in(data):
    """The pieces of secrets that are in ``data``."""
    found = {leak for leak in SHORT if leak in data}
    for run in RUN.findall(data):
        found |= {run[at : at + PIECE_CHARS] for at in range(len(run))} & LEAKS
    return found


def texts():
    """All that is planted, in a few texts of many lines."""
    for start in range(0, len(PLANTED), SECRETS_A_TEXT):
        batch = PLANTED[start : start + SECRETS_A_TEXT]
        yield "\n".join([f"What we know of box {start}:", *(text for _, text, _ in batch)])


def everything(house):
    """Every byte that the product has written: file name → content."""
    for folder, _, files in os.walk(house.root):
        if str(house.project) not in folder:
            for file in files:
                path = os.path.join(folder, file)
                if os.path.isfile(path):  # a socket is none
                    with open(path, "rb") as source:
                        yield os.path.relpath(path, house.root), source.read()


def rows_of(house):
    """Every row of every table as text, since the database may pack what it writes."""
    with duckdb.connect(str(house.paths.database), read_only=True) as database:
        tables = database.sql("SELECT table_name FROM information_schema.tables").fetchall()
        for (table,) in tables:
            for row in database.sql(f'SELECT * FROM "{table}"').fetchall():
                yield table, "\n".join(map(str, row)).encode()


def audit_of(house):
    file = house.paths.state / "audit.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def plant_in_the_project(house):
    git = house.project / ".git"
    git.mkdir()
    (git / "HEAD").write_text(f"ref: refs/heads/{TOKEN}\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = https://bob:{TOKEN}@x.org/a/b.git\n')


def set_aside(house, lone_hooks, prompt):
    """What the hook does where no daemon can be started."""
    payload = {"session_id": "s", "cwd": str(house.project), "prompt": prompt}
    done = subprocess.run(
        [PYTHON, "-I", "-S", str(lone_hooks / "hooks" / "client.py"), "UserPromptSubmit"],
        input=json.dumps(payload).encode(),
        env=house.env | {"PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    )
    return done.stdout + done.stderr


def import_file(folder):
    ours = {
        "id": f"mem_{'0' * 26}",
        "scope": {"kind": "project", "id": "p"},
        "namespace": "learnings",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "content": f"The deploy uses {TOKEN} for now",
        "summary": f"uses {TOKEN}",
        "tags": ["ci", AWS_KEY],
        "provenance": {"file": f"src/{TOKEN}.py", "session": AWS_KEY, "branch": TOKEN},
        "sources": [{"file": f"src/{TOKEN}.py"}],
    }
    lines = [
        {"content": f"From the notes, {number}: {text}", "tags": ["ci"]}
        for number, (_, text, _) in enumerate(PLANTED)
    ]
    file = folder / "secrets.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in [*lines, ours]))
    notes = folder / "notes.md"
    notes.write_text("".join(f"# Note {n}\n\n{text}\n\n" for n, text in enumerate(texts())))
    return file, notes


@pytest.fixture
def lone_hooks(tmp_path_factory):
    """The hook's own files, without a daemon to start."""
    folder = tmp_path_factory.mktemp("lone")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(os.path.join(SOURCES, "hooks"), folder / "hooks", ignore=ignore)
    return folder


def test_the_corpus_is_large_enough():
    assert len(PLANTED) >= 200
    assert len(PLANTED) / SEEDS >= 40
    assert len({secret for *_, secret in PLANTED}) == len(PLANTED)


def test_the_search_finds_what_was_planted():
    for text in texts():
        assert leaks_in(text.encode())
    assert not leaks_in(b"What we know of it: [redacted:github-token]")


@pytest.mark.slow
def test_nothing_of_a_planted_secret_is_written_or_said(house, lone_hooks, tmp_path_factory):
    plant_in_the_project(house)
    said = [set_aside(house, lone_hooks, f"[remember] Set aside. {text}") for text in texts()]
    spooled = dict(everything(house))
    assert len(list(house.paths.spool.glob("*.json"))) == len(list(texts()))
    assert {name: leaks_in(data) for name, data in spooled.items() if leaks_in(data)} == {}

    said.append(house.run("daemon", "start").stdout.encode())
    while list(house.paths.spool.glob("*.json")):
        house.ask("status")
    for number, text in enumerate(texts()):
        done = house.run("capture", "-", "--tags", f"ci,{AWS_KEY}", stdin=f"By hand. {text}")
        assert done.returncode == 0, done.stderr
        said += [done.stdout.encode(), done.stderr.encode()]
        answer = house.prompt(f"[remember] In a prompt. {text}", f"s{number}")
        assert "kept as" in answer["systemMessage"]
        said.append(json.dumps(answer, ensure_ascii=False).encode())
    for file in import_file(tmp_path_factory.mktemp("from")):
        done = house.run("import", str(file), "--json")
        assert done.returncode == 0, done.stderr
        said += [done.stdout.encode(), done.stderr.encode()]
    kept = house.ask("recall", "what we know of box 60", "--limit", "5")["memories"]
    done = house.run("update", kept[0]["id"], f"Now it is {TOKEN}, they say", "--json")
    assert done.returncode == 0, done.stderr
    house.capture(f"CI is blocked until {TOKEN} works", "--namespace", "blockers")

    wal = house.paths.database.with_name("subcog.duckdb.wal")
    assert wal.stat().st_size > 100_000
    while_it_runs = dict(everything(house))
    exports = house.root / "exports"
    exports.mkdir()
    for form in ("jsonl", "markdown"):
        done = house.run("export", "--format", form)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout) > 100_000
        (exports / form).write_text(done.stdout)
    done = house.run("backup", str(exports / "backup.duckdb"))
    assert done.returncode == 0, done.stderr
    said.append(json.dumps(house.ask("recall", "the staging box", "--limit", "100")).encode())
    said.append(json.dumps(house.ask("topics")).encode())
    said.append(house.context("what do we know of the staging box?", "other").encode())
    greeting = house.hook("SessionStart", {"session_id": "new", "source": "startup"})
    assert "blocked until" in str(greeting)
    said.append(json.dumps(greeting).encode())
    house.run("daemon", "stop")

    written = dict(everything(house))
    assert {"home/data/subcog.duckdb", "home/state/audit.jsonl"} <= set(written)
    for where in (while_it_runs, written):
        assert {name: leaks_in(data) for name, data in where.items() if leaks_in(data)} == {}
    assert [leaks_in(text) for text in said if leaks_in(text)] == []
    rows = list(rows_of(house))
    assert len(rows) > len(PLANTED)
    assert [(table, leaks_in(row)) for table, row in rows if leaks_in(row)] == []
    assert audit_of(house)


def test_each_redaction_is_in_the_audit_once(house):
    kept = house.capture(f"Deploys use {TOKEN}, ask ann.lee@" + "example.org")
    house.capture("Deploys use argon2id")
    (line,) = audit_of(house)
    assert line.pop("time")
    assert line.pop("trace")
    assert line == {
        "memory": kept["id"],
        "rules": {"github-token": 1, "email": 1},
        "scope": "project",
        "decision": "redacted",
    }
    assert (house.paths.state / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_what_a_hook_took_out_by_itself_is_in_the_audit_too(house, lone_hooks):
    set_aside(house, lone_hooks, f"[remember] Deploys use {TOKEN} and {AWS_KEY}")
    house.start()
    while list(house.paths.spool.glob("*.json")):
        house.ask("status")
    (line,) = audit_of(house)
    assert line["rules"] == {"github-token": 1, "aws-access-key": 1}
    assert (line["memory"], line["decision"]) == ("", "redacted")


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("mask", f"Deploys use [redacted:github-token:{TOKEN[:4]}…{TOKEN[-4:]}] now"),
        ("warn", "Deploys use [redacted:github-token] now"),
    ],
)
def test_each_mode_stores_the_text_without_the_secret(house, mode, text):
    house.env["SUBCOG_REDACTION_MODE"] = mode
    house.capture(f"Deploys use {TOKEN} now")
    (memory,) = house.ask("recall", "what do deploys use?")["memories"]
    assert memory["content"] == text
    message = house.prompt(f"[remember] Builds use {TOKEN} as well")["systemMessage"]
    assert "left out of it: github-token" in message
    assert ("replace it if in doubt" in message) is (mode == "warn")
    shown = house.run("capture", f"Tests use {TOKEN} also")
    assert ("replace it if in doubt" in shown.stderr) is (mode == "warn")
    assert not any(leaks_in(data) for _, data in everything(house))


def test_where_secrets_block_nothing_is_stored_and_the_rule_is_named(house):
    house.env["SUBCOG_REDACTION_MODE"] = "block"
    done = house.run("capture", f"Deploys use {TOKEN} now")
    assert done.returncode == 1
    assert "github-token" in done.stderr
    message = house.prompt(f"[remember] Builds use {TOKEN} as well")["systemMessage"]
    assert message.startswith("subcog: not kept")
    assert "github-token" in message
    while not (status := house.ask("status"))["ready"]:
        pass
    assert status["memories"] == 0
    assert [line["decision"] for line in audit_of(house)] == ["blocked", "blocked"]
    assert house.capture("Deploys use argon2id")["outcome"] == "stored"


def test_a_value_of_the_allowlist_is_let_through_and_no_other(house):
    other = AWS_KEY[:-4] + ("ABCD" if AWS_KEY[-4:] != "ABCD" else "WXYZ")
    house.env["SUBCOG_REDACTION_ALLOW"] = f"{AWS_KEY}, noreply@" + "example.com"
    house.capture(f"Use {AWS_KEY}, not {other}, and noreply@" + "example.com")
    (memory,) = house.ask("recall", "what to use")["memories"]
    assert memory["content"] == (
        f"Use {AWS_KEY}, not [redacted:aws-access-key], and noreply@" + "example.com"
    )


def test_a_bad_allowlist_refuses_to_start_and_says_why(tmp_path):
    house = House(tmp_path)
    house.env["SUBCOG_REDACTION_ALLOW"] = "github-token"
    done = house.run("capture", "x")
    assert done.returncode == 3
    assert "redaction.allow: entry 1" in done.stderr
    assert "Traceback" not in done.stderr
