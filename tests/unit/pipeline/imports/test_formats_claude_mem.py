import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from subcog.pipeline.imports.formats import ClaudeMem
from subcog.pipeline.imports.item import BadImport

THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MS = int(THEN.timestamp() * 1000)


def make(folder, *tables):
    """A file with ``tables``: name, columns, rows."""
    file = folder / "claude-mem.db"
    with closing(sqlite3.connect(file)) as database:
        for name, columns, rows in tables:
            database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        database.commit()
    return file


OBSERVATIONS = (
    "observations",
    (
        "id INTEGER PRIMARY KEY", "memory_session_id", "project", "text", "type", "title",
        "subtitle", "facts", "narrative", "concepts", "files_modified", "created_at",
        "created_at_epoch",
    ),
    [
        (
            1, "s1", "shop", None, "decision", "Use argon2id", "Instead of bcrypt",
            json.dumps(["bcrypt truncates", "argon2id is slow"]), "We weighed both.",
            json.dumps(["security"]), json.dumps(["src/auth.py"]), "x", MS,
        ),
        (2, "s1", "blog", "Old text", "bugfix", "", "", None, None, None, None, "2026-01-02", None),
        (3, "s2", "shop", None, "change", None, None, "[]", "", None, None, None, None),
    ],
)  # fmt: skip
SUMMARIES = (
    "session_summaries",
    ("id INTEGER PRIMARY KEY", "project", "request", "learned", "next_steps", "created_at_epoch"),
    [(1, "shop", "Hash passwords", "bcrypt truncates", "Migrate", MS)],
)


def test_an_observation_is_read_with_all_that_it_says(tmp_path):
    [item] = ClaudeMem(make(tmp_path, OBSERVATIONS), "shop").read()
    assert item.content == (
        "Use argon2id\n\nInstead of bcrypt\n\nWe weighed both.\n\n"
        "- bcrypt truncates\n- argon2id is slow"
    )
    assert (item.namespace, item.tags) == ("decisions", ("security",))
    assert item.created_at == THEN
    assert (item.provenance.file, item.provenance.session) == ("src/auth.py", "s1")


def test_a_summary_is_read_part_by_part(tmp_path):
    [item] = ClaudeMem(make(tmp_path, SUMMARIES), "shop").read()
    assert item.content == (
        "Request: Hash passwords\n\nLearned: bcrypt truncates\n\nNext steps: Migrate"
    )
    assert item.namespace == "progress"


def test_memories_of_older_files_are_read(tmp_path):
    memories = (
        "memories",
        ("id INTEGER PRIMARY KEY", "session_id", "text", "keywords", "created_at_epoch"),
        [(1, "s", "Deploys run on Friday", "deploy, ops", MS)],
    )
    [item] = ClaudeMem(make(tmp_path, memories), "any").read()
    assert (item.content, item.tags) == ("Deploys run on Friday", ("deploy", "ops"))


def test_other_projects_are_left_out_unless_all_are_wanted(tmp_path):
    file = make(tmp_path, OBSERVATIONS, SUMMARIES)
    assert len(list(ClaudeMem(file, "shop").read())) == 2
    assert len(list(ClaudeMem(file, None).read())) == 3
    assert ClaudeMem(file, "shop").projects() == {"shop": 3, "blog": 1}


def test_the_file_is_not_written(tmp_path):
    file = make(tmp_path, OBSERVATIONS)
    before = file.read_bytes()
    file.chmod(0o400)
    list(ClaudeMem(file, None).read())
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_a_file_with_none_of_the_tables_is_told(tmp_path):
    file = make(tmp_path, ("other", ("id",), []))
    with pytest.raises(BadImport, match="none of the tables observations"):
        list(ClaudeMem(file, None).read())


def test_a_damaged_file_is_told(tmp_path):
    file = tmp_path / "claude-mem.db"
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(BadImport, match="cannot be read"):
        list(ClaudeMem(file, None).read())
