import pytest

from subcog.sinks.models.script import is_latin


@pytest.mark.parametrize(
    "text",
    [
        "Where is it?",
        "Größe, naïveté, æsir, señor",
        "Đường dẫn ở đâu?",
        "42 !?",
        "",
        "\ud800",
        "日 of what?",
    ],
)
def test_latin_is_what_has_mostly_latin_letters(text: str) -> None:
    assert is_latin(text)


@pytest.mark.parametrize(
    "text",
    [
        "Почему Redis?",
        "为什么用Redis?",
        "なぜ?",
        "왜 그래?",
        "لماذا Redis؟",
        "γιατί;",
        "למה?",
        "ทำไม",
    ],
)
def test_other_scripts_are_not_latin(text: str) -> None:
    assert not is_latin(text)


def test_of_a_long_text_the_beginning_is_looked_at() -> None:
    assert not is_latin("ю" * 1_000_000 + "a" * 9_000_000)
