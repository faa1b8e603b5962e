"""A prompt of megabytes is cut to its ends and what it marks, before anybody decodes it."""

from __future__ import annotations

import json
import threading

import pytest

from subcog.hooks.spool import MAX_PROMPT_CHARS
from subcog.pipeline.agents.agent import read_payload
from subcog.pipeline.entrance import long_prompt
from subcog.pipeline.entrance.long_prompt import (
    END_BYTES,
    LONG_BYTES,
    MARKED_BYTES,
    MOST_MARKED,
    read_shortened,
    shorten,
)
from subcog.stages.text.markup import read_markers
from tests.waiting import ends_soon

PASTES = {
    "a log": "12:00:01 worker 7 finished /srv/jobs/run.py:12 in 3.2 s\n",
    "no space": "abcdef0123456789",
    "quotes": '\\"\\\\n\\/\t',
    "no ascii": "記憶",
    "emoji": "🗝️",
}


def cut(prompt: str, *, ascii_only: bool) -> str:
    payload = {"session_id": "s", "prompt": prompt, "cwd": "/x", "other": [1]}
    body = json.dumps(payload, ensure_ascii=ascii_only).encode()
    short = read_payload(shorten(body))
    assert (short.session_id, short.cwd) == ("s", "/x")
    return short.prompt


def marked(prompt: str) -> list[str]:
    """What the markers of ``prompt`` keep, or would if they did not stand in a paste."""
    found = read_markers(prompt)
    return [one.content for one in (*found.kept, *found.refused)]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("paste", PASTES.values(), ids=PASTES)
def test_both_ends_are_kept_and_what_is_marked_between_them(paste, ascii_only):
    filling = paste * (2_000_000 // len(paste.encode()))
    prompt = f"why does this fail?\n{filling}\n[remember:gotchas] a rule\n\n{filling}\nplease mend"

    kept = cut(prompt, ascii_only=ascii_only)

    assert kept.startswith("why does this fail?\n" + paste)
    assert kept.endswith(paste + "\nplease mend")
    assert marked(kept) == ["a rule"]
    assert len(kept) <= 2 * END_BYTES + 60_000 < MAX_PROMPT_CHARS
    assert set(kept) <= set(prompt) | set("[.]\n?"), "no character was cut in two"


def test_what_is_no_marker_is_not_made_one():
    log = "a line of some log\n" * 60_000
    texts = (
        "in the text [remember] this",
        "```\n[remember] within a fence\n```",
        "with a \\n[remember] that is no new line",
    )
    prompt = log + "\n".join(texts) + "\n" + log
    assert marked(cut(prompt, ascii_only=True)) == marked(prompt) == []


@pytest.mark.parametrize("before", ["\t", " \t ", "a\\\n"])
def test_a_marker_is_found_behind_what_may_stand_before_it(before):
    log = "a line of some log\n" * 60_000
    prompt = f"{log}{before}[remember] a rule\n\n{log}"
    assert marked(cut(prompt, ascii_only=True)) == ["a rule"]


def test_a_marker_at_each_seam_is_found():
    line = "x" * 99 + "\n"
    for shift in range(0, 100, 9):
        at = ((1 << 20) + END_BYTES) // 100
        prompt = "y" * shift + line * at + "[remember] a seam\n\n" + line * at
        assert marked(cut(prompt, ascii_only=True)) == ["a seam"]


@pytest.mark.parametrize("again", ["@memory\n", "[remember "])
def test_markers_without_end_are_not_all_looked_at(again):
    prompt = "[remember] the first\n\n" + again * (14_000_000 // len(again))
    with ends_soon(cpu_s=3.0):
        kept = cut(prompt, ascii_only=True)
    assert kept.startswith("[remember] the first\n\n")
    assert len(kept) <= 2 * END_BYTES + (MOST_MARKED + 1) * MARKED_BYTES


@pytest.mark.parametrize(
    "body", [b"[" * LONG_BYTES, b"x" * 2 * LONG_BYTES, b'{"prompt": 1}' * 50_000]
)
def test_what_is_no_payload_comes_back_as_it_is(body):
    assert shorten(body) == body


async def test_a_long_payload_is_mended_off_the_event_loop(monkeypatch):
    def read(body):
        assert threading.current_thread() is not threading.main_thread()
        return read_payload(body)

    monkeypatch.setattr(long_prompt, "read_payload", read)
    half = b'{"session_id":"s","tool_response":"%s \\ud83d"}' % (b"x" * LONG_BYTES)
    payload = await read_shortened(half)
    assert (payload.session_id, bytes(payload.tool_response)[-3:]) == ("s", b' ?"')
