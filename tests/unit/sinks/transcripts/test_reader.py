from __future__ import annotations

import json
import os
import socket
import threading
import tracemalloc

import anyio
import anyio.to_thread
import pytest

from subcog.sinks.transcripts import reader as module
from subcog.sinks.transcripts.reader import (
    END_BYTES,
    MAX_LINE_BYTES,
    SLICE_BYTES,
    Mark,
    Outcomes,
    Transcripts,
    TranscriptUnreadable,
    has_failed,
    read_slice,
)
from tests.waiting import PATIENCE_S


def line(text, role="user"):
    return json.dumps({"type": role, "message": {"content": text}}) + "\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_text(line("one") + line("two"))
    return path


@pytest.fixture
def known(tmp_path):
    return Transcripts(tmp_path / "state" / "transcripts.json")


async def texts(known, file, *, keep=True):
    found, mark = [], None
    async for part in known.unread(str(file)):
        found += [message.text for message in part.messages]
        mark = part.mark
    if keep and mark is not None:
        await known.keep(str(file), mark)
    return found


async def test_only_what_is_new_is_read(known, file):
    assert await texts(known, file) == ["one", "two"]
    assert await texts(known, file) == []

    with file.open("a") as more:
        more.write(line("three"))
    assert await texts(known, file) == ["three"]


async def test_what_was_not_kept_is_read_again(known, file):
    assert await texts(known, file, keep=False) == ["one", "two"]
    assert await texts(known, file) == ["one", "two"]


async def test_another_daemon_goes_on_where_this_one_stopped(known, file, tmp_path):
    await texts(known, file)

    after = Transcripts(tmp_path / "state" / "transcripts.json")
    assert await texts(after, file) == []
    assert (tmp_path / "state" / "transcripts.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", [b"", b"{", b'{"a": 1}', b"\xff" * 100, b"NEGATIVE"])
async def test_a_damaged_note_costs_a_second_look(known, file, tmp_path, damage):
    await texts(known, file)
    negative = json.dumps({str(file): {"inode": file.stat().st_ino, "offset": -1}})
    damage = damage.replace(b"NEGATIVE", negative.encode())
    (tmp_path / "state" / "transcripts.json").write_bytes(damage)

    assert await texts(Transcripts(tmp_path / "state" / "transcripts.json"), file) == ["one", "two"]


async def test_the_transcripts_used_longest_ago_are_forgotten(known, file, monkeypatch):
    monkeypatch.setattr(module, "MAX_KNOWN", 2)
    for name in ("a", "b", "c"):
        await known.keep(name, Mark(1, 1))
    await known.keep("b", Mark(1, 2))
    await known.keep("d", Mark(1, 1))

    assert set(await known._known()) == {"b", "d"}


async def test_a_line_that_is_being_written_waits(known, file):
    whole = line("three")
    with file.open("a") as more:
        more.write(whole[:10])
        more.flush()
        assert await texts(known, file) == ["one", "two"]
        more.write(whole[10:])
    assert await texts(known, file) == ["three"]


async def test_a_file_that_became_shorter_or_another_is_read_anew(known, file):
    await texts(known, file)
    file.write_text(line("1"))
    assert await texts(known, file) == ["1"]

    other = file.with_name("other")
    other.write_text(line("another file, and longer than the one before"))
    other.replace(file)
    assert len(await texts(known, file)) == 1


async def test_a_file_that_is_rewritten_in_its_place_is_read_from_its_beginning(known, file):
    await texts(known, file)
    inode = file.stat().st_ino
    with file.open("r+") as again:
        again.write("".join(map(line, ("alpha", "bravo", "charlie"))))
    assert file.stat().st_ino == inode
    assert await known.unread_bytes([str(file)]) == {str(file): file.stat().st_size}
    assert await texts(known, file) == ["alpha", "bravo", "charlie"]
    assert await texts(known, file) == []


async def test_a_last_line_without_its_end_is_read_once_it_is_whole(known, file):
    with file.open("a") as more:
        more.write(line("three").rstrip("\n"))
        more.flush()
        assert await texts(known, file) == ["one", "two", "three"]
        more.write("\n" + line("four"))
    assert await texts(known, file) == ["four"]


async def test_a_line_longer_than_a_slice_is_read_and_one_beyond_measure_is_not(tmp_path):
    file = tmp_path / "t.jsonl"
    file.write_text(line("x" * 3000) + line("y" * module.MAX_LINE_BYTES) + line("after"))

    found = await texts(Transcripts(tmp_path / "marks.json", slice_bytes=1000), file)

    assert [text[:1] for text in found] == ["x", "a"]


async def test_of_an_old_transcript_only_the_end_is_read(known, file, monkeypatch):
    monkeypatch.setattr(module, "MAX_BACKLOG_BYTES", len(line("two")) + 5)

    assert await texts(known, file) == ["two"]


