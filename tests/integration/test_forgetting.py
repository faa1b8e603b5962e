"""What is forgotten leaves every file: the database, its log, backups and what was kept aside."""

from __future__ import annotations

from pathlib import Path

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
    copies = {Path(copy["file"]).name for copy in house.ask("copies")["copies"]}
    assert copies >= {backup.name, damaged.name, aside.name}
    assert len(copies) == 4
    assert holding(house.root) >= {backup.name, damaged.name}

    answer = house.ask("forget", kept, "--everywhere", "--yes")

    assert holding(house.root) == set()
    assert len(answer["cleaned"]) == 2
    assert len(answer["removed"]) == 2
    assert answer["copies"] == answer["left"] == []
    assert len(house.ask("copies")["copies"]) == 2
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

    assert house.run("copies", "--remove", str(late)).returncode == 130, "it asks first"
    assert late.exists()
    stranger = house.run("copies", "--remove", str(house.paths.database), "--yes")
    assert stranger.returncode == 1
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
