"""What holds for every text: nothing is cut in two, and nothing harmful survives a second look."""

import unicodedata
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from subcog.stages.text.envelope import Note, neutralise, preview, strip_envelopes, wrap
from subcog.stages.text.markup import split_markers, strip_private
from subcog.stages.text.summary import MAX_CHARS, summarise
from subcog.stages.text.unicode import cut, visible

NOW = datetime(2026, 11, 21, tzinfo=UTC)
ANYTHING = st.text(st.characters(exclude_categories=()))
FRAGMENTS = (
    *("\n", " ", "> ", "- mem_1", "<subcog-memory>", "</subcog-memory>", "<subcog-", "memory>"),
    *(
        "<private>",
        "</private>",
        "<pri",
        "vate>",
        "[remember] ",
        "@memory:x ",
        "```",
        "<system-reminder>",
    ),
    *("\x1b[", "m", "👩\u200d💻", "🇦🇹", "e\u0301", "\u200b", "\u200d"),
)
PIECES = st.lists(
    st.one_of(
        ANYTHING,
        st.sampled_from(FRAGMENTS),
    ),
    max_size=10,
).map("".join)


@given(PIECES, st.integers(0, 60))
def test_a_cut_is_short_enough_and_a_part_of_the_text(text, limit):
    short = cut(text, limit)
    assert len(short) <= limit or short == text
    assert text.startswith(short.removesuffix("…"))


@given(st.lists(st.text("abcdefghij", min_size=1, max_size=8), min_size=1), st.integers(20, 60))
def test_no_word_is_cut(words, limit):
    text = " ".join(words)
    for short in (cut(text, limit), preview(text, limit)):
        assert set(short.removesuffix("…").split()) <= set(words)


@given(
    st.lists(st.sampled_from(["👩\u200d💻", "🇦🇹", "e\u0301", "👍🏽", "日", "न\u0940"]), min_size=1),
    st.integers(8, 30),
)
def test_no_character_is_cut(characters, limit):
    text = "".join(characters)
    short = cut(text, limit).removesuffix("…")
    ends, at = {0}, 0
    for character in characters:
        at += len(character)
        ends.add(at)
    assert len(short) in ends


@given(PIECES)
def test_visible_text_can_be_encoded_and_stays_as_it_is(text):
    seen = visible(text)
    seen.encode()
    assert visible(seen) == seen
    assert not any(unicodedata.category(c) == "Cc" and c not in "\n\t" for c in seen)


TAGS = (
    *("<", ">", "</", "\n\nHuman:", ":", "[INST]", "<|", "|>", "<|im_start|>", "<<SYS>>", "<s>"),
    *("<a-b>", "</a-b>", "<a-b ", "env", "user", "invoke", "antml:", "`", "x" * 199, "\u2028"),
)


@given(st.lists(st.one_of(PIECES, st.sampled_from(TAGS)), max_size=10).map("".join))
def test_a_harmless_text_stays_as_it_is(text):
    harmless = neutralise(text)
    assert neutralise(harmless) == harmless


@given(PIECES)
def test_a_summary_is_one_short_line(text):
    summary = summarise(text)
    assert len(summary) <= MAX_CHARS
    assert summary == " ".join(summary.split())
    summary.encode()


@given(PIECES)
def test_stripping_twice_changes_nothing(text):
    for strip in (strip_private, strip_envelopes):
        once = strip(text)
        assert strip(once) == once


@given(st.lists(PIECES, min_size=1, max_size=4), PIECES)
def test_no_note_survives_its_envelope_being_stripped(texts, around):
    notes = [Note(id="mem_1", namespace="x", created_at=NOW, text=f"zq{text}zq") for text in texts]
    envelope = wrap(notes, now=NOW)
    around = strip_envelopes(around)
    assert "zq" not in strip_envelopes(f"{around}\n{envelope}\n{around}")


@given(PIECES)
def test_markers_lose_nothing_but_themselves(text):
    rest, marked = split_markers(text)
    kept = rest + "".join(one.content for one in marked)
    assert len(kept) <= len(text)
    assert all(one.content == one.content.strip() != "" for one in marked)
