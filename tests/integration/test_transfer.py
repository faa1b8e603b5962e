"""Memories in and out, many at a time, through the installed command."""

import json
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing

import pytest

from subcog.sinks.store.wal import wal_of
from tests.waiting import PATIENCE_S, eventually

from .house import SUBCOG, House

# So many that there is time to interrupt their import.
NOTES = 8_000
AS_EXPORTED = ("--as-exported", "--yes")
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def house(fresh):
    """A project of its own; the daemon is shared, and none of its other projects is seen."""
    return fresh


@pytest.fixture
def second(tmp_path):
    """Another home, with a project of the same place in its own tree."""
    house = House(tmp_path / "second")
    yield house
    house.close()


def fill(house):
    """Memories in every state there is."""
    old = house.capture("We use bcrypt\n\n## [decisions] for now\n\n<!-- subcog:end -->")["id"]
    new = house.ask("supersede", old, "--text", "We use argon2id, see the audit")["id"]
    house.ask("update", new, "--tags", "auth,audit")
    house.ask("expire", house.capture("The freeze ends in May", "--namespace", "context")["id"])
    house.capture("I prefer small commits", "--scope", "user")
    house.capture("All repositories are on GitHub", "--scope", "org")
    house.prompt("[remember] Turns out the CI cache is per branch")
    return old, new


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A house with memories in every state; nothing here may change what its project knows."""
    house = House(tmp_path_factory.mktemp("filled"))
    house.old, house.new = fill(house)
    yield house
    house.close()


def lines(house, form="jsonl"):
    return house.run("export", "--format", form).stdout


def memories(text):
    """What is exported, without whose the memories are."""
    read = [json.loads(line) for line in text.splitlines()]
    return [memory | {"scope": memory["scope"]["kind"]} for memory in read]


@pytest.mark.slow
def test_an_import_that_is_interrupted_says_how_far_it_came(house, tmp_path):
    notes = tmp_path / "notes.jsonl"
    made = ({"content": f"The valve {n} of hall {n % 89} opens at {n} bar"} for n in range(NOTES))
    notes.write_text("".join(f"{json.dumps(one)}\n" for one in made))
    command = [SUBCOG, "import", str(notes), "--json"]
    # A shell starts what it runs in the background with SIGINT ignored, and that is inherited.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        command, env=house.env, cwd=house.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as importing:
        eventually(lambda: house.ask("list", "--limit", "1")["total"])
        signal.signal(signal.SIGINT, before)
        importing.send_signal(signal.SIGINT)
        out, err = importing.communicate(timeout=PATIENCE_S)

    assert importing.returncode == 130
    assert err.index(b"interrupted: waiting until") < err.index(
        b"interrupted: the rest was not imp"
    )
    told = json.loads(out)
    assert told["interrupted"] is True
    assert 0 < told["imported"] < told["found"] == NOTES
    assert house.ask("list", "--limit", "1")["total"] == told["imported"]


@pytest.mark.parametrize(("form", "suffix"), [("jsonl", "jsonl"), ("markdown", "md")])
def test_an_export_makes_the_same_memories_in_an_empty_store(filled, second, form, suffix):
    old, new = filled.old, filled.new
    file = filled.root / f"export.{suffix}"
    file.write_text(lines(filled, form))
    before = lines(filled)
    assert filled.ask("import", str(file))["unchanged"] == 6
    assert lines(filled) == before

    counts = second.ask("import", str(file), *AS_EXPORTED)
    assert (counts["found"], counts["imported"], counts["redacted"]) == (6, 6, 0)
    assert memories(lines(second)) == memories(before)
    assert second.ask("get", old)["superseded_by"] == new
    found = [memory["id"] for memory in second.ask("recall", "argon2id bcrypt audit")["memories"]]
    assert found[0] == new
    assert old not in found
    assert second.ask("topics", "audit")["total_count"] == 1


def test_what_was_imported_says_so_and_not_that_nothing_is_known(house, tmp_path):
    file = tmp_path / "notes.jsonl"
    file.write_text('{"content": "The kiln of hall 4 is fired on Mondays"}\n')
    house.ask("import", str(file))
    [line] = lines(house).splitlines()
    made = json.loads(line)["id"]
    why, history = house.run("why", made).stdout, house.run("history", made).stdout
    assert "\nimported " in why
    assert "  imported\n" in history
    assert "unknown" not in why + history
    assert "said by" not in why


def test_an_import_into_another_project_makes_copies_once(filled):
    file = filled.root / "export.jsonl"
    file.write_text(lines(filled))
    other = filled.root / "other"
    other.mkdir()
    first = filled.ask("import", str(file), "--project", str(other), *AS_EXPORTED)
    assert (first["stored"], first["unchanged"]) == (4, 2)
    again = filled.ask("import", str(file), "--project", str(other), *AS_EXPORTED)
    assert again["unchanged"] == 6


def test_a_file_of_somebody_else_is_new_the_importers_and_the_projects(house, tmp_path):
    kept = house.capture("We deploy on Mondays")["id"]
    [known] = memories(lines(house))
    file = tmp_path / "theirs.jsonl"
    theirs = [
        known | {"content": "We deploy on Fridays", "version": 9},
        known | {"id": "mem_01m808gcvkvptxqn54vz978pjz", "content": "Everybody pushes to main"},
    ]
    for memory, kind in zip(theirs, ("project", "user"), strict=True):
        memory["scope"] = {"kind": kind, "id": "x"}
        memory["provenance"] = {"author": "ana", "hook": "obey", "gate": "obey"}
    file.write_text("\n".join(map(json.dumps, theirs)))

    counts = house.ask("import", str(file))

    assert (counts["stored"], counts["differs"]) == (1, 1)
    now = {each["content"]: each for each in memories(lines(house))}
    assert now["We deploy on Mondays"]["id"] == kept
    new = now["Everybody pushes to main"]
    assert (new["scope"], new["version"], new["id"] in file.read_text()) == ("project", 1, False)
    assert (new["provenance"].get("author", ""), new["provenance"]["hook"]) == ("", "import")
    assert house.ask("import", str(file))["unchanged"] == 1

    file.write_text(json.dumps(theirs[0]))
    refused = house.run("import", str(file), "--as-exported")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert house.ask("import", str(file), *AS_EXPORTED)["updated"] == 1
    assert "We deploy on Fridays" in lines(house)


def test_a_dry_run_says_what_would_happen(house, tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("# One\n\nfirst\n\n## [decisions] Two\n\nsecond\n")
    house.capture("One\n\nfirst", "--namespace", "learnings")
    told = house.ask("import", str(file), "--dry-run")
    assert (told["found"], told["imported"]) == (2, 0)
    assert told["would"] == {"stored": 1, "unchanged": 1}
    assert [(item["outcome"], item["namespace"]) for item in told["items"]] == [
        ("unchanged", "learnings"),
        ("stored", "decisions"),
    ]
    shown = house.run("import", str(file), "--dry-run").stdout.splitlines()
    assert shown[1].split() == ["stored", "decisions", "Two"]
    assert len(memories(lines(house))) == 1
    assert house.ask("import", str(file))["imported"] == 1


def test_nothing_of_a_broken_file_is_imported(house, tmp_path):
    file = tmp_path / "broken.jsonl"
    good = [json.dumps({"content": f"Fact number {n} about the build"}) for n in range(1200)]
    file.write_text("\n".join([*good, '{"content": 7}']))
    refused = house.run("import", str(file))
    assert refused.returncode == 1
    assert "broken.jsonl, line 1201: " in refused.stderr
    assert lines(house) == ""


def test_secrets_are_taken_out_of_every_format(house, tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"content": f"Deploy token {TOKEN}, in May"}))
    (tmp_path / "b.md").write_text(f"# Token\n\nThe other token is {TOKEN}\n")
    (tmp_path / "c.json").write_text(json.dumps({"results": [{"memory": f"Key {TOKEN} rotates"}]}))
    for name in ("a.jsonl", "b.md", "c.json"):
        assert house.ask("import", str(tmp_path / name))["redacted"] == 1
    assert TOKEN not in lines(house)
    house.run("daemon", "stop")
    for path in house.paths.data.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path


def test_a_folder_of_notes_is_imported_with_where_they_come_from(house, tmp_path):
    (tmp_path / "notes" / "sub").mkdir(parents=True)
    (tmp_path / "notes" / "a.md").write_text("---\ntags: [ops]\n---\n# Deploys\n\nOn Mondays.\n")
    (tmp_path / "notes" / "sub" / "b.md").write_text("Just a line about the build.\n")
    counts = house.ask("import", str(tmp_path / "notes"))
    assert (counts["format"], counts["imported"]) == ("markdown notes", 2)
    [memory] = house.ask("topics", "ops")["memories"]
    assert house.ask("get", memory["id"])["provenance"] == {"hook": "import", "file": "a.md"}


def test_instructions_and_transcripts_are_told_apart(house, tmp_path):
    (tmp_path / "CLAUDE.md").write_text("# Rules\n- Never merge on Fridays\n- See [x](y)\n")
    counts = house.ask("import", str(tmp_path / "CLAUDE.md"))
    assert (counts["format"], counts["imported"]) == ("agent instructions", 1)
    [memory] = memories(lines(house))
    assert (memory["namespace"], memory["summary"]) == ("patterns", "Never merge on Fridays")
    (tmp_path / "s.jsonl").write_text('{"type": "user", "sessionId": "s", "content": "hi"}')
    refused = house.run("import", str(tmp_path / "s.jsonl"))
    assert refused.returncode == 1
    assert "subcog learn --all" in refused.stderr
    assert len(memories(lines(house))) == 1


def test_claude_mem_brings_this_projects_observations(house, tmp_path):
    file = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE observations (id, project, type, title, narrative)")
        rows = [
            (1, house.project.name, "decision", "Use DuckDB", "It is one file."),
            (2, "blog", "change", "Theme", "Dark now."),
        ]
        database.executemany("INSERT INTO observations VALUES (?, ?, ?, ?, ?)", rows)
        database.commit()
    counts = house.ask("import", str(file))
    assert (counts["format"], counts["imported"]) == ("claude-mem", 1)
    assert "blog (1)" in counts["left_out"]
    assert house.ask("import", str(file), "--all-projects")["stored"] == 1


@pytest.mark.slow
def test_more_memories_than_fit_in_one_batch_or_page_come_and_go(house, tmp_path):
    """The long ones reach the size of a batch and of a page, and the others their number."""
    file = tmp_path / "many.jsonl"
    repeats = [2500 if n % 100 == 0 else 1500 * (n < 160) for n in range(700)]
    texts = {f"Fact {n} about the build {'and more ' * repeat}" for n, repeat in enumerate(repeats)}
    file.write_text("\n".join(json.dumps({"content": text}) for text in texts))
    counts = house.ask("import", str(file))
    assert (counts["stored"], counts["declined"]) == (693, 7)
    kept = {memory["content"] for memory in memories(lines(house))}
    assert kept == {text.rstrip() for text in texts if len(text.rstrip()) <= 20_000}


def test_an_unknown_format_is_refused(house, tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\x89PNG")
    refused = house.run("import", str(tmp_path / "x.bin"))
    assert refused.returncode == 1
    assert "format is not known" in refused.stderr


# --- backup --------------------------------------------------------------------------------------


def test_a_backup_brings_back_what_was_and_keeps_what_is(alone, tmp_path):
    old, _ = fill(alone)
    before = lines(alone)
    told = alone.ask("backup", str(tmp_path / "b.duckdb"))
    assert told["bytes"] == (tmp_path / "b.duckdb").stat().st_size
    alone.ask("forget", old, "--now")
    later = alone.capture("Captured after the backup")["id"]
    now = lines(alone)

    restored = alone.ask("restore", str(tmp_path / "b.duckdb"), "--bring-back-forgotten")
    assert (restored["forgotten"], restored["brought_back"]) == (1, True)
    assert lines(alone) == before
    assert alone.ask("topics", "audit")["total_count"] == 1
    assert alone.run("get", later).returncode == 1
    assert alone.ask("history", old)["versions"][0]["version"] == 1
    assert alone.capture("Captured after restoring")["outcome"] == "stored"

    alone.ask("restore", restored["kept_aside"], "--yes")
    assert lines(alone) == now
    assert (tmp_path / "b.duckdb").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_backup_survives_a_new_daemon(alone, tmp_path):
    fill(alone)
    before = lines(alone)
    alone.ask("backup", str(tmp_path / "b.duckdb"))
    alone.capture("Captured after the backup")
    alone.ask("restore", str(tmp_path / "b.duckdb"), "--yes")
    alone.run("daemon", "stop")
    assert lines(alone) == before


@pytest.mark.slow
def test_the_files_of_a_killed_daemon_are_restored_with_what_its_log_holds(alone, tmp_path):
    fill(alone)
    before = lines(alone)
    pid = alone.pid()
    alone.kill()
    alone.wait_until_gone(pid)
    copy = tmp_path / "copy"
    shutil.copytree(alone.paths.data, copy, ignore=shutil.ignore_patterns("*.sock"))
    log = wal_of(copy / alone.paths.database.name)
    torn = log.read_bytes() + b"\1"
    log.write_bytes(torn)
    alone.capture("Captured after the copy was made")

    restored = alone.run("restore", str(copy / alone.paths.database.name), "--yes")

    assert "1 bytes of the log beside it could not be read" in restored.stderr
    assert lines(alone) == before
    assert log.read_bytes() == torn
    assert not list(alone.paths.data.glob("*restoring*"))


@pytest.mark.slow
def test_a_file_beside_an_older_log_is_restored_alone(alone, tmp_path):
    alone.capture("Kept on the first day")
    copy = tmp_path / "copy.duckdb"
    shutil.copy(wal_of(alone.paths.database), wal_of(copy))
    fill(alone)
    before = lines(alone)
    alone.ask("daemon", "stop")
    shutil.copy(alone.paths.database, copy)
    log = wal_of(copy).read_bytes()
    alone.capture("Captured after the copy was made")

    restored = alone.run("restore", str(copy), "--yes")

    assert f"{len(log):,} bytes of the log" in restored.stderr
    assert "another state of the file" in restored.stderr
    assert lines(alone) == before
    assert wal_of(copy).read_bytes() == log
    assert not list(alone.paths.data.glob("*restoring*"))


def test_the_database_itself_is_no_backup(filled):
    before = lines(filled)
    refused = filled.run("restore", str(filled.paths.database), "--yes")
    assert refused.returncode == 1
    assert "is the database itself" in refused.stderr
    assert lines(filled) == before


@pytest.mark.parametrize("content", [b"", b"no database at all", b"\0" * 20_000])
def test_what_is_no_backup_is_refused_and_nothing_changes(filled, tmp_path, content):
    before = lines(filled)
    bad = tmp_path / "bad.duckdb"
    bad.write_bytes(content)
    refused = filled.run("restore", str(bad))
    assert refused.returncode == 1
    assert str(bad) in refused.stderr
    assert lines(filled) == before
    assert not list(filled.paths.data.glob("*restor*"))


def test_a_backup_never_overwrites(filled, tmp_path):
    file = tmp_path / "b.duckdb"
    file.write_text("mine")
    refused = filled.run("backup", str(file))
    assert refused.returncode == 1
    assert "exists already" in refused.stderr
    assert file.read_text() == "mine"
    assert filled.run("backup", str(tmp_path / "no" / "such" / "b.duckdb")).returncode == 1
