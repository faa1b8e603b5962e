from subcog.config.languages import OTHER
from subcog.sinks.models.analyzer import BREAK, Analyzer
from subcog.sinks.models.grams import asked_words, grams_of


def covered(question: str, language: str, text: str) -> list[float]:
    """Of each word of ``question`` the share of its grams that ``text`` has."""
    held = set(grams_of(text).tolist())
    words = asked_words(question, language, Analyzer())
    return [len(held & set(word.grams.tolist())) / len(word.grams) for word in words]


def test_an_english_text_has_no_grams() -> None:
    assert not len(grams_of("Passwords are hashed with argon2id."))


def test_an_english_text_is_found_by_its_questions_in_another_language() -> None:
    text = f"It is rolled out by ArgoCD.{BREAK}Wie deployen wir?{BREAK}Wer rollt es aus?"
    assert covered("Wie deployen wir?", "de", text) == [1.0]
    assert covered("Wer ist bei ArgoCD?", "de", text) == [0.0]


def test_inflected_and_compound_words_share_grams() -> None:
    text = "Die Routenberechnung läuft über einen eigenen Server mit zwei Datenbanken."
    routes, database, firewall = covered("routen datenbank firewall", "de", text)
    assert routes > 0.5
    assert database > 0.5
    assert firewall == 0


def test_a_question_is_asked_without_the_words_that_say_nothing() -> None:
    words = asked_words("warum haben wir denn eigentlich kein Kafka?", "de", Analyzer())
    assert len(words) == 1
    assert words[0].term == int(Analyzer().terms("kafka")[0])


def test_what_has_no_blanks_is_compared_by_pairs_of_characters() -> None:
    assert covered("追溯码那边现在卡在哪", "zh", "药监追溯码接口对接停滞：证书过期。")[:2] == [
        1.0,
        1.0,
    ]
    assert covered("シフトの画面", "ja", "シフト表の描画が遅かった。") == [1.0, 0.0]
    assert covered("연결은", OTHER, "레디스 연결이 자주 끊어진다") == [1.0, 0.0]


def test_hiragana_names_nothing() -> None:
    assert asked_words("これはなぜですか", "ja", Analyzer()) == ()


def test_a_long_question_is_cut() -> None:
    words = asked_words(" ".join(f"wort{n}" for n in range(5000)), "de", Analyzer())
    assert len(words) == 24
