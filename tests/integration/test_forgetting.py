"""What is forgotten leaves every file: the database, its log, backups and what was kept aside."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.forms import FORMS
from tests.integration.test_sessions import Transcript, wait_until_read
from tests.waiting import PATIENCE_S, eventually

RULE = "Always run the migrations before the tests, otherwise the schema is stale."
DECISION = "invoices are numbered per tenant, since the auditors ask for it"
WORDS = "the quokka signs the manifest with a turquoise pencil"
OTHERS = "releases are cut on the second Thursday"


def holding(root: Path, text: str = "turquoise pencil") -> set[str]:
    """The files below ``root`` that have ``text`` in them."""
    return {
        file.name
        for file in root.rglob("*")
        if file.is_file() and text.encode() in file.read_bytes()
    }


def test_forgetting_everywhere_leaves_the_words_in_no_file(house):
    kept = house.capture(WORDS)["id"]
    other = house.capture(OTHERS)["id"]
    backup = house.root / "elsewhere" / "memories.duckdb"
    backup.parent.mkdir()
    house.ask("backup", str(backup))
    house.run("restore", str(backup))
    damaged = house.paths.database.with_name("subcog.duckdb.wal.damaged-20260101T000000")
    damaged.write_bytes(WORDS.encode())
    aside = house.paths.database.with_name("subcog.duckdb.damaged-20260101T000000")
    aside.write_bytes(WORDS.encode())
    ages = {copy["file"]: copy["at"] for copy in house.ask("copies")["copies"]}
    copies = {Path(file).name for file in ages if Path(file).parent != house.paths.backups}
    assert copies >= {backup.name, damaged.name, aside.name}
    assert len(copies) == 4
    assert holding(house.root) >= {backup.name, damaged.name}

    answer = house.ask("forget", kept, "--everywhere", "--yes")

    assert holding(house.root) == set()
    assert len(answer["cleaned"]) == 2
    assert len(answer["removed"]) == 2
    assert answer["copies"] == answer["left"] == []
    own = house.paths.backups  # the daemon may have made the first of its own meanwhile
    left = {copy["file"]: copy["at"] for copy in house.ask("copies")["copies"]}
    left = {file: at for file, at in left.items() if Path(file).parent != own}
    assert len(left) == 2
    assert left.items() <= ages.items(), "they are as old as before"
    house.run("restore", str(backup))
    assert house.ask("get", other)["content"] == OTHERS, "a cleaned backup is a backup still"
    assert house.run("get", kept).returncode == 1


def test_forgetting_names_the_copies_that_may_still_hold_it(house):
    early = house.root / "early.duckdb"
    house.capture(OTHERS)
    house.ask("backup", str(early))
    kept = house.capture(WORDS)["id"]
    late = house.root / "late.duckdb"
    house.ask("backup", str(late))

    told = house.run("forget", kept, "--now").stdout

    assert str(late) in told
    assert str(early) not in told
    assert "subcog copies --remove" in told
    assert holding(house.root) == {late.name}

    assert house.run("copies", "--remove", str(late)).returncode == 2, "it asks first"
    assert late.exists()
    stranger = house.run("copies", "--remove", str(house.paths.database), "--yes")
    assert stranger.returncode == 2
    assert "no copy" in stranger.stderr
    house.ask("copies", "--remove", str(late), "--yes")
    assert holding(house.root) == set()


def test_a_copy_that_cannot_be_cleaned_is_named_with_the_reason(house):
    kept = house.capture(WORDS)["id"]
    backup = house.root / "b.duckdb"
    house.ask("backup", str(backup))
    backup.write_bytes(WORDS.encode() * 1_000)

    done = house.run("forget", kept, "--everywhere", "--yes")

    assert done.returncode == 1
    assert f"{backup} may still contain it" in done.stderr
    assert "damaged" in done.stderr


def test_a_list_of_backups_that_cannot_be_read_keeps_nothing_from_being_forgotten(house):
    kept, other = house.capture(WORDS)["id"], house.capture(OTHERS)["id"]
    house.ask("backup", str(house.root / "b.duckdb"))
    listed = house.paths.database.with_name("subcog.duckdb.backups")
    listed.write_bytes(b'["' + bytes(house.root) + b'/\xff.duckdb"]')

    done = house.run("forget", kept, "--everywhere", "--yes")

    assert done.returncode == 1
    assert f"forgotten: {kept}" in done.stdout
    assert f"backups could not be looked at that are named in {listed} alone" in done.stderr
    assert house.run("get", kept).returncode == 1
    plain = house.ask("forget", other)
    assert (plain["forgotten"], str(listed) in plain["unread"]) == (True, True)
    assert house.ask("copies")["copies"] == []
    assert str(listed) in house.run("copies").stderr
    assert str(listed) in str(house.ask("status")["damage"])
    house.ask("backup", str(house.root / "c.duckdb"))
    assert [Path(one["file"]).name for one in house.ask("copies")["copies"]] == ["c.duckdb"]
    assert "damaged" in house.ask("copies")["unread"]


def test_copies_are_not_asked_about_for_a_memory_that_is_not_there(house):
    house.ask("backup", str(house.root / "asked.duckdb"))
    done = house.run("forget", "mem_nowhere", "--everywhere")
    assert "no memory mem_nowhere" in done.stderr
    assert "Continue?" not in done.stderr


def said(house, session, texts):
    """A session in which the user and the agent said ``texts``, as its hooks tell the daemon."""
    transcript = Transcript(house, session)
    transcript.say(texts[0])
    transcript.answer(f"Noted.\n\n- **Decision**: {texts[1]}")
    assert transcript.hook("Stop", last_assistant_message="done") == "{}"
    transcript.hook("SessionEnd", reason="exit")
    return transcript


def captured(house):
    """What reviews kept by themselves of the two statements, by id."""
    texts = {RULE.casefold()[:30], DECISION.casefold()[:20]}
    found = house.ask("list", "--limit", "100")["memories"]
    return {
        memory["id"]: memory["content"]
        for memory in found
        if any(text in memory["content"].casefold() for text in texts)
    }


def test_what_was_forgotten_is_not_kept_again_from_the_same_or_another_transcript(house):
    first = said(house, "s1", (RULE, DECISION))
    kept = eventually(lambda: found if len(found := captured(house)) == 2 else None)
    wait_until_read(house, first)
    for memory_id in kept:
        house.ask("forget", memory_id)

    (house.paths.state / "transcripts.json").unlink()  # so that all of it is new once more
    house.run("daemon", "stop")
    first.hook("Stop", last_assistant_message="done")
    wait_until_read(house, first)
    others = [
        said(house, f"s{number}", (FORMS[form](RULE), FORMS[form](DECISION)))
        for number, form in enumerate(("as it was", "in capitals", "in bold", "exclaimed"), 2)
    ]
    for other in others:
        wait_until_read(house, other)
    house.ask("learn", "--again")

    assert captured(house) == {}
    assert RULE not in {memory["content"] for memory in house.ask("recall", RULE)["memories"]}
    answer = house.prompt(f"[remember] {RULE}", "s9")
    assert "you had forgotten it: it is kept again" in answer["systemMessage"]
    again = house.run("capture", f"**{DECISION}**").stdout
    assert "you had forgotten it: it is kept again" in again
    assert len(captured(house)) == 2
    assert house.ask("recall", RULE)["memories"][0]["content"] == RULE


def test_an_import_of_an_export_brings_nothing_forgotten_back(house):
    kept = house.capture(WORDS)["id"]
    export = house.root / "export.jsonl"
    export.write_text(house.run("export").stdout.replace(kept, "mem_01m808fdsms1gp76vdb0rggfx7"))
    house.ask("forget", kept)
    assert house.ask("import", str(export))["forgotten"] == 1
    assert house.capture(WORDS)["was_forgotten"]


def answered(house, answer, *args):
    """What a command says in a terminal where the user types ``answer``; it must succeed."""
    done = in_terminal(house, answer, *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_terminal(house, answer, *args):
    """A command that ran in a terminal where the user typed ``answer``."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer.encode())
        return subprocess.run(
            [house.program, *args],
            stdin=theirs,
            capture_output=True,
            text=True,
            env=house.env,
            cwd=house.project,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.slow
def test_a_restore_says_in_a_terminal_what_would_go_and_asks(house):
    house.capture(OTHERS)
    backup = str(house.root / "b.duckdb")
    house.ask("backup", backup)
    newer = house.capture(WORDS)["id"]

    refused = in_terminal(house, "\n", "restore", backup)
    assert refused.returncode == 130
    assert f"{backup} would replace the database" in refused.stderr
    assert (
        "in it now: 2; in the backup: 1; newer than the backup, and gone then: 1." in refused.stderr
    )
    assert "nothing was changed" in refused.stderr
    script = house.run("restore", backup)
    assert script.returncode == 1
    assert "has 1 memory, and there are 2 now. Nothing was changed; --yes" in script.stderr
    assert house.ask("get", newer)["content"] == WORDS

    assert "restored 1 memory from" in answered(house, "", "restore", backup, "--yes")
    assert house.run("get", newer).returncode == 1
    assert house.run("restore", backup).returncode == 0, "a script is not asked"


@pytest.mark.slow
def test_a_restore_asks_before_it_brings_back_what_was_forgotten_since(house):
    kept = house.capture(WORDS)["id"]
    house.capture(OTHERS)
    backup = str(house.root / "b.duckdb")
    house.ask("backup", backup)
    house.ask("forget", kept)

    asked = answered(house, "y\n\n", "restore", backup)
    assert "you forgot 1 memory of it. Bring them back? [y/N]" in asked
    assert "1 memory that you forgot since the backup was made stays forgotten" in asked
    assert house.run("get", kept).returncode == 1
    assert "stays forgotten; --bring-back-forgotten" in house.run("restore", backup).stdout
    answer = house.ask("restore", backup)
    assert (answer["forgotten"], answer["brought_back"]) == (1, False)

    assert "1 memory that you forgot" in answered(house, "y\ny\n", "restore", backup)
    assert house.ask("get", kept)["content"] == WORDS
    assert "Bring them back" not in answered(house, "y\n", "restore", backup)
    assert house.ask("restore", backup)["forgotten"] == 0
