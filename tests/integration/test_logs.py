"""The log of a real daemon, and the command that shows it."""

import json
import re

import pytest

PLANTED = "zanzibar-umbrella"


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_log_holds_a_text_in_either_format_and_at_any_level(house, form):
    house.env |= {"SUBCOG_LOG_FORMAT": form, "SUBCOG_LOG_LEVEL": "debug"}
    house.capture(f"We decided that {PLANTED} is the name of the service")
    house.prompt(f"[remember] the {PLANTED} runs on port 8080")
    assert PLANTED in house.context(f"what is {PLANTED}?")
    house.hook("UserPromptSubmit", f'{{"prompt": "{PLANTED}"'.encode())
    house.exchange("call", "recall", f'{{"text": ["{PLANTED}"]}}'.encode())
    house.ask("recall", PLANTED)
    house.run("daemon", "stop")
    files = [path for path in house.paths.state.rglob("*") if path.is_file()]
    assert house.paths.log in files
    for file in files:
        assert PLANTED.encode() not in file.read_bytes(), file
    text = house.paths.log.read_text()
    assert "a hook sent a malformed payload" in text
    assert "\x1b" not in text
    assert "color_message" not in text
    assert text.startswith("{") == (form == "json")


def test_the_command_shows_the_end_of_it_in_either_form_by_level(house):
    house.start()
    house.hook("UserPromptSubmit", b"no payload")
    house.run("daemon", "stop")  # so that nothing is added between two looks
    read = house.run("logs", "-n", "1", "--level", "warning")
    assert read.returncode == 0
    assert re.search(
        r" warning pipeline[.\w]*: a hook sent a malformed payload  event=", read.stdout
    )
    entries = [json.loads(line) for line in house.run("logs", "--json").stdout.splitlines()]
    assert entries == house.log()


def test_without_a_log_it_shows_nothing_and_starts_no_daemon(house):
    read = house.run("logs")
    assert (read.returncode, read.stdout) == (0, "")
    assert not house.paths.link.exists()


def test_it_says_where_the_log_is_so_that_it_can_be_followed(shared):
    shared.start()
    read = shared.run("logs", "--path")
    assert (read.returncode, read.stdout) == (0, f"{shared.paths.log}\n")
    assert shared.paths.log.is_file()


AT_EXIT = """
import atexit, os
atexit.register(os.write, 2, b"library: leaked 1 instances!\\nSee the manual")
"""


@pytest.mark.slow
def test_what_a_library_prints_at_the_end_does_not_reach_the_log(house):
    (house.root / "sitecustomize.py").write_text(AT_EXIT)
    for _ in range(2):
        house.prompt("hello", PYTHONPATH=str(house.root))  # a hook's daemon has the log for stderr
        pid = house.pid()
        house.run("daemon", "stop")
        house.wait_until_gone(pid)
    text = house.paths.log.read_text()
    assert "leaked" not in text
    assert [json.loads(line)["what"] for line in text.splitlines()].count("listening") == 2
    assert text.endswith("\n")


def test_a_line_that_was_not_ended_is_ended_by_the_next_daemon(house):
    house.paths.state.mkdir(parents=True)
    house.paths.log.write_text("Fatal Python error: Aborted")
    house.start()
    first, *ours = house.paths.log.read_text().splitlines()
    assert first == "Fatal Python error: Aborted"
    assert json.loads(ours[0])["what"] == "listening"
