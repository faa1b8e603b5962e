"""The documents say what is so: everything in them that can be compared with the code, is."""

import ast
import json
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest

from subcog.config.load import load_settings, variable
from subcog.config.paths import Paths, find_paths
from subcog.hooks.client import VERSION
from subcog.pipeline.cli.command_line import cli
from tools import reference

from .test_rooms import INNER
from .written import HOUSE, WRITTEN, documented_reasons, fences, named, of_each, prose

BY_HAND = [document for document in WRITTEN if document.parent.name != "reference"]
ROOMS = "bus|config|hooks|pipeline|sinks|stages|tests|tools|perf|docs"
# Files that the examples of the documents name, so that they can be parsed anywhere.
EXAMPLE_FILES = (
    *("notes.md", "memories.jsonl", "memories.duckdb"),
    *("prompts.jsonl", "messages.jsonl", "use.jsonl"),
)
EXAMPLE_FOLDERS = ("other-project", "judged")
SETTINGS = tuple(origin.key for origin in load_settings(Path("/nonexistent"), {}).origins)


@cache
def _made():
    return reference.documents()


@cache
def _pages():
    return {document.name: text for document, text in _made().items()}


# --- what is made from the code -------------------------------------------------------------------


def test_what_is_made_from_the_code_is_up_to_date():
    stale = [named(document) for document in reference.stale(_made()) if document in _made()]
    assert stale == [], "run: python -m tools.reference --write"


def test_nothing_else_lies_among_the_reference_pages():
    assert [file for file in reference.stale(_made()) if file not in _made()] == []


def test_every_setting_command_metric_signal_event_stage_and_item_has_its_line():
    for key in SETTINGS:
        assert f"| `{key}` |" in _pages()["settings.md"]
    for command in cli.list_commands(click.Context(cli)):
        assert f"## subcog {command}\n" in _pages()["commands.md"]
    for metric in ("subcog_hooks_total", "subcog_ready", "subcog_database_bytes"):
        assert f"| `{metric}` |" in _pages()["metrics.md"]
    for event in ("PromptSubmitted", "QueryAnswered"):
        assert f"## {event} · " in _pages()["events.md"]
    assert "| `abstained` |" in _pages()["signals.md"]
    assert "| `untopic` |" in _pages()["routes.md"]
    for item in ("### supersede\n", "| `subcog://search/{query}` |", "| `research_topic` |"):
        assert item in _pages()["mcp-items.md"]


# --- links and names ------------------------------------------------------------------------------


def _anchors(document):
    """The names under which the headings of ``document`` can be linked to, as forges make them."""
    titles = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in plain}


@of_each(WRITTEN)
def test_every_link_leads_somewhere(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        place, _, anchor = link.partition("#")
        target = (document.parent / place).resolve() if place else document
        assert target.exists(), f"{link} leads nowhere"
        assert target.is_relative_to(HOUSE), f"{link} leads out of the house"
        if anchor:
            assert anchor in _anchors(target), f"{link} names no heading"


@of_each(WRITTEN)
def test_every_file_that_is_named_exists(document):
    paths = re.findall(rf"`((?:{ROOMS})/[\w./-]+)(?:::\w+)?`", prose(document))
    assert [path for path in paths if not (HOUSE / path).exists()] == []


@cache
def _functions(file):
    return {getattr(node, "name", "") for node in ast.parse(file.read_text()).body}


@of_each(WRITTEN)
def test_every_test_that_is_named_exists(document):
    for path, name in re.findall(r"`((?:tests|perf)/[\w/]+\.py)::(\w+)`", prose(document)):
        assert name in _functions(HOUSE / path), f"{path} has no {name}"


@of_each(BY_HAND)
def test_every_setting_variable_and_metric_that_is_named_exists(document):
    names = re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)(?: = \w+)?`", prose(document))
    sections = {key.split(".")[0] for key in SETTINGS}
    files_and_reasons = {"daemon.log", "daemon.sock", "daemon.lock", "sessions.jsonl"}
    files_and_reasons |= documented_reasons("docs/operators.md", "`subcog_degraded_total`:")
    settings = {name for name in names if name.split(".")[0] in sections} - files_and_reasons
    assert {name for name in settings if not any(k.startswith(name) for k in SETTINGS)} == set()
    variables = set(re.findall(r"\bSUBCOG_[A-Z_]*[A-Z]\b", prose(document))) - {"SUBCOG_HOME"}
    assert variables <= {variable(key) for key in SETTINGS} | {"SUBCOG_LLM_API_KEY"}
    metrics = re.findall(r"`(subcog_\w+)`", prose(document))
    assert {name for name in metrics if f"| `{name}` |" not in _pages()["metrics.md"]} == set()


@pytest.mark.parametrize("room", INNER)
def test_the_table_of_inner_rooms_is_the_law(room):
    text = (HOUSE / "ARCHITECTURE.md").read_text()
    rows = re.findall(rf"^\| `{room}/([\w/]+)/` \| .+ \| (.+) \|$", text, re.M)
    told = {folder: set(re.findall(r"`([\w/]+)`", may)) for folder, may in rows}
    assert told == {folder: may for folder, may in INNER[room].items() if folder}


def test_every_row_of_the_security_page_names_a_test():
    text = (HOUSE / "docs/security.md").read_text()
    rows = re.findall(r"^\| (?!defence|threat)(.+) \|$", text, re.M)
    assert len(rows) > 30
    assert [row for row in rows if "::test_" not in row] == []


# How many tasks each phase of the specification has.
TASKS = {1: 11, 2: 12, 3: 16, 4: 10, 5: 12, 6: 16}


def test_every_task_of_the_specification_names_its_file_and_its_test():
    text = (HOUSE / "docs" / "spec.md").read_text()
    lines = re.findall(r"^\| (?!task |part |step )(.+)\|$", text, re.M)
    rows = [[cell.strip() for cell in line.split(" | ")] for line in lines]
    numbers = [row[0].split()[0] for row in rows if re.match(r"\d\.\d", row[0])]
    assert numbers == [f"{phase}.{n}" for phase, last in TASKS.items() for n in range(1, last + 1)]
    for row in rows:
        _, where, shown, *_ = row
        assert re.match(rf"`(?:{ROOMS}|[A-Z]+\.md)", where), row
        assert re.fullmatch(r"`[\w/]+\.py::test_\w+`(?: \|)?", shown), row