def test_nothing_but_a_regular_file_of_this_user_is_read(tmp_path, file):
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name in ("link", "pipe", "folder", "socket", "missing", "a\0b", "x" * 5000):
            with pytest.raises(TranscriptUnreadable):
                read_slice(str(tmp_path / name), Mark())
    with pytest.raises(TranscriptUnreadable):
        read_slice("/dev/zero", Mark())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_another_users_file_is_not_read(file):
    os.chown(file, 12345, 12345)

    with pytest.raises(TranscriptUnreadable):
        read_slice(str(file), Mark())


async def test_the_end_can_be_read_whatever_was_read_before(known, file, tmp_path):
    assert [message.text for message in await known.end_of(str(file))] == ["one", "two"]
    await texts(known, file)

    short = Transcripts(tmp_path / "other.json", slice_bytes=len(line("two")) + 5)
    assert [message.text for message in await short.end_of(str(file))] == ["two"]
    with pytest.raises(TranscriptUnreadable):
        await known.end_of("/nowhere")


async def test_a_disk_that_hangs_holds_up_nobody_else(known, file, monkeypatch):
    back = threading.Event()

    def hang(path):
        back.wait(20)
        raise TranscriptUnreadable(None, "gone")

    monkeypatch.setattr(module, "open_transcript", hang)
    try:
        for _ in range(50):
            with anyio.move_on_after(0.001) as waiting:
                await known.end_of(str(file))
            assert waiting.cancelled_caught
        with anyio.fail_after(PATIENCE_S):
            assert await anyio.to_thread.run_sync(lambda: "searched") == "searched"
    finally:
        back.set()


@pytest.fixture(scope="module")
def long_file(tmp_path_factory):
    """50 MB: a tool's result of 100 kB beside each message, as where many files were read."""
    file = tmp_path_factory.mktemp("long") / "long.jsonl"
    result = {"type": "tool_result", "tool_use_id": "t", "content": "word " * 20_000}
    with file.open("w") as out:
        out.write(line("z" * 900_000))
        for number in range(500):
            out.write(line([result]) + line(f"message {number}", "assistant"))
    assert file.stat().st_size > 50_000_000
    return file


async def test_fifty_megabytes_are_read_in_little_memory(known, long_file):
    tracemalloc.start()
    try:
        count = 0
        async for part in known.unread(str(long_file)):
            count += len([message for message in part.messages if message.role == "assistant"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert count == 500
    assert peak < 8_000_000


def test_no_slice_of_fifty_megabytes_is_long(long_file):
    """Even a slice that never let go of the interpreter would not hold the event loop for long."""
    mark, most = Mark(), 0
    while (part := read_slice(str(long_file), mark)).mark != mark:
        most = max(most, part.mark.offset - mark.offset)
        mark = part.mark

    assert mark.offset == long_file.stat().st_size
    assert most <= SLICE_BYTES + MAX_LINE_BYTES


def ended(call_id="call_1", exit_code=1, output="", kind="CommandExecution"):
    item = {"type": kind, "id": call_id, "exit_code": exit_code, "aggregated_output": output}
    payload = {"type": "item_completed", "item": item}
    return json.dumps({"type": "event_msg", "payload": payload}, separators=(",", ":")) + "\n"


@pytest.fixture
def write(tmp_path):
    def write(*lines):
        file = tmp_path / "rollout.jsonl"
        file.write_text("".join(lines))
        return str(file)

    return write


async def test_a_command_that_failed_is_found_among_others(write):
    file = write(ended("call_0", 0), ended(), '{"type":"response_item"}\n')
    assert await Outcomes().has_failed(file, "call_1")
    assert await Outcomes().has_failed(file, "call_0") is False
    assert await Outcomes().has_failed(file, "call_2") is None


def test_the_latest_word_on_a_command_counts(write):
    assert not has_failed(write(ended(exit_code=1), ended(exit_code=0)), "call_1")


@pytest.mark.parametrize(
    "line",
    [
        ended(kind="Other"),
        ended(exit_code=None),
        ended(exit_code="1"),
        ended()[:60],
        '{"payload":{"item":"CommandExecution"}}\n',
        ended(kind="Other", output=ended()),
        "[" * 5000 + '"CommandExecution"\n',
    ],
)
def test_what_does_not_say_it_plainly_says_nothing(write, line):
    assert has_failed(write(line), "call_1") is None


def test_only_the_end_of_a_long_transcript_is_read(write):
    filling = "x" * END_BYTES + "\n"
    assert not has_failed(write(ended(), filling), "call_1")
    assert has_failed(write(filling, ended()), "call_1")


def test_no_transcript_and_no_file_say_nothing(tmp_path, write):
    (tmp_path / "link").symlink_to(write(ended()))
    os.mkfifo(tmp_path / "pipe")
    for name in ("", "link", "pipe", "gone", "\0"):
        assert has_failed(str(tmp_path / name), "call_1") is None


async def test_what_is_left_of_a_transcript_is_told_in_bytes(known, file, tmp_path):
    missing, paths = str(tmp_path / "none"), [str(file), str(tmp_path / "none")]
    size = file.stat().st_size
    assert await known.unread_bytes(paths) == {str(file): size, missing: 0}

    await texts(known, file)
    with file.open("a") as out:
        out.write(line("three"))

    left = file.stat().st_size - size
    assert await known.unread_bytes(paths) == {str(file): left, missing: 0}
