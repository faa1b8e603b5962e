import pytest

from subcog.stages.text.tokens import count_tokens, count_units


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
