import json
import logging
import stat
import subprocess
import sys

import pytest

from subcog.pipeline.daemon.log_setup import (
    CAUSE_S,
    MOST_OF_A_CAUSE,
    ConsoleLines,
    JsonLines,
    RateLimit,
    entry_of,
    line_of,
    log_to,
)

PLANTED = "the prompt said hunter2"


def record(name="subcog.stages.x", what="something happened", **extra):
    made = logging.LogRecord(name, logging.WARNING, "x.py", 1, what, (), None)
    vars(made).update(extra)
    return made


@pytest.fixture
def root():
    """The root logger, as it was afterwards."""
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    yield logger
    for handler in set(logger.handlers) - set(handlers):
        handler.close()
        logger.removeHandler(handler)
    logger.setLevel(level)


def test_a_record_is_a_sentence_and_its_fields():
    entry = json.loads(JsonLines().format(record(stage="parse", took_ms=3)))
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "level": "warning",
        "where": "stages.x",
        "what": "something happened",
        "stage": "parse",
        "took_ms": 3,
    }


@pytest.mark.parametrize("form", [JsonLines, ConsoleLines])
def test_of_a_library_neither_sentence_nor_fields_are_told(form):
    said = record("uvicorn.error", PLANTED, color_message=f"\x1b[36m{PLANTED}", body=PLANTED)
    line = form().format(said)
    assert "a library logged a message" in line
    assert "uvicorn.error" in line
    assert "hunter2" not in line
    assert "color_message" not in line


def test_what_a_library_says_without_quoting_is_told():
    said = record("uvicorn.error", "Exceeded concurrency limit.")
    assert "Exceeded concurrency limit." in ConsoleLines().format(said)


def test_what_libraries_do_is_left_out_unless_it_is_a_warning():
    said = [record("uvicorn.error", "Shutting down"), record("uvicorn.error"), record()]
    said[0].levelno = logging.INFO
    assert list(map(RateLimit().filter, said)) == [False, True, True]


def test_a_library_whose_name_begins_like_ours_is_still_a_library():
    assert "hunter2" not in JsonLines().format(record("subcogitate", PLANTED))


def test_of_an_exception_there_are_its_kind_and_place_alone():
    try:
        raise ValueError(PLANTED)
    except ValueError:
        said = record(exc_info=sys.exc_info())
    for form in (JsonLines, ConsoleLines):
        line = form().format(said)
        assert "ValueError" in line
        assert "test_log_setup.py:" in line
        assert "hunter2" not in line


def test_a_line_for_reading_has_time_level_place_sentence_and_fields():
    line = ConsoleLines().format(record(stage="parse", reason="two words"))
    time, rest = line.split(" ", 1)
    assert len(time) == len("2026-01-01T00:00:00Z")
    assert rest == "warning stages.x: something happened  stage=parse  reason='two words'"


def test_a_field_can_neither_break_the_line_nor_steer_the_terminal():
    line = line_of({"time": "t", "level": "info", "where": "w", "what": "x", "a": "\x1b[2J\nroot"})
    assert line.isprintable()


def test_the_log_is_for_its_owner_alone_and_bounded_by_rotation(tmp_path, root, monkeypatch):
    monkeypatch.setattr("subcog.pipeline.daemon.log_setup.MAX_BYTES", 2_000)
    file = tmp_path / "state" / "daemon.log"
    log_to(file, "info")
    for number in range(500):
        logging.getLogger("subcog.x").info("something happened", extra={"number": number})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = sorted(path.name for path in file.parent.iterdir())
    assert kept == ["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3"]
    assert all(path.stat().st_size <= 2_000 for path in file.parent.iterdir())


BREAK = """
import sys, threading
from pathlib import Path
from subcog.pipeline.daemon.log_setup import log_to, log_uncaught
log_to(Path(sys.argv[1]), "info")
log_uncaught()
def fail():
    raise ValueError("hunter2")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
fail()
"""


def test_what_nobody_caught_is_logged_by_kind_and_place_and_not_quoted(tmp_path):
    file = tmp_path / "daemon.log"
    broke = subprocess.run(
        [sys.executable, "-c", BREAK, str(file)], capture_output=True, text=True, check=False
    )
    assert broke.returncode == 1
    assert "hunter2" not in broke.stderr + file.read_text()
    assert broke.stderr.splitlines() == ["subcog: ValueError at <string>:8 was not caught"] * 2
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(e["what"], e["error"], e["at"]) for e in entries] == [
        ("uncaught exception", "ValueError", "<string>:8")
    ] * 2


def test_a_cause_that_repeats_itself_is_bounded_and_counted():
    clock = [0.0]
    limit = RateLimit(now=lambda: clock[0])

    def passed(name="subcog.x", what="cannot serve", level=logging.WARNING):
        record = logging.LogRecord(name, level, "", 0, what, (), None)
        return limit.filter(record) and entry_of(record)

    assert sum(bool(passed()) for _ in range(70)) == MOST_OF_A_CAUSE
    assert passed(what="something else")
    assert all(passed(level=logging.INFO) for _ in range(70))
    said = [passed("uvicorn.error", f"invalid request {number}") for number in range(60)]
    assert sum(map(bool, said)) == MOST_OF_A_CAUSE
    clock[0] = CAUSE_S
    assert passed()["left_out"] == 20
    assert passed("uvicorn.error", "again")["left_out"] == 10
    assert "left_out" not in passed()
