import pytest

from subcog.pipeline.imports.agent_notes import namespace_of_piece
from subcog.pipeline.imports.formats import recognise
from tests.waiting import ends_soon

CLAUDE = """\
# CLAUDE.md

## Commands
- Test: `make test`

## Rules
- Never commit to main
- Tests go next to the code

## Decisions
We chose DuckDB, because it is one file.

## More
- [Guide](docs/guide.md)
"""


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", "GEMINI.md", "claude.local.md"])
def test_a_file_of_instructions_is_read_item_by_item(tmp_path, name):
    (tmp_path / name).write_text(CLAUDE)
    source = recognise(tmp_path / name, project=None)
    assert source.format == "agent instructions"
    assert [(item.namespace, item.content) for item in source.read()] == [
        ("context", "Commands\n\nTest: `make test`"),
        ("patterns", "Rules\n\nNever commit to main"),
        ("patterns", "Rules\n\nTests go next to the code"),
        ("decisions", "Decisions\n\nWe chose DuckDB, because it is one file."),
    ]
    assert {item.provenance.file for item in source.read()} == {name}


@pytest.mark.parametrize(
    ("title", "text", "namespace"),
    [
        ("", "Never push to main", "patterns"),
        ("Development", "Run the tests with `pytest -q`", "context"),
        ("Development", "Always run `make check` before a commit", "patterns"),
        ("Architecture", "The API lives in src/api", "context"),
        ("App", "App is a REST service in Go.", "context"),
        ("Commands", "`npm run dev` opens the UI", "context"),
        ("Layout", "`cmd/app` is the entry point", "context"),
        ("Commands", "`make clean` deletes the database too", "gotchas"),
        ("Commands", "`make test` fails without Docker", "gotchas"),
        ("Notes", "**Gotcha**: `make seed` takes an hour", "gotchas"),
        ("Notes", "We chose Kafka over RabbitMQ, because we replay", "decisions"),
        ("Architecture", "We decided to use DuckDB instead of SQLite", "decisions"),
        ("Known issues", "Never start two daemons", "gotchas"),
        ("Code style", "Four spaces", "patterns"),
        ("Style / Gotchas", "The cache is per branch", "gotchas"),
        ("", "```sh\nmake test\n```", "context"),
        ("Preferences", "Answer in English", "preferences"),
    ],
)
def test_what_an_instruction_is_decides_where_it_belongs(title, text, namespace):
    assert namespace_of_piece(title, text) == namespace


def test_the_memory_folder_of_claude_code_is_read_file_by_file(tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Index\n- [Commits](commits.md) \u2014 how\n- Use uv\n")
    (folder / "commits.md").write_text(
        "---\nname: commits\ndescription: >-\n  Small commits,\n  [one] a change\n"
        "metadata:\n  type: feedback\ncreated: 2026-01-02\n---\n"
        "One change a commit.\n\n**Why:** reviews are short.\n"
    )
    (folder / "who.md").write_text(
        "---\nname: who\ntype: user\n---\nThe user is a data engineer.\n"
    )
    source = recognise(folder, project=None)
    assert source.format == "claude memory"
    index, commits, who = source.read()
    assert index.content == "Index\n\nUse uv"
    assert commits.content == (
        "Small commits, [one] a change\n\nOne change a commit.\n\n**Why:** reviews are short."
    )
    assert (commits.namespace, who.namespace) == ("patterns", "preferences")
    assert commits.created_at.isoformat() == "2026-01-02T00:00:00+00:00"
    assert commits.provenance.file == "commits.md"


def test_a_block_of_empty_lines_is_read_in_linear_time():
    with ends_soon():
        assert namespace_of_piece("", "a" + "\n" * 100_000 + "b") == "context"
