import pytest

from subcog.stages.text.unicode import (
    count_tokens,
    count_units,
    cut,
    fenced,
    is_quoted,
    one_line,
    visible,
    well_formed,
)


def test_surrogate_pairs_are_joined_and_lone_surrogates_replaced():
    assert well_formed("a\ud83d\ude00b\ud800c") == "a😀b\ufffdc"


def test_escapes_controls_bidi_marks_and_zero_widths_disappear():
    hostile = "\x1b[31mred\x1b[0m \x1b]0;title\x07a\x00b\u202ec\u200bd\u2066e\ufefff\U000e0041g"
    assert visible(hostile) == "red abcdefg"


def test_of_what_has_no_look_of_its_own_nothing_stays():
    """All that Unicode calls default-ignorable, but for joiners and selectors."""
    ranges = "ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b 200e-200f 202a-202e 2060-206f 3164"
    ranges += " fe00-fe0d feff ffa0 fff0-fff8 1bca0-1bca3 1d173-1d17a e0000-e0fff"
    for first, _, last in (each.partition("-") for each in ranges.split()):
        for code in range(int(first, 16), int(last or first, 16) + 1):
            assert visible(f"sys{chr(code)}tem 😀{chr(code)}") == "system 😀", hex(code)


@pytest.mark.parametrize(
    "text",
    ["❤️\u200d🔥", "🏳️\u200d🌈", "1️⃣", "می\u200cخواهم", "क्\u200dष", "☎\ufe0e", "👨🏽\u200d⚕️", "© ©️"],
)
def test_a_joiner_or_selector_stays_after_what_it_changes(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [
        ("é" + "\ufe0f\ufe0e" * 20, "é"),
        ("é\u200c\u200d\u200d", "é"),
        ("a\ufe0f\u200d", "a"),
        ("😀" + "\ufe0f\ufe0e" * 20, "😀\ufe0f"),
        ("😀" + "\u200d\u200c" * 20, "😀\u200d"),
        ("ی\u200c\u200b\u200c", "ی\u200c"),
        ("a\u2060\ufe0f", "a"),
        ("😀\ufe0f\u200d\ufe0f\u200d", "😀\ufe0f\u200d"),
    ],
)
def test_a_run_of_them_or_one_after_anything_else_spells_nothing(hidden, seen):
    assert visible(hidden) == visible(seen) == seen


def test_newlines_and_tabs_stay_and_other_line_ends_become_newlines():
    assert visible("a\r\nb\rc\u2028d\x0be\tf") == "a\nb\nc\nd\ne\tf"


def test_a_joiner_stays_between_emoji_and_goes_between_letters():
    assert visible("👩\u200d💻 gh\u200dp") == "👩\u200d💻 ghp"


def test_a_joiner_behind_a_hidden_character_goes_too():
    assert visible("a\u200b\u200db") == "ab"


def test_fences_are_closed_by_the_same_kind_and_an_open_one_runs_to_the_end():
    lines = ["a", "```py", "~~~", "b", "```", "c", "~~~~", "d", "~~~", "e"]
    assert [line for line, inside in zip(lines, fenced(lines), strict=True) if not inside] == [
        "a",
        "c",
    ]


def test_inline_code_on_a_line_of_its_own_opens_no_fence():
    assert list(fenced(["```x```", "b"])) == [False, False]


def test_a_quotation_starts_with_an_angle_bracket():
    assert is_quoted("  > a")
    assert not is_quoted("a > b")


def test_one_line_has_single_spaces():
    assert one_line(" a\n\n b\t c ") == "a b c"


def test_a_short_text_is_not_cut():
    assert cut("as it is", 8) == "as it is"


def test_a_cut_falls_between_words():
    assert cut("alpha beta gamma", 13) == "alpha beta…"


def test_a_cut_leaves_no_dangling_mark():
    assert cut("alpha beta, gamma", 14) == "alpha beta…"


def test_a_script_without_spaces_is_cut_between_characters_as_readers_see_them():
    assert cut("日本語" * 10, 5) == "日本語日…"
    assert cut("👩\u200d💻" * 5, 6) == "👩\u200d💻…"
    assert cut("🇦🇹🇩🇪🇫🇷", 4) == "🇦🇹…"
    assert cut("e\u0301" * 9, 4) == "e\u0301…"
    assert cut("👍🏽👍🏽", 3) == "👍🏽…"


def test_no_room_gives_nothing():
    assert cut("abc", 0) == ""
    assert cut("abc", 1) == "…"


def test_nothing_costs_nothing():
    assert count_tokens("") == 0


def test_short_english_words_cost_one_token_each():
    assert count_tokens("the cat sat on a mat.") == 7


def test_a_long_word_costs_more_than_a_short_one():
    assert count_tokens("internationalisation") > count_tokens("nation")


@pytest.mark.parametrize(
    ("text", "published"),
    [
        # The second figure is the highest count of three published vocabularies.
        ("我们决定使用数据库迁移工具来管理模式的变化，因为它更可靠，也更容易回滚。", 36),
        ("Мы решили использовать PostgreSQL для хранения данных", 15),
        ("for (const [k, v] of Object.entries(env)) { out[k] ??= v?.trim(); }", 27),
        ("0x7ffd3a2b1c00 10.0.3.7:5432 SQLSTATE 53300", 27),
    ],
)
def test_the_estimate_is_not_far_below_real_vocabularies(text, published):
    assert count_tokens(text) >= 0.85 * published


def test_characters_outside_the_basic_plane_are_two_units():
    assert count_units("a🚀") == 3
