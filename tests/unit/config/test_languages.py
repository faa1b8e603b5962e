import pytest

from subcog.config.languages import ENGLISH, OTHER, fold, language_of, words_of
from tests.waiting import ends_soon


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Warum läuft Redis auf Port 6380?", "de"),
        ("welchen port nutzt redis", "de"),
        ("pourquoi on a viré elastic", "fr"),
        ("Où sont les clés de traduction ?", "fr"),
        ("¿Dónde guardamos las copias?", "es"),
        ("por que seguimos sin poder firmar las actas", "es"),
        ("Por que não usamos o Kafka nas filas?", "pt"),
        ("onde ficam os backups do banco?", "pt"),
        ("Perché usiamo Redis invece di Postgres per le sessioni?", "it"),
        ("dove sono i log del worker?", "it"),
        ("Почему build падает на CI в GitHub Actions?", "ru"),
        ("Redis 连接池的 max_connections 为什么设成 40？", "zh"),
        ("なぜ OpenSearch をやめたのですか", "ja"),
        ("왜 Redis 연결이 끊어져?", OTHER),
        ("لماذا Redis؟", OTHER),
        ("γιατί;", OTHER),
    ],
)
def test_a_text_is_told_by_its_script_and_its_small_words(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "why is the die cut off in this man page?",
        "redis port?",
        "rename the class Kunde to Auftrag",
        'the label "确认订单" is cut off on mobile, why?',
        "python del vars defined as global",
        "SELECT * FROM des WHERE la = 1",
        "42 !?",
        "",
        "\ud800",
        "naïve café résumé",
    ],
)
def test_what_is_not_clearly_another_language_is_english(text: str) -> None:
    assert language_of(text) == ENGLISH


def test_folding_leaves_accents_away_and_the_marks_of_kana() -> None:
    assert fold("Größe É Ё") == "grosse e е"
    assert fold("ガが") == "ガが"


def test_an_unknown_language_has_no_dull_words() -> None:
    assert "warum" in words_of("de")
    assert not words_of(OTHER)


def test_of_a_long_text_the_beginning_is_looked_at() -> None:
    with ends_soon():
        assert language_of("ю " * 1_000_000 + "a" * 9_000_000) == "ru"
