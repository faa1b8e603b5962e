import json
import os
import sqlite3
from contextlib import closing

import msgspec
import pytest

from subcog.pipeline.imports.formats import recognise
from subcog.pipeline.imports.item import BadImport


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("a.jsonl", '{"content": "x"}\n', "jsonl"),
        ("a.json", '{"content": "x"}\n{"content": "y"}\n', "jsonl"),
        ("a.txt", '\n{"content": "x"}\n', "jsonl"),
        ("a.txt", '{"content": "x", "cut": "\\ud83d"}\n{"content": "y"}\n', "jsonl"),
        ("a.md", "# One\n\nx\n", "markdown"),
        ("a.MD", "x", "markdown"),
        ("a.json", '{"results": [{"memory": "x"}]}', "mem0"),
        ("a.json", json.dumps([{"memory": "x"}], indent=1), "mem0"),
        ("a.json", '[{"memory": "x"}]', "mem0"),
    ],
)
def test_a_file_is_told_by_its_name_and_its_beginning(tmp_path, name, text, form):
    file = tmp_path / name
    file.write_text(text)
    source = recognise(file, project=None)
    assert source.format == form
    assert next(iter(source.read())).content.endswith("x")
    assert len(list(source.read())) == len(list(source.read()))


def test_a_folder_is_notes_without_what_is_hidden(tmp_path):
    for name in ("b.md", "a/c.markdown", ".trash/d.md", "a/.e.md", "f.txt", "a/g.md/h.md"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text of {name}")
    source = recognise(tmp_path, project=None)
    assert [item.provenance.file for item in source.read()] == [
        "a/c.markdown",
        "a/g.md/h.md",
        "b.md",
    ]


def test_a_name_that_is_not_utf_8_is_told_as_far_as_it_is(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    [item] = recognise(tmp_path, project=None).read()
    assert msgspec.json.encode(item)
    assert item.provenance.file == "caf\ufffd.md"


def test_other_projects_of_claude_mem_are_told(tmp_path):
    file = tmp_path / "mem.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE observations (id, project, text)")
        rows = [(1, "shop", "x"), (2, "blog", "y"), (3, "blog", "z")]
        database.executemany("INSERT INTO observations VALUES (?, ?, ?)", rows)
        database.commit()
    source = recognise(file, project="shop")
    assert (source.format, [item.content for item in source.read()]) == ("claude-mem", ["x"])
    assert source.left_out.startswith("other projects: blog (2);")
    assert recognise(file, project=None).left_out == ""


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n", b"\0" * 100])
def test_an_unknown_format_is_told_with_those_that_are_known(tmp_path, content):
    file = tmp_path / "what.bin"
    file.write_bytes(content)
    with pytest.raises(BadImport, match="JSONL, Markdown"):
        recognise(file, project=None)


@pytest.mark.parametrize("name", ["in.jsonl", "in.md", "in"])
def test_a_pipe_is_refused_before_anything_waits_for_it(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(BadImport, match="a pipe cannot be read twice"):
        recognise(tmp_path / name, project=None)


def test_links_out_of_a_folder_are_not_followed(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\nof the folder")
    (folder / "same.md").symlink_to("a.md")
    (tmp_path / "secret").write_text("# B\nof elsewhere")
    (folder / "b.md").symlink_to("../secret")
    source = recognise(folder, project=None)
    assert [item.provenance.file for item in source.read()] == ["a.md", "same.md"]
    assert source.left_out == "files that only a link leads to: 1"
