"""``subcog help``: the documents in the terminal."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from subcog.pipeline.commands.help import FOLDER, TOPICS

from .house import SUBCOG, House

# Records of decisions are for who changes the code, and the list of pages is a list of pages.
ELSEWHERE = {"adr", "README.md"}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return House(tmp_path_factory.mktemp("help"))


def test_every_document_is_a_topic():
    pages = {str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*.md")}
    assert {page for page in pages if not ELSEWHERE & set(page.split("/"))} == {
        file for file, _ in TOPICS.values()
    }


def test_every_topic_is_listed_and_for_machines_too(house):
    listed = house.run("help").stdout
    assert all(f"\n{topic} " in f"\n{listed}" for topic in TOPICS)
    assert [one["topic"] for one in house.ask("help")] == list(TOPICS)


@pytest.mark.parametrize("topic", ["users", "settings", "mcp-items"])
def test_every_topic_is_shown_as_it_stands(house, topic):
    shown = house.run("help", topic).stdout
    assert shown.startswith("# ")
    assert "<!--" not in shown
    assert shown.splitlines()[-1] == (FOLDER / TOPICS[topic][0]).read_text().splitlines()[-1]
    assert house.ask("help", topic) == {"topic": topic, "text": shown}


def test_a_command_shows_its_own_help(house):
    for command in (["recall"], ["team", "join"], ["sessions", "forget"]):
        assert house.run("help", *command).stdout == house.run(*command, "--help").stdout


def test_a_typing_error_is_answered_with_what_is_nearest(house):
    wrong = house.run("help", "oprators")
    assert wrong.returncode == 2
    assert "did you mean operators?" in wrong.stderr
    assert "there are users, operators" in house.run("help", "zzzzzz").stderr


@pytest.mark.parametrize(("less", "has_styles"), [({}, True), ({"LESS": "-i"}, False)])
def test_a_terminal_gets_it_laid_out_through_its_pager(house, less, has_styles):
    """The pager here says what less would be told, and marks what comes through it."""
    ours, theirs = pty.openpty()
    pager = 'echo "less $LESS"; sed s/^/paged:/'
    env = house.env | {"PAGER": pager, "TERM": "xterm", "COLUMNS": "80"} | less
    with subprocess.Popen([SUBCOG, "help", "operators"], env=env, stdin=theirs, stdout=theirs):
        os.close(theirs)
        said = read_all(ours)
    assert "paged:" in said
    assert "For operators" in said
    assert "# For operators" not in said
    assert ("less -R" in said, "\x1b[" in said) == (has_styles, has_styles)


def read_all(terminal: int) -> str:
    """What a terminal shows until nobody has it open any more."""
    said = b""
    try:
        while chunk := os.read(terminal, 65536):
            said += chunk
    except OSError:  # the other end was closed
        pass
    finally:
        os.close(terminal)
    return said.decode()