def test_every_record_is_in_the_list_and_has_its_three_parts():
    folder = HOUSE / "docs" / "adr"
    listed = re.findall(r"\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text())
    assert listed == sorted(file.name for file in folder.glob("0*.md"))
    for name in listed:
        text = (folder / name).read_text()
        assert text.startswith(f"# {name[:4]}: ")
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.M) == [
            "Context",
            "Decision",
            "Consequences",
        ]


def test_operators_are_told_what_each_of_our_files_is():
    text = (HOUSE / "docs" / "operators.md").read_text()
    told = set(re.findall(r"`([^`]+)`", text.partition("## Settings")[0]))
    paths = find_paths({"SUBCOG_HOME": "/home"})
    named = (
        getattr(paths, name) for name, kind in vars(Paths).items() if isinstance(kind, property)
    )
    files = {path.name for path in named if isinstance(path, Path)}
    assert len(files) > 10
    assert files <= {name.partition("/")[0] for name in told}


def test_every_fragment_has_a_known_kind_and_a_line_or_two():
    kinds = "added|changed|fixed|removed|security"
    for file in (HOUSE / "changelog.d").iterdir():
        if file.name not in {"README.md", "template.jinja"}:
            assert re.fullmatch(rf"[a-z-]+\.(?:{kinds})\.md", file.name), file.name
            assert 1 <= len(file.read_text().splitlines()) <= 2, file.name


def test_the_changelog_knows_the_kinds_in_their_order():
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())
    kinds = [one["directory"] for one in project["tool"]["towncrier"]["type"]]
    assert kinds == ["added", "changed", "fixed", "removed", "security"]
    assert (
        ", ".join(f"`{kind}`" for kind in kinds[:4])
        in (HOUSE / "changelog.d/README.md").read_text()
    )


def test_the_version_is_the_same_wherever_it_stands():
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]["version"]
    plugin = json.loads((HOUSE / "hooks/.claude-plugin/plugin.json").read_text())["version"]
    assert project == plugin == VERSION


# --- examples -------------------------------------------------------------------------------------


def _examples():
    for document in WRITTEN:
        for fence in fences(document, "console"):
            for line in fence.splitlines():
                if line.startswith("$ "):
                    yield pytest.param(line[2:], id=f"{named(document)}: {line[2:][:60]}")


@pytest.mark.parametrize("line", list(_examples()))
def test_every_example_is_a_command_that_there_is(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in EXAMPLE_FILES:
        (tmp_path / name).touch()
    for name in EXAMPLE_FOLDERS:
        (tmp_path / name).mkdir()
    words = list(shlex.shlex(line, posix=True, punctuation_chars="|<>"))
    words = shlex.split(line) if not {"|", "<", ">"} & set(words) else _first_of_ours(line)
    if words[0] == "subcog":
        _parse(cli, words)
    elif words[0] == "make":
        assert f"\n{words[1]}:" in (HOUSE / "Makefile").read_text()
    else:
        assert words[0] in {"cp", "ln", "mkdir", "uv", ".venv/bin/python"}, (
            "an example of something else"
        )


def _first_of_ours(line):
    """The words of the part of a shell line that runs subcog."""
    parts = re.split(r" [|<>] ", line)
    return next(shlex.split(part) for part in parts if part.startswith("subcog "))


def _parse(command, words, parent=None):
    """Parse ``words`` as the command line does, and run nothing."""
    context = command.make_context(words[0], words[1:], parent=parent)
    if isinstance(command, click.Group):
        rest = [*context._protected_args, *context.args]
        inner = command.get_command(context, rest[0]) if rest else None
        assert inner is not None, f"there is no command {rest}"
        _parse(inner, rest, context)


def test_an_example_that_is_none_is_found_out():
    for line in ("subcog rememeber x", "subcog recall x --limt 3", "subcog topics a b", "subcog"):
        with pytest.raises((click.ClickException, AssertionError)):
            _parse(cli, shlex.split(line))


def test_the_two_commands_of_the_readme_are_in_the_makefile():
    readme, makefile = (HOUSE / "README.md").read_text(), (HOUSE / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"\n$ make {target}\n" in readme
        assert re.search(rf"^{target}:", makefile, re.M)


@of_each(WRITTEN)
def test_every_make_target_that_is_named_exists(document):
    targets = set(re.findall(r"^([a-z]+):", (HOUSE / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`make ([a-z]+)`", document.read_text())) <= targets


# --- what has no place here -----------------------------------------------------------------------


@of_each(WRITTEN)
def test_the_documents_speak_of_the_project_alone(document):
    text = document.read_text()
    assert re.findall(r"(?<![\w&/])#\d+\b", text) == [], "a ticket number"
    assert re.findall(r"\b(?:D\d{1,2}|ADR-?\d+)\b", text) == [], "a code that nobody can look up"
    assert re.findall(r"(?<![\w.])/(?:root|tmp|work|mnt)/", text) == [], "a path of one machine"
    outside = re.findall(r"https?://(?!127\.0\.0\.1[:/]|localhost[:/])\S+", text)
    assert outside == [], "an address that may go away"
